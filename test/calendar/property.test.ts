import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { calendar, type CalendarEvent } from '../../src/calendar/index.ts'
import { events } from './arbitrary.ts'
import { goldenRows, micros } from './golden.ts'
import { chain, dayMatches, type Minute, minutesShown, type NaiveEvent, nextOfFirst } from './naive.ts'
import { runs } from '../support/runs.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** Zones, each with a day on which its clocks change or on which a month or year ends. */
const CHANGES = [
  ['Europe/Berlin', '2024-03-31'],
  ['Europe/Berlin', '2024-10-27'],
  ['America/New_York', '2024-03-10'],
  ['America/New_York', '2024-11-03'],
  ['Australia/Lord_Howe', '2024-10-05'],
  ['Australia/Lord_Howe', '2024-04-06'],
  ['America/Sao_Paulo', '2018-11-04'],
  ['America/Sao_Paulo', '2018-02-18'],
  ['Asia/Tehran', '2022-09-21'],
  ['Pacific/Apia', '2011-12-30'],
  ['Africa/Casablanca', '2024-03-10'],
  ['Africa/Casablanca', '2024-04-14'],
  ['Antarctica/Troll', '2024-03-31'],
  ['Antarctica/Troll', '2024-10-27'],
  ['Pacific/Chatham', '2024-04-06'],
  ['UTC', '2024-02-29'],
  ['Asia/Kathmandu', '2023-12-31'],
] as const

interface Window {
  readonly zone: string
  readonly from: number
  readonly to: number
  readonly minutes: readonly Minute[]
}

const windows: readonly Window[] = CHANGES.map(([zone, day]) => {
  const from = Date.parse(day) - 30 * HOUR
  const to = Date.parse(day) + 42 * HOUR
  return { zone, from, to, minutes: minutesShown(zone, from, to) }
})

/** A window, an event in its zone, and an instant in the window. */
const aroundChange = fc.constantFrom(...windows).chain((window) =>
  fc.tuple(
    fc.constant(window),
    events(fc.constant(window.zone), 'frequent'),
    fc.integer({ min: window.from / 1000, max: window.to / 1000 - 1 }).map((second) => second * 1000),
  ),
)

/** 01:42:34 in New York, which repeats an hour later. */
const NEW_YORK_REPEATS = Date.parse('2024-11-03T05:42:34Z')
const everyMinuteAt34: NaiveEvent = {
  text: '*-*-* *:*:34 America/New_York',
  zone: 'America/New_York',
  weekdays: null,
  years: null,
  months: null,
  days: null,
  daysFromEnd: false,
  hours: null,
  minutes: null,
  seconds: new Set([34]),
}

const anyEvent = fc.oneof(
  events(fc.constantFrom('UTC', 'Europe/Berlin', 'America/Sao_Paulo'), 'all').map(({ text }) => text),
  fc.constantFrom(...goldenRows.filter(({ valid }) => valid).map(({ expr }) => expr)),
)
const anyMicros = fc.integer({ min: micros('1969-12-01T00:00:00Z'), max: micros('2200-02-01T00:00:00Z') })

/** The elapses at or after an instant. */
function* elapsesOf(event: CalendarEvent, from: number): Generator<Date> {
  for (let at = event.next(new Date(from - 1)); at !== null; at = event.next(at)) yield at
}

