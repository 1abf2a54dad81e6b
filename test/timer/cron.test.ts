import { describe, expect, test } from 'vitest'
import { checkTimer, CronSyntaxError, timer } from '../../src/timer/index.ts'

const NOON = new Date('2026-03-27T12:00Z')

/** The text, the normal form, and the next two run times after NOON, a Friday. */
const accepted = [
  ['*/5 * * * *', '*/5 * * * *', '2026-03-27T12:05Z', '2026-03-27T12:10Z'],
  ['*/1 */01 * * *', '* * * * *', '2026-03-27T12:01Z', '2026-03-27T12:02Z'],
  ['*/7 * * * *', '*/7 * * * *', '2026-03-27T12:07Z', '2026-03-27T12:14Z'],
  ['*/60 * * * *', '*/60 * * * *', '2026-03-27T13:00Z', '2026-03-27T14:00Z'],
  ['5-59/15 * * * *', '5-59/15 * * * *', '2026-03-27T12:05Z', '2026-03-27T12:20Z'],
  ['0,*/20 * * * *', '0,*/20 * * * *', '2026-03-27T12:20Z', '2026-03-27T12:40Z'],
  ['5-9/1,07-7/3,7 * * * *', '5-9,7 * * * *', '2026-03-27T12:05Z', '2026-03-27T12:06Z'],
  ['0 0 */10 * *', '0 0 */10 * *', '2026-03-31T00:00Z', '2026-04-01T00:00Z'],
  ['0 0 1 */3 *', '0 0 1 */3 *', '2026-04-01T00:00Z', '2026-07-01T00:00Z'],
  ['0 9 * * mon-fri', '0 9 * * 1-5', '2026-03-30T09:00Z', '2026-03-31T09:00Z'],
  ['0 9 * * MON,Wed,fri', '0 9 * * 1,3,5', '2026-03-30T09:00Z', '2026-04-01T09:00Z'],
  ['0 9 * * mon-5/2', '0 9 * * 1-5/2', '2026-03-30T09:00Z', '2026-04-01T09:00Z'],
  ['0 9 1 JAN,jul *', '0 9 1 1,7 *', '2026-07-01T09:00Z', '2027-01-01T09:00Z'],
  ['0 9 1 oct-Dec *', '0 9 1 10-12 *', '2026-10-01T09:00Z', '2026-11-01T09:00Z'],
  ['0 0 * * 7', '0 0 * * 0', '2026-03-29T00:00Z', '2026-04-05T00:00Z'],
  ['0 0 * * sun', '0 0 * * 0', '2026-03-29T00:00Z', '2026-04-05T00:00Z'],
  ['0 0 * * 5-7', '0 0 * * 0,5-6', '2026-03-28T00:00Z', '2026-03-29T00:00Z'],
  ['0 0 * * 6-7', '0 0 * * 0,6', '2026-03-28T00:00Z', '2026-03-29T00:00Z'],
  ['0 0 * * 2-7/2', '0 0 * * 2-6/2', '2026-03-28T00:00Z', '2026-03-31T00:00Z'],
  ['0 0 * * 1-7/3', '0 0 * * 0,1-6/3', '2026-03-29T00:00Z', '2026-03-30T00:00Z'],
  ['0 0 * * 0-7', '0 0 * * 0-6', '2026-03-28T00:00Z', '2026-03-29T00:00Z'],
  ['0 0 * * */2', '0 0 * * */2', '2026-03-28T00:00Z', '2026-03-29T00:00Z'],
  ['0 0 13 * fri', '0 0 13 * 5', '2026-04-03T00:00Z', '2026-04-10T00:00Z'],
  ['0 0 1-31/15 * mon', '0 0 1-31/15 * 1', '2026-03-30T00:00Z', '2026-03-31T00:00Z'],
  ['0 9 * * mon-fri Europe/Berlin', '0 9 * * 1-5 Europe/Berlin', '2026-03-30T07:00Z', '2026-03-31T07:00Z'],
  ['@yearly', '0 0 1 1 *', '2027-01-01T00:00Z', '2028-01-01T00:00Z'],
  ['@annually', '0 0 1 1 *', '2027-01-01T00:00Z', '2028-01-01T00:00Z'],
  ['@monthly', '0 0 1 * *', '2026-04-01T00:00Z', '2026-05-01T00:00Z'],
  ['@weekly', '0 0 * * 0', '2026-03-29T00:00Z', '2026-04-05T00:00Z'],
  ['@daily', '0 0 * * *', '2026-03-28T00:00Z', '2026-03-29T00:00Z'],
  ['@MIDNIGHT', '0 0 * * *', '2026-03-28T00:00Z', '2026-03-29T00:00Z'],
  ['@hourly', '0 * * * *', '2026-03-27T13:00Z', '2026-03-27T14:00Z'],
  ['@daily Europe/Berlin', '0 0 * * * Europe/Berlin', '2026-03-27T23:00Z', '2026-03-28T23:00Z'],
] as const

