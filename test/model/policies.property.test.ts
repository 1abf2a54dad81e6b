/**
 * Random combinations of policies and circumstances (downtime, overlap, catch_up, kinds of timers, clock changes,
 * max_runs, jitter, starts and ends), over the lives of schedules whose jobs wait, run, succeed, fail or are cancelled.
 */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { calendar } from '../../src/calendar/index.ts'
import type { Plannable } from '../../src/model/planning.ts'
import { finish } from '../../src/model/settle.ts'
import { jitterShiftMs } from '../../src/model/jitter.ts'
import { plan } from '../../src/model/plan.ts'
import type { OpenJobs, Plan } from '../../src/model/planning.ts'
import type { Overlap } from '../../src/model/settings.ts'
import { claimed, countOf, ended, type Life, openOf, submitted } from './life.ts'
import { at, edited, inserted, MISSED_AFTER_MS, schedule } from './plannable.ts'
import { runs } from '../support/runs.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const CREATED = Date.parse('2018-01-01T00:00:30.250Z')

/** A timer, the approximate time between its elapses, and a way to find them without the code under test. */
interface TimerUnderTest {
  readonly text: string
  readonly period: number
  readonly next: (after: number) => number | null
}

const event = (text: string, period: number, fold: 'first' | 'both' = 'first'): TimerUnderTest => {
  const made = calendar(text, { fold })
  return { text, period, next: (after) => made.next(new Date(after))?.getTime() ?? null }
}
/** A cron timer, which runs twice in a repeated hour. @param events  the equivalent calendar events */
const cron = (fields: string, period: number, ...events: string[]): TimerUnderTest => {
  const made = events.map((text) => event(text, period, 'both'))
  return {
    text: `cron ${fields}`,
    period,
    next: (after) => Math.min(...made.map(({ next }) => next(after) ?? Infinity)),
  }
}
const every = (span: string, period: number): TimerUnderTest => ({
  text: `every ${span}`,
  period,
  next: (after) => CREATED + Math.max(1, Math.floor((after - CREATED) / period) + 1) * period,
})

const TIMERS: readonly TimerUnderTest[] = [
  event('minutely Europe/Berlin', MINUTE),
  event('hourly Europe/Berlin', HOUR),
  event('02:30 Europe/Berlin', DAY),
  event('00:00 America/Sao_Paulo', DAY),
  event('*-*~1 02:15 Europe/Berlin', 30 * DAY),
  event('2024-10-27 02:30 Europe/Berlin', HOUR),
  event('2018-11-04 03:30', 10 * MINUTE),
  cron('0 * * * * Europe/Berlin', HOUR, '*:00 Europe/Berlin'),
  cron('30 2 * * * Europe/Berlin', DAY, '02:30 Europe/Berlin'),
  cron('15 1,2 27 * 0 Europe/Berlin', 2 * DAY, 'Sun 1,2:15 Europe/Berlin', '*-*-27 1,2:15 Europe/Berlin'),
  every('7min', 7 * MINUTE),
  every('1h', HOUR),
  every('36h', 36 * HOUR),
]

/** An instant near a clock change: Berlin 2024-10-27 and 2024-03-31, Sao Paulo 2018-02-18 and 2018-11-04. */
const start = fc
  .tuple(
    fc.constantFrom('2024-10-27T00:00Z', '2024-03-31T00:00Z', '2018-02-18T01:00Z', '2018-11-04T02:00Z'),
    fc.integer({ min: -3 * HOUR, max: 3 * HOUR }),
  )
  .map(([change, offset]) => Date.parse(change) + offset)

interface Step {
  /** The time before this step, in periods of the timer. */
  readonly absence: number
  /**
   * Whether to plan exactly on the minute. In a repeated hour, the current time can then have the same local time as an
   * earlier slot.
   */
  readonly exactly: boolean
  readonly end: 'success' | 'failed' | 'cancelled' | null
  readonly claims: boolean
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    absence: fc.oneof(
      fc.double({ min: 0, max: 2, noNaN: true }),
      fc.double({ min: 0, max: 40, noNaN: true }),
      fc.integer({ min: 0, max: 3 }),
    ),
    exactly: fc.boolean(),
    end: fc.constantFrom('success', 'success', 'failed', 'cancelled', null, null),
    claims: fc.boolean(),
  }),
  { minLength: 1, maxLength: 14 },
)

