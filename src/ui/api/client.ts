import createClient, { type ClientPathsWithMethod, type MethodResponse } from 'openapi-fetch'
import { accessToken, signInNeeded } from '../sign-in.ts'
import type { paths, ProblemDetails } from '../generated/api.ts'

export class ApiError extends Error {
  readonly status: number
  /** Empty if the response is not from the API but, for example, from a proxy. */
  readonly problem: Partial<ProblemDetails>

  constructor(status: number, problem: Partial<ProblemDetails>) {
    super(problem.detail ?? problem.title ?? `The server responded with status ${status}`)
    this.name = 'ApiError'
    this.status = status
    this.problem = problem
  }

  get fields(): Readonly<Record<string, string>> {
    const { field, errors = field === undefined ? [] : [{ field, detail: this.message }] } = this.problem
    return Object.fromEntries(errors.map((error) => [error.field, error.detail]))
  }
}

export class OfflineError extends Error {}

/** A failed request throws ApiError, OfflineError or the reason of its abort, so `error` is never set in a result. */
export const api = createClient<paths>({ baseUrl: document.baseURI })

api.use({
  onRequest: ({ request }) => {
    const token = accessToken()
    if (token !== null) request.headers.set('authorization', `Bearer ${token}`)
  },
  onResponse: async ({ response }) => {
    if (response.ok) return
    if (response.status === 401) signInNeeded.value = true
    const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') === true
    const problem: Partial<ProblemDetails> = isProblem ? await response.json() : {}
    throw new ApiError(response.status, problem)
  },
  onError: ({ request, error }) =>
    request.signal.aborted && error instanceof Error
      ? error
      : new OfflineError('The server cannot be reached.'),
})

export async function contentOf<Content>(call: Promise<{ data?: Content }>): Promise<NonNullable<Content>> {
  const { data } = await call
  if (data === undefined || data === null) throw new Error('The server sent an empty response.')
  return data
}

export type ReadablePath = ClientPathsWithMethod<typeof api, 'get'>
export type Answer<Path extends ReadablePath> = MethodResponse<typeof api, 'get', Path>

/** Parameters of a path. Query values may be text from the page's address; the server checks them. */
export type Params<Path extends ReadablePath> = paths[Path] extends {
  get: { parameters: infer Parameters extends { query?: unknown } }
}
  ? Omit<Parameters, 'query'> & { readonly query?: Query<NonNullable<Parameters['query']>> }
  : never

type Query<Values> = { readonly [Name in keyof Values]?: string | number | undefined }

type Get = <Path extends ReadablePath>(
  path: Path,
  init: { readonly params: Params<Path>; readonly signal: AbortSignal },
) => Promise<{ readonly data: Answer<Path>; readonly response: Response }>

/** `api.GET` for any path. TypeScript cannot relate its type to those above while the path is a type parameter. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
export const get = api.GET as unknown as Get
