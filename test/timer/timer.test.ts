import { describe, expect, test } from 'vitest'
import { CalendarSyntaxError } from '../../src/calendar/index.ts'
import { InvalidInputError } from '../../src/errors.ts'
import { CronSyntaxError, timer, withZone } from '../../src/timer/index.ts'

describe('a timer', () => {
  test('elapses at the times of its calendar event, in UTC by default', () => {
    const daily = timer('9:00')
    expect(daily.next(new Date('2026-03-27T09:00Z'))).toEqual(new Date('2026-03-28T09:00Z'))
    expect(daily.previous(new Date('2026-03-27T09:00Z'))).toEqual(new Date('2026-03-27T09:00Z'))
  })

  test('is parsed once for all callers', () => {
    expect(timer('Mon 9:00')).toBe(timer('Mon 9:00'))
  })

  test('is rejected if it is invalid, and the error suggests a correction', () => {
    expect(() => timer('Mo 9:00')).toThrow(CalendarSyntaxError)
    expect(() => timer('Mo 9:00')).toThrow('did you mean Mon?')
  })
})

describe('a zone is added to a timer [T7]', () => {
  test.each([
    ['daily', 'Europe/Berlin', 'daily Europe/Berlin'],
    ['Mon..Fri 9:00', 'Europe/Berlin', 'Mon..Fri 9:00 Europe/Berlin'],
    ['2026-03-29 02:30', 'America/New_York', '2026-03-29 02:30 America/New_York'],
    ['cron 0 9 * * 1-5', 'Europe/Berlin', 'cron 0 9 * * 1-5 Europe/Berlin'],
    ['cron @daily', 'Europe/Berlin', 'cron @daily Europe/Berlin'],
    ['cron! 0 9 * * 1-5', 'Europe/Berlin', 'cron! 0 9 * * 1-5 Europe/Berlin'],
    ['Mon  ', 'Asia/Tokyo', 'Mon   Asia/Tokyo'],
  ])('without a zone: %s', (text, zone, zoned) => {
    expect(withZone(text, zone)).toBe(zoned)
  })

  test.each([
    'daily Asia/Tokyo',
    '9:00 UTC',
    '@1774598400',
    'daily Europe/Berlin',
    'cron 0 9 * * * Asia/Tokyo',
    'cron 0 9 * * * UTC',
    'every 5min',
    'every 5min after finish',
  ])('a zone never replaces another zone, and is not added to an instant or a span: %s', (text) => {
    expect(withZone(text, 'Europe/Berlin')).toBe(text)
  })

  test('UTC, which is the default, is not added', () => {
    expect(withZone('daily', 'UTC')).toBe('daily')
  })

  test("'local' becomes the name of this machine's zone, so that the timer means the same on other machines [T7]", () => {
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
    expect(withZone('daily', 'local')).toBe(timeZone === 'UTC' ? 'daily' : `daily ${timeZone}`)
  })

  test('an unknown zone is rejected, and the error names it', () => {
    for (const zone of ['Europe/Nowhere', 'europe/berlin', '', 'PST', '+02:00']) {
      expect(() => withZone('daily', zone)).toThrow(InvalidInputError)
      expect(() => withZone('daily', zone)).toThrow(JSON.stringify(zone))
    }
  })

  test('text that is not a timer is rejected', () => {
    expect(() => withZone('cron 0 0 L * *', 'Europe/Berlin')).toThrow(CronSyntaxError)
    expect(() => withZone('dialy', 'Europe/Berlin')).toThrow(CalendarSyntaxError)
  })
})
