/**
 * The REST API as a fetch handler: a Request in, a Response out, under any base path of any server.
 *
 * It knows Kalends by its public interface alone. Every answer is JSON with headers that let a browser do nothing
 * else with it; every error is a problem (RFC 9457). In this order a request is refused: a URL or
 * a header that is too long, a path that is not there, a host that is not ours, a write from a foreign page, a caller that is not known, a role that is too low, a
 * body or a query that does not fit.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Hono } from 'hono'
import { z } from 'zod'
import { InvalidInputError } from '../errors.ts'
import type { Health, Kalends, Logger, Redaction, Scope } from '../index.ts'
import { harmless } from '../logger.ts'
import {
  type Access,
  type AccessOptions,
  Gate,
  requirePermission,
  type RequestContext,
  type Role,
} from './access.ts'
import { Audit } from './audit.ts'
import { type BodyLimits, readBody } from './body.ts'
import { Changes, type ChangesOptions } from './changes.ts'
import { credentialsOf } from './failed-sign-ins.ts'
import { openApiDocument } from './document.ts'
import { jobOperations } from './job-operations.ts'
import { Metrics, type MetricsRegistry } from './metrics.ts'
import { OnePerTurn } from './one-per-turn.ts'
import { type Answer, operation, type Operation, type Subject } from './operation.ts'
import { invalidInput, Problem, problemOf, shortened } from './problem.ts'
import { WebPage } from './page.ts'
import { scheduleOperations } from './schedule-operations.ts'
import * as schemas from './schemas.ts'
import { serverOperations } from './server-operations.ts'

export interface HttpOptions extends AccessOptions {
  /**
   * Who the caller is and what they may do; null: unknown. Without it every request is refused, unless `open` says
   * otherwise. It must not read the body.
   */
  readonly authorize?: AccessOptions['authorize']
  /**
   * Without `authorize`: what every caller may do. Only for demos, on a server that listens to this
   * machine alone. It is answered only under the machine's own names, and not through a proxy.
   */
  readonly open?: Role | undefined
  /**
   * Whether callers without a scope may use Kalends' own tasks, `kalends.*`, and the task `command`, which runs
   * programs; default false. Callers with a scope never may.
   */
  readonly builtInTasks?: boolean | undefined
  /** Asked before each write, for each schedule and job; false, or a text for the caller, refuses it. */
  readonly permit?: Permit | undefined
  /** Names under which it answers, beside those of this machine; default, with `authorize`: any. */
  readonly hosts?: readonly string[] | undefined
  /** Origins of other pages that may write, such as `https://admin.example`. Its own origin always may. */
  readonly origins?: readonly string[] | undefined
  /**
   * Addresses and CIDR ranges of proxies in front, such as `10.0.0.0/8`: only of these `X-Forwarded-For` is believed.
   * Limits and the log then know the client, not the proxy.
   */
  readonly trustedProxies?: readonly string[] | undefined
  /**
   * Where it is mounted, such as `/kalends`: nothing is answered elsewhere. Default: where Express has mounted
   * `node(handler)`, else the root.
   */
  readonly basePath?: string | undefined
  /** Largest body in bytes; default 1,000,000. */
  readonly bodyLimit?: number | undefined
  /** Gets an audit event of each write; default: the logger of Kalends. */
  readonly logger?: Logger | undefined
  /** A registry of prom-client with `kalends/prometheus` in it; default: one of its own, if that is installed. */
  readonly metrics?: MetricsRegistry | undefined
  readonly events?: ChangesOptions | undefined
  /** Whether the web page is served beside the API; default true, unless the API is closed. */
  readonly page?: boolean | undefined
}

/** One write by one caller. */
export interface WriteRequest extends Subject {
  /** The operation, such as `pauseSchedule`. */
  readonly action: string
  /** Who asks, as `authorize` has said. */
  readonly access: Access
}

export type Permit = (write: WriteRequest) => boolean | string | Promise<boolean | string>

export interface HttpHandler {
  (request: Request, context?: RequestContext): Promise<Response>
  /** Ends the connections that wait for events, so that a server can close. */
  close(): void
}

