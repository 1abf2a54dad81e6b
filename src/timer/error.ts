import { CalendarSyntaxError, quote } from '../calendar/error.ts'

const SPAN_HINT = "write numbers with units, such as '90s', '10min' or '1h 30min'"

/** The text is not a valid time span. */
export class InvalidTimeSpanError extends Error {
  readonly code = 'KALENDS_INVALID_TIME_SPAN'
  override readonly name = 'InvalidTimeSpanError'
  /** The start of the invalid piece in the span, counted from 1; null when the whole span is invalid. */
  readonly column: number | null
  /** The invalid piece, or the whole span. */
  readonly token: string
  readonly hint = SPAN_HINT

  constructor(text: string, problem: string, where?: { readonly at: number; readonly token: string }) {
    const shown = text.length > 80 ? `${text.slice(0, 77)}...` : text
    super(`The time span '${shown}' ${problem}; ${SPAN_HINT}`)
    this.column = where === undefined ? null : where.at + 1
    this.token = where?.token ?? text
  }
}

export interface CronProblem {
  /** Whether the text must use POSIX syntax. */
  readonly strict: boolean
  /** The name of the field, such as 'day of the month'; otherwise 'zone' or 'expression'. */
  readonly field: string
  readonly token: string
  /** Zero-based offset of the token in the expression. */
  readonly at: number
  readonly problem: string
  /** The calendar event with the same meaning, or null if there is none. */
  readonly calendarEvent: string | null
  /** Five fields to write instead, if no single calendar event is equivalent, or if programs disagree. */
  readonly fields: string | null
}

/** The text after `cron` or `cron!` is not a valid expression. */
export class CronSyntaxError extends Error {
  readonly code = 'KALENDS_CRON_SYNTAX'
  override readonly name = 'CronSyntaxError'
  readonly field: string
  /** The invalid piece. */
  readonly token: string
  /** The start of the token in the expression, counted from 1. */
  readonly column: number
  readonly problem: string
  readonly calendarEvent: string | null
  /** The `cron` timer to write instead, if no single calendar event is equivalent, or if programs disagree. */
  readonly cron: string | null
  /** What to write instead, if known. */
  readonly hint: string | null

  constructor(text: string, { strict, field, token, at, problem, calendarEvent, fields }: CronProblem) {
    const cron = fields === null ? null : `${strict ? 'cron!' : 'cron'} ${fields}`
    const where = field === 'expression' ? '' : `, ${field} ${quote(token)}`
    const either =
      calendarEvent === null ? 'no single calendar event can express it, but this can' : 'if either is enough'
    const event = cron === null ? 'the equivalent calendar event' : 'if both must match'
    const instead = [
      calendarEvent === null ? '' : `; ${event}: ${calendarEvent}`,
      cron === null ? '' : `; ${either}: ${cron}`,
    ]
    super(
      `Not a ${strict ? 'POSIX ' : ''}cron expression: ${quote(text)}${where}: ${problem}${instead.join('')}`,
    )
    this.field = field
    this.token = token
    this.column = at + 1
    this.problem = problem
    this.calendarEvent = calendarEvent
    this.cron = cron
    const one = calendarEvent ?? cron
    this.hint =
      calendarEvent !== null && cron !== null
        ? `write ${calendarEvent} if both must match, or ${cron} if either is enough`
        : one && `write ${one}`
  }
}

/** Whether an error means that a string is not a timer. */
export function isInvalidTimer(
  error: unknown,
): error is CalendarSyntaxError | CronSyntaxError | InvalidTimeSpanError {
  return [CalendarSyntaxError, CronSyntaxError, InvalidTimeSpanError].some((kind) => error instanceof kind)
}
