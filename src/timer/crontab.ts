/** Translates crontab lines into timers, as the cron daemons of Debian, Red Hat and similar systems read them. */
import { cron } from './cron.ts'
import { insteadOf } from './cron-hint.ts'
import { CronSyntaxError } from './error.ts'
import { timer, withZone } from './timer.ts'

/**
 * The timer with the same meaning as five crontab fields or a macro such as `@daily`: a calendar event, or `cron …`
 * where no single event is enough.
 *
 * @param zone  the zone whose clock the daemon follows; default UTC
 * @throws CronSyntaxError when the daemons would reject it too, or when it never elapses
 */
export function fromCrontab(text: string, zone = 'UTC'): string {
  const words = text.trim().split(/\s+/u)
  const found = timerOf(words)
  if (found === null) throw refusal(text)
  const { text: normal } = timer(found)
  // The same in each hour: the daemon goes by elapsed time, so it also runs when clocks are set back.
  if (words[1] === '*' && words.slice(2).every((word) => word === '*') && hasWholeHours(zone)) return normal
  if (words[0]?.toLowerCase() === '@hourly' && hasWholeHours(zone)) return normal
  return withZone(normal, zone)
}

/** Whether the zone's clock shows the same minutes as UTC, in summer and winter of these decades. */
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
  // The daemons do not understand the extensions of other dialects.
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
 * For a daemon, either of the two days is enough, unless one of them starts with a star. Then both must match, so that
 * a step over all days restricts the weekdays.
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
