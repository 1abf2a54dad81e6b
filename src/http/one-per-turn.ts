/**
 * Spreads the long pieces of synchronous work of many requests over turns of the event loop. If a hundred requests
 * were parsed in one turn, every timer and every answer of the database would wait for all of them. A schedule needs
 * about twelve answers for one submission.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'

export class OnePerTurn {
  #last: Promise<void> = Promise.resolve()

  /** Resolves in a turn of the event loop in which it resolves for no other caller, in the order of the calls. */
  turn(): Promise<void> {
    this.#last = this.#last.then(() => nextTurn())
    return this.#last
  }
}
