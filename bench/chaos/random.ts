/** Random numbers from a seed, so that a run can be repeated. */
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'

export interface Random {
  /** An integer between `low` and `high`, inclusive. */
  int(low: number, high: number): number
  /** True with probability `share`, between 0 and 1. */
  chance(share: number): boolean
  pick<Item>(items: readonly Item[]): Item
  /** A separate stream, determined by the seed and the name. Draws from either stream do not affect the other. */
  fork(name: string): Random
}

/** @param seed  an integer */
export function randomOf(seed: number): Random {
  const generator = xoroshiro128plus(seed)
  const int = (low: number, high: number) => uniformInt(generator, low, high)
  return {
    int,
    chance: (share) => int(0, 999_999) < share * 1_000_000,
    pick: (items) => {
      const item = items[int(0, items.length - 1)]
      if (item === undefined) throw new RangeError('nothing to pick from')
      return item
    },
    fork: (name) => randomOf(hash(`${seed} ${name}`)),
  }
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193)
  return value | 0
}
