import { Cron } from 'croner'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CronSyntaxError, timer } from '../../src/timer/index.ts'
import { runs } from '../support/runs.ts'

/*
 * Two references. The naive one checks the local time of every minute, from Intl; it shares no code with the library.
 * The other one is croner, which is used only in UTC because it treats clock changes differently: it moves a skipped
 * time forward and runs a repeated one once.
 */

interface Fields {
  readonly text: string
  /** The same expression with names in any case, and sometimes with 7 for Sunday. */
  readonly names: string
  /** The values for minute, hour, day, month and weekday; null for any value. */
  readonly sets: readonly (ReadonlySet<number> | null)[]
}

const LIMITS = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const

const NAMES = [
  [],
  [],
  [],
  ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
]

/** An item of a list, written with digits and, if the field supports them, with names; and its values. */
function items(index: number, low: number, high: number, posix: boolean): fc.Arbitrary<Written> {
  const weekday = index === 4
  const value = fc.integer({ min: low, max: high })
  const end = weekday && !posix ? fc.integer({ min: low, max: 7 }) : value
  const alone = value.map((first) => ({ first, last: first, step: 1, written: 'alone' }))
  const range = fc.tuple(value, end).map(([a, b]) => ({
    first: Math.min(a, b),
    last: Math.max(a, b),
    step: 1,
    written: 'range',
  }))
  const step = fc.integer({ min: 1, max: high - low + 1 })
  const stepped = fc.tuple(range, step).map(([of, by]) => ({ ...of, step: by, written: 'stepped' }))
  const star = step.map((by) => ({ first: low, last: high, step: by, written: 'star' }))
  return fc
    .tuple(posix ? fc.oneof(alone, range) : fc.oneof(alone, range, stepped, star), fc.boolean(), fc.boolean())
    .map(([{ first, last, step: by, written }, upper, seven]) => {
      const named = (number: number) => {
        if (posix) return String(number)
        // croner interprets sun-sun as the whole week.
        const name =
          weekday && last === 0 && written !== 'alone' ? '0' : (NAMES[index]?.[number] ?? String(number))
        const sunday = weekday && number === 0 && written === 'alone' && seven ? '7' : name
        return upper ? sunday.toUpperCase() : sunday
      }
      const text = (of: (number: number) => string) =>
        ({
          alone: of(first),
          range: `${of(first)}-${of(last)}`,
          stepped: `${of(first)}-${of(last)}/${by}`,
          star: `*/${by}`,
        })[written] ?? ''
      const set = new Set<number>()
      for (let at = first; at <= last; at += by) set.add(weekday ? at % 7 : at)
      return { text: text(String), names: text(named), set }
    })
}

interface Written {
  readonly text: string
  readonly names: string
  readonly set: ReadonlySet<number> | null
}

function field(index: number, low: number, high: number, anyWeight: number, posix: boolean) {
  const any: Written = { text: '*', names: '*', set: null }
  const list = fc
    .array(items(index, low, high, posix), { minLength: 1, maxLength: 3 })
    .map((all): Written => {
      const text = all.map((item) => item.text).join(',')
      const set = text === '*/1' ? null : new Set(all.flatMap((item) => [...(item.set ?? [])]))
      return { text, names: all.map(({ names }) => names).join(','), set }
    })
  return fc.oneof({ weight: anyWeight, arbitrary: fc.constant(any) }, { weight: 2, arbitrary: list })
}

