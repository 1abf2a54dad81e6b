/**
 * The REST API as a fetch handler: a Request in, a Response out, under any base path of any server.
 *
 * It knows Kalends by its public interface alone. Every answer is JSON with headers that let a browser do nothing
 * else with it; every error is a problem (RFC 9457). In this order a request is refused: a host that is not ours, a
 * path that is not there, a write from a foreign page, a caller that is not known, a role that is too low, a
 * body or a query that does not fit.
 */
import { Hono } from 'hono'
import { z } from 'zod'
import { InvalidInputError } from '../errors.ts'
import type { Health, Kalends, Logger, Scope } from '../index.ts'
import { harmless } from '../logger.ts'
import {
  type Access,
  type AccessOptions,
  Gate,
  requireRole,
  type RequestContext,
  type Role,
} from './access.ts'
import { Audit } from './audit.ts'
import { type BodyLimits, readBody } from './body.ts'
import { Changes, type ChangesOptions } from './changes.ts'
import { openApiDocument } from './document.ts'
import { jobOperations } from './job-operations.ts'
import { Metrics, type MetricsRegistry } from './metrics.ts'
import { type Answer, operation, type Operation } from './operation.ts'
import { invalidInput, Problem, problemOf, shortened } from './problem.ts'
import { WebPage } from './page.ts'
import { Redaction } from './redact.ts'
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
   * Without `authorize`: what whoever reaches the server may do. Only for a server that listens to this machine
   * alone, and answered only under its own names.
   */
  readonly open?: Role | undefined
  /** Names under which it answers, beside those of this machine; default, with `authorize`: any. */
  readonly hosts?: readonly string[] | undefined
  /** Origins of other pages that may write, such as `https://admin.example`. Its own origin always may. */
  readonly origins?: readonly string[] | undefined
  /** Where it is mounted, such as `/kalends`; default: whatever stands before its own paths. */
  readonly basePath?: string | undefined
  /** Secrets that are never shown: `args.password`, `result.token`, `args.users.*.key`. */
  readonly redact?: readonly string[] | undefined
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

export interface HttpHandler {
  (request: Request, context?: RequestContext): Promise<Response>
  /** Ends the connections that wait for events, so that a server can close. */
  close(): void
}

interface Bindings {
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
const ROOTS = ['/api/v1', '/health', '/health/live', '/metrics'] as const

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
      role: null,
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
      role: null,
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
      role: 'read',
      answers: { 200: { says: 'OpenAPI 3.1', schema: z.looseObject({}) } },
      run: async ({ base }) => ({ status: 200, body: openApiDocument(operations, base) }),
    },
    schemas.NoQuery,
  ),
]

const NOBODY = '\0nobody'

/** Errors and ids of workers are nobody's business. */
function asKnownTo({ user, scope }: Access, health: Health): Health | Pick<Health, 'ok' | 'live'> {
  return user !== NOBODY && scope === undefined ? health : { ok: health.ok, live: health.live }
}

class Api {
  readonly #kalends: Kalends
  readonly #gate: Gate
  readonly #redaction: Redaction
  readonly #logger: Logger
  readonly #limits: BodyLimits
  readonly #changes: Changes
  readonly #metrics: Metrics
  readonly #basePath: string | null
  readonly #page: WebPage | null
  readonly #app: Hono<{ Bindings: Bindings }>

  constructor(kalends: Kalends, options: HttpOptions) {
    const { bodyLimit = DEFAULT_BODY_LIMIT, basePath } = options
    if (!Number.isInteger(bodyLimit) || bodyLimit < 1000)
      throw new InvalidInputError(
        'bodyLimit',
        `a whole number of bytes from 1000 on is needed, not ${bodyLimit}`,
      )
    this.#kalends = kalends
    this.#gate = new Gate(options)
    this.#redaction = new Redaction(options.redact ?? [])
    this.#logger = options.logger === undefined ? kalends.logger : harmless(options.logger)
    this.#limits = { bytes: bodyLimit, depth: BODY_DEPTH, timeMs: BODY_TIME_MS }
    this.#changes = new Changes(kalends, options.events)
    this.#metrics = new Metrics(kalends, options.metrics)
    this.#basePath =
      basePath === undefined ? null : `/${basePath.replace(/^\/+|\/+$/g, '')}`.replace(/^\/$/, '')
    const isClosed = options.authorize === undefined && options.open === undefined
    this.#page = options.page === false || isClosed ? null : new WebPage(this.#basePath)
    this.#app = this.#router()
  }

  async answer(request: Request, context: RequestContext): Promise<Response> {
    const page = this.#page?.shown(request, pathOf(request.url)) ?? null
    const response = page === null ? await this.#app.fetch(request, { context }) : this.#ofPage(request, page)
    for (const [name, value] of Object.entries(HEADERS))
      if (!response.headers.has(name)) response.headers.set(name, value)
    return response
  }

  close(): void {
    this.#changes.close()
  }