/** Where a request goes. */
interface Place {
  /** The mount point, without a slash at its end. */
  readonly base: string
  /** The path below it: empty, or with a slash at its beginning. */
  readonly below: string
}

interface Bindings extends Place {
  readonly context: RequestContext
}

const HEADERS: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}
const BODY_DEPTH = 64
const BODY_TIME_MS = 30_000
const DEFAULT_BODY_LIMIT = 1_000_000
const LONGEST_PATH = 8192
const LONGEST_QUERY = 16_384
const MOST_PARAMETERS = 100
const LONGEST_HEADER = 8192
/** The headers that are read here. What `authorize` reads, such as cookies, is limited by the server. */
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
/** Below it the answer fits into one packet anyway. */
const SHORTEST_COMPRESSED = 1024
const gzipped = promisify(gzip)

/** @throws InvalidInputError naming the option */
export function http(kalends: Kalends, options: HttpOptions = {}): HttpHandler {
  const api = new Api(kalends, options)
  const handler = (request: Request, context: RequestContext = {}) => api.answer(request, context)
  return Object.assign(handler, { close: () => api.close() })
}

/** All operations, in the order of the document. */
export const operations: readonly Operation[] = [
  ...scheduleOperations,
  ...jobOperations,
  ...serverOperations,
  operation(
    {
      id: 'getHealth',
      method: 'GET',
      path: '/health',
      summary: 'Whether this process does its work',
      description:
        'For readiness probes, without a sign-in; who has signed in, without a scope, sees the reasons.',
      permission: null,
      answers: {
        200: { says: 'It does', schema: schemas.Health },
        503: { says: 'It does not' },
      },
      run: async ({ kalends, access }) => {
        const health = kalends.health()
        return { status: health.ok ? 200 : 503, body: asKnownTo(access, health) }
      },
    },
    schemas.NoQuery,
  ),
  operation(
    {
      id: 'getLiveness',
      method: 'GET',
      path: '/health/live',
      summary: 'Whether this process could do its work again by itself',
      description:
        'For liveness probes: a database that is away is no reason to start the process anew, a loop that hangs for good is.',
      permission: null,
      answers: {
        200: { says: 'It could', schema: schemas.Health },
        503: { says: 'It needs to be started anew' },
      },
      run: async ({ kalends, access }) => {
        const health = kalends.health()
        return { status: health.live ? 200 : 503, body: asKnownTo(access, health) }
      },
    },
    schemas.NoQuery,
  ),
  operation(
    {
      id: 'getDocument',
      method: 'GET',
      path: '/api/v1/openapi.json',
      summary: 'This document',
      permission: 'read',
      answers: { 200: { says: 'OpenAPI 3.1', schema: z.looseObject({}) } },
      run: async ({ base }) => ({ status: 200, body: openApiDocument(operations, base) }),
    },
    schemas.NoQuery,
  ),
]

const UNKNOWN_USER = '\0unknown'

/** Worker errors and ids are not exposed to callers without a sign-in, or with a scope. */
function asKnownTo({ user, scope }: Access, health: Health): Health | Pick<Health, 'ok' | 'live'> {
  return user !== UNKNOWN_USER && scope === undefined ? health : { ok: health.ok, live: health.live }
}

class Api {
  readonly #kalends: Kalends
  readonly #gate: Gate
  readonly #builtInTasks: boolean
  readonly #permit: Permit
  readonly #redaction: Redaction
  readonly #logger: Logger
  readonly #limits: BodyLimits
  readonly #changes: Changes
  readonly #metrics: Metrics
  readonly #basePath: string | null
  readonly #page: WebPage | null
  readonly #app: Hono<{ Bindings: Bindings }>
  /** The long synchronous steps: parsing bodies and writing answers. */
  readonly #work = new OnePerTurn()

