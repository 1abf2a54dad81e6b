import { Cron } from 'croner'
import { describe, expect, test } from 'vitest'
import { CronSyntaxError, fromCrontab, timer } from '../../src/timer/index.ts'

describe('an expression from a crontab, as a timer', () => {
  test.each([
    ['*/5 * * * *', '*-*-* *:00/5:00'],
    ['17 * * * *', '*-*-* *:17:00'],
    ['25 6 * * *', '*-*-* 06:25:00'],
    ['47 6 * * 7', 'Sun *-*-* 06:47:00'],
    ['52 6 1 * *', '*-*-01 06:52:00'],
    ['0 9-17/2 * * mon-fri', 'Mon..Fri *-*-* 09..17/2:00:00'],
    ['30 3 * JAN,jul sun', 'Sun *-01,07-* 03:30:00'],
    ['@daily', '*-*-* 00:00:00'],
    ['@weekly', 'Sun *-*-* 00:00:00'],
    ['@hourly', '*-*-* *:00:00'],
    ['0 0 1,15 * 1', 'cron 0 0 1,15 * 1'],
    ['*/30 9 1 * MON', 'cron */30 9 1 * 1'],
    ['*/60 * * * *', '*-*-* *:00:00'],
    ['0 0 */2 * 1', 'Mon *-*-01/2 00:00:00'],
    ['0 0 15 * */1', '*-*-15 00:00:00'],
    ['0 0 1-7 * */3', 'Wed,Sat,Sun *-*-01..07 00:00:00'],
  ])('%s → %s', (text, expected) => {
    expect(fromCrontab(text)).toBe(expected)
  })

  test('the timer has the zone of the daemon unless the expression names one', () => {
    expect(fromCrontab('0 9 * * 1-5', 'Europe/Berlin')).toBe('Mon..Fri *-*-* 09:00:00 Europe/Berlin')
    expect(fromCrontab('0 9 * * * Asia/Tokyo', 'Europe/Berlin')).toBe('*-*-* 09:00:00 Asia/Tokyo')
    expect(fromCrontab('0 0 13 * 5', 'Europe/Berlin')).toBe('cron 0 0 13 * 5 Europe/Berlin')
  })

  test('an expression that elapses in every hour gets a zone only if it needs one, because with a zone it pauses when the clocks go back', () => {
    expect(fromCrontab('*/5 * * * *', 'Europe/Berlin')).toBe('*-*-* *:00/5:00')
    expect(fromCrontab('@hourly', 'America/New_York')).toBe('*-*-* *:00:00')
    expect(fromCrontab('*/5 * * * 1-5', 'Europe/Berlin')).toBe('Mon..Fri *-*-* *:00/5:00 Europe/Berlin')
    expect(fromCrontab('17 * * * *', 'Asia/Kolkata')).toBe('*-*-* *:17:00 Asia/Kolkata')
    expect(fromCrontab('17 * * * *', 'Australia/Lord_Howe')).toBe('*-*-* *:17:00 Australia/Lord_Howe')
  })

  test.each([
    '@reboot',
    '@often',
    '* * * *',
    '60 * * * *',
    '0 0 L * *',
    '0 0 ? * 1',
    '0 0 30 2 *',
    '~ 3 * * *',
    '5/15 * * * *',
    '0 22-2 * * *',
    '',
  ])('%j is rejected', (text) => expect(() => fromCrontab(text)).toThrow(CronSyntaxError))

  test.each(['*/5 * * * *', '0 9-17/2 * * 1-5', '0 0 1,15 * 1', '15 10 * 2,8 0', '@monthly', '5 4 29 2 *'])(
    '%s elapses at the same times as in a cron library',
    (text) => {
      const found = timer(fromCrontab(text))
      const reference = new Cron(text, { timezone: 'UTC' })
      let at: Date | null = new Date('2026-11-21T00:00:30Z')
      for (let count = 0; count < 20 && at !== null; count += 1) {
        const expected: Date | null = reference.nextRun(at)
        at = found.next(at)
        expect(at).toEqual(expected)
      }
    },
  )
})
