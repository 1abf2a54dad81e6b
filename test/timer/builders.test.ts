import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InvalidInputError } from '../../src/errors.ts'
import { at, daily, every, hourly, monthly, timer, weekly } from '../../src/timer/index.ts'

const FROM = new Date('2026-01-15T12:00:00Z')
const berlin = { zone: 'Europe/Berlin' }

describe('a builder returns the text of the timer [T6]', () => {
  test.each([
    [every('5min'), 'every 5min'],
    [every(300_000), 'every 5min'],
    [every(5_400_000), 'every 1h 30min'],
    [every(1500), 'every 1s 500ms'],
    [every(1000), 'every 1s'],
    [every('1ms'), 'every 1ms'],
    [every('1h', { after: 'finish' }), 'every 1h after finish'],
    [every(60_000, { after: undefined }), 'every 1min'],
    [hourly(), '*-*-* *:00:00'],
    [hourly(15), '*-*-* *:15:00'],
    [hourly(15, { zone: 'Asia/Kathmandu' }), '*-*-* *:15:00 Asia/Kathmandu'],
    [daily('3:00'), '*-*-* 03:00:00'],
    [daily('03:00:30', berlin), '*-*-* 03:00:30 Europe/Berlin'],
    [daily('03:00', { zone: 'UTC' }), '*-*-* 03:00:00 UTC'],
    [weekly(['thu', 'mon'], '09:00'), 'Mon,Thu *-*-* 09:00:00'],
    [weekly(['mon', 'tue', 'wed', 'thu', 'fri'], '09:00', berlin), 'Mon..Fri *-*-* 09:00:00 Europe/Berlin'],
    [monthly(31, '06:00'), '*-*-31 06:00:00'],
    [at(new Date('2026-03-27T09:00:00Z')), '2026-03-27 09:00:00 UTC'],
    [at(new Date('2026-03-27T09:00:00.250Z')), '2026-03-27 09:00:00.250000 UTC'],
  ])('%s', (made, text) => {
    expect(made).toBe(text)
    expect(timer(made).text).toBe(made)
  })

  test("a builder uses the zone of this process for 'local'", () => {
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
    expect(daily('03:00', { zone: 'local' })).toBe(`*-*-* 03:00:00 ${timeZone}`)
  })
})

describe('the timer from a builder elapses at the expected times', () => {
  test.each([
    ['hourly', hourly(15), ['2026-01-15T12:15Z', '2026-01-15T13:15Z']],
    ['daily', daily('03:00'), ['2026-01-16T03:00Z', '2026-01-17T03:00Z']],
    ['daily in a zone', daily('03:00', berlin), ['2026-01-16T02:00Z', '2026-01-17T02:00Z']],
    ['weekly', weekly(['mon', 'thu'], '09:00'), ['2026-01-19T09:00Z', '2026-01-22T09:00Z']],
    // Months without a 31st are skipped.
    [
      'on the 31st',
      monthly(31, '06:00'),
      [
        '2026-01-31T06:00Z',
        '2026-03-31T06:00Z',
        '2026-05-31T06:00Z',
        '2026-07-31T06:00Z',
        '2026-08-31T06:00Z',
      ],
    ],
    ['on the 30th', monthly(30, '06:00'), ['2026-01-30T06:00Z', '2026-03-30T06:00Z']],
    ['on the 29th', monthly(29, '06:00'), ['2026-01-29T06:00Z', '2026-03-29T06:00Z']],
  ])('%s', (_name, text, expected) => {
    let last = FROM
    for (const instant of expected) {
      const next = timer(text).next(last)
      expect(next).toEqual(new Date(instant))
      last = next ?? last
    }
  })

  test('a one-off elapses once, at the exact millisecond [T5]', () => {
    fc.assert(
      fc.property(
        fc.date({
          min: new Date('1970-01-01T00:00:00.001Z'),
          max: new Date('2199-12-31'),
          noInvalidDate: true,
        }),
        (instant) => {
          const once = timer(at(instant))
          expect(once.next(new Date(instant.getTime() - 1))).toEqual(instant)
          expect(once.next(instant)).toBeNull()
          expect(once.previous(instant)).toEqual(instant)
        },
      ),
    )
  })

  test('an interval in milliseconds is exact', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: Number.MAX_SAFE_INTEGER }), (spanMs) => {
        expect(timer(every(spanMs)).spanMs).toBe(spanMs)
      }),
    )
  })
})