  constructor(kalends: Kalends, options: HttpOptions) {
    const { bodyLimit = DEFAULT_BODY_LIMIT, basePath } = options
    if (!Number.isInteger(bodyLimit) || bodyLimit < 1000)
      throw new InvalidInputError(
        'bodyLimit',
        `a whole number of bytes from 1000 on is needed, not ${bodyLimit}`,
      )
    this.#kalends = kalends
    this.#logger = options.logger === undefined ? kalends.logger : harmless(options.logger)
    this.#gate = new Gate(options, this.#logger)
    this.#builtInTasks = options.builtInTasks === true
    this.#permit = options.permit ?? (() => true)
    this.#redaction = kalends.redaction
    this.#limits = { bytes: bodyLimit, depth: BODY_DEPTH, timeMs: BODY_TIME_MS }
    this.#changes = new Changes(kalends, options.events)
    this.#metrics = new Metrics(kalends, options.metrics)
    this.#basePath = basePath === undefined ? null : checkedBasePath(basePath)
    const isClosed = options.authorize === undefined && options.open === undefined
    this.#page = options.page === false || isClosed ? null : new WebPage()
    this.#app = this.#router()
  }

  async answer(request: Request, given: RequestContext): Promise<Response> {
    const response = await this.#answer(request, given)
    for (const [name, value] of Object.entries(HEADERS))
      if (!response.headers.has(name)) response.headers.set(name, value)
    return response
  }