const policies = fc.record({
  overlap: fc.constantFrom<Overlap>('skip', 'queue-one', 'replace', 'allow'),
  catchUp: fc.constantFrom(0, 1, 2, 5, 1000),
  maxRuns: fc.constantFrom(null, null, 1, 2, 4),
  onExhausted: fc.constantFrom('continue', 'continue', 'stop'),
  jitter: fc.constantFrom(0, 0, 1, 90_000, HOUR),
  id: fc.constantFrom('report', 'r2', 'r3'),
})

/** The bounds of a life, in periods of its timer from the start of the life; null for none. */
const bounds = fc.record({
  /** Whether the bounds are elapses. */
  exactly: fc.boolean(),
  starts: fc.option(fc.double({ min: -3, max: 6, noNaN: true }), { freq: 3 }),
  ends: fc.option(fc.double({ min: 0, max: 60, noNaN: true }), { freq: 3 }),
})

function birth(
  timer: TimerUnderTest,
  from: number,
  given: Omit<Partial<Plannable>, 'timer'>,
  within: { readonly exactly: boolean; readonly starts: number | null; readonly ends: number | null },
): Plannable {
  // The row as an edit leaves it, so earlier slots do not count.
  const row = inserted({
    timer: timer.text,
    createdAt: new Date(CREATED),
    plannedDefinition: 'another',
    ...given,
  })
  const shift = jitterShiftMs(row.id, row.jitter)
  const bound = (periods: number | null) => {
    if (periods === null) return null
    const about = from + Math.round(periods * timer.period)
    const elapse = timer.next(about - shift)
    return new Date(within.exactly && elapse !== null && Number.isFinite(elapse) ? elapse + shift : about)
  }
  return {
    ...row,
    starts: bound(within.starts),
    ends: bound(within.ends),
  }
}

function required(planned: Plan | null): Plan {
  if (planned === null) throw new Error('expected a plan')
  return planned
}

const times = (slots: readonly { readonly slot: Date }[]) => slots.map(({ slot }) => slot.getTime())
const counted = ({ skips }: Plan, reason: string) =>
  skips.filter((skip) => skip.reason === reason).reduce((sum, { count }) => sum + count, 0)

/** The elapses of a row, found by the timer's own iteration; each is returned once. */
class Walk {
  readonly #timer: TimerUnderTest
  readonly #row: Plannable
  readonly #shift: number
  #last: number

  constructor(timer: TimerUnderTest, row: Plannable, from: number) {
    this.#timer = timer
    this.#row = row
    this.#shift = jitterShiftMs(row.id, row.jitter)
    this.#last = Math.max(from, (row.starts?.getTime() ?? -Infinity) - 1)
  }

