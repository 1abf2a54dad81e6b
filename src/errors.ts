/**
 * The errors of Kalends: small named classes, each with a stable `code`.
 *
 * A message says what was wrong, where, what came in and what to do. A syntax error in a calendar event is a
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

/** Something in the declared schedules or handlers is wrong; `problems` lists everything, in order. */
export class DeclarationError extends KalendsError {
  readonly code = 'INVALID_DECLARATION'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    const list = problems.map((problem) => `  - ${problem}`).join('\n')
    super(`Nothing was started, because the declarations have ${problems.length} problem(s):\n${list}`)
    this.problems = problems
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

/** The schedule was edited since the version that the caller has seen; nothing was written. */
export class VersionError extends KalendsError {
  readonly code = 'VERSION'

  constructor(id: string) {
    super(`The schedule '${id}' has changed since you read it; read it again before you change it`)
  }
}

/** The caller may not do this: the task is not one that they were granted. Nothing was written. */
export class ForbiddenError extends KalendsError {
  readonly code = 'FORBIDDEN'
}

/** An owner has as many schedules or open jobs as the limits of the scope allow; `limit` names the limit. */
export class LimitError extends KalendsError {
  readonly code = 'LIMIT'
  readonly limit: 'schedules' | 'openJobs'

  constructor(limit: 'schedules' | 'openJobs', message: string) {
    super(`limits.${limit}: ${message}`)
    this.limit = limit
  }
}

/** The database cannot be reached or refuses to work; what was asked for can be tried again later. */
export class StoreUnavailableError extends KalendsError {
  readonly code = 'STORE_UNAVAILABLE'
}

/** Too much waits for the database already. Nothing was done; try again later. */
export class OverloadedError extends KalendsError {
  readonly code = 'OVERLOADED'
}

/** A statement took longer than it may. Nothing was changed; ask for less. */
export class TooSlowError extends KalendsError {
  readonly code = 'TOO_SLOW'
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

/**
 * Whether anything that was thrown is of a class. A handler may throw a proxy, which throws when it is asked.
 */
export function isA<Kind>(thrown: unknown, kind: abstract new (...args: never[]) => Kind): thrown is Kind {
  try {
    return thrown instanceof kind
  } catch {
    return false
  }
}

/** The text of anything that was thrown, with its causes, as it is stored and logged. Throws nothing itself. */
export function errorText(thrown: unknown, causes = MOST_CAUSES): string {
  if (!isA(thrown, Error)) return valueText(thrown)
  const own = textIn(thrown, 'stack') ?? `${textIn(thrown, 'name') ?? 'Error'}: ${messageOf(thrown)}`
  const cause = propertyOf(thrown, 'cause')
  return cause === undefined || causes === 0 ? own : `${own}\nCaused by: ${errorText(cause, causes - 1)}`
}

/** The message of anything that was thrown. Throws nothing itself. */
export function messageOf(thrown: unknown): string {
  return isA(thrown, Error) ? (textIn(thrown, 'message') ?? '(no readable message)') : valueText(thrown)
}

/** A getter may throw; then it is as if there were nothing. */
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
/** A URL of the web, which is no file path, with the punctuation around it. Each character can match in one place only. */
const URL_WORD = /^["'`(<[]*https?:\/\/[\w.-]+(?::\d+)?(?:[/?#][\w.~%?&=#+@/-]*)?["'`)>\],;:!]*$/
/** The slash is within a word, such as of `text/html` or `src/app.js`. */
const RELATIVE = /^[^/\\]*\w[/\\]/
const QUOTE = /["'`]/
/** An id begins with the worker's name, which may have spaces, and has at most 255 characters. */
const LOST_WORKER = /\b(the worker) .{1,255}? (?=was (?:lost|taken for dead)\b)/gi

/**
 * An error text for the owner of a job, who is a user of the application: the first line without file paths and
 * ids of workers. Stack, causes and further lines describe the machine that it ran on.
 */
export function errorTextForOwner(text: string): string {
  const end = text.indexOf('\n')
  return lineForOwner(end === -1 ? text : text.slice(0, end)).trimEnd()
}

/** The same for what a handler logs: each line that is not one of a stack. */
export function logTextForOwner(text: string): string {
  return text
    .split('\n')
    .filter((line) => !STACK_LINE.test(line))
    .map(lineForOwner)
    .join('\n')
}

/** `[path]` stands for each word with a slash or backslash, and for what may be the rest of a path with spaces. */
function lineForOwner(line: string): string {
  // Spaces are the items with odd numbers.
  const items = line.replace(LOST_WORKER, '$1 ').split(/(\s+)/)
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
  return /[/\\]/.test(word) && !URL_WORD.test(word)
}

/** A quoted path goes on to its quote. Of another absolute one nothing says where it ends: at the latest with the last. */
function pathEnd(items: readonly string[], at: number, last: number): number {
  const word = items[at] ?? ''
  const slash = word.search(/[/\\]/)
  const quote = QUOTE.exec(word.slice(0, slash))?.[0]
  if (quote === undefined) return RELATIVE.test(word) ? at : last
  if (word.includes(quote, slash)) return at
  let end = at + 1
  while (end < items.length && items[end]?.includes(quote) !== true) end += 1
  return end
}

function valueText(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  try {
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    // A BigInt, or an object that contains itself.
  }
  try {
    return inspect(thrown, { depth: 2 })
  } catch {
    return '(a value that cannot be shown)'
  }
}
