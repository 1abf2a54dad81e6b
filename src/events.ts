/**
 * Each event is also published on the diagnostics channel `kalends:<name>`, for tools that have no access to the
 * emitting object.
 */
import { channel } from 'node:diagnostics_channel'

type Listener<Payload> = (payload: Payload) => void

/** Options for `on` and `once`. */
export interface ListenOptions {
  /** Ends the subscription. */
  readonly signal?: AbortSignal | undefined
}

export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>()
  readonly #onError: (error: unknown) => void

  /** @param onError  receives the errors of listeners, so that they cannot stop the emitting loop */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** @returns a function that ends the subscription */
  on<Name extends keyof Events>(
    name: Name,
    listener: Listener<Events[Name]>,
    { signal }: ListenOptions = {},
  ): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    const end = () => {
      listeners.delete(subscription)
      signal?.removeEventListener('abort', end)
    }
    // A listener that is subscribed twice is called twice.
    const subscription: Listener<Events[Name]> = (payload) => listener(payload)
    if (signal?.aborted === true) return end
    signal?.addEventListener('abort', end)
    listeners.add(subscription)
    return end
  }

  /** @param payloadOf  called once, and only if anyone listens */
  emit<Name extends keyof Events & string>(name: Name, payloadOf: () => Events[Name]): void {
    const published = channel(`kalends:${name}`)
    const listeners = this.#listeners.get(name)
    if (!published.hasSubscribers && (listeners === undefined || listeners.size === 0)) return
    const payload = payloadOf()
    // If a subscriber of the channel throws, Node.js rethrows the error in the next tick, as an uncaught exception.
    published.publish(payload)
    for (const listener of listeners ?? []) {
      try {
        // Only `on` adds listeners, and each name has only listeners for its own payload.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        const result: unknown = (listener as Listener<Events[Name]>)(payload)
        // A listener may be an async function; its unhandled rejection would end the process.
        if (result instanceof Promise) result.catch(this.#onError)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}
