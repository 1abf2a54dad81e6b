/** Describes a timer in words: common timers in natural phrases, others exactly. */
import { EVERY_WEEKDAY, LAST_YEAR, weekdayNumbers } from '../calendar/spec.ts'
import { parse } from '../calendar/syntax.ts'
import { cronEvents } from './cron.ts'
import { spanWords } from '../duration.ts'
import type { Timer } from './elapses.ts'
import { type DateSets, dateWords, weekdayWords } from './words-date.ts'
import { timeWords } from './words-time.ts'
import { restricted, values } from './words-values.ts'

/** @returns text such as `at 09:00, Monday to Friday (Europe/Berlin)` */
export function inWords(timer: Timer): string {
  switch (timer.kind) {
    case 'every':
      // `every minute`, not `every 1 minute`.
      return `every ${spanWords(timer.spanMs ?? 0).replace(/^1 (\w+)$/u, '$1')}, counted from the creation of the schedule`
    case 'after-finish':
      return `${spanWords(timer.spanMs ?? 0)} after the end of each run`
    case 'cron': {
      const [first, second] = cronEvents(timer).map(eventWords)
      if (first === undefined) return timer.text
      // If there are two events, one for the day of the week and one for the day of the month, they have the same time.
      const on = [first.on, ...(second === undefined ? [] : [second.on])]
      // If one event elapses every day, it includes the other.
      return sentence({ ...first, on: on.includes('') ? '' : on.join(', and ') }, timer.zone)
    }
    case 'calendar':
      return sentence(eventWords(timer.text), timer.zone)
  }
}

function sentence({ time, on, hourly }: ReturnType<typeof eventWords>, zone: string): string {
  if (on === '')
    return hourly ? `${time}${zone === 'UTC' ? '' : ` (${zone})`}` : `${time} every day (${zone})`
  // In 'every 5 minutes every day in January', 'every day' is redundant.
  const days = hourly ? on.replace(/^every day (?=in |from )/u, '') : on
  const joined = /^(?:on|in|every|from) /u.test(days) ? ' ' : ', '
  return `${time}${joined}${days} (${zone})`
}

function eventWords(text: string) {
  const { weekdays, years, months, days, daysFromEnd, hours, minutes, seconds } = parse(text).spec
  const date: DateSets = {
    years: values(years, LAST_YEAR),
    months: values(months, 12),
    days: values(days, daysFromEnd ? 1 : 31),
    fromEnd: daysFromEnd,
  }
  const inHours = restricted(values(hours, 23), 24)
  return {
    time: timeWords(inHours, restricted(values(minutes, 59), 60), seconds),
    /** Empty means every day. */
    on: weekdays === EVERY_WEEKDAY ? dateWords(date) : weekdayWords(weekdayNumbers(weekdays), date),
    /** Whether the times are the same in each hour, and therefore in nearly every zone. */
    hourly: inHours === null,
  }
}
