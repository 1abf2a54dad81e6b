import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { elapsesWithin, InvalidTimeSpanError, timer, timeSpan } from '../../src/timer/index.ts'

/** Texts, with the microseconds that `systemd-analyze timespan` of systemd 252 prints, or null if it rejects the text. */
type Recorded = [text: string, micros: number | 'infinity' | null][]
// The file was written manually from the output of that program.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const recorded = JSON.parse(readFileSync(new URL('spans.recorded.json', import.meta.url), 'utf8')) as Recorded

/** systemd accepts these but Kalends does not: a sign has no meaning, and an infinite span never elapses. */
const STRICTER = new Set(['+5s', 'infinity'])

const CREATED = new Date('2026-03-27T09:00:07.250Z')
const instants = fc.date({ min: new Date('1990-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
const spans = fc.integer({ min: 1, max: 10 * 86_400_000 })

describe('a time span', () => {
  test.each(recorded.filter(([text, micros]) => micros !== null && !STRICTER.has(text)))(
    '%j is the same as in systemd: %d µs [T4]',
    (text, micros) => {
      expect(timeSpan(text)).toBe(Math.round(Number(micros) / 1000))
    },
  )

  test.each(recorded.filter(([text, micros]) => micros === null || STRICTER.has(text)))(
    '%j is rejected',
    (text) => {
      expect(() => timeSpan(text)).toThrow(InvalidTimeSpanError)
    },
  )

  test('an invalid span is rejected with an error that names the invalid part and its position', () => {
    const error = faultOf(() => timeSpan('5min 3 parsecs'))
    expect(error).toMatchObject({ column: 8, token: 'parsecs' })
  })

  test.each(['9'.repeat(400), `${'5s '.repeat(50_000)}x`, ' '.repeat(100_000), 'a'.repeat(100_000)])(
    'is rejected if it is invalid, however long its text is',
    (text) => {
      expect(() => timeSpan(text)).toThrow(InvalidTimeSpanError)
    },
  )
})

describe('every <span>', () => {
  test('an `every` timer elapses one span after the creation of its schedule, and then at fixed intervals [T4]', () => {
    const slots = timer('every 5min').elapses(CREATED)
    expect(slots.next(new Date('2000-01-01'))).toEqual(new Date('2026-03-27T09:05:07.250Z'))
    expect(slots.next(CREATED)).toEqual(new Date('2026-03-27T09:05:07.250Z'))
    expect(slots.next(new Date('2026-03-27T09:05:07.250Z'))).toEqual(new Date('2026-03-27T09:10:07.250Z'))
    expect(slots.next(new Date('2026-03-27T18:01:00Z'))).toEqual(new Date('2026-03-27T18:05:07.250Z'))
  })

  test('has no slot at or before the creation of the schedule', () => {
    const slots = timer('every 5min').elapses(CREATED)
    expect(slots.previous(CREATED)).toBeNull()
    expect(slots.previous(new Date('2026-03-27T09:05:07.249Z'))).toBeNull()
    expect(slots.previous(new Date('2026-03-27T09:05:07.250Z'))).toEqual(new Date('2026-03-27T09:05:07.250Z'))
  })

  test('an `every` timer never drifts or changes its phase [T4]', () => {
    fc.assert(
      fc.property(instants, spans, instants, (created, spanMs, asked) => {
        const slots = timer(`every ${spanMs}ms`).elapses(created)
        const next = slots.next(asked)
        expect(next).not.toBeNull()
        if (next === null) return
        expect(next.getTime()).toBeGreaterThan(Math.max(asked.getTime(), created.getTime()))
        expect((next.getTime() - created.getTime()) % spanMs).toBe(0)
        expect(next.getTime() - spanMs).toBeLessThanOrEqual(Math.max(asked.getTime(), created.getTime()))
        expect(slots.previous(next)).toEqual(next)
        const before = slots.previous(new Date(next.getTime() - 1))
        expect(before?.getTime() ?? created.getTime()).toBe(next.getTime() - spanMs)
      }),
    )
  })

  test('ends after the year 2199, like calendar events', () => {
    const slots = timer('every 1d').elapses(CREATED)
    const last = new Date('2199-12-31T09:00:07.250Z')
    expect(slots.next(new Date('2199-12-31T08:00Z'))).toEqual(last)
    expect(slots.next(last)).toBeNull()
    expect(slots.previous(new Date('2500-01-01'))).toEqual(last)
  })

  test.each([
    ['every 5min', 'every 5min'],
    ['  every   1h  30min ', 'every 1h 30min'],
    ['every 90', 'every 1min 30s'],
    ['Every 5min', 'every 5min'],
    ['every 5min  after   finish', 'every 5min after finish'],
  ])('%j has the normal form %j', (text, normal) => {
    expect(timer(text).text).toBe(normal)
    expect(timer(normal).text).toBe(normal)
    expect(timer(normal).spanMs).toBe(timer(text).spanMs)
  })

  test.each([
    'every',
    'every 0',
    'every 0.1ms',
    'every after finish',
    'every 5min after',
    'every 5min finish',
  ])('%j is rejected', (text) => {
    expect(() => timer(text)).toThrow(InvalidTimeSpanError)
  })

  test.each(['every 1 month', 'every 2w 1M', 'every 1year', 'every 3y after finish'])(
    '%j is rejected, because the length of its unit varies',
    (text) => {
      expect(() => timer(text)).toThrow(/varies in length: write a calendar event, such as 'monthly'/)
    },
  )

  test('an invalid span is rejected, however long its text is', () => {
    for (const text of [`every x${' '.repeat(100_000)}x`, `every ${'after finish '.repeat(20_000)}`])
      expect(() => timer(text)).toThrow(InvalidTimeSpanError)
  })
})

describe('every <span> after finish', () => {
  test('elapses one span after the given instant, and has no previous run time', () => {
    const waiting = timer('every 90s after finish')
    expect(waiting).toMatchObject({ kind: 'after-finish', spanMs: 90_000 })
    expect(waiting.next(CREATED)).toEqual(new Date('2026-03-27T09:01:37.250Z'))
    expect(waiting.previous(CREATED)).toBeNull()
  })

  test('first elapses at `starts`, and never after `ends`', () => {
    const bounds = { anchor: CREATED, shiftMs: 5000, starts: date('2026-04-01'), ends: date('2026-04-02') }
    const within = elapsesWithin(timer('every 1h after finish'), bounds)
    expect(within.next(date('2026-03-01'))).toEqual(date('2026-04-01'))
    expect(within.next(date('2026-04-01T10:00Z'))).toEqual(date('2026-04-01T11:00Z'))
    expect(within.next(date('2026-04-01T23:30Z'))).toBeNull()
  })
})

describe('the run times of one schedule', () => {
  const timers = fc.constantFrom(
    'daily',
    '*:0/7 Europe/Berlin',
    'Mon..Fri 2:30 America/New_York',
    'cron 30 2 * * *',
    'cron 0,30 * * * *',
    'every 37min',
    'every 2d',
    '*-*-31 6:00',
  )
  const bounds = fc.record({
    anchor: instants,
    shiftMs: fc.integer({ min: 0, max: 7_200_000 }),
    starts: fc.option(instants),
    ends: fc.option(instants),
  })

  test('increase, are within the bounds, are all shifted equally, and are found again by `previous`', () => {
    fc.assert(
      fc.property(timers, bounds, instants, (text, given, asked) => {
        const of = timer(text)
        const within = elapsesWithin(of, given)
        const next = within.next(asked)
        if (next === null) return
        expect(next.getTime()).toBeGreaterThan(asked.getTime())
        if (given.starts !== null) expect(next.getTime()).toBeGreaterThanOrEqual(given.starts.getTime())
        if (given.ends !== null) expect(next.getTime()).toBeLessThanOrEqual(given.ends.getTime())
        const unshifted = new Date(next.getTime() - given.shiftMs)
        expect(of.elapses(given.anchor).previous(unshifted)).toEqual(unshifted)
        expect(within.previous(next)).toEqual(next)
        const following = within.next(next)
        if (following !== null) {
          expect(following.getTime()).toBeGreaterThan(next.getTime())
          expect(within.previous(new Date(following.getTime() - 1))).toEqual(next)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('include both bounds', () => {
    const [starts, ends] = [date('2026-03-28'), date('2026-03-29')]
    const within = elapsesWithin(timer('daily'), { anchor: CREATED, shiftMs: 0, starts, ends })
    expect(within.next(date('2026-01-01'))).toEqual(starts)
    expect(within.next(starts)).toEqual(ends)
    expect(within.next(ends)).toBeNull()
    expect(within.previous(date('2030-01-01'))).toEqual(ends)
    expect(within.previous(date('2026-03-27T23:00Z'))).toBeNull()
  })

  test('are shifted by jitter before they are compared with the bounds', () => {
    const within = elapsesWithin(timer('daily'), {
      anchor: CREATED,
      shiftMs: 60_000,
      starts: date('2026-03-28T00:01Z'),
      ends: date('2026-03-29'),
    })
    expect(within.next(date('2026-01-01'))).toEqual(date('2026-03-28T00:01Z'))
    expect(within.next(date('2026-03-28T00:01Z'))).toBeNull()
  })
})

function date(text: string): Date {
  return new Date(text)
}

function faultOf(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
