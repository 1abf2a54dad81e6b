import { describe, expect, test } from 'vitest'
import { CalendarSyntaxError, calendar } from '../../src/calendar/index.ts'

function refusal(text: string): CalendarSyntaxError {
  try {
    calendar(text)
  } catch (error) {
    if (error instanceof CalendarSyntaxError) return error
    throw error
  }
  throw new Error(`${text} was not rejected`)
}

test('an error message is a single line with the text, the column, the problem and a correction', () => {
  const error = refusal('Mo 9:00')
  expect(error.message).toBe(
    'Not a calendar event: "Mo 9:00", column 1: neither a weekday nor a word such as daily; did you mean Mon?',
  )
  expect(error).toMatchObject({
    name: 'CalendarSyntaxError',
    code: 'KALENDS_CALENDAR_SYNTAX',
    text: 'Mo 9:00',
    column: 1,
    token: 'Mo',
    hint: 'did you mean Mon?',
  })
})

test('the message shortens long strings and escapes control characters', () => {
  const { message } = refusal(`Mon\u0007\u2028${'x'.repeat(500)}`)
  expect(message).toContain(String.raw`"Mon\u0007\u2028xx`)
  expect(message.length).toBeLessThan(250)
})

const PLACE = 'use UTC or the name of a place, such as Europe/Berlin'

describe('a likely correction is suggested, with the column of the mistake:', () => {
  test.each([
    ['Mo', 1, 'Mo', 'did you mean Mon?'],
    ['Tues', 1, 'Tues', 'did you mean Tue?'],
    // Of a timer, of which a calendar event is one kind.
    ['evry 5min', 1, 'evry', 'did you mean every?'],
    ['corn 0 9 * * *', 1, 'corn', 'did you mean cron?'],
    ['Mon..Fr 9:00', 6, 'Fr', 'did you mean Fri?'],
    ['dialy', 1, 'dialy', 'did you mean daily?'],
    ['12', 1, '12', 'did you mean 12:00?'],
    ['Mon 9', 5, '9', 'did you mean 9:00?'],
    ['*-*-1 9', 7, '9', 'did you mean 9:00?'],
    ['2024', 1, '2024', 'did you mean 2024-*-*?'],
    ['24:00', 1, '24', 'midnight is 00:00, at the start of a day'],
    ['12:60', 4, '60', 'use 00 of the following hour'],
    ['9am', 1, '9am', 'write hours from 0 to 23, without am or pm'],
    ['9:00pm', 5, 'pm', 'write hours from 0 to 23, without am or pm'],
    ['9:00 pm', 6, 'pm', 'write hours from 0 to 23, without am or pm'],
    ['9-17:00', 5, ':00', 'write a range of hours as 9..17:00'],
    ['*:0-30', 4, '-30', 'write a range of minutes as 0..30'],
    ['*:*/5', 4, '/5', 'write the first value: 0/5 instead of */5'],
    ['*:10..5', 3, '10..5', 'a range does not wrap around; write two ranges, as in 0..3,22..23'],
    ['Fri..Mon', 1, 'Fri..Mon', 'write Fri,Sat,Sun,Mon'],
    ['*:0/60', 3, '0/60', 'write 0, or a smaller step'],
    ['*~29', 3, '29', 'the last day is ~1, the one before it ~2, up to ~28'],
    ['12:00.5', 6, '.5', 'only seconds have fractions'],
    ['2024-01-01T10:00', 11, 'T10:00', 'separate date and time with a space instead of a T'],
    ['2024/01/01', 1, '2024/01/01', 'write dates as year-month-day'],
    ['9:00 Mon', 6, 'Mon', 'weekdays come first: Mon,Tue 9:00'],
    ['Mon daily', 5, 'daily', 'write it alone, or followed by a time zone'],
    [' Mon', 1, ' ', 'remove it'],
    ['daily ', 6, ' ', 'remove it'],
    ['Mon\t9:00', 4, '\t', 'replace it with a space, or remove it'],
    ['"Mon"', 1, '"', 'remove them'],
    ['', 1, '', 'write an event, such as daily or Mon..Fri 9:00'],
  ])('%j', (text, column, token, hint) => {
    expect(refusal(text)).toMatchObject({ column, token, hint })
  })
})

