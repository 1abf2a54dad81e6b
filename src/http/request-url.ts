import { InvalidInputError } from '../errors.ts'
import { invalidField, Problem, shortened } from './problem.ts'

const LONGEST_PATH = 8192
const LONGEST_QUERY = 16_384
const MAX_PARAMETERS = 100
const LONGEST_HEADER = 8192
/** The headers that the API reads. The HTTP server limits all others, such as the cookies that `authorize` reads. */
const READ_HEADERS = [
  'accept',
  'accept-encoding',
  'authorization',
  'content-length',
  'content-type',
  'host',
  'if-match',
  'last-event-id',
  'origin',
  'sec-fetch-site',
  'x-forwarded-for',
] as const

/** Limits how much work a request can cause before it is rejected. @throws Problem 414, 431 */
export function checkSize({ pathname, search }: URL, headers: Headers): void {
  const query = Math.max(0, search.length - 1)
  if (pathname.length > LONGEST_PATH || query > LONGEST_QUERY)
    throw new Problem(
      414,
      'URL_TOO_LONG',
      `A path may have at most ${LONGEST_PATH} characters and a query ${LONGEST_QUERY}, got ${pathname.length} and ${query}`,
    )
  for (const name of READ_HEADERS) {
    const { length } = headers.get(name) ?? ''
    if (length > LONGEST_HEADER)
      throw new Problem(
        431,
        'HEADER_TOO_LONG',
        `The header ${name} may have at most ${LONGEST_HEADER} characters, got ${length}`,
      )
  }
}

/** A `.` or `..` segment of a path, even if percent-encoded. */
const DOT_STEP = /^[^?#]*[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i

/**
 * The path below the mount point, empty or starting with a slash, or null if the URL is not below it. A path with a `.`
 * or `..` segment never counts as below it, because `URL` resolves these segments, but a proxy that checks the start of
 * a path may not.
 */
export function pathBelow(base: string, { pathname }: URL, urlAsSent = ''): string | null {
  const isBelow =
    !DOT_STEP.test(urlAsSent) &&
    pathname.startsWith(base) &&
    (pathname.length === base.length || pathname[base.length] === '/')
  return isBelow ? pathname.slice(base.length) : null
}

/** A loop, because a regular expression for trailing slashes would start again at each slash. */
export function withoutSlashes(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === '/') end -= 1
  return end === 0 ? '/' : path.slice(0, end)
}

/** @returns the path without a trailing slash @throws InvalidInputError */
export function checkedBasePath(basePath: string): string {
  if (typeof basePath !== 'string' || !basePath.isWellFormed() || /[?#\\]/.test(basePath))
    throw new InvalidInputError(
      'basePath',
      `must be a path such as '/kalends', got ${JSON.stringify(basePath)}`,
    )
  const steps = basePath.split('/').filter((step) => step !== '')
  // Puts the base path in the same form as request paths.
  const path = withoutSlashes(new URL(`http://localhost/${steps.join('/')}`).pathname)
  return path === '/' ? '' : path
}

/** @throws Problem 422 for a repeated name or too many parameters */
export function queryOf({ searchParams }: URL): Record<string, string> {
  const query = new Map<string, string>()
  for (const [name, value] of searchParams) {
    if (query.has(name)) throw invalidField(shortened(name), 'must be given only once')
    if (query.size === MAX_PARAMETERS)
      throw new Problem(
        422,
        'INVALID_INPUT',
        `A query may have at most ${MAX_PARAMETERS} parameters; this one has more`,
      )
    query.set(name, value)
  }
  return Object.fromEntries(query)
}
