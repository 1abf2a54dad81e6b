import { Cron } from 'croner'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CronSyntaxError, timer } from '../../src/timer/index.ts'
import { runs } from '../support/runs.ts'

/*
 * Two references. The naive one walks minutes and asks Intl what the clock shows; it shares nothing with the
 * library. croner is the other, in UTC only: where the clock is changed it means something else, moving a skipped
 * time forward and running a repeated one once.
 */

interface Fields {
  readonly text: string
  /** minute, hour, day, month, weekday; null: any. */
  readonly sets: readonly (ReadonlySet<number> | null)[]
}

const LIMITS = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const

function field(
  low: number,
  high: number,
  anyWeight: number,
): fc.Arbitrary<{ text: string; set: Set<number> | null }> {
  const value = fc.integer({ min: low, max: high })
  const item = fc.tuple(value, value, fc.boolean()).map(([a, b, alone]) => {
    const [first, last] = [Math.min(a, b), Math.max(a, b)]
    return alone ? { text: `${a}`, first: a, last: a } : { text: `${first}-${last}`, first, last }
  })
  const list = fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => ({
    text: items.map(({ text }) => text).join(','),
    set: new Set(
      items.flatMap(({ first, last }) =>
        Array.from({ length: last - first + 1 }, (_, index) => first + index),
      ),
    ),
  }))
  return fc.oneof(
    { weight: anyWeight, arbitrary: fc.constant({ text: '*', set: null }) },
    { weight: 2, arbitrary: list },
  )
}

function expressions(anyDate: number): fc.Arbitrary<Fields> {
  return fc
    .tuple(...LIMITS.map(([low, high], index) => field(low, high, index < 2 ? 1 : anyDate)))
    .map((fields) => ({
      text: fields.map(({ text }) => text).join(' '),
      sets: fields.map(({ set }) => set),
    }))
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE

interface Shown {
  readonly at: number
  readonly minute: number
  readonly hour: number
  readonly day: number
  readonly month: number
  readonly weekday: number
}

/** What the clock of a zone shows in each minute. */
function shown(zone: string, from: number, to: number): Shown[] {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'short',
    hourCycle: 'h23',
  })
  const minutes: Shown[] = []
  for (let at = from; at < to; at += MINUTE) {
    const [, day, month, year, hour, minute] =
      /^(\d\d)\/(\d\d)\/(\d{4}), (\d\d):(\d\d)$/.exec(clock.format(at))?.map(Number) ?? []
    if (
      day === undefined ||
      month === undefined ||
      year === undefined ||
      hour === undefined ||
      minute === undefined
    )
      throw new Error('unreadable clock')
    const weekday = new Date(Date.UTC(year, month - 1, day)).getUTCDay()
    minutes.push({ at, minute, hour, day, month, weekday })
  }
  return minutes
}

function naive({ sets }: Fields, window: readonly Shown[]): number[] {
  const [minutes = null, hours = null, days = null, months = null, weekdays = null] = sets
  const found: number[] = []
  for (const { at, minute, hour, day, month, weekday } of window) {
    const onDay = days?.has(day) ?? true
    const onWeekday = weekdays?.has(weekday) ?? true
    const date = days !== null && weekdays !== null ? onDay || onWeekday : onDay && onWeekday
    if (date && has(months, month) && has(hours, hour) && has(minutes, minute)) found.push(at)
  }
  return found
}

function has(set: ReadonlySet<number> | null, value: number): boolean {
  return set === null || set.has(value)
}

/** Around these days the clocks of these zones are changed, forward and back; Lord Howe's by half an hour. */
const WINDOWS = [
  ['Europe/Berlin', '2026-03-29'],
  ['Europe/Berlin', '2026-10-25'],
  ['America/New_York', '2026-03-08'],
  ['America/New_York', '2026-11-01'],
  ['Australia/Lord_Howe', '2026-04-05'],
  ['Australia/Lord_Howe', '2026-10-04'],
  ['Africa/Casablanca', '2024-03-10'],
  ['Africa/Casablanca', '2024-04-14'],
  ['America/Sao_Paulo', '2018-02-18'],
  ['America/Sao_Paulo', '2018-11-04'],
  ['Pacific/Apia', '2011-12-30'],
  ['Asia/Kathmandu', '2026-02-28'],
  ['UTC', '2028-02-29'],
] as const

function never(expression: string): boolean {
  try {
    timer(`cron ${expression}`)
    return false
  } catch (error) {
    return error instanceof CronSyntaxError && error.message.includes('never fires')
  }
}