  #router(): Hono<{ Bindings: Bindings }> {
    const app = new Hono<{ Bindings: Bindings }>({ getPath: (request) => this.#split(request.url).path })
    for (const one of operations) {
      app.on(one.method, one.path.replace(/\{(\w+)\}/g, ':$1'), (c) =>
        this.#perform(one, c.req.raw, c.env.context, c.req.param()),
      )
    }
    app.notFound((c) => {
      const page = this.#page?.found(c.req.raw, pathOf(c.req.url)) ?? null
      if (page !== null) return this.#ofPage(c.req.raw, page)
      return this.#refused(c.req.raw, unknownPath(this.#split(c.req.url).path, c.req.method))
    })
    app.onError((error, c) => this.#refused(c.req.raw, error))
    return app
  }

  #ofPage(request: Request, page: Response): Response {
    try {
      this.#gate.checkHost(request)
      return page
    } catch (error) {
      return this.#refused(request, error)
    }
  }

  async #perform(
    one: Operation,
    request: Request,
    context: RequestContext,
    given: Readonly<Record<string, string>>,
  ): Promise<Response> {
    try {
      this.#gate.checkHost(request)
      if (one.method !== 'GET') this.#gate.checkOrigin(request)
      const access = await this.#accessTo(one, request, context)
      const params = read(one.params ?? schemas.NoQuery, one.params === null ? {} : given)
      const query = read(one.query, queryOf(new URL(request.url)))
      const answer = await one.run({
        params,
        query,
        body: await this.#body(one, request),
        request,
        context,
        access,
        reach: this.#reach(access),
        kalends: this.#kalends,
        redaction: this.#redaction,
        audit: new Audit(this.#logger, access, this.#redaction),
        changes: this.#changes,
        metrics: this.#metrics,
        base: this.#split(request.url).base,
      })
      return answer instanceof Response ? answer : toResponse(answer)
    } catch (error) {
      return this.#refused(request, error, one)
    }
  }

  async #accessTo(one: Operation, request: Request, context: RequestContext): Promise<Access> {
    if (one.role === null)
      return this.#gate.access(request, context).catch(() => ({ role: 'read', user: NOBODY }))
    const access = await this.#gate.access(request, context)
    requireRole(access, one.role)
    if (one.unscoped && access.scope !== undefined)
      throw new Problem(403, 'SCOPED', 'This tells of everything; you may see only your own')
    return access
  }

  async #body(one: Operation, request: Request): Promise<unknown> {
    if (one.body === null) return undefined
    const body = await readBody(request, this.#limits)
    if (body === undefined) {
      if (one.bodyOptional) return undefined
      throw new Problem(400, 'NO_BODY', 'A JSON object is needed as the body')
    }
    return read(one.body, body)
  }

  #reach({ scope }: Access): Scope {
    return scope === undefined ? this.#kalends : this.#kalends.scope(scope)
  }

  #refused(request: Request, error: unknown, one?: Operation): Response {
    const problem = problemOf(error)
    if (problem === null || problem.status === 500) {
      this.#logger.error({ err: error, operation: one?.id }, 'A request failed')
      return new Problem(500, 'INTERNAL', 'Something is wrong on the server; its log says what').toResponse()
    }
    if (problem.status === 403 || problem.status === 421)
      this.#logger.warn(
        { refused: { code: problem.code, method: request.method, operation: one?.id } },
        'A request was refused',
      )
    return problem.toResponse()
  }

  /** What stands before our own paths, which end without a slash. */
  #split(url: string): { readonly base: string; readonly path: string } {
    const whole = pathOf(url).replace(/\/+$/, '')
    if (this.#basePath !== null) {
      const base = `${this.#basePath}/`
      return { base, path: whole.startsWith(base) ? whole.slice(base.length - 1) : '/' }
    }
    const at = Math.max(...ROOTS.map((root) => startOf(whole, root)))
    return at === -1
      ? { base: '/', path: whole || '/' }
      : { base: `${whole.slice(0, at)}/`, path: whole.slice(at) }
  }
}

function startOf(path: string, root: (typeof ROOTS)[number]): number {
  if (root !== '/api/v1') return path.endsWith(root) ? path.length - root.length : -1
  // The last one: an id has no slash that is not encoded.
  const found = path.lastIndexOf(`${root}/`)
  return found === -1 && path.endsWith(root) ? path.length - root.length : found
}

function pathOf(url: string): string {
  return /^[^:/?#]+:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] ?? '/'
}

/** @throws Problem naming each field */
function read(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value)
  if (!result.success) throw invalidInput(result.error)
  return result.data
}

/** @throws Problem when a name comes twice */
function queryOf(url: URL): Record<string, string> {
  const names = [...url.searchParams.keys()]
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw new Problem(422, 'INVALID_INPUT', `${shortened(twice)}: it is given twice`, {
      errors: [{ field: shortened(twice), detail: 'it is given twice' }],
    })
  return Object.fromEntries(url.searchParams)
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
  if (there.length === 0)
    return new Problem(404, 'UNKNOWN_PATH', 'There is nothing here; /api/v1/openapi.json says what there is')
  const allow = [...new Set(there.map((one) => one.method))].join(', ')
  return new Problem(405, 'METHOD_NOT_ALLOWED', `${shortened(method)} is not possible here; ${allow} is`, {
    headers: { allow },
  })
}

function toResponse({ status, body, headers = {} }: Answer): Response {
  if (body === undefined) return new Response(null, { status, headers })
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  })
}
