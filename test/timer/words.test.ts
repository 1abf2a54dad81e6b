import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inWords, timer } from '../../src/timer/index.ts'
import { events } from '../calendar/arbitrary.ts'

const rows: readonly (readonly [text: string, words: string])[] = [
  ['hourly', 'every hour'],
  ['daily', 'at 00:00 every day (UTC)'],
  ['weekly', 'at 00:00 every Monday (UTC)'],
  ['monthly', 'at 00:00 on the 1st of every month (UTC)'],
  ['quarterly', 'at 00:00 on the 1st of January, April, July and October (UTC)'],
  ['semiannually', 'at 00:00 on the 1st of January and July (UTC)'],
  ['yearly', 'at 00:00 on 1 January every year (UTC)'],
  ['minutely', 'every minute'],
  ['9:00', 'at 09:00 every day (UTC)'],
  ['9:00 Europe/Berlin', 'at 09:00 every day (Europe/Berlin)'],
  ['Mon..Fri 9:00 Europe/Berlin', 'at 09:00, Monday to Friday (Europe/Berlin)'],
  ['Mon,Wed,Fri 17:30', 'at 17:30 on Monday, Wednesday and Friday (UTC)'],
  ['Sat,Sun 10:00', 'at 10:00 on Saturday and Sunday (UTC)'],
  ['Sat 10:00', 'at 10:00 every Saturday (UTC)'],
  ['Mon..Wed,Sat 8:00', 'at 08:00 on Monday to Wednesday and Saturday (UTC)'],
  ['*:0/5', 'every 5 minutes'],
  ['*:0/7', 'at minutes 0, 7, 14 … 56 of every hour'],
  ['*:15', 'at minute 15 of every hour'],
  ['*:5/15', 'at minutes 5, 20, 35 and 50 of every hour'],
  ['*:0,30', 'every 30 minutes'],
  ['*:*:0/10', 'every 10 seconds'],
  ['*:*:0/7', 'at seconds 0, 7, 14 … 56 of every minute'],
  ['*:*:*', 'every second'],
  ['*:*:30', 'at second 30 of every minute'],
  ['*:*:0/0.5', 'every 0.5 seconds'],
  ['*:*:10,40', 'at seconds 10 and 40 of every minute'],
  ['*:*:10..40', 'at seconds 10 to 40 of every minute'],
  ['9..17:00', 'every hour from 09:00 to 17:00 every day (UTC)'],
  ['9..17:0/15', 'every 15 minutes from 09:00 to 17:45 every day (UTC)'],
  [
    'Mon..Fri 9..17:0/15 Europe/Berlin',
    'every 15 minutes from 09:00 to 17:45, Monday to Friday (Europe/Berlin)',
  ],
  ['9..17:00,30', 'every 30 minutes from 09:00 to 17:30 every day (UTC)'],
  ['0/2:00', 'every 2 hours from 00:00 every day (UTC)'],
  ['0/5:00', 'at 00:00, 05:00, 10:00, 15:00 and 20:00 every day (UTC)'],
  ['0/6:00', 'every 6 hours from 00:00 every day (UTC)'],
  ['1/6:30', 'at 01:30, 07:30, 13:30 and 19:30 every day (UTC)'],
  ['6,18:00', 'at 06:00 and 18:00 every day (UTC)'],
  ['9:*', 'every minute from 09:00 to 09:59 every day (UTC)'],
  ['9:0:0/10', 'every 10 seconds from 09:00:00 to 09:00:50 every day (UTC)'],
  ['9:0:30', 'at 09:00:30 every day (UTC)'],
  ['12:00:00.5', 'at 12:00:00.5 every day (UTC)'],
  ['*-*-1 6:00', 'at 06:00 on the 1st of every month (UTC)'],
  ['*-*-1,15 6:00', 'at 06:00 on the 1st and 15th of every month (UTC)'],
  ['*-*-31 6:00', 'at 06:00 on the 31st of every month that has one (UTC)'],
  ['*-*-1..7 6:00', 'at 06:00 from the 1st to the 7th of every month (UTC)'],
  ['*-*-1/2 6:00', 'at 06:00 on the 1st, 3rd, 5th … 31st of every month (UTC)'],
  ['*-12-24 18:00', 'at 18:00 on 24 December every year (UTC)'],
  ['*-2-29', 'at 00:00 on 29 February in leap years (UTC)'],
  ['2026-03-27 09:00', 'at 09:00 on 27 March 2026 (UTC)'],
  ['Fri 2026-03-27 9:00', 'at 09:00 on 27 March 2026, if that is a Friday (UTC)'],
  ['*~1 23:00', 'at 23:00 on the last day of every month (UTC)'],
  ['*~2 23:00', 'at 23:00 on the second-to-last day of every month (UTC)'],
  ['*~1,3 23:00', 'at 23:00 on the third-to-last and last days of every month (UTC)'],
  ['*~1..7 12:00', 'at 12:00 on the last 7 days of every month (UTC)'],
  ['*~7/3 12:00', 'at 12:00 on the seventh-to-last, fourth-to-last and last days of every month (UTC)'],
  ['Mon *-*-1..7 9:00', 'at 09:00 on the first Monday of every month (UTC)'],
  ['Tue *-*-8..14 9:00', 'at 09:00 on the second Tuesday of every month (UTC)'],
  ['Fri *-*~7/1 17:00', 'at 17:00 on the last Friday of every month (UTC)'],
  ['Fri *-*-13', 'at 00:00 every Friday, but only on the 13th of every month (UTC)'],
  ['Fri *-*-29..31 9:00', 'at 09:00 on the fifth Friday of every month that has one (UTC)'],
  [
    'Mon..Fri *-*-1..3 9:00',
    'at 09:00, Monday to Friday, but only from the 1st to the 3rd of every month (UTC)',
  ],
  ['*-1,4,7,10-1 9:00', 'at 09:00 on the 1st of January, April, July and October (UTC)'],
  ['*-6..8-* 9:00', 'at 09:00 every day from June to August (UTC)'],
  ['*-1-* *:0/5', 'every 5 minutes in January (UTC)'],
  ['Mon *-6..8-* 9:00', 'at 09:00 every Monday from June to August (UTC)'],
  ['*-6..8-1 9:00', 'at 09:00 on the 1st of every month from June to August (UTC)'],
  ['2026..2028-1-1 9:00', 'at 09:00 on 1 January from 2026 to 2028 (UTC)'],
  ['2026/2-1-1', 'at 00:00 on 1 January in 2026, 2028, 2030 … 2198 (UTC)'],
  ['2027-*-* 9:00', 'at 09:00 every day in 2027 (UTC)'],
  ['Sun 2027-*-1..7 3:00', 'at 03:00 on the first Sunday of every month in 2027 (UTC)'],
  ['@1774598400', 'at 08:00 on 27 March 2026 (UTC)'],
  ['*:0:*', 'every second during minute 0 of every hour'],
  ['9,12:0:15,45', 'at 09:00:15, 09:00:45, 12:00:15 and 12:00:45 every day (UTC)'],
  ['8..10,14..16:0/20', 'every 20 minutes from 08:00 to 10:40 and from 14:00 to 16:40 every day (UTC)'],
  ['8..10,14..16:5', 'at 08:05, 09:05, 10:05, 14:05, 15:05 and 16:05 every day (UTC)'],
  ['Mon *-1-1..7 9:00', 'at 09:00 on the first Monday of January (UTC)'],
  ['1,3,5:2,4,6', 'at minutes 2, 4 and 6 of hours 1, 3 and 5 every day (UTC)'],
  ['*-1/2-1 9:00', 'at 09:00 on the 1st of January, March, May, July, September and November (UTC)'],
  ['*-*-29,30 9:00', 'at 09:00 on the 29th and 30th of every month (UTC)'],
  ['*-2,4-31 9:00', 'at 09:00 on the 31st of February and April, if there is one (UTC)'],
  ['Mon *:0/10 Europe/Berlin', 'every 10 minutes every Monday (Europe/Berlin)'],
  ['Mon..Fri *:0', 'every hour, Monday to Friday (UTC)'],
  ['*~2..4 9:00', 'at 09:00 from the fourth-to-last to the second-to-last day of every month (UTC)'],
  ['*~12 9:00', 'at 09:00 on the 12th-to-last day of every month (UTC)'],
  ['9..17:*:0/20', 'every 20 seconds during hours 9 to 17 every day (UTC)'],
  ['*:5,10:0/20', 'every 20 seconds during minutes 5 and 10 of every hour'],
  ['Mon *-*~8..14 9:00', 'at 09:00 on the second-to-last Monday of every month (UTC)'],
  ['9..10:*', 'every minute from 09:00 to 10:59 every day (UTC)'],
  ['9:0..30', 'every minute from 09:00 to 09:30 every day (UTC)'],
  ['*:0..29', 'at minutes 0 to 29 of every hour'],
  ['0..23:00', 'every hour'],
  ['0/1:00', 'every hour'],
  ['*:0/1', 'every minute'],
  ['*:*:0..59', 'every second'],
  [
    '*-4..9-1..15 0/2:0/20',
    'every 20 minutes during hours 0, 2, 4 … 22 from the 1st to the 15th of every month from April to September (UTC)',
  ],
  ['Sat,Sun 2026-03-28 9:00', 'at 09:00 on 28 March 2026, if that is a Saturday or a Sunday (UTC)'],
  ['*:*:59.999999', 'at second 59.999999 of every minute'],
  ['*:*:0.5..3.5/1.5', 'at seconds 0.5 to 3.5 (in steps of 1.5) of every minute'],
  ['cron 0 9 * * 1-5 Europe/Berlin', 'at 09:00, Monday to Friday (Europe/Berlin)'],
  ['cron 0 9 15 * 1', 'at 09:00 every Monday, and on the 15th of every month (UTC)'],
  ['cron 0 9 15 * 0-6', 'at 09:00 every day (UTC)'],
  ['cron 0,15,30,45 9-17 * * 1-5', 'every 15 minutes from 09:00 to 17:45, Monday to Friday (UTC)'],
  ['cron 0 0 1 1 *', 'at 00:00 on 1 January every year (UTC)'],
  [
    'cron 0 9 13 6-8 5',
    'at 09:00 every Friday from June to August, and on the 13th of every month from June to August (UTC)',
  ],
  ['cron * * * * *', 'every minute'],
  ['cron 30 2 * * 0,6', 'at 02:30 on Saturday and Sunday (UTC)'],
  ['cron 0 0 29 2 *', 'at 00:00 on 29 February in leap years (UTC)'],
  ['cron 0 0 31 * *', 'at 00:00 on the 31st of every month that has one (UTC)'],
  ['cron 5 4 * * *', 'at 04:05 every day (UTC)'],
  ['cron 0 9 1-31 * 1', 'at 09:00 every Monday, and from the 1st to the 31st of every month (UTC)'],
  ['cron 15 * * * 1', 'at minute 15 of every hour every Monday (UTC)'],
  [
    'cron 0 9 1-7 1,7 1',
    'at 09:00 every Monday in January and July, and from the 1st to the 7th of January and July (UTC)',
  ],
  ['cron 0-59 0-23 * * *', 'every minute'],
  ['every 5min', 'every 5 minutes, counted from the creation of the schedule'],
  ['every 1min', 'every minute, counted from the creation of the schedule'],
  ['every 90', 'every 1 minute 30 seconds, counted from the creation of the schedule'],
  ['every 1h30min', 'every 1 hour 30 minutes, counted from the creation of the schedule'],
  ['every 10d', 'every 10 days, counted from the creation of the schedule'],
  ['every 2w', 'every 2 weeks, counted from the creation of the schedule'],
  ['every 1h after finish', '1 hour after the end of each run'],
  ['every 1d after finish', '1 day after the end of each run'],
  ['every 90s after finish', '1 minute 30 seconds after the end of each run'],
]

