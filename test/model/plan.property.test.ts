/**
 * One suite over rows and circumstances. Lives of schedules: random combinations of policies, bounds, jitter, downtime,
 * freezes, clock changes and kinds of timers, whose jobs wait, run, succeed, fail or are cancelled. Single plans: any
 * row, also after an edit, a manual run, with a clock that was ahead, or with other zone data.
 */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { calendar } from '../../src/calendar/index.ts'
import { jitterShiftMs } from '../../src/model/jitter.ts'
import { elapsesOf, plan } from '../../src/model/plan.ts'
import type { FrozenTime, OpenJobs, Plan, Plannable } from '../../src/model/planning.ts'
import type { Overlap } from '../../src/model/settings.ts'
import { claimed, countOf, ended, type Life, openOf, submitted } from './life.ts'
import { applied, at, edited, inserted, MISSED_AFTER_MS, schedule } from './plannable.ts'
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

const EVENTS: readonly TimerUnderTest[] = [
  event('minutely Europe/Berlin', MINUTE),
  event('*:*:0/7', 7000),
  event('*:0/15:0,30 America/Sao_Paulo', 15 * MINUTE),
  event('hourly Europe/Berlin', HOUR),
  event('02:30 Europe/Berlin', DAY),
  event('00:00 America/Sao_Paulo', DAY),
  event('Mon..Fri 9:00 Europe/Berlin', DAY),
  event('*-*~1 02:15 Europe/Berlin', 30 * DAY),
  event('2024-10-27 02:30 Europe/Berlin', HOUR),
  event('2018-11-04 03:30', 10 * MINUTE),
]
const TIMERS: readonly TimerUnderTest[] = [
  ...EVENTS,
  event('*:*:0/0.3337', 334),
  cron('0 * * * * Europe/Berlin', HOUR, '*:00 Europe/Berlin'),
  cron('30 2 * * * Europe/Berlin', DAY, '02:30 Europe/Berlin'),
  cron('15 1,2 27 * 0 Europe/Berlin', 2 * DAY, 'Sun 1,2:15 Europe/Berlin', '*-*-27 1,2:15 Europe/Berlin'),
  every('70ms', 70),
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
const instant = start.map((time) => new Date(time))

/** A time in periods of a timer. (`fc.double` would almost always be close to 0.) */
const periods = (min: number, max: number) =>
  fc.integer({ min: 1000 * min, max: 1000 * max }).map((thousandths) => thousandths / 1000)

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
  /** Whether all freezes are deleted afterwards. A row still shows the end of the freeze that held it. */
  readonly thaws: boolean
}

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    absence: fc.oneof(periods(0, 2), periods(0, 40), fc.integer({ min: 0, max: 3 })),
    exactly: fc.boolean(),
    end: fc.constantFrom('success', 'success', 'failed', 'cancelled', null, null),
    claims: fc.boolean(),
    thaws: fc.constantFrom(false, false, false, true),
  }),
  { minLength: 3, maxLength: 14 },
)

const policies = fc.record({
  overlap: fc.constantFrom<Overlap>('skip', 'queue-one', 'replace', 'allow'),
  catchUp: fc.constantFrom(0, 1, 2, 5, 1000),
  maxRuns: fc.constantFrom(null, null, 1, 2, 4),
  onExhausted: fc.constantFrom('continue', 'continue', 'stop'),
  jitter: fc.constantFrom(0, 0, 1, 90_000, HOUR),
  id: fc.constantFrom('report', 'r2', 'r3'),
})

/** The freezes of a life, in periods of its timer from the start of the life. */
const freezes = fc.oneof(
  fc.constant([]),
  fc.array(fc.tuple(periods(-2, 30), periods(0, 15)), { maxLength: 4 }),
)

