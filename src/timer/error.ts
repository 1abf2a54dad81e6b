/** A text that should be a time span and is none. */
export class InvalidTimeSpanError extends Error {
  readonly code = 'INVALID_TIME_SPAN'
  override readonly name = 'InvalidTimeSpanError'

  constructor(text: string, fault: string) {
    super(`The time span '${text}' ${fault}; write numbers with units, such as '90s', '10min' or '1h 30min'`)
  }
}