describe('cron elapses at the times of its five fields', () => {
  test.each(WINDOWS)('%s around %s: repeated times twice, skipped ones never', (zone, day) => {
    const from = Date.parse(`${day}T00:00Z`) - 30 * HOUR
    const to = from + 60 * HOUR
    const window = shown(zone, from, to)
    fc.assert(
      fc.property(expressions(6), (fields) => {
        fc.pre(!never(fields.text))
        const expected = naive(fields, window)
        const cron = timer(`cron ${fields.text} ${zone}`)
        const found: number[] = []
        for (let at = cron.next(new Date(from - 1)); at !== null && at.getTime() < to; at = cron.next(at))
          found.push(at.getTime())
        expect(found).toEqual(expected)
        const backwards: number[] = []
        for (
          let at = cron.previous(new Date(to - 1));
          at !== null && at.getTime() >= from;
          at = cron.previous(new Date(at.getTime() - 1))
        )
          backwards.push(at.getTime())
        expect(backwards.toReversed()).toEqual(expected)
      }),
      runs(25),
    )
  })

  test('cron elapses as croner reads it in UTC, on dates of all kinds', () => {
    fc.assert(
      fc.property(
        expressions(1),
        fc.date({ min: new Date('1995-01-01'), max: new Date('2080-01-01'), noInvalidDate: true }),
        (fields, after) => {
          fc.pre(!never(fields.text))
          const cron = timer(`cron ${fields.text}`)
          const reference = new Cron(fields.text, { timezone: 'UTC' })
          let at: Date | null = after
          for (let turn = 0; turn < 5 && at !== null; turn += 1) {
            const expected: Date | null = reference.nextRun(at)
            const found: Date | null = cron.next(at)
            expect(found).toEqual(expected)
            if (found !== null) expect(cron.previous(found)).toEqual(found)
            if (found !== null)
              expect(cron.previous(new Date(found.getTime() - 1))?.getTime() ?? 0).toBeLessThan(
                found.getTime(),
              )
            at = found
          }
        },
      ),
      runs(300),
    )
  })

  test('previous is the last in the chain of next', () => {
    fc.assert(
      fc.property(
        expressions(3),
        fc.date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true }),
        fc.constantFrom(...WINDOWS.map(([zone]) => zone)),
        (fields, at, zone) => {
          fc.pre(!never(fields.text))
          const cron = timer(`cron ${fields.text} ${zone}`)
          const last = cron.previous(at)
          const next = cron.next(at)
          if (last !== null) {
            expect(last.getTime()).toBeLessThanOrEqual(at.getTime())
            expect(cron.next(last)).toEqual(next)
          }
          if (next !== null) {
            expect(cron.previous(new Date(next.getTime() - 1))).toEqual(last)
            expect(cron.previous(next)).toEqual(next)
          }
        },
      ),
      runs(300),
    )
  })

  test('and its normal form means the same', () => {
    fc.assert(
      fc.property(expressions(2), fc.constantFrom('', ' UTC', ' utc', ' Europe/Berlin'), (fields, zone) => {
        fc.pre(!never(fields.text))
        const { text, zone: own } = timer(`  cron \t ${fields.text.replaceAll(' ', '   ')}${zone} `)
        expect(text).toBe(`cron ${fields.text}${zone.toUpperCase() === ' UTC' ? ' UTC' : zone}`)
        expect(timer(text)).toMatchObject({ text, zone: own })
      }),
    )
  })
})

describe('any text after cron', () => {
  const pieces = fc.constantFrom(
    ...'* ? / , - # L W 7 0 5 59 60 1-5 5-1 */5 JAN mon FRI#2 5L LW @daily @every 5m H % UTC local Europe/Berlin'.split(
      ' ',
    ),
    ' ',
    '  ',
    '\t',
    '\u{1f980}',
  )
  const junk = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.array(pieces, { maxLength: 25 }).map((parts) => parts.join('')),
    fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join(' ')),
  )

  test('is read, or rejected with a CronSyntaxError that has the position', () => {
    fc.assert(
      fc.property(junk, (expression) => {
        const text = `cron ${expression}`
        try {
          const read = timer(text)
          expect(read.next(new Date(0))).not.toBeNull()
          expect(timer(read.text).text).toBe(read.text)
        } catch (error) {
          if (!(error instanceof CronSyntaxError)) throw error
          if (error.calendarEvent !== null)
            expect(timer(error.calendarEvent).next(new Date(0))).not.toBeNull()
          if (error.strict !== null) expect(timer(`cron ${error.strict}`).kind).toBe('cron')
        }
      }),
      runs(3000),
    )
  })

  test.each([
    '0,'.repeat(200_000),
    `${'0,'.repeat(200_000)}0 * * * *`,
    '* '.repeat(200_000),
    `* * * * *${' '.repeat(200_000)}x`,
    `${'1-'.repeat(100_000)} * * * *`,
    `* * * * ${'L'.repeat(200_000)}`,
    `* * * * 1${'9'.repeat(200_000)}#2`,
    `* * * * * ${'Europe/'.repeat(50_000)}Berlin`,
    `*/${'5'.repeat(200_000)} * * * *`,
    `@${'daily'.repeat(50_000)}`,
  ])('of any length gets a response, and is shortened where it is shown: %#', (expression) => {
    try {
      timer(`cron ${expression}`)
    } catch (error) {
      if (!(error instanceof CronSyntaxError)) throw error
      expect(error.message.length).toBeLessThan(500)
    }
  })

  test('may repeat values', () => {
    const minutes = Array.from({ length: 300 }, (_, index) => index % 60).join(',')
    expect(timer(`cron ${minutes} * * * *`).next(new Date(0))).toEqual(new Date(60_000))
  })
})
