/** Translates crontab lines, as the cron daemons of Debian, Red Hat and similar systems read them, into timers. */
import { calendar } from '../calendar/index.ts'
import { expression } from './cron.ts'
import { timer, withZone } from './timer.ts'

/**
 * The timer with the same meaning as five crontab fields or a macro such as `@daily`: a calendar event, which, like the
 * daemons, does not repeat runs when clocks are set back; or `cron …` if no single event is enough.
 *
 * @param zone  the zone whose clock the daemon follows; default UTC
 * @throws CronSyntaxError when the daemons would reject the text, when they disagree about its meaning, or when it
 *   never elapses
 */
export function fromCrontab(text: string, zone = 'UTC'): string {
  const { fields, zone: own = zone, events } = expression(text, 'crontab')
  const [event = '', another] = events
  const normal = another === undefined ? String(calendar(event)) : `cron ${fields}`
  // If the times are the same in each hour, the daemon counts elapsed time, so it also runs the command in an hour that
  // the clock repeats.
  return fields.endsWith(' * * * *') && hasWholeHours(own) ? normal : withZone(normal, own)
}

/** Whether the zone's clock shows the same minutes as UTC, both in summer and in winter, from 2025 to 2045. */
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
