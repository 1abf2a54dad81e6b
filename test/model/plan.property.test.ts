import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { calendar } from '../../src/calendar/index.ts'
import { MAX_COUNTED } from '../../src/model/due-slots.ts'
import { elapsesOf, plan } from '../../src/model/plan.ts'
import type { Plan, Plannable } from '../../src/model/planning.ts'
import { applied, at, edited, inserted, MISSED_AFTER_MS, schedule } from './plannable.ts'
import { runs } from '../support/runs.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Timers, each with the approximate time between its elapses. */
const TIMERS: readonly (readonly [timer: string, period: number])[] = [
  ['minutely', MINUTE],
  ['minutely Europe/Berlin', MINUTE],
  ['*:*:0/7', 7000],
  ['*:0/15:0,30 America/Sao_Paulo', 15 * MINUTE],
  ['hourly Europe/Berlin', HOUR],
  ['02:30 Europe/Berlin', DAY],
  ['00:00 America/Sao_Paulo', DAY],
  ['Mon..Fri 9:00 Europe/Berlin', DAY],
  ['monthly', 30 * DAY],
  ['*-*~1 02:15 Europe/Berlin', 30 * DAY],
  ['2024-10-27 02:30 Europe/Berlin', HOUR],
  ['2024-10-27 00:30', 10 * MINUTE],
]

/** An instant near a clock change: Berlin 2024-10-27 and 2024-03-31, Sao Paulo 2018-02-18 and 2018-11-04. */
const start = fc
  .tuple(
    fc.constantFrom('2024-10-27T00:00Z', '2024-03-31T00:00Z', '2018-02-18T01:00Z', '2018-11-04T02:00Z'),
    fc.integer({ min: -3 * HOUR, max: 3 * HOUR }),
  )
  .map(([change, offset]) => new Date(Date.parse(change) + offset))

/** How long no worker runs, in periods of the timer: often a few at most, sometimes many. */
const absence = fc.oneof(
  fc.double({ min: 0, max: 2, noNaN: true }),
  fc.double({ min: 0, max: 60, noNaN: true }),
  fc.integer({ min: 0, max: 3 }),
)

interface Life {
  readonly row: Plannable
  readonly period: number
  readonly start: Date
  readonly steps: readonly { readonly absence: number; readonly active: boolean; readonly exactly: boolean }[]
}

const life: fc.Arbitrary<Life> = fc
  .record({
    timer: fc.constantFrom(...TIMERS),
    catchUp: fc.constantFrom(0, 1, 2, 5, 1000),
    start,
    steps: fc.array(
      // `exactly`: plan exactly on the minute. In a repeated hour, the current time can then have the same local time
      // as an earlier slot.
      fc.record({ absence, active: fc.boolean(), exactly: fc.boolean() }),
      { minLength: 1, maxLength: 12 },
    ),
  })
  .map(({ timer: [timer, period], catchUp, start, steps }) => ({
    // The row as an edit leaves it, so earlier slots do not count.
    row: inserted({ timer, catchUp, plannedDefinition: 'another' }),
    period,
    start,
    steps,
  }))

/** The elapses between two instants, found by the calendar's own iteration. */
function elapses(timer: string, after: Date, until: Date): number[] {
  const found: number[] = []
  const event = calendar(timer)
  for (let at = event.next(after); at !== null && at <= until; at = event.next(at)) found.push(at.getTime())
  return found
}

function required(planned: Plan | null): Plan {
  if (planned === null) throw new Error('expected a plan')
  return planned
}

const times = (slots: readonly { readonly slot: Date }[]) => slots.map(({ slot }) => slot.getTime())

