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
  return withZone(timer(found).text, zone)
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