/** A value of the wrong type, parsed from JSON, as plain JavaScript could pass it. */
function wrong(json: string): never {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(json) as never
}

describe('an error from a builder names the invalid argument [T6]', () => {
  test.each<[string, string, () => string, string]>([
    ['every', 'span', () => every('5 parsecs'), 'parsecs'],
    ['every', 'span', () => every(''), 'is empty'],
    ['every', 'span', () => every(5), "'5ms' if you mean that"],
    ['every', 'span', () => every(999), 'would be milliseconds'],
    ['every', 'span', () => every(0), 'shorter than 1 ms'],
    ['every', 'span', () => every(-5), '-5'],
    ['every', 'span', () => every(Number.NaN), 'NaN'],
    ['every', 'span', () => every(Number.POSITIVE_INFINITY), 'Infinity'],
    ['every', 'span', () => every('5min after finish'), 'after'],
    ['every', 'after', () => every('5min', { after: wrong('"start"') }), '"start"'],
    ['hourly', 'minute', () => hourly(60), 'between 0 and 59, got 60'],
    ['hourly', 'minute', () => hourly(-1), '-1'],
    ['hourly', 'minute', () => hourly(1.5), '1.5'],
    ['hourly', 'minute', () => hourly(wrong('"15"')), '15'],
    ['daily', 'time', () => daily('24:00'), '"24:00"'],
    ['daily', 'time', () => daily('9:60'), '"9:60"'],
    ['daily', 'time', () => daily('09:00:60'), '"09:00:60"'],
    ['daily', 'time', () => daily('9'), '"9"'],
    ['daily', 'time', () => daily('9:00 '), '"9:00 "'],
    ['daily', 'time', () => daily('*:00'), '"*:00"'],
    ['daily', 'time', () => daily(wrong('900')), '900'],
    ['daily', 'zone', () => daily('9:00', { zone: 'Europe/Nowhere' }), '"Europe/Nowhere"'],
    ['daily', 'zone', () => daily('9:00', { zone: '' }), '""'],
    ['weekly', 'days', () => weekly([], '9:00'), 'at least one day'],
    ['weekly', 'days', () => weekly([wrong('"Monday"')], '9:00'), '"Monday"'],
    ['weekly', 'days', () => weekly(wrong('"mon"'), '9:00'), 'at least one day'],
    ['weekly', 'time', () => weekly(['mon'], 'noon'), '"noon"'],
    ['monthly', 'day', () => monthly(0, '6:00'), 'between 1 and 31, got 0'],
    ['monthly', 'day', () => monthly(32, '6:00'), '32'],
    ['monthly', 'time', () => monthly(1, ''), '""'],
    ['at', 'instant', () => at(new Date(Number.NaN)), 'Invalid Date'],
    ['at', 'instant', () => at(new Date('2200-01-01')), '2200'],
    ['at', 'instant', () => at(new Date('1969-12-31')), '1969'],
    ['at', 'instant', () => at(new Date('+012000-01-01')), '12000'],
    ['at', 'instant', () => at(wrong('"2026-01-01"')), '2026-01-01'],
  ])('%s: %s, case %#', (_builder, field, build, message) => {
    expect(build).toThrow(InvalidInputError)
    expect(build).toThrow(message)
    expect(build).toThrow(new RegExp(`^${field}: `))
  })
})
