/** A text that should be a time span and is none. */
export class InvalidTimeSpanError extends Error {
  readonly code = 'INVALID_TIME_SPAN'
  override readonly name = 'InvalidTimeSpanError'

  constructor(text: string, fault: string) {
    super(`The time span '${text}' ${fault}; write numbers with units, such as '90s', '10min' or '1h 30min'`)
  }
}

export interface CronFault {
  /** The field's name, or 'expression'. */
  readonly field: string
  readonly token: string
  readonly problem: string
  /** The calendar event that says the same; null when none does. */
  readonly calendarEvent: string | null
}

/** The text after `cron` is not a strict POSIX crontab expression. */
export class CronSyntaxError extends Error {
  readonly code = 'CRON_SYNTAX'
  override readonly name = 'CronSyntaxError'
  readonly field: string
  readonly token: string
  readonly calendarEvent: string | null

  constructor(text: string, { field, token, problem, calendarEvent }: CronFault) {
    const where = field === 'expression' ? '' : `, ${field} '${token}'`
    const instead = calendarEvent === null ? '' : `; the calendar event that says it: ${calendarEvent}`
    super(`Not a POSIX cron expression: '${text}'${where}: ${problem}${instead}`)
    this.field = field
    this.token = token
    this.calendarEvent = calendarEvent
  }
}