/** The bounds of a life, in periods of its timer from the start of the life; null for none. */
const bounds = fc.record({
  /** Whether the bounds are elapses. */
  exactly: fc.boolean(),
  starts: fc.option(periods(-3, 6), { freq: 3 }),
  ends: fc.option(periods(0, 60), { freq: 3 }),
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
  const bound = (at: number | null) => {
    if (at === null) return null
    const about = from + Math.round(at * timer.period)
    const elapse = timer.next(about - shift)
    return new Date(within.exactly && elapse !== null && Number.isFinite(elapse) ? elapse + shift : about)
  }
  return {
    ...row,
    starts: bound(within.starts),
    ends: bound(within.ends),
  }
}

const toMinute = (ms: number) => Math.ceil(ms / MINUTE) * MINUTE

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

  /** Whether the row has no slot except this one. */
  isOnly(slot: number): boolean {
    const first = this.#after((this.#row.starts?.getTime() ?? 0) - 1)
    return first === slot && this.#after(slot) === null
  }

  peek(): number | null {
    return this.#after(this.#last)
  }

  until(now: number): number[] {
    const found: number[] = []
    for (let slot = this.peek(); slot !== null && slot <= now; slot = this.peek()) {
      found.push(slot)
      this.#last = slot
    }
    return found
  }

  #after(time: number): number | null {
    const next = this.#timer.next(time - this.#shift)
    if (next === null || !Number.isFinite(next)) return null
    const slot = next + this.#shift
    return slot > (this.#row.ends?.getTime() ?? Infinity) ? null : slot
  }
}

/** The times in which slots are frozen. For a deleted freeze, only the end is known. */
function frozenTimes(row: Plannable, freezes: readonly FrozenTime[]): readonly FrozenTime[] {
  const { nextRunAt, frozenUntil } = row
  if (nextRunAt === null || frozenUntil === null) return freezes
  const isKnown = freezes.some(({ from, until }) => from <= frozenUntil && until > nextRunAt)
  return isKnown ? freezes : [...freezes, { from: nextRunAt, until: frozenUntil }]
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
  expect(planned.replaces).toBe(row.overlap === 'replace' && countOf(open) > 0 && runs.length > 0)
  if (row.overlap === 'allow') expect(runs.every(({ state }) => state === 'waiting')).toBe(true)
  else {
    expect(left.waiting + left.running).toBeLessThanOrEqual(Math.max(1, open.waiting + open.running))
    if (runs.length > 0) expect(left.waiting + left.running).toBeGreaterThan(0)
  }
  if (countOf(open) > 0) {
    if (row.overlap === 'skip') expect(runs).toEqual([])
    if (row.overlap === 'queue-one' && runs.length > 0) expect([open.blocked, left.blocked]).toEqual([0, 1])
    if (row.overlap === 'replace' && runs.length > 0) {
      const others = after.jobs.filter(({ state }) => state !== 'running')
      expect(times(others)).toEqual(times(runs).slice(-1))
      expect(after.jobs.filter(({ state }) => state === 'running').every((job) => job.stopRequested)).toBe(
        true,
      )
    }
  }
  if (!planned.replaces) expect(after.jobs.slice(0, life.jobs.length)).toEqual(life.jobs)
  if (row.maxRuns !== null) expect(row.successes + countOf(left)).toBeLessThanOrEqual(row.maxRuns)
  expect(plan(after.row, at(new Date(now), left))).toBeNull()
}

/** Checks how many due slots become runs, and what happens to the others. @param isOnly  whether it is a one-off */
function expectAccounted(
  life: Life,
  planned: Plan,
  pending: readonly number[],
  now: number,
  frozen: readonly FrozenTime[],
  isOnly: boolean,
): void {
  const { row } = life
  const open = openOf(life)
  const first = pending[0] ?? 0
  // Like a manual run, a one-off is never skipped because of a freeze.
  const isThawedOnly = isOnly && frozen.some(({ from, until }) => from.getTime() <= now && +until > first)
  const isFrozen = (slot: number) =>
    !isThawedOnly && frozen.some(({ from, until }) => slot >= from.getTime() && slot < until.getTime())
  const due = pending.filter((slot) => !isFrozen(slot))
  const newestDue = due.at(-1) ?? -Infinity
  // A slot before a freeze was not on time when the freeze began.
  const isOnTime =
    now - newestDue <= MISSED_AFTER_MS &&
    !frozen.some(({ from, until }) => from.getTime() > newestDue && from.getTime() <= now && until > from)
  const most = row.catchUp === 0 ? Number(isOnTime || isThawedOnly) : row.catchUp
  const kept = Math.min(due.length, most)
  const chosen = chosenOf(row.overlap, open, kept)
  const stays = row.overlap === 'replace' ? open.running : countOf(open)
  const allowed = row.maxRuns === null ? Infinity : Math.max(0, row.maxRuns - row.successes - stays)
  const runs = Math.min(chosen, allowed)
  const oldest = due.length - chosen
  expect(times(planned.runs)).toEqual(due.slice(oldest, oldest + runs))
  expect(counted(planned, 'frozen')).toBe(pending.length - due.length)
  expect(counted(planned, 'missed')).toBe(due.length - kept)
  expect(counted(planned, 'overlap')).toBe(kept - chosen)
  expect(counted(planned, 'max-runs')).toBe(chosen - runs)
  // A skip records the newest of its slots.
  const newest = (reason: string) =>
    planned.skips.findLast((skip) => skip.reason === reason)?.slot.getTime() ?? null
  expect(newest('frozen')).toBe(pending.findLast(isFrozen) ?? null)
  expect(newest('missed')).toBe(kept < due.length ? due[due.length - kept - 1] : null)
  expect(newest('overlap')).toBe(chosen < kept ? due[oldest - 1] : null)
  expect(newest('max-runs')).toBe(runs < chosen ? due.at(-1) : null)
  for (const { slot, reason } of planned.skips) expect(isFrozen(slot.getTime())).toBe(reason === 'frozen')
  expect(planned.runs.map(({ missed }) => missed)).toEqual(
    planned.runs.map((_, index) => (index === 0 ? due.length - kept : 0)),
  )
}

