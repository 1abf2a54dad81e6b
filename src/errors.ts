/**
 * The errors of Kalends: small named classes, each with a stable `code`.
 *
 * A message says what was wrong, where, what came in and what to do. A fault in a calendar event is a
 * `CalendarSyntaxError` of `kalends/calendar`, with column, token and hint.
 */
import { inspect } from 'node:util'

/** What every error of Kalends has. */
export abstract class KalendsError extends Error {
  abstract readonly code: string

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** An option or an argument that cannot be meant; `field` names it. */
export class InvalidInputError extends KalendsError {
  readonly code = 'INVALID_INPUT'
  readonly field: string

  constructor(field: string, message: string, options?: ErrorOptions) {
    super(`${field}: ${message}`, options)
    this.field = field
  }
}

/** Something in the declared schedules or handlers is wrong; `faults` lists everything, in order. */
export class DeclarationError extends KalendsError {
  readonly code = 'INVALID_DECLARATION'
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    const list = faults.map((fault) => `  - ${fault}`).join('\n')
    super(`Nothing was started, because the declarations have ${faults.length} fault(s):\n${list}`)
    this.faults = faults
  }
}

/** There is no such schedule or job. */
export class NotFoundError extends KalendsError {
  readonly code = 'NOT_FOUND'

  constructor(kind: 'schedule' | 'job', id: string) {
    super(`There is no ${kind} with the id '${id}'`)
  }
}

/** What was asked for contradicts what is there: an id in use, a run that has not ended. */
export class ConflictError extends KalendsError {
  readonly code = 'CONFLICT'
  /** The job that is in the way, if it is one. */
  readonly jobId: string | null

  constructor(message: string, options: ErrorOptions & { readonly jobId?: string } = {}) {
    super(message, options)
    this.jobId = options.jobId ?? null
  }
}

/** The database cannot be reached or refuses to work; what was asked for can be tried again later. */
export class StoreUnavailableError extends KalendsError {
  readonly code = 'STORE_UNAVAILABLE'
}

/** The tables are not what this version needs; nothing in the database was changed. */
export class SchemaError extends KalendsError {
  readonly code = 'SCHEMA'
}

/** Thrown by a handler: this run can never succeed, so it is not retried. */
export class PermanentError extends KalendsError {
  readonly code = 'PERMANENT'
}

/** The reason of a handler's signal: the run took longer than its timeout. */
export class TimeoutError extends KalendsError {
  readonly code = 'TIMEOUT'
}

/** The reason of a handler's signal: somebody asked for the job to be cancelled. */
export class CancelledError extends KalendsError {
  readonly code = 'CANCELLED'
}

/** The reason of a handler's signal: this worker was taken for dead, and the job now belongs to others. */
export class LeaseLostError extends KalendsError {
  readonly code = 'LEASE_LOST'
}

/** The reason of a handler's signal: the worker stops and the grace period is over; the job goes back. */
export class StoppedError extends KalendsError {
  readonly code = 'STOPPED'
}

/** Causes below this depth are left out; some errors are their own cause. */
const MOST_CAUSES = 8

/** The text of anything that was thrown, with its causes, as it is stored and logged. Throws nothing itself. */
export function errorText(thrown: unknown, causes = MOST_CAUSES): string {
  if (!(thrown instanceof Error)) return valueText(thrown)
  const own = thrown.stack ?? `${thrown.name}: ${thrown.message}`
  return thrown.cause === undefined || causes === 0
    ? own
    : `${own}\nCaused by: ${errorText(thrown.cause, causes - 1)}`
}

function valueText(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  try {
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    // A BigInt, or an object that contains itself.
    return inspect(thrown, { depth: 2 })
  }
}