describe('during absences, overlaps and clock changes', () => {
  test('each slot is decided exactly once, on time and in order [S3]', () => {
    fc.assert(
      fc.property(life, ({ row: first, period, start, steps }) => {
        let now = start
        let row = applied(first, required(plan(first, at(now))))
        // Undecided slots, from an independent enumeration.
        let pending: number[] = []
        let enumerated = now
        for (const { absence, active, exactly } of steps) {
          now = new Date(now.getTime() + Math.round(absence * period))
          if (exactly) now = new Date(Math.ceil(now.getTime() / MINUTE) * MINUTE)
          const more = elapses(row.timer, enumerated, now)
          pending = [...pending, ...more]
          // Continue from the last elapse, because the local time alone is ambiguous in the repeated hour.
          enumerated = new Date(more.at(-1) ?? enumerated)

          const planned = plan(row, at(now, active))
          if (planned === null) {
            expect(pending).toEqual([])
            continue
          }
          const { runs, skips } = planned
          expect(pending.length).toBeGreaterThan(0)
          const missedSkip = skips.find(({ reason }) => reason === 'missed')
          const overlap = skips.find(({ reason }) => reason === 'overlap')

          // Every past slot is a run or is counted in a skip: the oldest are dropped and the newest are kept.
          const dropped = missedSkip?.count ?? 0
          const kept = active ? (overlap?.count ?? 0) : runs.length
          expect(dropped + kept).toBe(pending.length)
          if (missedSkip !== undefined) expect(missedSkip.slot.getTime()).toBe(pending[dropped - 1])
          if (active) {
            expect(runs).toEqual([])
            if (overlap !== undefined) expect(overlap.slot.getTime()).toBe(pending.at(-1))
          } else {
            expect(overlap).toBeUndefined()
            expect(times(runs)).toEqual(pending.slice(dropped))
            expect(runs.map(({ state }) => state)).toEqual(
              runs.map((_, index) => (index === 0 ? 'waiting' : 'blocked')),
            )
            expect(runs.map(({ missed }) => missed)).toEqual(
              runs.map((_, index) => (index === 0 ? dropped : 0)),
            )
          }

          // catch_up limits the slots that are kept, no matter when the worker returns; 0 keeps a slot that is on time.
          const newest = pending.at(-1) ?? Number.NaN
          const onTime = now.getTime() - newest <= MISSED_AFTER_MS ? 1 : 0
          expect(kept).toBe(Math.min(pending.length, row.catchUp === 0 ? onTime : row.catchUp))

          expect(planned.nextRunAt?.getTime() ?? Infinity).toBeGreaterThan(now.getTime())
          expect(planned.idle).toBe(planned.nextRunAt === null ? 'done' : null)
          expect(planned.lastSlot?.getTime()).toBe(newest)
          pending = []
          row = applied(row, planned)
          expect(plan(row, at(now, active))).toBeNull()
        }
      }),
      runs(1500),
    )
  })

  test('after downtime, catch_up limits the number of runs, no matter when the worker returns [S5]', () => {
    const timers = [
      ['cron * * * * *', MINUTE],
      ['hourly', HOUR],
      ['every 2h', 2 * HOUR],
      ['every 2h after finish', 2 * HOUR],
    ] as const
    const nextRunAt = new Date('2026-03-01T00:00:00Z')
    fc.assert(
      fc.property(
        fc.constantFrom(...timers),
        fc.constantFrom(0, 1, 3),
        fc.integer({ min: 0, max: 2 * HOUR }),
        ([timer, period], catchUp, moment) => {
          const now = new Date(nextRunAt.getTime() + 12 * HOUR + moment)
          const row = schedule({ timer, catchUp, nextRunAt, createdAt: new Date('2026-02-28T22:00:00Z') })
          const planned = required(plan(row, at(now)))
          const single = timer.endsWith('finish')
          const due = single ? 1 : Math.floor((12 * HOUR + moment) / period) + 1
          const onTime = !single && (12 * HOUR + moment) % period <= MISSED_AFTER_MS ? 1 : 0
          expect(planned.runs.length).toBe(catchUp === 0 ? onTime : Math.min(catchUp, due))
          expect(planned.runs.length + (planned.skips[0]?.count ?? 0)).toBe(due)
        },
      ),
      runs(1000),
    )
  })

  test('a slot that is on time never counts as missed [L4]', () => {
    fc.assert(
      fc.property(life, fc.integer({ min: 0, max: MISSED_AFTER_MS }), ({ row: first, start }, late) => {
        const row = applied(first, required(plan(first, at(start))))
        if (row.nextRunAt === null) return
        const now = new Date(row.nextRunAt.getTime() + late)
        if (elapses(row.timer, row.nextRunAt, now).length > 0) return
        expect(times(required(plan(row, at(now))).runs)).toEqual([row.nextRunAt.getTime()])
      }),
    )
  })
})