test.each(accepted)(
  'cron %s is accepted, and its normal form is cron %s [T3]',
  (pasted, normal, first, second) => {
    const read = timer(`cron ${pasted}`)
    expect(read.text).toBe(`cron ${normal}`)
    expect(timer(read.text).text).toBe(read.text)
    expect(read.next(NOON)).toEqual(new Date(first))
    expect(read.next(new Date(first))).toEqual(new Date(second))
  },
)

test.each([
  ['cron */5 * * * mon-fri', 'every 5 minutes, Monday to Friday (UTC)', ['Mon..Fri *-*-* *:00/5:00']],
  ['cron @weekly', 'at 00:00 every Sunday (UTC)', ['Sun *-*-* 00:00:00']],
  [
    'cron! 0 9 1 * 1',
    'at 09:00 every Monday, and on the 1st of every month (UTC)',
    ['Mon *-*-* 09:00:00', '*-*-01 09:00:00'],
  ],
])('%s is described, and as calendar events it is %j', (text, description, events) => {
  expect(checkTimer(text)).toMatchObject({ kind: 'cron', description, events })
})

test('cron! is the strict form: it accepts only POSIX, and its normal form has the same prefix', () => {
  expect(timer(' CRON!  05 9-17  * * 1-5 utc').text).toBe('cron! 5 9-17 * * 1-5 UTC')
  expect(timer('cron! 30 2 * * * Europe/Berlin').next(NOON)).toEqual(new Date('2026-03-28T01:30Z'))
  expect(checkTimer('  cron! 0 9 * * mon', { after: NOON })).toMatchObject({
    error: { column: 17, token: 'mon', message: expect.stringContaining('Not a POSIX cron expression') },
  })
})

