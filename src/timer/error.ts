import { quote } from '../calendar/error.ts'

const SPAN_HINT = "write numbers with units, such as '90s', '10min' or '1h 30min'"

/** The text is not a valid time span. */
export class InvalidTimeSpanError extends Error {
  readonly code = 'KALENDS_INVALID_TIME_SPAN'
  override readonly name = 'InvalidTimeSpanError'
  /** Where the invalid piece starts in the span, from 1; null when the whole span is invalid. */
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
  /** The field's name, 'zone' or 'expression'. */
  readonly field: string
  readonly token: string
  /** Zero-based offset of the token in the expression. */
  readonly at: number
  readonly problem: string
  /** The calendar event with the same meaning; null: none. */
  readonly calendarEvent: string | null
  /** The same in strict POSIX, if possible and if no single calendar event can express it. */
  readonly strict: string | null
}

/** The text after `cron` is not a strict POSIX crontab expression. */
export class CronSyntaxError extends Error {
  readonly code = 'KALENDS_CRON_SYNTAX'
  override readonly name = 'CronSyntaxError'
  readonly field: string
  /** The invalid piece. */
  readonly token: string
  /** Where the token starts in the expression, from 1. */
  readonly column: number
  readonly problem: string
  readonly calendarEvent: string | null
  readonly strict: string | null
  /** What to write instead, if known. */
  readonly hint: string | null

  constructor(text: string, { field, token, at, problem, calendarEvent, strict }: CronProblem) {
    const where = field === 'expression' ? '' : `, ${field} ${quote(token)}`
    const instead =
      calendarEvent !== null
        ? `; the calendar event that says it: ${calendarEvent}`
        : strict === null
          ? ''
          : `; no single calendar event says it, but this does: cron ${strict}`
    super(`Not a POSIX cron expression: ${quote(text)}${where}: ${problem}${instead}`)
    this.field = field
    this.token = token
    this.column = at + 1
    this.problem = problem
    this.calendarEvent = calendarEvent
    this.strict = strict
    this.hint =
      calendarEvent !== null ? `write ${calendarEvent}` : strict === null ? null : `write cron ${strict}`
  }
}