/** Whether a last slot decided while the clock was ahead is replaced, because nextrun was set manually or is NULL. */
function isRepaired({ lastSlot, nextRunAt, plannedRun }: Plannable, now: Date): boolean {
  const isPlannedAgain = nextRunAt === null || nextRunAt.getTime() !== plannedRun?.getTime()
  return isPlannedAgain && lastSlot !== null && lastSlot.getTime() - now.getTime() > MINUTE
}

/**
 * The last slot as the plan uses it: all slots of the plan are later. A last slot that was decided while the clock was
 * ahead is replaced if the row is planned again, and does not count if another slot is due.
 */
function heldBackBy(row: Plannable, now: Date): number {
  if (!isRepaired(row, now)) {
    const { lastSlot, nextRunAt } = row
    const isAhead = lastSlot !== null && lastSlot.getTime() - now.getTime() > MINUTE
    if (isAhead && nextRunAt !== null && nextRunAt <= now) return nextRunAt.getTime() - 1
    return lastSlot?.getTime() ?? -Infinity
  }
  return (
    required(plan({ ...row, nextRunAt: null, plannedRun: null }, at(now))).lastSlot?.getTime() ?? -Infinity
  )
}

const anyRow = fc
  .record({
    timer: fc.constantFrom(...TIMERS.map(([timer]) => timer)),
    catchUp: fc.nat(3),
    nextRunAt: fc.option(start),
    lastSlot: fc.option(start),
  })
  .map((given): Plannable => schedule(given))

describe('the origin of nextrun determines its meaning', () => {
  const anyTimer = fc.constantFrom(
    ...TIMERS.map(([timer]) => timer),
    'cron 0,30 1-3 * * 1-5 Europe/Berlin',
    'cron 30 2 * * * America/Sao_Paulo',
    '*:*:0/0.3337',
    'every 7ms',
    'every 13h',
  )
  const anyJitter = fc.constantFrom(0, 0, 1, 1000, 7 * MINUTE)

  test('a nextrun from the planner is always an elapse of the timer, so it becomes the slot of its run [S14]', () => {
    fc.assert(
      fc.property(
        anyTimer,
        anyJitter,
        fc.option(start),
        start,
        start,
        (timer, jitter, starts, one, other) => {
          const [created, now] = one < other ? [one, other] : [other, one]
          const row = inserted({ timer, jitter, starts, createdAt: created, catchUp: 0 })
          const first = applied(row, required(plan(row, at(now))))
          if (first.nextRunAt === null) return
          const { runs: ran, lastSlot } = required(plan(first, at(first.nextRunAt)))
          expect(times(ran)).toContain(first.nextRunAt.getTime())
          expect(lastSlot).toEqual(first.nextRunAt)
        },
      ),
      runs(2000),
    )
  })

  test('even if the stored nextrun from the planner is not an elapse, the decided slots and the new next run are elapses', () => {
    fc.assert(
      fc.property(anyTimer, start, fc.integer({ min: 1, max: 2 * HOUR }), (timer, at1, ms) => {
        const lastSlot = new Date(at1.getTime() - ms)
        const row = schedule({ timer, createdAt: new Date(0), nextRunAt: at1, lastSlot })
        const { runs: ran, skips, nextRunAt } = required(plan(row, at(at1)))
        const event = elapsesOf(row, at1)
        for (const { slot } of [...ran, ...skips]) {
          expect(event.next(new Date(slot.getTime() - 1))).toEqual(slot)
          expect(slot.getTime()).toBeGreaterThan(lastSlot.getTime())
        }
        expect(ran.length + skips.length).toBeLessThanOrEqual(3)
        if (nextRunAt !== null) expect(event.next(new Date(nextRunAt.getTime() - 1))).toEqual(nextRunAt)
      }),
      runs(2000),
    )
  })
})