describe('a timer has a description [T8]', () => {
  test.each(rows)('%s: %s', (text, words) => {
    expect(inWords(timer(text))).toBe(words)
  })

  test('a description is well formed, and a timer and its normal form have the same description', () => {
    fc.assert(
      fc.property(events(fc.constant('Europe/Berlin'), 'all'), ({ text }) => {
        const words = inWords(timer(text))
        expect(words).not.toMatch(/NaN|undefined|null| {2}|,,|^ | $/)
        expect(inWords(timer(timer(text).text))).toBe(words)
      }),
      { numRuns: 2000 },
    )
  })

  test('timers that elapse at different times have different descriptions', () => {
    const read = new Map<string, string>()
    fc.assert(
      fc.property(events(fc.constant('UTC'), 'all'), ({ text }) => {
        const words = inWords(timer(text))
        const known = read.get(words)
        if (known === undefined) read.set(words, text)
        else expect([words, ...elapses(text)]).toEqual([words, ...elapses(known)])
      }),
      { numRuns: 5000 },
    )
  })
})

function elapses(text: string): string[] {
  const found: string[] = []
  for (
    let at = timer(text).next(new Date('2000-01-01'));
    at !== null && found.length < 100;
    at = timer(text).next(at)
  )
    found.push(at.toISOString())
  return found
}
