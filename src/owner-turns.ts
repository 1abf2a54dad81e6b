/**
 * Runs writes that count against the limits of an owner one after the other: of two concurrent calls, both would otherwise
 * find that one more is allowed. Few calls may wait; further ones are refused, so that no owner fills the memory.
 */
import { OverloadedError } from './errors.ts'

const MOST_WAITING = { ofOwner: 32, inAll: 256 }

export class OwnerTurns {
  /** By owner: the last turn, and how many have not ended. */
  readonly #owners = new Map<string, { last: Promise<void>; count: number }>()
  #count = 0

  /** @throws OverloadedError when too many wait already */
  async run<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    const turns = this.#owners.get(owner) ?? { last: Promise.resolve(), count: 0 }
    if (turns.count > MOST_WAITING.ofOwner || this.#count > MOST_WAITING.inAll)
      throw new OverloadedError('Too many writes of this owner are waiting already; try again in a moment')
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
