import { Cron } from 'croner'
import { describe, expect, test } from 'vitest'
import { CronSyntaxError, timer } from '../../src/timer/index.ts'

/** The expression, field, token, reason (or its beginning) and suggestion: a calendar event, `cron! …`, or none. */
type Row = readonly [expression: string, field: string, token: string, problem: string, offer: string | null]

const STEPS = 'steps are not POSIX'
const NAMES = 'names are not POSIX'
const SIX = 'there are six fields, and POSIX has no seconds'
const YEARS = 'there are six fields, and POSIX has no years'
const SEVEN = 'there are seven fields, and POSIX has neither seconds nor years'
const MACRO = 'macros are not POSIX'
const BACKWARDS = 'the range runs backwards'
const EMPTY = 'an item of the list is empty'
const NEEDED = 'must be a number from'

const rows: readonly Row[] = [
  // Steps.
  ['*/5 * * * *', 'minute', '*/5', STEPS, '*:0/5'],
  ['*/15 9-17 * * 1-5', 'minute', '*/15', STEPS, 'Mon..Fri 9..17:0/15'],
  ['*/7 * * * *', 'minute', '*/7', STEPS, '*:0/7'],
  ['*/1 * * * *', 'minute', '*/1', STEPS, '*:*'],
  ['*/60 * * * *', 'minute', '*/60', STEPS, '*:00'],
  [
    '*/90 * * * *',
    'minute',
    '*/90',
    `${STEPS}, and this one is longer than the field; consider a timer such as every 90min`,
    null,
  ],
  ['1-59/2 * * * *', 'minute', '1-59/2', STEPS, '*:1/2'],
  ['10-40/10 * * * *', 'minute', '10-40/10', STEPS, '*:10..40/10'],
  ['0,*/20 * * * *', 'minute', '*/20', STEPS, '*:0,0/20'],
  ['0 */2 * * *', 'hour', '*/2', STEPS, '0/2:00'],
  ['0 8-20/4 * * *', 'hour', '8-20/4', STEPS, '8..20/4:00'],
  ['0 0 */2 * *', 'day of the month', '*/2', STEPS, '*-*-1/2 0:00'],
  ['0 0 1 */3 *', 'month', '*/3', STEPS, '*-1/3-1 0:00'],
  ['0 0 * * */2', 'day of the week', '*/2', STEPS, 'Tue,Thu,Sat,Sun 0:00'],
  ['*/0 * * * *', 'minute', '*/0', STEPS, null],
  ['*/15 9 1 * FRI', 'minute', '*/15', STEPS, 'cron! 0,15,30,45 9 1 * 5'],
  // Names, and 7 for Sunday.
  ['0 9 * JAN *', 'month', 'JAN', NAMES, '*-1-* 9:00'],
  ['0 9 * jan-mar *', 'month', 'jan-mar', NAMES, '*-1..3-* 9:00'],
  ['0 9 * * MON', 'day of the week', 'MON', NAMES, 'Mon 9:00'],
  ['0 9 * * mon-fri', 'day of the week', 'mon-fri', NAMES, 'Mon..Fri 9:00'],
  ['0 9 * * MON,WED,FRI', 'day of the week', 'MON', NAMES, 'Mon,Wed,Fri 9:00'],
  ['0 9 * * SUN-TUE', 'day of the week', 'SUN-TUE', NAMES, 'Mon,Tue,Sun 9:00'],
  ['0 9 * * FRI-MON', 'day of the week', 'FRI-MON', NAMES, 'Mon,Fri..Sun 9:00'],
  ['0 9 1 * MON', 'day of the week', 'MON', NAMES, 'cron! 0 9 1 * 1'],
  ['0 0 * * 7', 'day of the week', '7', '7 is not between 0 and 6; Sunday is 0', 'Sun 0:00'],
  ['0 0 * * 5-7', 'day of the week', '5-7', '7 is not between 0 and 6; Sunday is 0', 'Fri..Sun 0:00'],
  ['0 0 * * 1-7', 'day of the week', '1-7', '7 is not between 0 and 6; Sunday is 0', '0:00'],
  ['0 0 15 * 1-7', 'day of the week', '1-7', '7 is not between 0 and 6; Sunday is 0', 'cron! 0 0 15 * 0-6'],
  // Extensions from Quartz and other programs.
  ['0 9 ? * MON', 'day of the month', '?', "'?' is not POSIX", 'Mon 9:00'],
  ['0 9 ? * 2', 'day of the month', '?', "'?' is not POSIX", null],
  ['0 9 1 * ?', 'day of the week', '?', "'?' is not POSIX", '*-*-1 9:00'],
  ['? 9 * * *', 'minute', '?', "'?' is not POSIX; write *", null],
  ['0 0 L * *', 'day of the month', 'L', "'L' is not POSIX", '*-*~1 0:00'],
  ['0 0 L-3 * *', 'day of the month', 'L-3', "'L' is not POSIX", '*-*~4 0:00'],
  [
    '0 0 15W * *',
    'day of the month',
    '15W',
    "'W' is not POSIX, and no calendar event can express the nearest workday",
    null,
  ],
  ['0 0 LW * *', 'day of the month', 'LW', "'W' is not POSIX", null],
  ['0 0 * * 5L', 'day of the week', '5L', "'L' is not POSIX", 'Fri *-*~1..7 0:00'],
  ['0 0 * * FRIL', 'day of the week', 'FRIL', "'L' is not POSIX", 'Fri *-*~1..7 0:00'],
  ['0 0 * * FRI#2', 'day of the week', 'FRI#2', "'#' is not POSIX", 'Fri *-*-8..14 0:00'],
  ['0 0 * * 1#1', 'day of the week', '1#1', "'#' is not POSIX", 'Mon *-*-1..7 0:00'],
  ['0 0 * * 1#5', 'day of the week', '1#5', "'#' is not POSIX", 'Mon *-*-29..31 0:00'],
  ['0 0 * * FRI#L', 'day of the week', 'FRI#L', "'#' is not POSIX", 'Fri *-*~1..7 0:00'],
  ['0 0 * * 1#6', 'day of the week', '1#6', "'#' is not POSIX", null],
  ['H/15 * * * *', 'minute', 'H/15', "'H' is not POSIX", null],
  ['H 4 * * *', 'minute', 'H', "'H' is not POSIX", null],
  // More than five fields.
  ['0 30 9 * * *', 'expression', '0 30 9 * * *', SIX, '9:30'],
  ['*/10 * * * * *', 'expression', '*/10 * * * * *', SIX, '*:*:0/10'],
  ['0 0 9 * * MON-FRI', 'expression', '0 0 9 * * MON-FRI', SIX, 'Mon..Fri 9:00'],
  ['30 0 0 1 1 *', 'expression', '30 0 0 1 1 *', SIX, '*-1-1 0:00:30'],
  ['0 0 12 * * ?', 'expression', '0 0 12 * * ?', SIX, '12:00'],
  ['0 0 12 ? * MON', 'expression', '0 0 12 ? * MON', SIX, 'Mon 12:00'],
  ['0 0 12 ? * 2', 'expression', '0 0 12 ? * 2', SIX, null],
  ['15 10 * * ? *', 'expression', '15 10 * * ? *', YEARS, '10:15'],
  ['0 9 ? * MON-FRI *', 'expression', '0 9 ? * MON-FRI *', YEARS, 'Mon..Fri 9:00'],
  ['0 0 1 1 * 2030', 'expression', '0 0 1 1 * 2030', YEARS, '2030-1-1 0:00'],
  ['0 0 12 * * MON 2027', 'expression', '0 0 12 * * MON 2027', SEVEN, 'Mon 2027-*-* 12:00'],
  ['0 0 12 * * ? 2027-2030', 'expression', '0 0 12 * * ? 2027-2030', SEVEN, '2027..2030-*-* 12:00'],
  ['0 0 12 ? * 2 *', 'expression', '0 0 12 ? * 2 *', SEVEN, null],
  ['* * * * * * * *', 'expression', '* * * * * * * *', 'must have five fields, got 8', null],
  ['* * * *', 'expression', '* * * *', 'must have five fields, got 4', null],
  ['', 'expression', '', 'must have five fields, got 0', null],
  // Macros.
  ['@hourly', 'expression', '@hourly', MACRO, 'hourly'],
  ['@daily', 'expression', '@daily', MACRO, 'daily'],
  ['@midnight', 'expression', '@midnight', MACRO, 'daily'],
  ['@weekly', 'expression', '@weekly', MACRO, 'Sun 00:00'],
  ['@monthly', 'expression', '@monthly', MACRO, 'monthly'],
  ['@yearly', 'expression', '@yearly', MACRO, 'yearly'],
  ['@ANNUALLY', 'expression', '@ANNUALLY', MACRO, 'yearly'],
  ['@daily Europe/Berlin', 'expression', '@daily', MACRO, 'daily Europe/Berlin'],
  ['@reboot', 'expression', '@reboot', `${MACRO}, and this one is not a time of day`, null],
  ['@every 5m', 'expression', '@every', `${MACRO}; write the timer every 5m`, null],
  ['@fortnightly', 'expression', '@fortnightly', MACRO, null],
  // Ranges.
  ['0 22-2 * * *', 'hour', '22-2', BACKWARDS, '22..23,0..2:00'],
  ['59-1 * * * *', 'minute', '59-1', BACKWARDS, '*:59,0..1'],
  ['0 9 * 11-2 *', 'month', '11-2', BACKWARDS, '*-11..12,1..2-* 9:00'],
  ['0 9 * * 5-1', 'day of the week', '5-1', BACKWARDS, 'Mon,Fri..Sun 9:00'],
  ['60 * * * *', 'minute', '60', '60 is not between 0 and 59', null],
  ['0 24 * * *', 'hour', '24', '24 is not between 0 and 23', null],
  ['0 0 0 * *', 'day of the month', '0', '0 is not between 1 and 31', null],
  ['0 0 28-32 * *', 'day of the month', '28-32', '32 is not between 1 and 31', null],
  ['0 0 1 13 *', 'month', '13', '13 is not between 1 and 12', null],
  ['0 0 * * 8', 'day of the week', '8', '8 is not between 0 and 6', null],
  // Never.
  [
    '0 0 30 2 *',
    'day of the month',
    '30',
    'it never fires, because that month does not have such a day; for the last day, write *-2~1 0:00',
    null,
  ],
  [
    '0 0 31 4,6,9,11 *',
    'day of the month',
    '31',
    'it never fires, because none of these months has such a day; for the last day, write *-4,6,9,11~1 0:00',
    null,
  ],
  // Empty items and junk.
  [',5 * * * *', 'minute', '', EMPTY, null],
  ['5, * * * *', 'minute', '', EMPTY, null],
  ['0 1,,2 * * *', 'hour', '', EMPTY, null],
  ['*,5 * * * *', 'minute', '*', "'*' is not allowed in a list", '*:*'],
  ['-5 * * * *', 'minute', '-5', NEEDED, null],
  ['5- * * * *', 'minute', '5-', NEEDED, null],
  ['1-2-3 * * * *', 'minute', '1-2-3', NEEDED, null],
  ['1.5 * * * *', 'minute', '1.5', NEEDED, null],
  ['+5 * * * *', 'minute', '+5', NEEDED, null],
  ['005 * * * *', 'minute', '005', NEEDED, '*:05'],
  ['٣ * * * *', 'minute', '٣', NEEDED, null],
  ['0 9 * * 1-5 Europe/Berln', 'zone', 'Europe/Berln', 'unknown zone; did you mean Europe/Berlin?', null],
  ['0 9 * * 1-5 europe/berlin', 'zone', 'europe/berlin', 'unknown zone; did you mean Europe/Berlin?', null],
  ['0 9 * * 1-5 local', 'zone', 'local', 'use its name here', null],
  ['*/5 * * * * Europe/Berlin', 'minute', '*/5', STEPS, '*:0/5 Europe/Berlin'],
  ['*/15 9 1 * 1 Asia/Tokyo', 'minute', '*/15', STEPS, 'cron! 0,15,30,45 9 1 * 1 Asia/Tokyo'],
]

