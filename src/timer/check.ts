/** What somebody who writes a timer wants to know before it is stored. */
import { CalendarSyntaxError } from '../calendar/index.ts'
import { InvalidInputError } from '../errors.ts'
import { CronSyntaxError } from './error.ts'
import { timer, type Timer, withZone } from './timer.ts'
import { inWords } from './words.ts'

export interface TimerFault {
  readonly code: string
  readonly message: string
  /** From 1, where it can be told. */
  readonly column: number | null
  readonly token: string | null
  /** What to write instead. */
  readonly hint: string | null
}

export interface CheckedElapse {
  readonly at: Date
  /** The same on the clock of the timer's zone, with its offset: `Fri 2026-03-27 09:00:00 +01:00`. */
  readonly local: string
}

export type TimerCheck =
  | { readonly valid: false; readonly fault: TimerFault }
  | {
      readonly valid: true
      readonly kind: Timer['kind']
      /** The normal form. */
      readonly text: string
      readonly zone: string
      readonly words: string
      readonly elapses: readonly CheckedElapse[]
      readonly warnings: readonly string[]
    }

export interface CheckOptions {
  /** Written into a timer that names none; default UTC. */
  readonly zone?: string | undefined
  /** Default now. */
  readonly after?: Date | undefined
  /** How many elapses to give; default 5. */
  readonly limit?: number | undefined
  /** Where the slots of `every` begin; default `after`. */
  readonly anchor?: Date | undefined
}

/** How far ahead DST is looked at, in days. */
const HORIZON_DAYS = 400
const DAY_MS = 86_400_000

/**
 * Checks a timer: the fault, or what it means.
 *
 * @throws InvalidInputError only when an option cannot be meant
 */
export function checkTimer(text: string, options: CheckOptions = {}): TimerCheck {
  const { after = new Date(), limit = 5, anchor = after } = options
  if (!Number.isInteger(limit) || limit < 0 || limit > 1000) {
    throw new InvalidInputError('limit', `a whole number from 0 to 1000 is needed, not ${limit}`)
  }
  let checked: Timer
  try {
    checked = timer(options.zone === undefined ? text : withZone(text, options.zone))
  } catch (error) {
    if (error instanceof InvalidInputError) throw error
    return { valid: false, fault: faultOf(error) }
  }
  const event = checked.elapses(anchor)
  const elapses: CheckedElapse[] = []
  for (let at = event.next(after); at !== null && elapses.length < limit; at = event.next(at)) {
    elapses.push({ at, local: localText(at, checked.zone) })
  }
  const { kind, zone } = checked
  const warnings =
    elapses.length === 0 && limit > 0 ? ['It never elapses again.'] : dstWarnings(checked, after)
  return { valid: true, kind, text: checked.text, zone, words: inWords(checked), elapses, warnings }
}

function faultOf(error: unknown): TimerFault {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof CalendarSyntaxError) {
    return { code: error.code, message, column: error.column, token: error.token, hint: error.hint ?? null }
  }
  if (error instanceof CronSyntaxError) {
    const hint = error.calendarEvent === null ? null : `write ${error.calendarEvent}`
    return { code: error.code, message, column: null, token: error.token, hint }
  }
  return { code: 'INVALID_TIME_SPAN', message, column: null, token: null, hint: null }
}

/** `Fri 2026-03-27 09:00:00 +01:00` */
export function localText(at: Date, zone: string): string {
  const offset = offsetMs(at, zone)
  const local = new Date(at.getTime() + offset)
  const weekday = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][local.getUTCDay()]
  const minutes = Math.abs(Math.round(offset / 60_000))
  const shown = `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
  return `${weekday} ${local.toISOString().slice(0, 19).replace('T', ' ')} ${shown}`
}

/** What the clock changes of the coming year do to the elapses around them. */
function dstWarnings(of: Timer, after: Date): string[] {
  if (of.kind !== 'calendar' && of.kind !== 'cron') return []
  const warnings: string[] = []
  for (const { at, shiftMs } of clockChanges(of.zone, after)) {
    const day = localText(at, of.zone).slice(0, 14)
    // The same times on a clock that does not change, which is the week before: what is missing there, or twice?
    const during = count(of, new Date(at.getTime() - DAY_MS / 2), new Date(at.getTime() + DAY_MS / 2))
    const weekMs = 7 * DAY_MS
    const usually = count(
      of,
      new Date(at.getTime() - DAY_MS / 2 - weekMs),
      new Date(at.getTime() + DAY_MS / 2 - weekMs + shiftMs),
    )
    // What elapses every hour or more often goes on in either case.
    if (usually >= 24) continue
    if (shiftMs > 0 && during < usually) {
      warnings.push(
        `The clock of ${of.zone} is set forward on ${day}: ${times(usually - during)} that it skips will not elapse.`,
      )
    }
    if (shiftMs < 0 && during > usually) {
      warnings.push(
        `The clock of ${of.zone} is set back on ${day}: ${times(during - usually)} that it shows twice will elapse twice.`,
      )
    }
    if (shiftMs < 0 && during === usually && of.kind === 'calendar' && elapsesTwice(of, at, -shiftMs)) {
      warnings.push(
        `The clock of ${of.zone} is set back on ${day}: a time that it shows twice will elapse the first time only.`,
      )
    }
  }
  return warnings
}

/** Whether an elapse lies in the hour before the clock is set back, which it then shows again. */
function elapsesTwice(of: Timer, at: Date, lengthMs: number): boolean {
  return count(of, new Date(at.getTime() - lengthMs - 1), new Date(at.getTime() - 1)) > 0
}

/** Elapses later than `from` up to `to`, at most a few: more say nothing to a reader. */
function count(of: Timer, from: Date, to: Date): number {
  let found = 0
  for (let at = of.next(from); at !== null && at <= to && found < 100; at = of.next(at)) found += 1
  return found
}

function times(count: number): string {
  return count === 1 ? 'a time' : `${count >= 100 ? 'many' : count} times`
}

/** The instants within the horizon at which a zone's clock changes, and by how much. */
function clockChanges(zone: string, after: Date): { at: Date; shiftMs: number }[] {
  const changes: { at: Date; shiftMs: number }[] = []
  let before = after.getTime()
  for (let day = 1; day <= HORIZON_DAYS; day += 1) {
    const end = after.getTime() + day * DAY_MS
    const shiftMs = offsetMs(new Date(end), zone) - offsetMs(new Date(before), zone)
    if (shiftMs !== 0) {
      let [low, high] = [before, end]
      while (high - low > 1000) {
        const middle = Math.floor((low + high) / 2)
        if (offsetMs(new Date(middle), zone) === offsetMs(new Date(before), zone)) low = middle
        else high = middle
      }
      changes.push({ at: new Date(Math.floor(high / 1000) * 1000), shiftMs })
    }
    before = end
  }
  return changes
}

const formats = new Map<string, Intl.DateTimeFormat>()

function offsetMs(at: Date, zone: string): number {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    formats.set(zone, format)
  }
  const name = format.formatToParts(at).find((part) => part.type === 'timeZoneName')?.value ?? 'GMT'
  const [, sign, hours = '0', minutes = '0', seconds = '0'] =
    /GMT([+-])(\d+)(?::(\d+))?(?::(\d+))?/u.exec(name) ?? []
  const total = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -total : total
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}
