/** The script of a run: the seed determines the faults and their times, and the workers have time to recover. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Fault } from '../../bench/chaos/fault.ts'
import { type Play, scriptOf, SINGLE_AT_ONCE } from '../../bench/chaos/script.ts'

const fault = fc.record({
  weight: fc.integer({ min: 1, max: 20 }),
  lastsMs: fc.integer({ min: 100, max: 40_000 }),
  scope: fc.constantFrom('worker' as const, 'whole' as const, 'rows' as const, 'single' as const),
})

const options = fc.record({
  seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  faults: fc
    .array(fault, { minLength: 1, maxLength: 20 })
    .map((list) => list.map((each, index): Fault => ({ ...each, name: `fault-${index}`, run: unplayed }))),
  totalMs: fc.integer({ min: 20_000, max: 30 * 60_000 }),
  count: fc.integer({ min: 0, max: 200 }),
  quietMs: fc.integer({ min: 1000, max: 10_000 }),
  mostInTrouble: fc.integer({ min: 1, max: 4 }),
})

function unplayed(): never {
  throw new Error('a script is only written here')
}

const ends = ({ at, fault: { lastsMs } }: Play) => at + lastsMs

describe('the script of a run', () => {
  it('is the same for the same seed, and has the requested number of faults', () => {
    fc.assert(
      fc.property(options, (given) => {
        const script = scriptOf(given)
        expect(scriptOf(given)).toEqual(script)
        expect(script.plays).toHaveLength(given.count)
      }),
    )
  })

  it('has many pauses even if the most likely faults are long, because it draws only as many as fit', () => {
    const kinds = [
      { scope: 'whole', lastsMs: 20_000, weight: 20 },
      { scope: 'worker', lastsMs: 12_000, weight: 20 },
      { scope: 'rows', lastsMs: 3000, weight: 1 },
    ] as const
    const faults = kinds.map((kind): Fault => ({ ...kind, name: kind.scope, run: unplayed }))
    const totalMs = 30 * 60_000
    const script = scriptOf({ seed: 1, faults, totalMs, count: 510, quietMs: 7000, mostInTrouble: 2 })
    expect(script.bursts.length).toBeGreaterThan(60)
    const lastsMs = script.bursts.reduce((ms, burst) => ms + burst + 7000, 0)
    expect(lastsMs).toBeLessThan(1.35 * totalMs)
    const named = (name: string) => script.plays.filter(({ fault: { name: own } }) => own === name).length
    expect([named('whole'), named('worker')].every((count) => count > 50)).toBe(true)
  })

  it('differs for another seed', () => {
    const faults = ['a', 'b', 'c'].map(
      (name): Fault => ({ name, weight: 1, lastsMs: 2000, scope: 'rows', run: unplayed }),
    )
    const of = (seed: number) =>
      scriptOf({ seed, faults, totalMs: 180_000, count: 40, quietMs: 6000, mostInTrouble: 2 })
    expect(of(1)).not.toEqual(of(2))
  })

  it('never has two system-wide faults at once', () => {
    fc.assert(
      fc.property(options, (given) => {
        const { plays, bursts } = scriptOf(given)
        for (const burst of bursts.keys()) {
          const whole = plays
            .filter((play) => play.burst === burst && play.fault.scope === 'whole')
            .toSorted((a, b) => a.at - b.at)
          for (const [index, play] of whole.entries()) {
            const next = whole[index + 1]
            if (next !== undefined) expect(next.at).toBeGreaterThanOrEqual(ends(play))
          }
        }
      }),
    )
  })

  it('never combines a fault on single rows with a system-wide fault in one burst [L80]', () => {
    fc.assert(
      fc.property(options, (given) => {
        const { plays, bursts } = scriptOf(given)
        for (const burst of bursts.keys()) {
          const those = plays.filter((play) => play.burst === burst)
          const scopes = new Set(those.map(({ fault: { scope } }) => scope))
          expect(scopes.has('single') && scopes.has('whole')).toBe(false)
          const single = those.filter(({ fault: { scope } }) => scope === 'single')
          for (const { at } of single) {
            const then = single.filter((play) => play.at <= at && at < ends(play))
            expect(then.length).toBeLessThanOrEqual(SINGLE_AT_ONCE)
          }
        }
      }),
    )
  })

  it('never affects more workers at once than allowed', () => {
    fc.assert(
      fc.property(options, (given) => {
        const plays = scriptOf(given).plays.filter(({ fault: { scope } }) => scope === 'worker')
        for (const { burst, at } of plays) {
          const then = plays.filter((play) => play.burst === burst && play.at <= at && at < ends(play))
          expect(then.length).toBeLessThanOrEqual(given.mostInTrouble)
        }
      }),
    )
  })

  it('keeps every fault within its burst, and has at least one burst unless it has no faults', () => {
    fc.assert(
      fc.property(options, (given) => {
        const { plays, bursts } = scriptOf(given)
        for (const play of plays) expect(ends(play)).toBeLessThanOrEqual(bursts[play.burst] ?? -1)
        if (given.count === 0) return
        expect(bursts.length).toBeGreaterThanOrEqual(1)
      }),
    )
  })

  it('contains every kind of fault at least once if it has at least as many faults as there are kinds', () => {
    fc.assert(
      fc.property(options, (given) => {
        fc.pre(given.count >= given.faults.length)
        const played = new Set(scriptOf(given).plays.map(({ fault: { name } }) => name))
        expect(played.size).toBe(given.faults.length)
      }),
    )
  })

  it('draws faults with a larger weight more often', () => {
    const make = (name: string, weight: number): Fault => ({
      name,
      weight,
      lastsMs: 1000,
      scope: 'rows',
      run: unplayed,
    })
    const { plays } = scriptOf({
      seed: 7,
      faults: [make('rare', 1), make('often', 9)],
      totalMs: 1_800_000,
      count: 1000,
      quietMs: 6000,
      mostInTrouble: 2,
    })
    const often = plays.filter(({ fault: { name } }) => name === 'often').length
    expect(often).toBeGreaterThan(850)
    expect(often).toBeLessThan(950)
  })

  it('is rejected without faults', () => {
    expect(() =>
      scriptOf({ seed: 1, faults: [], totalMs: 60_000, count: 3, quietMs: 6000, mostInTrouble: 2 }),
    ).toThrow('no faults to play')
  })
})
