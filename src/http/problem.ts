/** Problem details (RFC 9457): what was wrong, in which field, and what to do. */
import { STATUS_CODES } from 'node:http'
import type { z } from 'zod'
import { counted } from '../duration.ts'
import { ConflictError, InvalidInputError, KalendsError } from '../errors.ts'
import { isInvalidTimer } from '../timer/error.ts'
import type { ProblemDetails } from './answer-schemas.ts'

type FieldError = NonNullable<z.input<typeof ProblemDetails>['errors']>[number]

interface ProblemExtras {
  readonly errors?: readonly FieldError[] | undefined
  readonly jobId?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** The HTTP status of Kalends errors, by their code in the API. Invalid input is 422; all other errors are internal. */
const STATUSES: Readonly<Record<string, number>> = {
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  VERSION: 412,
  LIMIT: 429,
  OVERLOADED: 503,
  TOO_SLOW: 503,
  STORE_UNAVAILABLE: 503,
}

/** Without limits, a response about a body could be much larger than the body. */
const MAX_ERRORS = 20
const LONGEST_FIELD = 200
const LONGEST_DETAIL = 1000

/** A problem that is thrown anywhere in an operation becomes the response. */
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
      title: STATUS_CODES[this.status] ?? 'Problem',
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

export function invalidField(field: string, detail: string): Problem {
  return new Problem(422, 'INVALID_INPUT', `${field}: ${detail}`, { errors: [{ field, detail }] })
}

export function invalidInput(error: z.ZodError): Problem {
  const all = error.issues.flatMap(errorsOf)
  const errors = all.slice(0, MAX_ERRORS)
  const details = errors.map(({ field, detail }) => `${field === '' ? 'body' : field}: ${detail}`)
  const more = all.length - errors.length
  const detail = `${shortened(details.join('; '), LONGEST_DETAIL)}${more === 0 ? '' : `; and ${counted(more, 'more error')}`}`
  return new Problem(422, 'INVALID_INPUT', detail, { errors })
}

function errorsOf(issue: z.core.$ZodIssue): FieldError[] {
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

/** The API omits the prefix that distinguishes the errors of Kalends from those of other packages. */
export function codeOf<Code extends string>({ code }: { readonly code: `KALENDS_${Code}` }): Code {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest of the type
  return code.slice('KALENDS_'.length) as Code
}

/** The problem for any thrown value, or null for an internal error. */
export function problemOf(error: unknown): Problem | null {
  if (error instanceof Problem) return error
  if (error instanceof InvalidInputError) {
    const detail = error.message.slice(error.field.length + 2)
    return invalidField(error.field, detail)
  }
  if (isInvalidTimer(error)) {
    const { message, column, token, hint = null } = error
    return new Problem(422, codeOf(error), message, {
      errors: [{ field: 'timer', detail: message, column, token, hint }],
    })
  }
  if (!(error instanceof KalendsError)) return null
  const code = codeOf(error)
  const status = STATUSES[code]
  if (status === undefined) return null
  const isUnavailable = code === 'STORE_UNAVAILABLE'
  // The driver's message may name hosts and users.
  const detail = isUnavailable ? 'The database is unavailable; try again' : error.message
  return new Problem(status, code, detail, {
    jobId: error instanceof ConflictError ? (error.jobId ?? undefined) : undefined,
    ...(status === 503 && { headers: { 'retry-after': isUnavailable ? '2' : '5' } }),
  })
}

/** Input may be long. */
export function shortened(text: string, longest = 80): string {
  return text.length > longest ? `${text.slice(0, longest - 3)}...` : text
}
