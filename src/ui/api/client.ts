/** Calls of the REST API. */
import { signal } from '@preact/signals'

const root = new URL('api/v1/', document.baseURI)
const TOKEN = 'kalends.token'

/** A refusal of the API, as problem details (RFC 9457) tell it. */
export class ApiError extends Error {
  readonly status: number
  /** What each field did wrong. */
  readonly fields: Readonly<Record<string, string>>
  /** What else the problem says, such as the job that is in the way. */
  readonly problem: Readonly<Record<string, unknown>>

  constructor(status: number, problem: Readonly<Record<string, unknown>>) {
    super(text(problem['detail']) ?? text(problem['title']) ?? `The server answered with ${status}`)
    this.name = 'ApiError'
    this.status = status
    this.problem = problem
    this.fields = fieldsOf(problem)
  }
}

/** The server could not be reached at all. */
export class OfflineError extends Error {}

/** The server wants to know who this is: a token is asked for. */
export const signInNeeded = signal(false)

let token = readToken()
// Before the router reads the address.
signInByLink()

export function signIn(value: string): void {
  token = value
  try {
    sessionStorage.setItem(TOKEN, value)
  } catch {
    // Without storage it lasts until the page is left.
  }
  signInNeeded.value = false
}

/** A link may also be opened in a tab that shows the page already: then only what is behind # changes. */
export function startSignInLinks(): void {
  addEventListener('hashchange', () => {
    if (signInByLink()) location.reload()
  })
}

/**
 * A sign-in link carries the token behind #, which browsers send to no server. It leaves the address bar and the
 * history at once, so that it is not passed on with the address.
 */
function signInByLink(): boolean {
  const [, value] = /^#token=([!-~]+)$/.exec(location.hash) ?? []
  if (value === undefined) return false
  history.replaceState(history.state, '', location.pathname + location.search)
  signIn(value)
  return true
}

export type Values = Readonly<Record<string, string | number | boolean | undefined>>

export function address(path: readonly string[], values: Values = {}): URL {
  const url = new URL(path.map(encodeURIComponent).join('/'), root)
  for (const [key, value] of Object.entries(values))
    if (value !== undefined && value !== '') url.searchParams.set(key, String(value))
  return url
}

/** @throws ApiError, OfflineError */
export async function request(url: URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  if (token !== null) headers.set('authorization', `Bearer ${token}`)
  const response = await fetch(url, { ...init, headers }).catch((error: unknown) => {
    if (init.signal?.aborted === true) throw error
    throw new OfflineError('The server cannot be reached.')
  })
  if (response.ok) return response
  if (response.status === 401) signInNeeded.value = true
  const problem: unknown = await response.json().catch(() => ({}))
  throw new ApiError(response.status, isRecord(problem) ? problem : {})
}

/** The entity tag of each answer that has one. */
const tags = new WeakMap<object, string>()

/** What the server answers is what its schemas say: the types are those of the API's document. */
export async function get<Answer>(url: URL, signal?: AbortSignal): Promise<Answer> {
  const response = await request(url, signal === undefined ? {} : { signal })
  const answer: Answer = await response.json()
  const tag = response.headers.get('etag')
  if (tag !== null && typeof answer === 'object' && answer !== null) tags.set(answer, tag)
  return answer
}

export async function send<Answer>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: readonly string[],
  body?: unknown,
  /** What the change is based on: it is refused where the server has a newer version. */
  basis?: object,
): Promise<Answer> {
  const tag = basis && tags.get(basis)
  const response = await request(address(path), {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(tag !== undefined && { 'if-match': tag }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const answer = await response.text()
  return JSON.parse(answer === '' ? 'null' : answer)
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function fieldsOf(problem: Readonly<Record<string, unknown>>): Record<string, string> {
  const { errors, field, detail } = problem
  if (Array.isArray(errors))
    return Object.fromEntries(
      errors.filter(isRecord).map((error) => [text(error['field']) ?? '', text(error['detail']) ?? '']),
    )
  return typeof field === 'string' ? { [field]: text(detail) ?? '' } : {}
}

function readToken(): string | null {
  try {
    return sessionStorage.getItem(TOKEN)
  } catch {
    return null
  }
}