describe('workers with different zone data', () => {
  test('run a daily schedule once a day, regardless of which worker plans it', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (isFirst) => {
        // Imitates zone data that differs by an hour: one worker plans for 09:00, the other for 08:00.
        const as = (row: Plannable, first: boolean) => ({ ...row, timer: first ? '09:00' : '08:00' })
        const created = inserted({ timer: '09:00', definition: 'daily' })
        let row = applied(created, required(plan(created, at('2026-03-01T00:00Z'))))
        const days: string[] = []
        for (const first of isFirst) {
          if (row.nextRunAt === null) break
          const planned = required(plan(as(row, first), at(row.nextRunAt)))
          days.push(...planned.runs.map(({ slot }) => slot.toISOString().slice(0, 10)))
          expect(planned.skips).toEqual([])
          row = applied(row, planned)
        }
        expect(days.length).toBeGreaterThanOrEqual(30)
        expect(days).toEqual(
          days.map((_, day) => new Date(Date.UTC(2026, 2, 1 + day)).toISOString().slice(0, 10)),
        )
      }),
      runs(500),
    )
  })
})

describe('for any row, clock and previous run', () => {
  test('slots increase, nothing is early, the next run is in the future, and a second plan changes nothing', () => {
    fc.assert(
      fc.property(anyRow, start, fc.boolean(), fc.option(start), (given, now, active, byHand) => {
        const row = { ...given, nextRunAt: byHand ?? given.nextRunAt }
        const planned = plan(row, at(now, active))
        if (planned === null) return
        const { runs, skips, nextRunAt, lastSlot } = planned
        const slots = times([...skips, ...runs])
        const least = heldBackBy(row, now)
        expect(slots).toEqual([...new Set(slots)].toSorted((a, b) => a - b))
        for (const slot of slots) {
          expect(slot).toBeGreaterThan(least)
          // If a future slot is already decided, the new slot can be the millisecond after it.
          expect(slot).toBeLessThanOrEqual(Math.max(now.getTime(), least + 1))
        }
        const unchanged = isRepaired(row, now) ? least : (row.lastSlot?.getTime() ?? -Infinity)
        expect(lastSlot?.getTime() ?? -Infinity).toBe(slots.at(-1) ?? unchanged)
        expect(nextRunAt?.getTime() ?? Infinity).toBeGreaterThan(now.getTime())
        expect(runs.length).toBeLessThanOrEqual(row.catchUp + 1)
        expect(plan(applied(row, planned), at(now, active))).toBeNull()
      }),
      runs(2000),
    )
  })

  test('a last slot decided while the clock was ahead becomes the newest past slot, or the current time [L68]', () => {
    fc.assert(
      fc.property(anyRow, start, (given, now) => {
        const row = { ...given, nextRunAt: null }
        fc.pre(isRepaired(row, now))
        const slot = required(plan(row, at(now))).lastSlot ?? new Date(Number.NaN)
        expect(slot.getTime()).toBeLessThanOrEqual(now.getTime())
        expect(calendar(row.timer).next(slot)?.getTime() ?? Infinity).toBeGreaterThan(now.getTime())
        if (slot < now) expect(calendar(row.timer).next(new Date(slot.getTime() - 1))).toEqual(slot)
      }),
      runs(1000),
    )
  })

  test('an edit fires nothing, and planning continues from now [S6, L14]', () => {
    fc.assert(
      fc.property(anyRow, start, fc.boolean(), fc.constantFrom(...TIMERS), (given, now, active, [timer]) => {
        const row = edited({ ...given, definition: 'before', plannedDefinition: 'before' }, timer)
        const planned = required(plan(row, at(now, active)))
        const from = isRepaired(row, now)
          ? now.getTime()
          : Math.max(now.getTime(), row.lastSlot?.getTime() ?? 0)
        expect(planned).toMatchObject({
          runs: [],
          skips: [],
          nextRunAt: calendar(timer).next(new Date(from)),
        })
        if (!isRepaired(row, now)) expect(planned.lastSlot).toEqual(row.lastSlot)
      }),
      runs(500),
    )
  })

  test('a manually set nextrun in the past becomes one run now or one recorded overlap', () => {
    fc.assert(
      fc.property(
        anyRow,
        start,
        fc.boolean(),
        fc.integer({ min: 0, max: 400 * DAY }),
        (given, now, active, ago) => {
          const nextRunAt = new Date(now.getTime() - ago)
          fc.pre(given.plannedRun?.getTime() !== nextRunAt.getTime())
          const row = { ...given, nextRunAt }
          const planned = required(plan(row, at(now, active)))
          const slot = Math.max(now.getTime(), heldBackBy(row, now) + 1)
          expect(times(active ? planned.skips : planned.runs)).toEqual([slot])
          expect(active ? planned.runs : planned.skips).toEqual([])
          if (active) expect(planned.skips[0]).toMatchObject({ reason: 'overlap', count: 1 })
          else expect(planned.runs[0]).toMatchObject({ missed: 0, state: 'waiting' })
        },
      ),
      runs(500),
    )
  })

  test('a manually set nextrun in the future is kept, and nothing runs before it', () => {
    fc.assert(
      fc.property(anyRow, start, fc.integer({ min: 1, max: 400 * DAY }), (given, now, ahead) => {
        const nextRunAt = new Date(now.getTime() + ahead)
        fc.pre(given.plannedRun?.getTime() !== nextRunAt.getTime())
        const row = { ...given, nextRunAt }
        const planned = required(plan(row, at(now)))
        expect(planned).toMatchObject({ runs: [], skips: [], nextRunAt })
        expect(plan(applied(row, planned), at(new Date(nextRunAt.getTime() - 1)))).toBeNull()
      }),
    )
  })

  test('a disabled schedule does nothing', () => {
    fc.assert(
      fc.property(anyRow, start, fc.option(start), (given, now, byHand) => {
        const row = { ...given, enabled: false, nextRunAt: byHand ?? given.nextRunAt }
        const planned = plan(row, at(now))
        if (planned !== null)
          expect(planned).toMatchObject({ runs: [], skips: [], nextRunAt: null, idle: null })
      }),
    )
  })

  test('a schedule whose timer is invalid text becomes invalid and records an error', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), start, (text, now) => {
        const planned = required(plan(inserted({ timer: `${text}!` }), at(now)))
        expect(planned).toMatchObject({ runs: [], skips: [], nextRunAt: null, idle: 'invalid' })
        expect(planned.lastError).not.toBe('')
      }),
    )
  })
})

describe('after a long absence', () => {
  test('at most 10,000 missed slots are counted, the newest are kept, and planning continues from now', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0, 1, 3),
        fc.integer({ min: 10_010, max: 2_000_000_000 }),
        (catchUp, seconds) => {
          const nextRunAt = new Date('2024-10-20T00:00Z')
          const now = new Date(nextRunAt.getTime() + seconds * 1000 + 500)
          const planned = required(
            plan(schedule({ timer: '*:*:* Europe/Berlin', nextRunAt, catchUp }), at(now)),
          )
          expect(planned.skips).toHaveLength(1)
          expect(planned.skips[0]?.count).toBe(MAX_COUNTED)
          expect(planned.runs.length).toBeLessThanOrEqual(catchUp + 1)
          expect(planned.nextRunAt?.getTime()).toBeGreaterThan(now.getTime())
        },
      ),
      runs(30),
    )
  })
})