  peek(): number | null {
    const next = this.#timer.next(this.#last - this.#shift)
    if (next === null || !Number.isFinite(next)) return null
    const slot = next + this.#shift
    return slot > (this.#row.ends?.getTime() ?? Infinity) ? null : slot
  }

  until(now: number): number[] {
    const found: number[] = []
    for (let slot = this.peek(); slot !== null && slot <= now; slot = this.peek()) {
      found.push(slot)
      this.#last = slot
    }
    return found
  }
}

/** Checks the rules that hold for every plan. */
function expectSound(life: Life, planned: Plan, now: number): void {
  const { row } = life
  const { runs, skips, nextRunAt, idle } = planned
  const open = openOf(life)
  const slots = times([...skips, ...runs]).toSorted((a, b) => a - b)
  expect(slots).toEqual([...new Set(slots)])
  expect(times(runs)).toEqual(times(runs).toSorted((a, b) => a - b))
  expect(slots[0] ?? Infinity).toBeGreaterThan(row.lastSlot?.getTime() ?? -Infinity)
  expect(slots.at(-1) ?? -Infinity).toBeLessThanOrEqual(now)
  expect(planned.lastSlot?.getTime() ?? -Infinity).toBe(slots.at(-1) ?? row.lastSlot?.getTime() ?? -Infinity)
  expect(nextRunAt?.getTime() ?? Infinity).toBeGreaterThan(now)
  expect(nextRunAt === null).toBe(idle !== null)
  expect(runs.length).toBeLessThanOrEqual(Math.max(1, row.catchUp))
  for (const { count } of skips) expect(count).toBeGreaterThan(0)

  const after = submitted(life, planned)
  const left = openOf(after)
  if (row.overlap === 'allow') expect(runs.every(({ state }) => state === 'waiting')).toBe(true)
  else expect(left.waiting + left.running).toBeLessThanOrEqual(Math.max(1, open.waiting + open.running))
  if (countOf(open) > 0) {
    if (row.overlap === 'skip') expect(runs).toEqual([])
    if (row.overlap === 'queue-one' && runs.length > 0) expect([open.blocked, left.blocked]).toEqual([0, 1])
    if (row.overlap === 'replace' && runs.length > 0) {
      const others = after.jobs.filter(({ state }) => state !== 'running')
      expect(times(others)).toEqual([slots.at(-1)])
      expect(after.jobs.filter(({ state }) => state === 'running').every((job) => job.stopRequested)).toBe(
        true,
      )
    }
  }
  if (!planned.replaces) expect(after.jobs.slice(0, life.jobs.length)).toEqual(life.jobs)
  if (row.maxRuns !== null) expect(row.successes + countOf(left)).toBeLessThanOrEqual(row.maxRuns)
  expect(plan(after.row, at(new Date(now), left))).toBeNull()
}

/** Checks how many due slots become runs, and what happens to the others. */
function expectAccounted(life: Life, planned: Plan, pending: readonly number[], now: number): void {
  const { row } = life
  const open = openOf(life)
  const onTime = now - (pending.at(-1) ?? 0) <= MISSED_AFTER_MS ? 1 : 0
  const kept = Math.min(pending.length, row.catchUp === 0 ? onTime : row.catchUp)
  const chosen = chosenOf(row.overlap, open, kept)
  const stays = row.overlap === 'replace' ? open.running : countOf(open)
  const allowed = row.maxRuns === null ? Infinity : Math.max(0, row.maxRuns - row.successes - stays)
  const runs = Math.min(chosen, allowed)
  const first = pending.length - chosen
  expect(times(planned.runs)).toEqual(pending.slice(first, first + runs))
  expect(counted(planned, 'missed')).toBe(pending.length - kept)
  expect(counted(planned, 'overlap')).toBe(kept - chosen)
  expect(counted(planned, 'max-runs')).toBe(chosen - runs)
  // A skip records the newest of its slots.
  const newest = (reason: string) =>
    planned.skips.find((skip) => skip.reason === reason)?.slot.getTime() ?? null
  expect(newest('missed')).toBe(kept < pending.length ? pending[pending.length - kept - 1] : null)
  expect(newest('overlap')).toBe(chosen < kept ? pending[first - 1] : null)
  expect(newest('max-runs')).toBe(runs < chosen ? pending.at(-1) : null)
  expect(planned.runs.map(({ missed }) => missed)).toEqual(
    planned.runs.map((_, index) => (index === 0 ? pending.length - kept : 0)),
  )
}

function chosenOf(overlap: Overlap, open: OpenJobs, kept: number): number {
  if (overlap === 'allow' || countOf(open) === 0) return kept
  if (overlap === 'skip' || (overlap === 'queue-one' && open.blocked > 0)) return 0
  return Math.min(1, kept)
}

describe('with any policies', () => {
  test('each slot becomes one run or is counted in a skip with its reason, and the policies hold at each step [S3]', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...TIMERS),
        start,
        policies,
        bounds,
        steps,
        (timer, from, given, within, walked) => {
          const row = birth(timer, from, given, within)
          let now = from
          let life = submitted({ row, jobs: [] }, required(plan(row, at(new Date(now)))))
          const walk = new Walk(timer, row, from)
          expect(life.row.nextRunAt?.getTime() ?? null).toBe(walk.peek())
          for (const { absence, exactly, end, claims } of walked) {
            now += Math.round(absence * timer.period)
            if (exactly) now = Math.ceil(now / MINUTE) * MINUTE
            if (end !== null) life = ended(life, end, new Date(now))
            const planned = plan(life.row, at(new Date(now), openOf(life)))
            if (life.row.idle !== null) {
              // A schedule that is done or dead is not planned, however much time passes.
              expect(planned).toBeNull()
              return
            }
            const pending = walk.until(now)
            if (planned === null) expect(pending).toEqual([])
            else {
              expectSound(life, planned, now)
              expectAccounted(life, planned, pending, now)
              // If the only due slot becomes a run, it is exactly the announced instant, even with jitter.
              if (pending.length === 1 && planned.runs.length === 1)
                expect(planned.runs[0]?.slot).toEqual(life.row.nextRunAt)
              const isOver = planned.idle === 'done' && walk.peek() !== null
              if (isOver) expect([life.row.successes, life.jobs]).toEqual([life.row.maxRuns, []])
              else expect(planned.nextRunAt?.getTime() ?? null).toBe(walk.peek())
              life = submitted(life, planned)
            }
            if (claims) life = claimed(life)
            expect(life.row.successes).toBeLessThanOrEqual(life.row.maxRuns ?? Infinity)
          }
        },
      ),
      runs(4000),
    )
  })

  test('`after finish` never fires while a job runs, and fires one span after the job ends, whatever happens in between', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(['5min', 5 * MINUTE] as const, ['26h', 26 * HOUR] as const),
        start,
        policies,
        bounds,
        steps,
        ([span, period], from, given, within, walked) => {
          const timer: TimerUnderTest = { text: `every ${span} after finish`, period, next: () => null }
          const row = birth(timer, from, given, within)
          const nextAfter = (end: number) => {
            const next = Math.max(end + period, row.starts?.getTime() ?? -Infinity)
            return next > (row.ends?.getTime() ?? Infinity) ? null : next
          }
          let now = from
          let life = submitted({ row, jobs: [] }, required(plan(row, at(new Date(now)))))
          let expected = nextAfter(from)
          for (const { absence, end, claims } of walked) {
            expect(life.row.nextRunAt?.getTime() ?? null).toBe(expected)
            now += Math.round(absence * period)
            if (end !== null && openOf(life).running > 0) {
              life = ended(life, end, new Date(now))
              if (life.row.idle === 'dead' || life.row.idle === 'done') expected = null
              else if (life.jobs.length === 0) expected = nextAfter(now)
            }
            const planned = plan(life.row, at(new Date(now), openOf(life)))
            const isDue = expected !== null && expected <= now
            expect(planned === null).toBe(!isDue)
            if (planned !== null) {
              // Jobs are never queued, because nothing is due while a job runs.
              expect(life.jobs).toEqual([])
              expectSound(life, planned, now)
              const isDropped = given.catchUp === 0 && now - (expected ?? 0) > MISSED_AFTER_MS
              expect(times(isDropped ? planned.skips : planned.runs)).toEqual([expected])
              expect(planned.idle).toBe(
                isDropped ? (planned.nextRunAt === null ? 'done' : null) : 'awaiting-finish',
              )
              life = submitted(life, planned)
              expected = life.row.nextRunAt?.getTime() ?? null
            }
            if (claims) life = claimed(life)
            expect(life.jobs.length).toBeLessThanOrEqual(1)
          }
        },
      ),
      runs(1500),
    )
  })

  test('the plan is valid for any open jobs at any time [S4]', () => {
    const open = fc.record({ waiting: fc.nat(2), blocked: fc.nat(2), running: fc.nat(2) })
    fc.assert(
      fc.property(
        fc.constantFrom(...TIMERS),
        start,
        policies,
        open,
        fc.nat(40),
        fc.nat(3),
        (timer, from, given, { waiting, blocked, running }, periods, successes) => {
          const nextRunAt = timer.next(from)
          if (nextRunAt === null) return
          const now = nextRunAt + periods * timer.period
          const jobs = [
            ...Array.from({ length: running }, () => 'running' as const),
            ...Array.from({ length: waiting }, () => 'waiting' as const),
            ...Array.from({ length: blocked }, () => 'blocked' as const),
          ].map((state, index) => ({ slot: new Date(from - 100 + index), state, stopRequested: false }))
          const row: Plannable = {
            ...schedule({
              timer: timer.text,
              createdAt: new Date(CREATED),
              ...given,
              jitter: 0,
              successes,
            }),
            nextRunAt: new Date(nextRunAt),
            plannedRun: new Date(nextRunAt),
          }
          // After max_runs is lowered, there can be too many jobs: they stay unless they are replaced, and no job is
          // added beyond the limit.
          const isTooMany = row.maxRuns !== null && successes + jobs.length > row.maxRuns
          const planned = required(plan(row, at(new Date(now), openOf({ jobs }))))
          if (!isTooMany) expectSound({ row, jobs }, planned, now)
          else if (!planned.replaces) expect(planned.runs).toEqual([])
          else expect(successes + running + planned.runs.length).toBeLessThanOrEqual(row.maxRuns ?? Infinity)
        },
      ),
      runs(2000),
    )
  })
})

