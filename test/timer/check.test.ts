import { describe, expect, test } from 'vitest'
import { InvalidInputError } from '../../src/errors.ts'
import { type CheckOptions, checkTimer, type TimerCheck } from '../../src/timer/index.ts'

const AFTER = new Date('2026-03-01T00:00:00Z')

function valid(text: string, options: CheckOptions = {}): TimerCheck & { valid: true } {
  const checked = checkTimer(text, { after: AFTER, ...options })
  if (!checked.valid) throw new Error(checked.error.message)
  return checked
}

/** Only the warnings. */
function warningsOf(text: string, zone: string, after = AFTER): readonly string[] {
  return valid(text, { zone, after }).warnings
}

describe('the result for a valid timer', () => {
  test('the result for a valid timer has its kind, normal form, zone, description and next run times [T8]', () => {
    expect(valid('Mon..Fri 9:00 Europe/Berlin', { limit: 2, after: new Date('2026-03-27T00:00Z') })).toEqual({
      valid: true,
      kind: 'calendar',
      text: 'Mon..Fri *-*-* 09:00:00 Europe/Berlin',
      zone: 'Europe/Berlin',
      description: 'at 09:00, Monday to Friday (Europe/Berlin)',
      // The clocks go forward between the two run times.
      elapses: [
        { at: new Date('2026-03-27T08:00:00Z'), local: 'Fri 2026-03-27 09:00:00 +01:00' },
        { at: new Date('2026-03-30T07:00:00Z'), local: 'Mon 2026-03-30 09:00:00 +02:00' },
      ],
      warnings: [],
      events: [],
    })
  })

  test.each([
    ['Asia/Kathmandu', 'Fri 2026-03-27 09:00:00 +05:45'],
    ['America/New_York', 'Fri 2026-03-27 09:00:00 -04:00'],
    ['Pacific/Marquesas', 'Fri 2026-03-27 09:00:00 -09:30'],
    ['UTC', 'Fri 2026-03-27 09:00:00 +00:00'],
  ])('the run times of a valid timer are also given in the local time of %s [T8]', (zone, local) => {
    expect(valid('2026-03-27 9:00', { zone }).elapses.map((elapse) => elapse.local)).toEqual([local])
  })

  test('it has five run times by default, or the requested number', () => {
    expect(valid('daily').elapses).toHaveLength(5)
    expect(valid('daily', { limit: 12 }).elapses).toHaveLength(12)
    expect(valid('daily', { limit: 0 })).toMatchObject({ elapses: [], warnings: [] })
  })

  test('the run times of an `every` timer are counted from the anchor', () => {
    const anchor = new Date('2026-02-28T23:57:00Z')
    expect(valid('every 5min', { anchor, limit: 1 }).elapses[0]?.at).toEqual(new Date('2026-03-01T00:02Z'))
    expect(valid('every 5min', { limit: 1 }).elapses[0]?.at).toEqual(new Date('2026-03-01T00:05Z'))
  })

  test('it has a warning if there are no further runs', () => {
    for (const text of ['2020-01-01 9:00', '*-2-30', 'Mon 2026-03-27 9:00', '2026-03-29 2:30 Europe/Berlin'])
      expect(valid(text, { limit: 0 }).warnings).toEqual(['It never elapses again.'])
  })

  test('it takes the zone from the option if the timer names none', () => {
    expect(valid('daily', { zone: 'Asia/Tokyo' }).text).toBe('*-*-* 00:00:00 Asia/Tokyo')
    expect(valid('daily UTC', { zone: 'Asia/Tokyo' }).zone).toBe('UTC')
    expect(valid('cron 0 9 * * *', { zone: 'Asia/Tokyo' }).text).toBe('cron 0 9 * * * Asia/Tokyo')
    expect(valid('every 5min', { zone: 'Asia/Tokyo' }).text).toBe('every 5min')
  })
})

