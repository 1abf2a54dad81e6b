/** Problem details (RFC 9457): what was wrong, in which field, and what to do. */
import type { z } from 'zod'
import { CalendarSyntaxError } from '../calendar/index.ts'
import {
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  KalendsError,
  LimitError,
  NotFoundError,
  OverloadedError,
  StoreUnavailableError,
  TooSlowError,
  VersionError,
} from '../errors.ts'
import { CronSyntaxError, InvalidTimeSpanError } from '../timer/index.ts'

/** What is wrong with one field. */
export interface FieldError {
  /** As it is written in the body or the query: `args.to`. */
  readonly field: string
  readonly detail: string
  /** Of a timer: where the error starts, from 1. */
  readonly column?: number | null
  readonly token?: string | null
  /** What to write instead. */
  readonly hint?: string | null
}

export interface ProblemExtras {
  readonly errors?: readonly FieldError[] | undefined
  /** The job that is in the way. */
  readonly jobId?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  408: 'Request timed out',
  409: 'Conflict',
  412: 'Precondition failed',
  413: 'Body too large',
  414: 'URL too long',
  415: 'Unsupported media type',
  421: 'Misdirected request',
  422: 'Invalid input',
  429: 'Too many requests',
  431: 'Header too long',
  500: 'Internal error',
  501: 'Not implemented',
  503: 'Unavailable',
}

/** The answer to a body must not be larger than the body. */
const MOST_ERRORS = 20
const LONGEST_FIELD = 200
const LONGEST_DETAIL = 1000

/** Thrown anywhere in an operation; becomes the answer. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly extras: ProblemExtras

  constructor(status: number, code: string, detail: string, extras: ProblemExtras = {}) {
    super(detail)
    this.name = 'Problem'
    this.status = status
    this.code = code
    this.extras = extras
  }

  toResponse(): Response {
    const { errors = [], jobId, headers } = this.extras
    const [first] = errors
    const body = {
      type: `urn:kalends:problem:${this.code.toLowerCase().replaceAll('_', '-')}`,
      title: TITLES[this.status] ?? 'Problem',
      status: this.status,
      detail: this.message,
      code: this.code,
      ...(first !== undefined && { ...first, detail: this.message, errors }),
      ...(jobId !== undefined && { jobId }),
    }
    return new Response(JSON.stringify(body), {
      status: this.status,
      headers: { 'content-type': 'application/problem+json', ...headers },
    })
  }
}

/** One field is wrong. */
export function invalidField(field: string, detail: string): Problem {
  return new Problem(422, 'INVALID_INPUT', `${field}: ${detail}`, { errors: [{ field, detail }] })
}

/** What the schemas found wrong with a body or a query. */
export function invalidInput(error: z.ZodError): Problem {
  const all = error.issues.flatMap(fieldErrors)
  const errors = all.slice(0, MOST_ERRORS)
  const details = errors.map(({ field, detail }) => `${field === '' ? 'body' : field}: ${detail}`)
  const more = all.length - errors.length
  const detail = `${shortened(details.join('; '), LONGEST_DETAIL)}${more === 0 ? '' : `; and ${more} more errors`}`
  return new Problem(422, 'INVALID_INPUT', detail, { errors })
}

function fieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  const path = issue.path.map((key) => shortened(String(key)))
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      field: shortened([...path, shortened(key)].join('.'), LONGEST_FIELD),
      detail: 'unknown field',
    }))
  return [
    { field: shortened(path.join('.'), LONGEST_FIELD), detail: shortened(issue.message, LONGEST_DETAIL) },
  ]
}

/** Of anything that was thrown; null: an internal error. */
export function problemOf(error: unknown): Problem | null {
  if (error instanceof Problem) return error
  if (error instanceof InvalidInputError) {
    const detail = error.message.slice(error.field.length + 2)
    return new Problem(422, error.code, error.message, { errors: [{ field: error.field, detail }] })
  }
  if (
    error instanceof CalendarSyntaxError ||
    error instanceof CronSyntaxError ||
    error instanceof InvalidTimeSpanError
  ) {
    const { code, message, column, token, hint = null } = error
    return new Problem(422, code, message, {
      errors: [{ field: 'timer', detail: message, column, token, hint }],
    })
  }
  if (error instanceof ForbiddenError) return new Problem(403, error.code, error.message)
  if (error instanceof LimitError) return new Problem(429, error.code, error.message)
  if (error instanceof VersionError) return new Problem(412, error.code, error.message)
  if (error instanceof NotFoundError) return new Problem(404, error.code, error.message)
  if (error instanceof ConflictError)
    return new Problem(409, error.code, error.message, { jobId: error.jobId ?? undefined })
  if (error instanceof OverloadedError || error instanceof TooSlowError)
    return new Problem(503, error.code, error.message, { headers: { 'retry-after': '5' } })
  if (error instanceof StoreUnavailableError)
    // What the driver said may name hosts and users.
    return new Problem(503, error.code, 'The database does not answer just now; try again', {
      headers: { 'retry-after': '2' },
    })
  if (error instanceof KalendsError) return new Problem(500, error.code, 'Something is wrong on the server')
  return null
}

/** What came in may be long. */
export function shortened(text: string, longest = 80): string {
  return text.length > longest ? `${text.slice(0, longest - 3)}...` : text
}