describe('jitter', () => {
  const ids = fc.string({ minLength: 1, maxLength: 40 })
  const spans = fc.integer({ min: 1, max: 2 ** 31 - 1 })

  test('jitter is the same in each pass, not negative and less than its limit [T9]', () => {
    fc.assert(
      fc.property(ids, spans, (id, span) => {
        const shift = jitterShiftMs(id, span)
        expect(shift).toBe(jitterShiftMs(id, span))
        expect(shift).toBeGreaterThanOrEqual(0)
        expect(shift).toBeLessThan(span)
        expect(Number.isInteger(shift)).toBe(true)
        expect(jitterShiftMs(id, 0)).toBe(0)
      }),
    )
  })

  test('jitter spreads a thousand schedules with the same timer over its span [T9]', () => {
    const tenths = Array.from({ length: 1000 }, (_, index) =>
      Math.floor((10 * jitterShiftMs(`s${index}`, HOUR)) / HOUR),
    )
    for (let tenth = 0; tenth < 10; tenth += 1)
      expect(tenths.filter((one) => one === tenth).length).toBeGreaterThan(60)
  })
})

const idles = fc.constantFrom(null, 'done', 'dead', 'invalid', 'retired', 'awaiting-finish')
const finishing: fc.Arbitrary<Plannable> = fc
  .record({
    timer: fc.constantFrom('hourly', 'every 5min', 'every 5min after finish', '2018-01-01'),
    onExhausted: fc.constantFrom('continue', 'stop'),
    maxRuns: fc.constantFrom(null, 1, 3),
    successes: fc.nat(4),
    idle: idles,
    enabled: fc.boolean(),
    nextRunAt: fc.option(start.map((time) => new Date(time))),
  })
  .map(schedule)

