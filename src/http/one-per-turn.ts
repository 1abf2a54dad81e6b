import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * Spreads the long synchronous work of many requests over turns of the event loop. If a hundred requests were parsed in
 * one turn, every timer and every response of the database would wait for all of them. A schedule needs about twelve
 * responses for one submission.
 *
 * @returns a function that resolves in a turn in which it resolves for no other caller, in the order of the calls
 */
export function onePerTurn(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return () => (last = last.then(() => nextTurn()))
}