describe('the result for an invalid timer', () => {
  test.each([
    ['dialy', 'KALENDS_CALENDAR_SYNTAX', 1, 'dialy', 'did you mean daily?'],
    ['9:00 Europe/Berln', 'KALENDS_CALENDAR_SYNTAX', 6, 'Europe/Berln', 'did you mean Europe/Berlin?'],
    ['5min', 'KALENDS_CALENDAR_SYNTAX', 1, '5min', 'write every 5min'],
    ['', 'KALENDS_CALENDAR_SYNTAX', 1, '', 'write an event, such as daily or Mon..Fri 9:00'],
    ['0 9 * * 1-5', 'KALENDS_CALENDAR_SYNTAX', 1, '0 9 * * 1-5', 'write cron 0 9 * * 1-5'],
    ['*/5 * * * mon-fri', 'KALENDS_CALENDAR_SYNTAX', 1, '*/5 * * * mon-fri', 'write cron */5 * * * 1-5'],
    ['@weekly', 'KALENDS_CALENDAR_SYNTAX', 1, '@weekly', 'write Sun 0:00'],
    // The hint must not be "write cron 5/15 …", which would also be rejected.
    ['5/15 * * * *', 'KALENDS_CALENDAR_SYNTAX', 1, '5/15 * * * *', 'write *:5/15'],
    ['0 0 12 * * ?', 'KALENDS_CALENDAR_SYNTAX', 1, '0 0 12 * * ?', 'write 12:00'],
    ['cron! */5 * * * *', 'KALENDS_CRON_SYNTAX', 7, '*/5', 'write *:0/5'],
    ['cron! 7 7 7 7 7', 'KALENDS_CRON_SYNTAX', 15, '7', 'write cron! 7 7 7 7 0'],
    [' cron  0  9 * * 1,FRI#2', 'KALENDS_CRON_SYNTAX', 19, 'FRI#2', null],
    ['cron', 'KALENDS_CRON_SYNTAX', 5, '', null],
    [
      'every 5 parsecs',
      'KALENDS_INVALID_TIME_SPAN',
      9,
      'parsecs',
      "write numbers with units, such as '90s', '10min' or '1h 30min'",
    ],
    [
      'every 5min after start',
      'KALENDS_INVALID_TIME_SPAN',
      12,
      'after',
      "write numbers with units, such as '90s', '10min' or '1h 30min'",
    ],
    [
      'every 0s',
      'KALENDS_INVALID_TIME_SPAN',
      null,
      '0s',
      "write numbers with units, such as '90s', '10min' or '1h 30min'",
    ],
  ])('%j: %s in column %j [T8]', (text, code, column, token, hint) => {
    const checked = checkTimer(text)
    if (checked.valid) throw new Error('expected an invalid timer')
    expect(checked.error).toMatchObject({ code, column, token, hint })
    expect(checked.error.message.length).toBeGreaterThan(20)
    if (column !== null) expect(text.slice(column - 1).startsWith(token)).toBe(true)
  })

  test('an invalid option throws', () => {
    expect(() => checkTimer('daily', { zone: 'Nowhere' })).toThrow(InvalidInputError)
    for (const limit of [-1, 1.5, 1001, Number.NaN])
      expect(() => checkTimer('daily', { limit })).toThrow('limit: must be an integer between 0 and 1000')
    expect(() => checkTimer('daily', { after: new Date(Number.NaN) })).toThrow('after: must be a valid Date')
    expect(() => checkTimer('daily', { anchor: new Date(Number.NaN) })).toThrow(
      'anchor: must be a valid Date',
    )
  })
})

/*
 * Clock changes in the 400 days after 2026-03-01. Berlin: 29 March 01:00Z, 25 October 01:00Z. New York: 8 March
 * 07:00Z, 1 November 06:00Z. Lord Howe, by half an hour: 4 April 15:00Z, 3 October 15:30Z. Casablanca, for Ramadan:
 * 22 March 02:00Z, 7 February 2027 02:00Z. Cairo: 23 April 22:00Z, 29 October 21:00Z. São Paulo: none.
 */