describe('zones:', () => {
  test.each([
    ['12:00 europe/berlin', 'europe/berlin', 'names are case-sensitive: write Europe/Berlin'],
    ['12:00 Europe/Berln', 'Europe/Berln', 'did you mean Europe/Berlin?'],
    ['12:00 America/New York', 'America/New', 'write America/New_York'],
    ['12:00 PST', 'PST', `abbreviations are ambiguous; ${PLACE}`],
    ['12:00 right/Europe/Berlin', 'right/Europe/Berlin', 'write Europe/Berlin'],
    ['12:00 Europe/', 'Europe/', PLACE],
    ['12:00 Z', 'Z', `${PLACE}; for a fixed offset from UTC, use Etc/GMT-2 (two hours ahead)`],
  ])('%s', (text, token, hint) => {
    expect(refusal(text)).toMatchObject({ column: 7, token, hint })
  })

  test.each([
    ['daily Europe/Berln', 'Europe/Berln is not a time zone', 'did you mean Europe/Berlin?'],
    ['hourly CEST', 'CEST is not a time zone', `abbreviations are ambiguous; ${PLACE}`],
  ])('%s: the error is about the zone, not the word before it', (text, problem, hint) => {
    expect(refusal(text)).toMatchObject({ message: expect.stringContaining(problem), hint })
  })

  test('a zone without an event is rejected', () => {
    expect(refusal('Europe/Berlin').hint).toBe('write 00:00 Europe/Berlin')
  })
})

describe('cron is recognised:', () => {
  test.each([
    ['0 0 ? * *', 'cron expressions may contain only numbers, names, ranges, lists, steps and *'],
    ['0 9 * * 1-5', 'as a timer, write cron 0 9 * * 1-5'],
    ['*/5 * * * mon-fri', 'as a timer, write cron */5 * * * mon-fri'],
    ['@weekly', 'write Sun 0:00'],
    [
      '0 0 9 * * *',
      'cron expressions must have five fields; for seconds, write the time as hour:minute:second',
    ],
    ['@daily', 'write daily'],
    ['@midnight', 'write daily'],
    ['@reboot', undefined],
    ['cron! 0 9 * * *', 'use it where a timer is expected, such as in a schedule'],
    ['cron 0 9 * * *', 'use it where a timer is expected, such as in a schedule'],
    ['every 5min', 'use it where a timer is expected, such as in a schedule'],
  ])('%s', (text, hint) => {
    const error = refusal(text)
    expect(error.column).toBe(1)
    expect(error.hint).toBe(hint)
  })
})

describe('an invalid event, zone, fold or instant is rejected with a TypeError or a RangeError:', () => {
  test('the text', () => {
    // Untyped callers may pass any value.
    expect(() => Reflect.apply(calendar, undefined, [5])).toThrow(TypeError)
  })

  test('the options', () => {
    expect(() => calendar('daily', { zone: 'Mars/Olympus' })).toThrow(RangeError)
    expect(() => calendar('daily', { zone: 'europe/berlin' })).toThrow('case-sensitive')
    expect(() => Reflect.apply(calendar, undefined, ['daily', { fold: 'twice' }])).toThrow(RangeError)
  })

  test('the instants', () => {
    const event = calendar('daily')
    expect(() => event.next(new Date(Number.NaN))).toThrow(RangeError)
    expect(() => event.nextMicros(0.5)).toThrow(RangeError)
  })
})

test("zone 'local' is the zone of the process", () => {
  expect(calendar('daily', { zone: 'local' }).zone).toBe(new Intl.DateTimeFormat().resolvedOptions().timeZone)
})
