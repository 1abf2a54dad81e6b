/** A syntax error in a calendar event is a `CalendarSyntaxError` of `kalends/calendar`, with column, token and hint. */
import { inspect } from 'node:util'

/** The base class of Kalends' errors, except for errors in the text of a timer. */
export abstract class KalendsError extends Error {
  abstract readonly code: `KALENDS_${string}`

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** An invalid option or argument; `field` names it. */
export class InvalidInputError extends KalendsError {
  readonly code = 'KALENDS_INVALID_INPUT'
  readonly field: string

  constructor(field: string, message: string, options?: ErrorOptions) {
    super(`${field}: ${message}`, options)
    this.field = field
  }
}

/** Runs a check of one field, and adds the name of the field to its error. @throws InvalidInputError */
export function asInput<Value>(field: string, check: () => Value): Value {
  try {
    return check()
  } catch (error) {
    throw new InvalidInputError(field, messageOf(error), { cause: error })
  }
}

/** Declared schedules are invalid or lack a handler; `problems` lists all problems in the order of the declarations. */
export class DeclarationError extends KalendsError {
  readonly code = 'KALENDS_INVALID_DECLARATION'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    const list = problems.map((problem) => `  - ${problem}`).join('\n')
    super(`Nothing was started, because the declarations have ${problems.length} problem(s):\n${list}`)
    this.problems = problems
  }
}

/** The schedule, job or freeze does not exist. */
export class NotFoundError extends KalendsError {
  readonly code = 'KALENDS_NOT_FOUND'

  constructor(kind: 'schedule' | 'job' | 'freeze', id: string) {
    super(`There is no ${kind} with the id '${id}'`)
  }
}

/** For a row that was not found: `row ?? missing('job', id)`. @throws NotFoundError */
export function missing(kind: 'schedule' | 'job' | 'freeze', id: string): never {
  throw new NotFoundError(kind, id)
}

/** The request conflicts with the current state; for example, an id is in use or a run is unfinished. */
export class ConflictError extends KalendsError {
  readonly code = 'KALENDS_CONFLICT'
  /** The conflicting job, if any. */
  readonly jobId: string | null

  constructor(message: string, options: ErrorOptions & { readonly jobId?: string } = {}) {
    super(message, options)
    this.jobId = options.jobId ?? null
  }
}

/** The schedule has been edited since the caller read it. Nothing was written. */
export class VersionError extends KalendsError {
  readonly code = 'KALENDS_VERSION'

  constructor(id: string) {
    super(`The schedule '${id}' has changed since you read it; read it again before you change it`)
  }
}

/** The caller was not granted this task. Nothing was written. */
export class ForbiddenError extends KalendsError {
  readonly code = 'KALENDS_FORBIDDEN'
}

/** An owner has reached the limit on schedules or open jobs; `limit` says which. */
export class LimitError extends KalendsError {
  readonly code = 'KALENDS_LIMIT'
  readonly limit: 'schedules' | 'openJobs'

  constructor(limit: 'schedules' | 'openJobs', message: string) {
    super(`limits.${limit}: ${message}`)
    this.limit = limit
  }
}

/** The database cannot be reached or is not working; try again later. */
export class StoreUnavailableError extends KalendsError {
  readonly code = 'KALENDS_STORE_UNAVAILABLE'
  /** Whether the database works, but another transaction held a lock for too long. */
  readonly isLockWait: boolean

  constructor(
    message: string,
    { isLockWait = false, ...options }: ErrorOptions & { isLockWait?: boolean } = {},
  ) {
    super(message, options)
    this.isLockWait = isLockWait
  }
}

/**
 * Too many requests, or too many writes by one owner, are waiting for the database. Nothing was done; try again later.
 */
export class OverloadedError extends KalendsError {
  readonly code = 'KALENDS_OVERLOADED'
}

/** A statement exceeded its time limit. Nothing was changed; request less data. */
export class TooSlowError extends KalendsError {
  readonly code = 'KALENDS_TOO_SLOW'
}

/** The tables do not match this version. Nothing in the database was changed. */
export class SchemaError extends KalendsError {
  readonly code = 'KALENDS_SCHEMA'
}

/** Thrown by a handler if the run can never succeed; the run is then not retried. */
export class PermanentError extends KalendsError {
  readonly code = 'KALENDS_PERMANENT'
}

/**
 * Thrown by `snooze` in a handler: the job runs again later, and this attempt does not count. Middleware that reports
 * errors can skip this one.
 */
export class SnoozedError extends KalendsError {
  readonly code = 'KALENDS_SNOOZED'
  /** How long the job waits, in milliseconds. */
  readonly delay: number

  constructor(delay: number) {
    super(`The handler asked to run the job again in ${delay} ms`)
    this.delay = delay
  }
}

/** The abort reason of a handler's signal: the attempt exceeded its timeout. */
export class AttemptTimeoutError extends KalendsError {
  readonly code = 'KALENDS_ATTEMPT_TIMEOUT'
}

/** The job was not final when the caller's wait timed out; the job continues. */
export class WaitTimeoutError extends KalendsError {
  readonly code = 'KALENDS_WAIT_TIMEOUT'
}

/** The abort reason of a handler's signal: the job was cancelled. */
export class CancelledError extends KalendsError {
  readonly code = 'KALENDS_CANCELLED'
}

/** The abort reason of a handler's signal: other workers may consider this worker dead, and may run the job now. */
export class LeaseLostError extends KalendsError {
  readonly code = 'KALENDS_LEASE_LOST'
}