describe('after cron!, an expression that is not POSIX is rejected with the field, the reason and, if there is one, an equivalent [T3]', () => {
  test.each(rows)('cron! %s', (expression, field, token, problem, offer) => {
    const error = refusal(expression)
    expect(error).toMatchObject({ field, token })
    expect(error.problem.startsWith(problem) ? problem : error.problem).toBe(problem)
    expect(error.calendarEvent ?? error.cron).toBe(offer)
    expect(expression.slice(error.column - 1).startsWith(token)).toBe(true)
    expect(error.message).toContain(error.problem)
    if (field !== 'expression') expect(error.message).toContain(`${field} "${token}"`)
    if (offer !== null) {
      expect(error.message.endsWith(offer)).toBe(true)
      expect(error.hint).toBe(`write ${offer}`)
      expect(timer(offer).next(new Date(0))).not.toBeNull()
    }
  })
})

/** Backward ranges, L-3, and a field for years in an expression without seconds. */
const UNKNOWN_TO_CRONER = /22-2|59-1|11-2|5-1$|FRI-MON|L-3|\? \*$|MON-FRI \*$|\* 2030$/

describe('the suggested equivalent elapses at the times that croner computes for the expression [T3]', () => {
  const offered = rows.filter(
    ([expression, , , , offer]) => offer !== null && !UNKNOWN_TO_CRONER.test(expression),
  )
  test('most rejected expressions have an equivalent', () => {
    expect(offered.length).toBeGreaterThan(35)
  })

  test.each(offered)('%s', (expression, _field, _token, _problem, offer) => {
    const [, fields = '', zone = 'UTC'] = /^(.*?)(?: ([A-Z][a-z]+\/\w+))?$/.exec(expression) ?? []
    const reference = new Cron(fields, { timezone: zone })
    const event = timer(offer ?? '')
    // One chain starts in the middle of a month, and the other crosses the end of February in a leap year.
    for (const start of ['2026-05-13T11:17:23Z', '2028-02-27T22:00:00Z']) {
      let at: Date | null = new Date(start)
      for (let turn = 0; turn < 20 && at !== null; turn += 1) {
        const expected: Date | null = reference.nextRun(at)
        expect(event.next(at)).toEqual(expected)
        at = expected
      }
    }
  })
})

function refusal(expression: string): CronSyntaxError {
  try {
    timer(`cron! ${expression}`)
  } catch (error) {
    if (error instanceof CronSyntaxError) return error
    throw error
  }
  throw new Error(`cron! ${expression} was not rejected`)
}
