import { describe, expect, test } from 'vitest'
import { CalendarSyntaxError } from '../../src/calendar/index.ts'
import { InvalidInputError } from '../../src/errors.ts'
import { CronSyntaxError, timer, withZone } from '../../src/timer/index.ts'

describe('a timer', () => {
  test('that is a calendar event elapses as that does, in UTC for everyone', () => {
    const daily = timer('9:00')
    expect(daily.next(new Date('2026-03-27T09:00Z'))).toEqual(new Date('2026-03-28T09:00Z'))
    expect(daily.previous(new Date('2026-03-27T09:00Z'))).toEqual(new Date('2026-03-27T09:00Z'))
  })

  test('is read once for all who ask for it', () => {
    expect(timer('Mon 9:00')).toBe(timer('Mon 9:00'))
  })

  test('that cannot be read says why', () => {
    expect(() => timer('Mo 9:00')).toThrow(CalendarSyntaxError)
    expect(() => timer('Mo 9:00')).toThrow('did you mean Mon?')
  })
})

describe('a zone is written into a timer', () => {
  test.each([
    ['daily', 'Europe/Berlin', 'daily Europe/Berlin'],
    ['Mon..Fri 9:00', 'Europe/Berlin', 'Mon..Fri 9:00 Europe/Berlin'],
    ['2026-03-29 02:30', 'America/New_York', '2026-03-29 02:30 America/New_York'],
    ['cron 0 9 * * 1-5', 'Europe/Berlin', 'cron 0 9 * * 1-5 Europe/Berlin'],
    ['Mon  ', 'Asia/Tokyo', 'Mon   Asia/Tokyo'],
  ])('that names none: %s', (text, zone, zoned) => {
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
  ])('but not over its own, nor into an instant or a span: %s', (text) => {
    expect(withZone(text, 'Europe/Berlin')).toBe(text)
  })

  test('but UTC is not written, as it is meant anyway', () => {
    expect(withZone('daily', 'UTC')).toBe('daily')
  })

  test("'local' is written out, so that the row means the same on other machines", () => {
    const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
    expect(withZone('daily', 'local')).toBe(timeZone === 'UTC' ? 'daily' : `daily ${timeZone}`)
  })

  test('a zone that there is not is refused, and names what came in', () => {
    for (const zone of ['Europe/Nowhere', 'europe/berlin', '', 'PST', '+02:00']) {
      expect(() => withZone('daily', zone)).toThrow(InvalidInputError)
      expect(() => withZone('daily', zone)).toThrow(JSON.stringify(zone))
    }
  })

  test('a text that is no timer is refused', () => {
    expect(() => withZone('cron */5 * * * *', 'Europe/Berlin')).toThrow(CronSyntaxError)
    expect(() => withZone('dialy', 'Europe/Berlin')).toThrow(CalendarSyntaxError)
  })
})