/** The abort reason of a handler's signal: the grace period of a stopping worker is over. The job is queued again. */
export class StoppedError extends KalendsError {
  readonly code = 'KALENDS_STOPPED'
}

/** Deeper causes are left out, because some errors are their own cause. */
const MAX_CAUSES = 8

/** `instanceof` that never throws: a handler may throw a proxy that does not allow the check. */
export function isA<Kind>(thrown: unknown, kind: abstract new (...args: never[]) => Kind): thrown is Kind {
  try {
    return thrown instanceof kind
  } catch {
    return false
  }
}

/** The text of any thrown value with its causes, as it is stored and logged. Never throws. */
export function errorText(thrown: unknown, causes = MAX_CAUSES): string {
  if (!isA(thrown, Error)) return valueText(thrown)
  const own = textIn(thrown, 'stack') ?? `${textIn(thrown, 'name') ?? 'Error'}: ${messageOf(thrown)}`
  const cause = propertyOf(thrown, 'cause')
  return cause === undefined || causes === 0 ? own : `${own}\nCaused by: ${errorText(cause, causes - 1)}`
}

/**
 * Cuts a string that is longer than `limit` bytes. Returns a copy, because a substring keeps the whole string in
 * memory.
 */
export function shortened(text: string, limit: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= limit) return bytes.toString()
  // Secrets.hiddenInText looks for this note, because a secret that becomes known later may have been cut here.
  const note = `… (cut, of ${bytes.length} bytes)`
  const start = bytes.subarray(0, Math.max(0, limit - Buffer.byteLength(note)))
  // The last character may have been cut in half.
  return `${start.toString().replace(/\ufffd$/, '')}${note}`
}

export function firstLine(text: string | null): string {
  return text?.split(/\r?\n/, 1)[0] ?? ''
}

/** The message of any thrown value. Never throws. */
export function messageOf(thrown: unknown): string {
  return isA(thrown, Error) ? (textIn(thrown, 'message') ?? '(no readable message)') : valueText(thrown)
}

function propertyOf(error: Error, name: 'stack' | 'name' | 'message' | 'cause'): unknown {
  try {
    return error[name]
  } catch {
    return undefined
  }
}

function textIn(error: Error, name: 'stack' | 'name' | 'message'): string | undefined {
  const value = propertyOf(error, name)
  return typeof value === 'string' ? value : undefined
}

const STACK_LINE = /^\s+at .*$/
/**
 * A web URL, which is not a file path, with the punctuation around it. Each character can match in only one place, so
 * matching stays fast.
 */
const URL_WORD = /^["'`(<[]*https?:\/\/[\w.-]+(?::\d+)?(?:[/?#][\w.~%?&=#+@/-]*)?["'`)>\],;:!]*$/
/** Matches a word with a slash inside, as in `text/html` or `src/app.js`. */
const RELATIVE = /^[^/\\]*\w[/\\]/
const SLASH = /[/\\]/
const QUOTE = /["'`]/
/** An id starts with the worker's name, which may contain spaces, and has at most 255 characters. */
const LOST_WORKER = /\b(the worker) .{1,255}? (?=was (?:lost|considered dead)\b)/gi

/**
 * The text of an error for the owner of a job, who is a user of the application: the first line, without file paths or worker
 * ids. The stack, causes and further lines reveal details of the machine that ran the job.
 */
export function errorTextForOwner(text: string): string {
  const [line = ''] = text.split('\n', 1)
  return lineForOwner(line).trimEnd()
}

/** A handler's log message for the owner of a job: without stack traces, file paths or ids of lost workers. */
export function logTextForOwner(text: string): string {
  return text
    .split('\n')
    .filter((line) => !STACK_LINE.test(line))
    .map(lineForOwner)
    .join('\n')
}

/**
 * Replaces with `[path]` each word that contains a slash or backslash and is not a web URL, and any text that may
 * belong to a path with spaces. Removes the ids of lost workers.
 */
function lineForOwner(line: string): string {
  const text = line.replace(LOST_WORKER, '$1 ')
  if (!SLASH.test(text)) return text
  // Items with odd indexes are whitespace.
  const items = text.split(/(\s+)/)
  const last = items.findLastIndex(isPath)
  const shown: string[] = []
  for (let at = 0; at < items.length; at += 1) {
    const item = items[at] ?? ''
    if (at > last || !isPath(item)) {
      shown.push(item)
      continue
    }
    shown.push('[path]')
    at = pathEnd(items, at, last)
  }
  return shown.join('')
}

function isPath(word: string): boolean {
  return SLASH.test(word) && !URL_WORD.test(word)
}

/**
 * A quoted path ends at the closing quote, and a relative path at the end of its word. Unquoted absolute paths may
 * contain spaces, so everything up to the last path in the line is treated as one path.
 */
function pathEnd(items: readonly string[], at: number, last: number): number {
  const word = items[at] ?? ''
  const slash = word.search(SLASH)
  const quote = QUOTE.exec(word.slice(0, slash))?.[0]
  if (quote === undefined) return RELATIVE.test(word) ? at : last
  if (word.includes(quote, slash)) return at
  let end = at + 1
  while (end < items.length && items[end]?.includes(quote) !== true) end += 1
  return end
}

/** Any value as text, a string unchanged. Never throws. */
export function valueText(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  try {
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    // The value is, for example, a BigInt or a circular object.
  }
  try {
    return inspect(thrown, { depth: 2 })
  } catch {
    return '(a value that cannot be shown)'
  }
}
