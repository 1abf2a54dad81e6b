/**
 * Typed events: what happened in this process, for logs, metrics and tests.
 *
 * Each event is also published on the diagnostics channel `<prefix>:<name>`, for tools that have no access to the
 * emitting object.
 */
import { channel } from 'node:diagnostics_channel'

type Listener<Payload> = (payload: Payload) => void

export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>()
  readonly #prefix: string
  readonly #onError: (error: unknown) => void

  /**
   * @param prefix  for the diagnostics channels
   * @param onError  receives what a listener throws, so that it cannot end the loop that emits
   */
  constructor(prefix: string, onError: (error: unknown) => void) {
    this.#prefix = prefix
    this.#onError = onError
  }

  /** @returns a function that ends the subscription */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  emit<Name extends keyof Events & string>(name: Name, payload: Events[Name]): void {
    // If a subscriber of the channel throws, Node.js rethrows in the next tick, as an uncaught exception.
    channel(`${this.#prefix}:${name}`).publish(payload)
    for (const listener of this.#listeners.get(name) ?? []) {
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
