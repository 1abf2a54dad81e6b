/**
 * Typed events: what happened in this process, for logs, metrics and tests.
 *
 * Each is also published on the diagnostics channel `<prefix>:<name>`, where tools listen that do not know the
 * object that emits.
 */
import { channel } from 'node:diagnostics_channel'

type Listener<Payload> = (payload: Payload) => void

export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>()
  readonly #prefix: string
  readonly #onError: (error: unknown) => void

  /**
   * @param prefix  of the diagnostics channels
   * @param onError  gets what a listener throws: it must not end the loop that told it something
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
    // A subscriber that throws does so in the next tick, as an uncaught exception: Node's rule for channels.
    channel(`${this.#prefix}:${name}`).publish(payload)
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        // Only `on` adds listeners, and under this name only such that take this payload.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        const result: unknown = (listener as Listener<Events[Name]>)(payload)
        // An async function passes for a listener; what it rejects with would end the process.
        if (result instanceof Promise) result.catch(this.#onError)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}