/** Expressions that most programs interpret in the same way. */
function expressions(anyDate: number, posix = false): fc.Arbitrary<Fields> {
  return fc
    .tuple(...LIMITS.map(([low, high], index) => field(index, low, high, index < 2 ? 1 : anyDate, posix)))
    .map((fields) => ({
      text: fields.map(({ text }) => text).join(' '),
      names: fields.map(({ names }) => names).join(' '),
      sets: fields.map(({ set }) => set),
    }))
    .filter(({ text }) => {
      const [, , day = '', , weekday = ''] = text.split(' ')
      return day === '*' || weekday === '*' || ![day, weekday].some((word) => word.startsWith('*'))
    })
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

/** The local time in a zone at each minute. */
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

/**
 * Zones and days: clock changes forward and back, by half an hour on Lord Howe; the day that Apia skipped; and ends of
 * February, without a change.
 */
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

describe('a cron timer elapses at the times of its five fields [T3]', () => {
  test.each(WINDOWS)('%s around %s: repeated times twice, skipped ones never [T3, L19]', (zone, day) => {
    const from = Date.parse(`${day}T00:00Z`) - 30 * HOUR
    const to = from + 60 * HOUR
    const window = shown(zone, from, to)
    fc.assert(
      fc.property(expressions(6), (fields) => {
        fc.pre(!never(fields.text))
        const expected = naive(fields, window)
        const cron = timer(`cron ${fields.names} ${zone}`)
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

  test('cron elapses at the same times as croner in UTC, on all kinds of dates [T3]', () => {
    fc.assert(
      fc.property(
        expressions(1),
        fc.date({ min: new Date('1995-01-01'), max: new Date('2080-01-01'), noInvalidDate: true }),
        (fields, after) => {
          fc.pre(!never(fields.text))
          const cron = timer(`cron ${fields.names}`)
          const reference = new Cron(fields.names, { timezone: 'UTC' })
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

  test('`previous` and `next` return adjacent instants of the same sequence', () => {
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

  const zones = fc.constantFrom('', ' UTC', ' utc', ' Europe/Berlin')
  const inNormalCase = (zone: string) => (zone === ' utc' ? ' UTC' : zone)

  test('cron has the same normal form for names and for digits, and this form is its own normal form [T3]', () => {
    fc.assert(
      fc.property(expressions(2), zones, (fields, zone) => {
        fc.pre(!never(fields.text))
        const { text, zone: own } = timer(`  cron \t ${fields.names.replaceAll(' ', '   ')}${zone} `)
        expect(text).toBe(timer(`cron ${fields.text}${inNormalCase(zone)}`).text)
        expect(text).toMatch(/^cron [\d*,/ -]+(?: UTC| Europe\/Berlin)?$/)
        expect(timer(text)).toMatchObject({ text, zone: own })
        const day = new Date('2028-02-29T11:30Z')
        expect(timer(text).next(day)).toEqual(timer(`cron ${fields.names}${zone}`).next(day))
      }),
    )
  })

  test('a POSIX expression has the same normal form after cron! as after cron', () => {
    fc.assert(
      fc.property(expressions(2, true), zones, (fields, zone) => {
        fc.pre(!never(fields.text))
        const { text } = timer(`cron ${fields.text}${zone}`)
        expect(timer(`cron! ${fields.text}${zone}`).text).toBe(text.replace('cron', 'cron!'))
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

  test('is valid or is rejected with a CronSyntaxError whose suggestions are valid', () => {
    fc.assert(
      fc.property(junk, fc.constantFrom('cron', 'cron!'), (expression, prefix) => {
        const text = `${prefix} ${expression}`
        try {
          const read = timer(text)
          expect(read.next(new Date(0))).not.toBeNull()
          expect(timer(read.text).text).toBe(read.text)
          expect(timer(`cron ${expression}`).next(new Date(0))).toEqual(read.next(new Date(0)))
        } catch (error) {
          if (!(error instanceof CronSyntaxError)) throw error
          if (error.calendarEvent !== null)
            expect(timer(error.calendarEvent).next(new Date(0))).not.toBeNull()
          if (error.cron !== null) expect(timer(error.cron).text.startsWith(`${prefix} `)).toBe(true)
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
  ])('text of any length is processed, and is shortened in messages: %#', (expression) => {
    try {
      timer(`cron ${expression}`)
    } catch (error) {
      if (!(error instanceof CronSyntaxError)) throw error
      expect(error.message.length).toBeLessThan(500)
    }
  })

  test('can repeat values', () => {
    const minutes = Array.from({ length: 300 }, (_, index) => index % 60).join(',')
    expect(timer(`cron ${minutes} * * * *`).next(new Date(0))).toEqual(new Date(60_000))
  })
})