/** The expression, the field, the token, the reason or its beginning, and the suggestion. */
const refused = [
  ['5/15 * * * *', 'minute', '5/15', 'a step follows * or a range, as in */2 or 0-59/2', 'write *:5/15'],
  ['0 0 * * mon/2', 'day of the week', 'mon/2', 'a step follows', 'write Mon,Wed,Fri 0:00'],
  ['*/0 * * * *', 'minute', '*/0', 'a step follows', null],
  [
    '*/90 * * * *',
    'minute',
    '*/90',
    'the step is longer than the field; consider a timer such as every 90min',
    null,
  ],
  [
    '0 */48 * * *',
    'hour',
    '*/48',
    'the step is longer than the field; consider a timer such as every 48h',
    null,
  ],
  ['0 0 1 */13 *', 'month', '*/13', 'the step is longer than the field', null],
  ['*,5 * * * *', 'minute', '*', "'*' is not allowed in a list", 'write *:*'],
  ['0 0 * * fri-mon', 'day of the week', 'fri-mon', 'the range runs backwards', 'write Mon,Fri..Sun 0:00'],
  ['0 0 * * fri-sun', 'day of the week', 'fri-sun', 'the range runs backwards', 'write Fri..Sun 0:00'],
  ['0 22-2 * * *', 'hour', '22-2', 'the range runs backwards', 'write 22..23,0..2:00'],
  ['0 0 * * 8', 'day of the week', '8', '8 is not between 0 and 7', null],
  [
    '0 0 * * monday',
    'day of the week',
    'monday',
    'must be a number from 0 to 6, a name from SUN to SAT',
    null,
  ],
  ['0 0 * mon *', 'month', 'mon', 'must be a number from 1 to 12, a name from JAN to DEC', null],
  ['jan 0 * * *', 'minute', 'jan', 'must be a number from 0 to 59, a range', null],
  ['0 0 L * *', 'day of the month', 'L', "'L' is not crontab syntax", 'write *-*~1 0:00'],
  ['0 0 * * 5L', 'day of the week', '5L', "'L' is not crontab syntax", 'write Fri *-*~1..7 0:00'],
  ['0 0 * * fri#2', 'day of the week', 'fri#2', "'#' is not crontab syntax", 'write Fri *-*-8..14 0:00'],
  ['0 0 15W * *', 'day of the month', '15W', "'W' is not crontab syntax, and no calendar event", null],
  ['0 9 ? * mon', 'day of the month', '?', "'?' is not crontab syntax; write *", 'write Mon 9:00'],
  [
    '0 30 9 * * *',
    'expression',
    '0 30 9 * * *',
    'there are six fields, and crontab syntax has no',
    'write 9:30',
  ],
  ['0 */30 9 1 * mon', 'expression', '0 */30 9 1 * mon', 'there are six fields', 'write cron 0,30 9 1 * 1'],
  ['@reboot', 'expression', '@reboot', 'only the macros from @hourly to @yearly are supported, and', null],
  ['@every 5m', 'expression', '@every', 'only the macros from @hourly to @yearly are supported; write', null],
  ['@daily Europe/Berln', 'expression', '@daily', 'only the macros', null],
] as const

test.each(refused)('cron %s is rejected [T3]', (expression, field, token, problem, hint) => {
  const error = refusal(`cron ${expression}`)
  expect(error).toMatchObject({ field, token, hint })
  expect(error.problem.startsWith(problem) ? problem : error.problem).toBe(problem)
  expect(error.message).toMatch(/^Not a cron expression: /)
  expect(expression.slice(error.column - 1).startsWith(token)).toBe(true)
})

describe('if both day fields are set and one starts with a star, the expression is rejected, because programs disagree about its meaning [T3]', () => {
  test.each([
    ['0 0 */2 * mon', '*/2', 'Mon *-*-1/2 0:00', 'cron 0 0 1-31/2 * 1'],
    ['0 0 13 * */2', '*/2', 'Tue,Thu,Sat,Sun *-*-13 0:00', 'cron 0 0 13 * 0-6/2'],
    ['0 0 */1 * mon', '*/1', 'Mon 0:00', 'cron 0 0 1-31 * 1'],
    ['0 0 */2,4 * 1-5 UTC', '*/2,4', 'Mon..Fri *-*-1/2,4 0:00 UTC', 'cron 0 0 1-31/2,4 * 1-5 UTC'],
  ])('cron %s', (expression, token, both, either) => {
    const error = refusal(`cron ${expression}`)
    expect(error).toMatchObject({ token, calendarEvent: both, cron: either })
    expect(error.hint).toBe(`write ${both} if both must match, or ${either} if either is enough`)
    expect(error.message.endsWith(`; if both must match: ${both}; if either is enough: ${either}`)).toBe(true)
    for (const text of [both, either]) expect(timer(text).next(NOON)).not.toBeNull()
  })
})

function refusal(text: string): CronSyntaxError {
  try {
    timer(text)
  } catch (error) {
    if (error instanceof CronSyntaxError) return error
    throw error
  }
  throw new Error(`${text} was not rejected`)
}