  async #answer(request: Request, given: RequestContext): Promise<Response> {
    try {
      checkSize(request)
    } catch (error) {
      return this.#refused(request, given, error)
    }
    const context = this.#gate.withClient(request, given)
    const place = this.#placeOf(request, context)
    if (place === null) return this.#refused(request, context, nothingThere())
    const page = this.#page?.shown(request, place.below) ?? null
    if (page !== null) return this.#ofPage(request, context, page)
    return await this.#app.fetch(request, { context, ...place })
  }

  /** Null: not below the mount point. */
  #placeOf(request: Request, context: RequestContext): Place | null {
    const path = pathOf(request.url)
    const base = this.#basePath ?? context.basePath ?? ''
    const isBelow = path.startsWith(base) && (path.length === base.length || path[base.length] === '/')
    return isBelow ? { base, below: path.slice(base.length) } : null
  }

  close(): void {
    this.#changes.close()
    this.#gate.close()
  }

  #router(): Hono<{ Bindings: Bindings }> {
    const app = new Hono<{ Bindings: Bindings }>({
      getPath: (_request, options) => withoutSlashes(options?.env?.below ?? ''),
    })
    for (const one of operations) {
      app.on(one.method, one.path.replace(/\{(\w+)\}/g, ':$1'), (c) =>
        this.#perform(one, c.req.raw, c.env, c.req.param()),
      )
    }
    app.notFound((c) => {
      const page = this.#page?.found(c.req.raw, c.env.base, c.env.below) ?? null
      if (page !== null) return this.#ofPage(c.req.raw, c.env.context, page)
      return this.#refused(c.req.raw, c.env.context, unknownPath(withoutSlashes(c.env.below), c.req.method))
    })
    app.onError((error, c) => this.#refused(c.req.raw, c.env.context, error))
    return app
  }

  #ofPage(request: Request, context: RequestContext, page: Response): Response {
    try {
      this.#gate.checkHost(request)
      this.#gate.checkProxy(request, context)
      return page
    } catch (error) {
      return this.#refused(request, context, error)
    }
  }

  async #perform(
    one: Operation,
    request: Request,
    { context, base }: Bindings,
    given: Readonly<Record<string, string>>,
  ): Promise<Response> {
    let access: Access | null = null
    try {
      this.#gate.checkHost(request)
      this.#gate.checkProxy(request, context)
      if (one.method !== 'GET') this.#gate.checkOrigin(request)
      const caller = await this.#callerOf(one, request, context)
      access = caller
      checkAccess(one, caller)
      const params = read(one.params ?? schemas.NoQuery, one.params === null ? {} : given)
      const query = read(one.query, queryOf(new URL(request.url)))
      const answer = await one.run({
        params,
        query,
        body: await this.#body(one, request),
        request,
        context,
        access: caller,
        reach: this.#reach(caller),
        permit: (subject) => this.#permitted({ ...subject, action: one.id, access: caller }),
        kalends: this.#kalends,
        redaction: this.#redaction,
        audit: new Audit(this.#logger, caller, this.#redaction),
        changes: this.#changes,
        metrics: this.#metrics,
        base: `${base}/`,
      })
      return answer instanceof Response ? answer : await this.#response(answer, request)
    } catch (error) {
      return this.#refused(request, context, error, one, access)
    }
  }

  async #callerOf(one: Operation, request: Request, context: RequestContext): Promise<Access> {
    if (one.permission !== null) return this.#gate.access(request, context)
    // A probe is answered at once. What it signs in with counts like any other, so that it is no way to guess.
    return this.#gate.access(request, context, false).catch((error: unknown) => {
      if (error instanceof Problem && error.status === 401) this.#logRefused(request, context, error, one)
      return { role: 'read', user: UNKNOWN_USER }
    })
  }

  async #body(one: Operation, request: Request): Promise<unknown> {
    if (one.body === null) return undefined
    const body = await readBody(request, this.#limits, () => this.#work.turn())
    if (body === undefined) {
      if (one.bodyOptional) return undefined
      throw new Problem(400, 'NO_BODY', 'A JSON object is needed as the body')
    }
    return read(one.body, body)
  }

  async #response(answer: Answer, request: Request): Promise<Response> {
    await this.#work.turn()
    return toResponse(answer, request)
  }

  #reach({ scope, tasks, limits }: Access): Scope {
    const { api } = this.#kalends
    if (scope !== undefined) return api.scope({ ...scope, tasks, limits })
    return api.everyOwner({ tasks, limits, builtInTasks: this.#builtInTasks })
  }

  async #permitted(write: WriteRequest): Promise<void> {
    const permitted = await this.#permit(write)
    if (permitted === true) return
    throw new Problem(
      403,
      'NOT_PERMITTED',
      typeof permitted === 'string' ? permitted : 'The application does not permit this',
    )
  }

  #refused(
    request: Request,
    context: RequestContext,
    error: unknown,
    one?: Operation,
    access?: Access | null,
  ): Response {
    const problem = problemOf(error)
    if (problem === null || problem.status === 500) {
      this.#logger.error({ err: error, operation: one?.id }, 'A request failed')
      return new Problem(500, 'INTERNAL', 'Something is wrong on the server; its log says what').toResponse()
    }
    this.#logRefused(request, context, problem, one, access)
    return problem.toResponse()
  }

  #logRefused(
    { method, headers }: Request,
    { address }: RequestContext,
    { status, code }: Problem,
    one?: Operation,
    access?: Access | null,
  ): void {
    // A request without credentials is not a rejected sign-in: the first request of a browser, a probe.
    const isRejected = status === 401 && credentialsOf(headers) !== null
    if (status !== 403 && status !== 421 && !isRejected) return
    this.#logger.warn(
      { refused: { code, method, operation: one?.id, user: access?.user, address } },
      isRejected ? 'A sign-in was rejected' : 'A request was refused',
    )
  }
}

/** @throws Problem 403 */
function checkAccess(one: Operation, access: Access): void {
  if (one.permission === null) return
  requirePermission(access, one.permission)
  if (one.unscoped && access.scope !== undefined)
    throw new Problem(403, 'SCOPED', 'Callers with a scope cannot use this endpoint')
}

/**
 * Before anything else looks at the request: the work until a request is rejected stays small.
 *
 * @throws Problem 414, 431
 */
function checkSize({ url, headers }: Request): void {
  const path = pathOf(url)
  const query = queryText(url)
  if (path.length > LONGEST_PATH || query.length > LONGEST_QUERY)
    throw new Problem(
      414,
      'URL_TOO_LONG',
      `A path may have ${LONGEST_PATH} characters and a query ${LONGEST_QUERY}, not ${path.length} and ${query.length}`,
    )
  for (const name of READ_HEADERS) {
    const { length } = headers.get(name) ?? ''
    if (length > LONGEST_HEADER)
      throw new Problem(
        431,
        'HEADER_TOO_LONG',
        `The header ${name} may have ${LONGEST_HEADER} characters, not ${length}`,
      )
  }
}