function chosenOf(overlap: Overlap, open: OpenJobs, kept: number): number {
  if (overlap === 'allow' || countOf(open) === 0) return kept
  if (overlap === 'skip' || (overlap === 'queue-one' && open.blocked > 0)) return 0
  return Math.min(1, kept)
}

describe('with any policies', () => {
  test('each slot becomes one run or is counted in a skip with its reason, and the policies hold at each step [R15, S3, S4, S5, S14, L3, L4, L6, L9, L20, T9]', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...TIMERS),
        start,
        policies,
        bounds,
        freezes,
        steps,
        (timer, from, given, within, ofLife, walked) => {
          const row = birth(timer, from, given, within)
          let frozen = ofLife.map(([after, length]): FrozenTime => {
            // On the minute, like the steps, freezes also begin and end at slots.
            const exact = (ms: number) => (within.exactly ? toMinute(ms) : ms)
            const begin = exact(from + Math.round(after * timer.period))
            const end = exact(begin + Math.max(1, Math.round(length * timer.period)))
            return { from: new Date(begin), until: new Date(end) }
          })
          let now = from
          let life = submitted({ row, jobs: [] }, required(plan(row, at(new Date(now)))))
          const walk = new Walk(timer, row, from)
          let pending: number[] = []
          expect(life.row.nextRunAt?.getTime() ?? null).toBe(walk.peek())
          for (const { absence, exactly, end, claims, thaws } of walked) {
            now += Math.round(absence * timer.period)
            if (exactly) now = toMinute(now)
            if (end !== null) life = ended(life, end, new Date(now))
            const circumstances = { ...at(new Date(now), openOf(life)), freezes: frozen }
            const planned = plan(life.row, circumstances)
            if (life.row.idle !== null) {
              // A schedule that is done or dead is not planned, however much time passes.
              expect(planned).toBeNull()
              return
            }
            pending.push(...walk.until(now))
            const holding = frozen.filter(({ from, until }) => from.getTime() <= now && until.getTime() > now)
            if (planned === null) expect(pending).toEqual([])
            else if (holding.length > 0) {
              // Nothing is decided before the last freeze ends.
              const frozenUntil = new Date(Math.max(...holding.map(({ until }) => until.getTime())))
              const { nextRunAt, lastSlot } = life.row
              expect(planned).toMatchObject({ runs: [], skips: [], nextRunAt, lastSlot, frozenUntil })
              life = submitted(life, planned)
            } else {
              const isOnly = walk.isOnly(pending[0] ?? 0)
              expectSound(life, planned, now)
              expectAccounted(life, planned, pending, now, frozenTimes(life.row, frozen), isOnly)
              // If the only due slot becomes a run, it is exactly the announced instant, even with jitter.
              if (pending.length === 1 && planned.runs.length === 1)
                expect(planned.runs[0]?.slot).toEqual(life.row.nextRunAt)
              const isOver = planned.idle === 'done' && walk.peek() !== null
              if (isOver) expect([life.row.successes, life.jobs]).toEqual([life.row.maxRuns, []])
              else expect(planned.nextRunAt?.getTime() ?? null).toBe(walk.peek())
              pending = []
              life = submitted(life, planned)
            }
            if (thaws) frozen = []
            if (claims) life = claimed(life)
            expect(life.row.successes).toBeLessThanOrEqual(life.row.maxRuns ?? Infinity)
          }
        },
      ),
      runs(2000),
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
        (timer, from, given, { waiting, blocked, running }, late, successes) => {
          const nextRunAt = timer.next(from)
          if (nextRunAt === null) return
          const now = nextRunAt + late * timer.period
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
    timer: fc.constantFrom(...EVENTS.map(({ text }) => text)),
    catchUp: fc.nat(3),
    nextRunAt: fc.option(instant),
    lastSlot: fc.option(instant),
  })
  .map((given): Plannable => schedule(given))