describe('a search that checks every minute finds the same run times [T2]', () => {
  test('a chain skips a time in a gap, and elapses once at a repeated time [L20]', () => {
    fc.assert(
      fc.property(aroundChange, ([{ from, to, minutes }, naive]) => {
        const found: number[] = []
        for (const elapse of elapsesOf(calendar(naive.text), from)) {
          if (elapse.getTime() >= to || found.length > 500) break
          found.push(elapse.getTime())
        }
        expect(found).toEqual(chain(naive, minutes, 'first').slice(0, found.length))
        if (found.length <= 500) expect(found).toHaveLength(chain(naive, minutes, 'first').length)
      }),
      runs(300),
    )
  })

  test("in a chain with fold 'both', a repeated time elapses twice [T2]", () => {
    fc.assert(
      fc.property(aroundChange, ([{ from, to, minutes }, naive]) => {
        const found: number[] = []
        for (const elapse of elapsesOf(calendar(naive.text, { fold: 'both' }), from)) {
          if (elapse.getTime() >= to || found.length > 500) break
          found.push(elapse.getTime())
        }
        expect(found).toEqual(chain(naive, minutes, 'both').slice(0, found.length))
        if (found.length <= 500) expect(found).toHaveLength(chain(naive, minutes, 'both').length)
      }),
      runs(300),
    )
  })

  test('a chain continues after an instant inside the repeated hour', () => {
    const inNewYork = windows.find(({ zone, to }) => zone === 'America/New_York' && to > NEW_YORK_REPEATS)
    if (inNewYork === undefined) throw new Error('none of the windows contains the repeated hour in New York')
    fc.assert(
      fc.property(aroundChange, ([{ to, minutes }, naive, after]) => {
        const next = calendar(naive.text).next(new Date(after))
        const expected = nextOfFirst(naive, minutes, after)
        if (expected !== undefined) expect(next?.getTime()).toBe(expected)
        else if (next !== null) expect(next.getTime()).toBeGreaterThanOrEqual(to)
      }),
      // After an elapse, its local time is not matched again, even if it repeats.
      { ...runs(500), examples: [[[inNewYork, everyMinuteAt34, NEW_YORK_REPEATS]]] },
    )
  })

  test('previous is the last run time at or before an instant [T2]', () => {
    fc.assert(
      fc.property(aroundChange, ([{ from, minutes }, naive, at]) => {
        const previous = calendar(naive.text).previous(new Date(at))
        const both = chain(naive, minutes, 'both')
        const chained = chain(naive, minutes, 'first').findLast((instant) => instant <= at)
        const expected = both.includes(at) ? at : chained
        if (expected !== undefined) expect(previous?.getTime()).toBe(expected)
        else if (previous !== null) expect(previous.getTime()).toBeLessThan(from)
      }),
      runs(500),
    )
  })

  test("previous is the last run time at or before an instant, with fold 'both'", () => {
    fc.assert(
      fc.property(aroundChange, ([{ from, to, minutes }, naive, at]) => {
        const event = calendar(naive.text, { fold: 'both' })
        const both = chain(naive, minutes, 'both')
        const before = both.findLast((instant) => instant <= at)
        const after = both.find((instant) => instant > at)
        if (before !== undefined) expect(event.previous(new Date(at))?.getTime()).toBe(before)
        else expect(event.previous(new Date(at))?.getTime() ?? -Infinity).toBeLessThan(from)
        if (after !== undefined) expect(event.next(new Date(at))?.getTime()).toBe(after)
        else expect(event.next(new Date(at))?.getTime() ?? Infinity).toBeGreaterThanOrEqual(to)
      }),
      runs(500),
    )
  })

  test('events in every date notation elapse on exactly the days that a day-by-day check of six years finds', () => {
    const start = Date.parse('2019-01-01')
    const days = Array.from({ length: 6 * 365 }, (_, index) => start + index * DAY)
    fc.assert(
      fc.property(events(fc.constant('UTC'), 'all'), (naive) => {
        const event = calendar(`${naive.text.split(' ').slice(0, -2).join(' ')} 12:00`)
        const expected = days.filter((day) => dayMatches(naive, day)).map((day) => day + 12 * HOUR)
        const found: number[] = []
        for (const elapse of elapsesOf(event, start)) {
          if (found.length === expected.length) break
          found.push(elapse.getTime())
        }
        expect(found).toEqual(expected)
        const end = new Date(start + days.length * DAY)
        expect(event.previous(end)?.getTime() ?? -Infinity).toBe(
          expected.at(-1) ?? event.previous(new Date(start))?.getTime() ?? -Infinity,
        )
      }),
      runs(300),
    )
  })
})

describe('for every event and instant', () => {
  test('the normal form of an event has the same normal form and the same run times', () => {
    fc.assert(
      fc.property(anyEvent, anyMicros, (text, at) => {
        const event = calendar(text)
        const normal = calendar(String(event))
        expect(String(normal)).toBe(String(event))
        // As in systemd, a list that contains `0/1` has the normal form `*`, which loses any fractions in the list.
        if (/[:,]0*\/0*1(?:[,.]|$| )/.test(text)) return
        expect(normal.nextMicros(at)).toBe(event.nextMicros(at))
      }),
    )
  })

  test.each(['first', 'both'] as const)(
    'next is later than the instant, and previous is never later (fold %s) [L19]',
    (fold) => {
      fc.assert(
        fc.property(anyEvent, anyMicros, (text, at) => {
          const event = calendar(text, { fold })
          expect(event.nextMicros(at) ?? Infinity).toBeGreaterThan(at)
          expect(event.previousMicros(at) ?? -Infinity).toBeLessThanOrEqual(at)
        }),
        runs(500),
      )
    },
  )

  test.each(['first', 'both'] as const)(
    'previous of a run time is the run time itself, and so is next of the instant before it (fold %s)',
    (fold) => {
      fc.assert(
        fc.property(anyEvent, anyMicros, (text, at) => {
          const event = calendar(text, { fold })
          const next = event.nextMicros(at)
          if (next !== null) expect(event.previousMicros(next)).toBe(next)
          const previous = event.previousMicros(at)
          if (previous === null) return
          expect(event.nextMicros(previous - 1)).toBe(previous)
          expect(event.previousMicros(previous)).toBe(previous)
        }),
        runs(500),
      )
    },
  )

  test("there is no run time between previous and next with fold 'both' [T2]", () => {
    fc.assert(
      fc.property(anyEvent, anyMicros, (text, at) => {
        const event = calendar(text, { fold: 'both' })
        const next = event.nextMicros(at)
        const previous = event.previousMicros(at)
        if (previous !== null) expect(event.nextMicros(previous)).toBe(next)
        if (next !== null) expect(event.previousMicros(next - 1)).toBe(previous)
      }),
      runs(500),
    )
  })

  test('next() rounds the exact run time up to a millisecond', () => {
    fc.assert(
      fc.property(anyEvent, anyMicros, (text, at) => {
        const event = calendar(text)
        const millis = Math.floor(at / 1000)
        const exact = event.nextMicros(millis * 1000)
        expect(event.next(new Date(millis))?.getTime() ?? null).toBe(
          exact === null ? null : Math.ceil(exact / 1000),
        )
      }),
    )
  })
})
