import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { elapsesOf, plan } from '../../src/model/plan.ts'
import type { FrozenTime } from '../../src/model/planning.ts'
import { runs } from '../support/runs.ts'
import { at, schedule } from './plannable.ts'

const MINUTE = 60_000
const START = Date.parse('2026-03-01T09:00:00Z')

const freezes = fc.array(
  fc.tuple(fc.integer({ min: -120, max: 600 }), fc.integer({ min: 1, max: 240 })).map(
    ([from, minutes]): FrozenTime => ({
      from: new Date(START + from * MINUTE),
      until: new Date(START + (from + minutes) * MINUTE),
    }),
  ),
  { maxLength: 4 },
)
const minuteOf = (minutes: number) => new Date(START + minutes * MINUTE)
const absence = {
  timer: fc.constantFrom('*:0/7', 'hourly', 'every 25min', '*:0,1,2'),
  catchUp: fc.constantFrom(0, 1, 2, 5, 1000),
  minutes: fc.integer({ min: 0, max: 700 }),
  freezes,
  /** The end of the freeze that held the row. The freeze itself may have been deleted. */
  held: fc.option(fc.integer({ min: 0, max: 600 })),
}

/** Whether a slot becomes due during a freeze. For a deleted freeze, only the end is known. */
function frozenAt(freezes: readonly FrozenTime[], first: Date | null, heldUntil: Date | null) {
  const isKnown = freezes.some(
    ({ from, until }) => heldUntil !== null && first !== null && from <= heldUntil && until > first,
  )
  return (slot: Date) =>
    freezes.some(({ from, until }) => slot >= from && slot < until) ||
    (heldUntil !== null && !isKnown && slot < heldUntil)
}

test('every slot is decided once, and no slot during a freeze runs', () => {
  fc.assert(
    fc.property(fc.record(absence), ({ timer, catchUp, minutes, freezes: times, held }) => {
      const row = schedule({
        timer,
        catchUp,
        overlap: 'allow',
        nextRunAt: elapsesOf(schedule({ timer }), new Date(START)).next(new Date(START - 1)),
        lastSlot: new Date(START - 1),
        frozenUntil: held === null ? null : minuteOf(held),
      })
      const now = minuteOf(minutes)
      const planned = plan(row, { ...at(now), freezes: times })
      if (planned === null) return
      if (planned.frozenUntil !== null) {
        // The row is held, so nothing is decided.
        expect(planned).toMatchObject({
          runs: [],
          skips: [],
          nextRunAt: row.nextRunAt,
          lastSlot: row.lastSlot,
        })
        expect(times.some(({ from, until }) => from <= now && until > now)).toBe(true)
        return
      }
      expect(times.every(({ from, until }) => from > now || until <= now)).toBe(true)
      const isFrozen = frozenAt(times, row.nextRunAt, row.frozenUntil)
      const slots: Date[] = []
      const event = elapsesOf(row, now)
      for (let slot = row.nextRunAt; slot !== null && slot <= now; slot = event.next(slot)) slots.push(slot)
      const free = slots.filter((slot) => !isFrozen(slot))
      const newest = planned.runs.map(({ slot }) => slot.getTime())
      expect(newest).toEqual(free.slice(free.length - newest.length).map((slot) => slot.getTime()))
      if (catchUp > 0) expect(newest).toHaveLength(Math.min(catchUp, free.length))
      else expect(newest.length).toBeLessThanOrEqual(1)
      const counted = (reason: string) =>
        planned.skips.filter((skip) => skip.reason === reason).reduce((sum, { count }) => sum + count, 0)
      expect(counted('frozen')).toBe(slots.length - free.length)
      expect(counted('missed')).toBe(free.length - newest.length)
      for (const { slot, reason } of planned.skips) expect(isFrozen(slot)).toBe(reason === 'frozen')
      const skipped = planned.skips.map(({ slot }) => slot.getTime())
      expect(new Set([...skipped, ...newest]).size).toBe(skipped.length + newest.length)
      expect(planned.lastSlot).toEqual(slots.at(-1))
      expect(planned.nextRunAt).toEqual(event.next(now))
    }),
    runs(2000),
  )
})

test('after a manual run, only slots that became due outside of freezes are made up, by one run', () => {
  const passed = fc.record({ ...absence, manual: fc.integer({ min: 0, max: 600 }) })
  fc.assert(
    fc.property(passed, ({ timer, catchUp, minutes, freezes: times, held, manual }) => {
      const first = elapsesOf(schedule({ timer }), new Date(START)).next(new Date(START - 1))
      const now = minuteOf(minutes)
      const lastSlot = minuteOf(manual)
      fc.pre(first !== null && first <= lastSlot && lastSlot <= now && (held ?? 0) <= minutes)
      fc.pre(times.every(({ from, until }) => from > now || until <= now))
      const row = schedule({
        timer,
        catchUp,
        overlap: 'allow',
        nextRunAt: first,
        lastSlot,
        frozenUntil: held === null ? null : minuteOf(held),
      })
      const event = elapsesOf(row, now)
      const isFrozen = frozenAt(times, first, row.frozenUntil)
      const slots: Date[] = []
      for (let slot: Date | null = first; slot !== null && slot <= lastSlot; slot = event.next(slot))
        slots.push(slot)
      const planned = plan(row, { ...at(now), freezes: times })
      const next = event.next(lastSlot)
      if (!slots.every(isFrozen)) {
        const slot = lastSlot < now ? now : new Date(now.getTime() + 1)
        expect(planned).toMatchObject({ runs: [{ slot }], nextRunAt: event.next(now) })
      } else if (next !== null && next > now) expect(planned).toMatchObject({ runs: [], nextRunAt: next })
      else {
        const later = schedule({ ...row, nextRunAt: next, plannedRun: next })
        expect(planned).toEqual(plan(later, { ...at(now), freezes: times }))
      }
    }),
    runs(2000),
  )
})
