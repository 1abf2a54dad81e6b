/** Lines of a crontab, as the cron daemons of Debian, Red Hat and their like read them, in the words of timers. */
import { cron } from './cron.ts'
import { insteadOf } from './cron-hint.ts'
import { CronSyntaxError } from './error.ts'
import { timer, withZone } from './timer.ts'

/**
 * The timer that says what five fields or a macro such as `@daily` mean in a crontab: a calendar event, or `cron …`
 * where no single event can say it.
 *
 * @param zone  the zone whose clock the daemon follows; default UTC
 * @throws CronSyntaxError when the daemons would not take it either, or when it never elapses
 */
export function fromCrontab(text: string, zone = 'UTC'): string {
  const words = text.trim().split(/\s+/u)
  const found = timerOf(words)
  if (found === null) throw refusal(text)
  const { text: normal } = timer(found)
  // Each hour alike: the daemon goes by the time that has passed, and so it is when clocks are set back.
  if (words[1] === '*' && words.slice(2).every((word) => word === '*') && hasWholeHours(zone)) return normal
  if (words[0]?.toLowerCase() === '@hourly' && hasWholeHours(zone)) return normal
  return withZone(normal, zone)
}

/** Whether its clock shows the minutes that UTC shows, in summer and winter of these decades. */
function hasWholeHours(zone: string): boolean {
  const hourly = timer(withZone('hourly', zone))
  for (let year = 2025; year <= 2045; year += 1) {
    for (const month of [0, 6]) {
      const elapse = hourly.next(new Date(Date.UTC(year, month, 1)))
      if (elapse === null || elapse.getTime() % 3_600_000 !== 0) return false
    }
  }
  return true
}

function timerOf(words: readonly string[]): string | null {
  if (words.length === 1 ? !words[0]?.startsWith('@') : words.length !== 5) return null
  // What other dialects have beyond it means nothing to a daemon.
  if (words.length === 5 && !words.every((word) => /^(?:[\d*,/-]|\b[a-z]{3}\b)+$/iu.test(word))) return null
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = words
  if (words.length === 5 && bothHold(day, weekday)) {
    const date = insteadOf([minute, hour, day, month, '*'], undefined).calendarEvent
    const [days] = insteadOf(['0', '0', '*', '*', weekday], undefined).calendarEvent?.split(' ') ?? []
    return date === null || days === undefined ? null : `${days} ${date}`
  }
  const { calendarEvent, strict } = insteadOf(words, undefined)
  return calendarEvent ?? (strict === null ? null : `cron ${strict}`)
}

/**
 * Either of the two days is enough to a daemon, unless one of them begins with a star: then both must hold, so
 * that steps of all days narrow the weekdays.
 */
function bothHold(day: string, weekday: string): boolean {
  return day !== '*' && weekday !== '*' && (day.startsWith('*') || weekday.startsWith('*'))
}

function refusal(text: string): CronSyntaxError {
  try {
    cron(text)
  } catch (error) {
    if (error instanceof CronSyntaxError) return error
    throw error
  }
  return new CronSyntaxError(text, {
    field: 'expression',
    token: text,
    at: 0,
    problem: 'it never elapses',
    calendarEvent: null,
    strict: null,
  })
}