/** Of the absolute URL that a Request has, in the form that the URL standard gives it. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  return url.slice(start, endOfPath(url))
}

/** Without the question mark. */
function queryText(url: string): string {
  const hash = url.indexOf('#')
  return url.slice(endOfPath(url) + 1, hash === -1 ? undefined : hash)
}

function endOfPath(url: string): number {
  const ends = [url.indexOf('?'), url.indexOf('#')].filter((at) => at !== -1)
  return Math.min(url.length, ...ends)
}

/** As routes are written. A regular expression for slashes at the end starts again at each slash before them. */
function withoutSlashes(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === '/') end -= 1
  return end === 0 ? '/' : path.slice(0, end)
}

/** @returns without a slash at its end @throws InvalidInputError */
function checkedBasePath(basePath: string): string {
  if (typeof basePath !== 'string' || !basePath.isWellFormed() || /[?#\\]/.test(basePath))
    throw new InvalidInputError(
      'basePath',
      `a path such as '/kalends' is needed, not ${JSON.stringify(basePath)}`,
    )
  const steps = basePath.split('/').filter((step) => step !== '')
  // In the form that paths of requests have.
  const path = withoutSlashes(new URL(`http://localhost/${steps.join('/')}`).pathname)
  return path === '/' ? '' : path
}

/** @throws Problem naming each field */
function read(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value)
  if (!result.success) throw invalidInput(result.error)
  return result.data
}

/** @throws Problem when a name comes twice, or there are too many */
function queryOf(url: URL): Record<string, string> {
  const query = new Map<string, string>()
  for (const [name, value] of url.searchParams) {
    if (query.has(name))
      throw new Problem(422, 'INVALID_INPUT', `${shortened(name)}: it is given twice`, {
        errors: [{ field: shortened(name), detail: 'it is given twice' }],
      })
    if (query.size === MOST_PARAMETERS)
      throw new Problem(422, 'INVALID_INPUT', `A query may have ${MOST_PARAMETERS} parameters; this has more`)
    query.set(name, value)
  }
  return Object.fromEntries(query)
}

/** Whether the path is there under another method. */
function unknownPath(path: string, method: string): Problem {
  const parts = path.split('/')
  const there = operations.filter((one) => {
    const own = one.path.split('/')
    return (
      own.length === parts.length && own.every((part, index) => part.startsWith('{') || part === parts[index])
    )
  })
  if (there.length === 0) return nothingThere()
  const allow = [...new Set(there.map((one) => one.method))].join(', ')
  return new Problem(405, 'METHOD_NOT_ALLOWED', `${shortened(method)} is not possible here; ${allow} is`, {
    headers: { allow },
  })
}

function nothingThere(): Problem {
  return new Problem(404, 'UNKNOWN_PATH', 'Unknown path; see /api/v1/openapi.json')
}

async function toResponse({ status, body, headers = {} }: Answer, request: Request): Promise<Response> {
  if (body === undefined) return new Response(null, { status, headers })
  const text = JSON.stringify(body)
  const type = { 'content-type': 'application/json; charset=utf-8', vary: 'accept-encoding' }
  if (text.length < SHORTEST_COMPRESSED || !acceptsGzip(request))
    return new Response(text, { status, headers: { ...type, ...headers } })
  // In the thread pool: the event loop continues.
  return new Response(await gzipped(text), {
    status,
    headers: { ...type, 'content-encoding': 'gzip', ...headers },
  })
}

/** By name or as `*`, unless with the weight 0. */
function acceptsGzip(request: Request): boolean {
  const weights = new Map<string, boolean>()
  for (const part of (request.headers.get('accept-encoding') ?? '').split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    weights.set(name, !parameters.some((text) => text.startsWith('q=') && Number(text.slice(2)) === 0))
  }
  return weights.get('gzip') ?? weights.get('*') ?? false
}
