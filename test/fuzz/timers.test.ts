/**
 * Any text given as a timer is either parsed or rejected with the problem and its position. The next run time of a
 * parsed timer is always later than the given time.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CalendarSyntaxError } from '../../src/calendar/index.ts'
import {
  CronSyntaxError,
  fromCrontab,
  InvalidTimeSpanError,
  inWords,
  timer,
  timeSpan,
} from '../../src/timer/index.ts'
import { goldenRows } from '../calendar/golden.ts'

const SEED = Number(process.env['KALENDS_SEED'] ?? 20261121)
const RUNS = Number(process.env['KALENDS_FUZZ_RUNS'] ?? 4000)

const PARTS = [
  'every',
  'cron',
  'after',
  'finish',
  '5',
  '0',
  '59',
  '1.5',
  '-1',
  '1e9',
  '9'.repeat(30),
  '0'.repeat(30),
  'min',
  'ms',
  'us',
  'y',
  'month',
  'M',
  's',
  '*',
  '*/5',
  '1-5',
  '5-1',
  '1,2',
  'L',
  '?',
  '#',
  'MON',
  'Mon..Fri',
  '@daily',
  '9:00',
  '*-*-*',
  '2026-02-30',
  '~',
  '/',
  '..',
  ' ',
  '\t',
  '\u00a0',
  '\u0000',
  '\ufeff',
  '١',
  '😀',
  'Europe/Berlin',
  'UTC',
  'Mars/Olympus',
]
const VALID = [
  'every 5min',
  'every 1h 30min',
  'every 90s after finish',
  'every 30d',
  'every 0.5s',
  'cron 0 9 * * 1-5',
  'cron 0 0 29 2 *',
  'cron 15,45 */1 1 * 0 Europe/Berlin',
  'cron 0 0 13 * 5',
  ...goldenRows.filter(({ valid }) => valid).map(({ expr }) => expr),
]

const words = fc.array(fc.constantFrom(...PARTS), { maxLength: 9 }).map((parts) => parts.join(' '))
const mutated = fc
  .tuple(fc.constantFrom(...VALID), fc.nat(40), fc.constantFrom('', ...PARTS), fc.nat(3))
  .map(([text, at, put, cut]) => text.slice(0, at) + put + text.slice(at + cut))
const anyText = fc.oneof(
  words,
  mutated,
  fc.constantFrom(...VALID),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.constantFrom('every ', 'cron ').chain((kind) => words.map((text) => kind + text)),
)
const anyInstant = fc
  .integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(2199, 11, 31) })
  .map((millis) => new Date(millis))

function isRefusal(error: unknown): boolean {
  return (
    error instanceof CalendarSyntaxError ||
    error instanceof CronSyntaxError ||
    error instanceof InvalidTimeSpanError
  )
}

/** The value parsed from the text, or null if the text was correctly rejected. */
function read<Value>(text: string, reader: (text: string) => Value): Value | null {
  try {
    return reader(text)
  } catch (error) {
    if (!isRefusal(error)) throw error
    const { message } = error instanceof Error ? error : { message: '' }
    expect(message.length).toBeLessThan(2000)
    const column: unknown = error instanceof Error && 'column' in error ? error.column : null
    if (typeof column === 'number') {
      expect(column).toBeGreaterThanOrEqual(1)
      expect(column).toBeLessThanOrEqual(Math.max(1, text.length))
    }
    return null
  }
}

describe(`every string, seed ${SEED}`, () => {
  it('is rejected, or is a timer whose normal form is equivalent, whose next run is after a given time, and whose previous run is not', () => {
    let timers = 0
    fc.assert(
      fc.property(anyText, anyInstant, anyInstant, (text, at, anchor) => {
        const made = read(text, timer)
        if (made === null) return
        timers += 1
        expect(timer(made.text).text).toBe(made.text)
        expect(inWords(made)).not.toBe('')
        const elapses = made.elapses(anchor)
        const next = elapses.next(at)
        if (next !== null) {
          expect(next.getTime()).toBeGreaterThan(at.getTime())
          expect(elapses.previous(next)?.getTime()).toBe(next.getTime())
        }
        const previous = elapses.previous(at)
        if (previous !== null) expect(previous.getTime()).toBeLessThanOrEqual(at.getTime())
        // A timer that is parsed from the normal form fires at the same times.
        expect(timer(made.text).elapses(anchor).next(at)).toEqual(next)
      }),
      { numRuns: RUNS, seed: SEED },
    )
    expect(timers).toBeGreaterThan(RUNS / 20)
  })

  it('is a time span or is rejected', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const span = read(text, timeSpan)
        if (span !== null) expect(Number.isFinite(span)).toBe(true)
      }),
      { numRuns: RUNS, seed: SEED },
    )
  })

  it('is a crontab line or is rejected', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const made = read(text, fromCrontab)
        if (made !== null) expect(timer(made).text).toBeTypeOf('string')
      }),
      { numRuns: RUNS, seed: SEED },
    )
  })
})

it.each([
  `every ${'9'.repeat(100_000)}s`,
  `every ${'1s '.repeat(30_000)}`,
  `every ${' '.repeat(100_000)}5min`,
  `every 5min${' after finish'.repeat(10_000)}`,
  `cron ${'*'.repeat(100_000)}`,
  `cron ${'1,'.repeat(50_000)}1 * * * *`,
  `cron ${'* '.repeat(50_000)}`,
  `cron 0 0 * * ${'9'.repeat(100_000)}`,
  `cron 0 0 1-${'9'.repeat(100_000)} * *`,
  ' '.repeat(100_000),
])('a string of 100 KB is parsed or rejected: %.30s', (text) => {
  for (const reader of [timer, timeSpan, fromCrontab]) read<unknown>(text, reader)
})
