/**
 * Runs writes that count against an owner's limits, one write at a time. Otherwise, two concurrent calls could both
 * find that one more row is allowed. Only a few calls may wait, so that no owner can exhaust memory.
 */
import { OverloadedError } from './errors.ts'

const MAX_WAITING = { ofOwner: 32, inAll: 256 }

export class OwnerTurns {
  /** The last turn of each owner, and the number of turns that have not ended. */
  readonly #owners = new Map<string, { last: Promise<void>; count: number }>()
  #count = 0

  /** @throws OverloadedError when too many calls are already waiting */
  async run<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    const turns = this.#owners.get(owner) ?? { last: Promise.resolve(), count: 0 }
    if (turns.count > MAX_WAITING.ofOwner || this.#count > MAX_WAITING.inAll)
      throw new OverloadedError('Too many writes of this owner are already waiting; try again in a moment')
    this.#owners.set(owner, turns)
    turns.count += 1
    this.#count += 1
    const turn = turns.last.then(work)
    turns.last = turn.then(
      () => undefined,
      () => undefined,
    )
    try {
      return await turn
    } finally {
      turns.count -= 1
      this.#count -= 1
      if (turns.count === 0) this.#owners.delete(owner)
    }
  }
}
