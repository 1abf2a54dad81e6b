/** Typed events: what happened in this process, for logs, metrics and tests. */

type Listener<Payload> = (payload: Payload) => void

export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>()
  readonly #onError: (error: unknown) => void

  /** @param onError  gets what a listener throws: it must not end the loop that told it something */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** @returns a function that ends the subscription */
  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  emit<Name extends keyof Events>(name: Name, payload: Events[Name]): void {
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