describe('a warning reports the effect of a clock change [T8]', () => {
  test.each([
    [
      '2:30',
      'Europe/Berlin',
      'forward',
      'Sun 2026-03-29 from 02:00 to 03:00',
      'the timer does not elapse at 02:30 that day.',
    ],
    [
      '2:30',
      'Europe/Berlin',
      'back',
      'Sun 2026-10-25 from 03:00 to 02:00',
      'the timer elapses at 02:30 only the first time.',
    ],
    [
      '2:0,30',
      'Europe/Berlin',
      'forward',
      'Sun 2026-03-29 from 02:00 to 03:00',
      'the timer does not elapse at 02:00 or 02:30 that day.',
    ],
    // This is the only run time of the year, so a comparison with the previous week would find nothing.
    [
      '*-3-29 2:30',
      'Europe/Berlin',
      'forward',
      'Sun 2026-03-29 from 02:00 to 03:00',
      'the timer does not elapse at 02:30 that day.',
    ],
    [
      '0/2:00',
      'Europe/Berlin',
      'forward',
      'Sun 2026-03-29 from 02:00 to 03:00',
      'the timer does not elapse at 02:00 that day.',
    ],
    [
      '*:0/15',
      'Europe/Berlin',
      'back',
      'Sun 2026-10-25 from 03:00 to 02:00',
      'the timer elapses at its 4 times from 02:00 to 02:45 only the first time.',
    ],
    [
      'cron 30 2 * * *',
      'Europe/Berlin',
      'forward',
      'Sun 2026-03-29 from 02:00 to 03:00',
      'the timer does not elapse at 02:30 that day.',
    ],
    [
      'cron 30 2 * * *',
      'Europe/Berlin',
      'back',
      'Sun 2026-10-25 from 03:00 to 02:00',
      'the timer elapses at 02:30 both times.',
    ],
    [
      'cron 0,30 1,2 * * *',
      'Europe/Berlin',
      'back',
      'Sun 2026-10-25 from 03:00 to 02:00',
      'the timer elapses at 02:00 and 02:30 both times.',
    ],
    [
      '2:30',
      'America/New_York',
      'forward',
      'Sun 2026-03-08 from 02:00 to 03:00',
      'the timer does not elapse at 02:30 that day.',
    ],
    [
      '1:30',
      'America/New_York',
      'back',
      'Sun 2026-11-01 from 02:00 to 01:00',
      'the timer elapses at 01:30 only the first time.',
    ],
    [
      '2:15',
      'Australia/Lord_Howe',
      'forward',
      'Sun 2026-10-04 from 02:00 to 02:30',
      'the timer does not elapse at 02:15 that day.',
    ],
    [
      '1:45',
      'Australia/Lord_Howe',
      'back',
      'Sun 2026-04-05 from 02:00 to 01:30',
      'the timer elapses at 01:45 only the first time.',
    ],
    [
      '2:30',
      'Africa/Casablanca',
      'forward',
      'Sun 2026-03-22 from 02:00 to 03:00',
      'the timer does not elapse at 02:30 that day.',
    ],
    // Cairo's clock changes at midnight: in autumn, it goes back from 24:00 to 23:00 of the day that is ending.
    [
      '0:30',
      'Africa/Cairo',
      'forward',
      'Fri 2026-04-24 from 00:00 to 01:00',
      'the timer does not elapse at 00:30 that day.',
    ],
    [
      '*:*:0/10',
      'Europe/Berlin',
      'back',
      'Sun 2026-10-25 from 03:00 to 02:00',
      'the timer elapses at its many times from 02:00 onwards only the first time.',
    ],
    [
      '23:30',
      'Africa/Cairo',
      'back',
      'Thu 2026-10-29 from 24:00 to 23:00',
      'the timer elapses at 23:30 only the first time.',
    ],
  ])('%s in %s, set %s', (text, zone, way, when, effect) => {
    expect(warningsOf(text, zone)).toContain(`The clock of ${zone} is set ${way} on ${when}: ${effect}`)
  })

  test.each([
    ['daily', 'Europe/Berlin'],
    ['Mon..Fri 9:00', 'Europe/Berlin'],
    ['3:00', 'Europe/Berlin'],
    // These timers elapse a week before a clock change but not on its day, so a comparison with the previous week would
    // be misleading.
    ['*-*-22 12:00', 'Europe/Berlin'],
    ['*-*-18 2:30', 'Europe/Berlin'],
    // These timers elapse at regular intervals through both changes.
    ['cron 0 * * * *', 'Europe/Berlin'],
    ['cron 0,15,30,45 * * * *', 'Europe/Berlin'],
    ['cron 0,30 * * * *', 'Australia/Lord_Howe'],
    ['every 5min', 'Europe/Berlin'],
    ['2:30', 'America/Sao_Paulo'],
    ['2:30', 'UTC'],
    ['@1774751400', 'Europe/Berlin'],
  ])('there is no warning for %s in %s, which clock changes do not affect', (text, zone) => {
    expect(warningsOf(text, zone)).toEqual([])
  })

  test('there is one warning for each clock change in the next 400 days that affects the timer', () => {
    expect(warningsOf('2:30', 'Europe/Berlin')).toHaveLength(3)
    expect(warningsOf('2:30', 'Europe/Berlin', new Date('2026-11-01'))).toHaveLength(2)
    expect(warningsOf('Mon 2:30', 'Europe/Berlin')).toEqual([])
  })

  test('the run times around clock changes are as the warnings say', () => {
    const zone = 'Europe/Berlin'
    const spring = valid('2:30', { zone, after: new Date('2026-03-28T00:00Z'), limit: 2 })
    expect(spring.elapses.map(({ local }) => local)).toEqual([
      'Sat 2026-03-28 02:30:00 +01:00',
      'Mon 2026-03-30 02:30:00 +02:00',
    ])
    expect(spring.warnings[0]).toMatch(/Sun 2026-03-29 .*: the timer does not elapse at 02:30 that day\.$/)
    const autumn = valid('cron 30 2 * * *', { zone, after: new Date('2026-10-24T12:00Z'), limit: 3 })
    expect(autumn.elapses.map(({ local }) => local)).toEqual([
      'Sun 2026-10-25 02:30:00 +02:00',
      'Sun 2026-10-25 02:30:00 +01:00',
      'Mon 2026-10-26 02:30:00 +01:00',
    ])
    expect(autumn.warnings[0]).toMatch(/Sun 2026-10-25 .*: the timer elapses at 02:30 both times\.$/)
  })
})

test.each([
  ['cron 0 9 * * 1-5', ['Mon..Fri *-*-* 09:00:00']],
  ['cron 0 9 1 * 1 Europe/Berlin', ['Mon *-*-* 09:00:00 Europe/Berlin', '*-*-01 09:00:00 Europe/Berlin']],
  ['Mon..Fri 09:00', []],
  ['every 5min', []],
])('%s as calendar events: %j', (text, events) => {
  expect(valid(text).events).toEqual(events)
})