describe('the end of a run', () => {
  const open = fc.nat(2)
  const now = start.map((time) => new Date(time))

  test('does not change a schedule that was edited in the meantime, or is paused, dead, invalid or retired', () => {
    fc.assert(
      fc.property(finishing, fc.boolean(), open, now, start, (row, failed, left, end, hand) => {
        expect(finish(edited(row, 'weekly'), failed, left, end)).toBeNull()
        if (row.nextRunAt?.getTime() !== hand)
          expect(finish({ ...row, nextRunAt: new Date(hand) }, failed, left, end)).toBeNull()
        expect(finish({ ...row, enabled: false }, failed, left, end)).toBeNull()
        for (const idle of ['dead', 'invalid', 'retired'] as const)
          expect(finish({ ...row, idle }, failed, left, end)).toBeNull()
      }),
    )
  })

  test('marks a schedule as dead if the run failed and on_exhausted is stop, and only then [R2]', () => {
    fc.assert(
      fc.property(finishing, fc.boolean(), open, now, (row, failed, left, end) => {
        fc.pre(row.enabled && (row.idle === null || row.idle === 'awaiting-finish' || row.idle === 'done'))
        const next = finish(row, failed, left, end)
        expect(next?.idle === 'dead').toBe(failed && row.onExhausted === 'stop')
      }),
    )
  })

  test('marks a schedule as done after enough successes, or plans its next run if it was waiting for its last open job', () => {
    fc.assert(
      fc.property(finishing, open, now, (row, left, end) => {
        fc.pre(row.enabled && (row.idle === null || row.idle === 'awaiting-finish'))
        const next = finish(row, false, left, end)
        if (row.maxRuns !== null && row.successes >= row.maxRuns)
          expect(next).toEqual({ nextRunAt: null, idle: 'done' })
        else if (row.idle === null || left > 0) expect(next).toBeNull()
        else if (row.timer.endsWith('after finish'))
          expect(next).toEqual({ nextRunAt: new Date(end.getTime() + 5 * MINUTE), idle: null })
        else expect(next?.nextRunAt?.getTime() ?? Infinity).toBeGreaterThan(end.getTime())
      }),
    )
  })
})
