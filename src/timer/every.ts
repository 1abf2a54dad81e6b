import { InvalidTimeSpanError } from './error.ts'
import { spanText } from '../duration.ts'
import { timeSpan, varyingUnit } from './span.ts'
import type { TimerSpec } from './elapses.ts'

/** The last instant of the year 2199, as for calendar events. */
const LAST_INSTANT = Date.UTC(2200, 0, 1) - 1

const BY_CALENDAR =
  "write a calendar event, such as 'monthly', 'quarterly', 'yearly' or '*-*-15 09:00', or a number of days"

/** `every <span>`: the n-th slot is n spans after the anchor. @throws InvalidTimeSpanError */
export function every(text: string): TimerSpec {
  const spanMs = positiveSpan(text)
  return {
    kind: 'every',
    text: `every ${normal(text, spanMs)}`,
    zone: 'UTC',
    spanMs,
    elapses(anchor) {
      const origin = anchor.getTime()
      const slot = (n: number) => (n < 1 ? null : instant(origin + n * spanMs))
      return {
        next: (after) => slot(Math.max(1, Math.floor((after.getTime() - origin) / spanMs) + 1)),
        previous: (at) => slot(Math.floor((Math.min(at.getTime(), LAST_INSTANT) - origin) / spanMs)),
      }
    },
  }
}

/** `every <span> after finish`: the next elapse is one span after the end of a run. There are no other elapses. */
export function afterFinish(text: string): TimerSpec {
  const spanMs = positiveSpan(text)
  return {
    kind: 'after-finish',
    text: `every ${normal(text, spanMs)} after finish`,
    zone: 'UTC',
    spanMs,
    elapses: () => ({ next: (after) => instant(after.getTime() + spanMs), previous: () => null }),
  }
}

function positiveSpan(text: string): number {
  const spanMs = timeSpan(text)
  const unit = varyingUnit(text)
  if (unit !== null)
    throw new InvalidTimeSpanError(text, `has the unit '${unit}', which varies in length: ${BY_CALENDAR}`)
  if (spanMs < 1) throw new InvalidTimeSpanError(text, 'is shorter than 1 ms')
  return spanMs
}

/** The text as written, with single spaces; a plain number of seconds gets its unit. */
function normal(text: string, spanMs: number): string {
  const written = text.trim().replaceAll(/\s+/gu, ' ')
  return /^[\d. ]+$/u.test(written) ? spanText(spanMs) : written
}

function instant(ms: number): Date | null {
  return ms > LAST_INSTANT ? null : new Date(ms)
}