const anyTimer = fc.constantFrom(...TIMERS.map(({ text }) => text))

test('even if the stored nextrun from the planner is not an elapse, the decided slots and the new next run are elapses', () => {
  fc.assert(
    fc.property(anyTimer, instant, fc.integer({ min: 1, max: 2 * HOUR }), (timer, at1, ms) => {
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
      fc.property(anyRow, instant, fc.boolean(), fc.option(instant), (given, now, active, byHand) => {
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
      fc.property(anyRow, instant, (given, now) => {
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
      fc.property(
        anyRow,
        instant,
        fc.boolean(),
        fc.constantFrom(...EVENTS),
        (given, now, active, { text: timer }) => {
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
        },
      ),
      runs(500),
    )
  })

  test('a manually set nextrun in the past becomes one run now or one recorded overlap', () => {
    fc.assert(
      fc.property(
        anyRow,
        instant,
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
      fc.property(anyRow, instant, fc.integer({ min: 1, max: 400 * DAY }), (given, now, ahead) => {
        const nextRunAt = new Date(now.getTime() + ahead)
        fc.pre(given.plannedRun?.getTime() !== nextRunAt.getTime())
        const row = { ...given, nextRunAt }
        const planned = required(plan(row, at(now)))
        expect(planned).toMatchObject({ runs: [], skips: [], nextRunAt })
        expect(plan(applied(row, planned), at(new Date(nextRunAt.getTime() - 1)))).toBeNull()
      }),
    )
  })

  const minuteOf = (minutes: number) => new Date(Date.parse('2026-03-01T09:00Z') + minutes * MINUTE)
  const passed = fc.record({
    timer: fc.constantFrom('*:0/7', 'hourly', 'every 25min', '*:0,1,2'),
    catchUp: fc.constantFrom(0, 1, 2, 5, 1000),
    minutes: fc.integer({ min: 0, max: 700 }),
    frozen: fc.array(
      fc
        .tuple(fc.integer({ min: -120, max: 600 }), fc.integer({ min: 1, max: 240 }))
        .map(([from, length]): FrozenTime => ({ from: minuteOf(from), until: minuteOf(from + length) })),
      { maxLength: 4 },
    ),
    held: fc.option(fc.integer({ min: 0, max: 600 })),
    manual: fc.integer({ min: 0, max: 600 }),
  })

  test('after a manual run, only slots that became due outside of freezes are made up, by one run', () => {
    fc.assert(
      fc.property(passed, ({ timer, catchUp, minutes, frozen, held, manual }) => {
        const first = elapsesOf(schedule({ timer }), minuteOf(0)).next(new Date(minuteOf(0).getTime() - 1))
        const [now, lastSlot] = [minuteOf(minutes), minuteOf(manual)]
        fc.pre(first !== null && first <= lastSlot && lastSlot <= now && (held ?? 0) <= minutes)
        fc.pre(frozen.every(({ from, until }) => from > now || until <= now))
        const frozenUntil = held === null ? null : minuteOf(held)
        const row = schedule({ timer, catchUp, overlap: 'allow', nextRunAt: first, lastSlot, frozenUntil })
        const event = elapsesOf(row, now)
        const slots: Date[] = []
        for (let slot: Date | null = first; slot !== null && slot <= lastSlot; slot = event.next(slot))
          slots.push(slot)
        const circumstances = { ...at(now), freezes: frozen }
        const planned = plan(row, circumstances)
        const next = event.next(lastSlot)
        const parts = frozenTimes(row, frozen)
        if (!slots.every((slot) => parts.some(({ from, until }) => slot >= from && slot < until))) {
          const slot = lastSlot < now ? now : new Date(now.getTime() + 1)
          expect(planned).toMatchObject({ runs: [{ slot }], nextRunAt: event.next(now) })
        } else if (next !== null && next > now) expect(planned).toMatchObject({ runs: [], nextRunAt: next })
        else {
          const later = schedule({ ...row, nextRunAt: next, plannedRun: next })
          expect(planned).toEqual(plan(later, circumstances))
        }
      }),
      runs(2000),
    )
  })
})
