/**
 * The REST API as a fetch handler, which turns a Request into a Response under any base path of any server.
 *
 * It uses only the public interface of Kalends. Every error is a problem (RFC 9457). Requests are refused in this
 * order: a URL or a header that is too long, a path outside the mount point, an unknown host, an unknown path, a write
 * from a foreign page, an unknown caller, a role that is too low, an invalid query or body.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Hono } from 'hono'
import { InvalidInputError } from '../errors.ts'
import type { Kalends } from '../index.ts'
import { checkKeys, namesOf } from '../keys.ts'
import { harmless } from '../logger.ts'
import type { RequestContext } from './access.ts'
import { Changes } from './changes.ts'
import { Gate } from './gate.ts'
import { metricsOf } from './metrics.ts'
import { operations } from './operations.ts'
import type { HttpOptions } from './options.ts'
import { WebPage } from './page.ts'
import { type Entry, perform, refusal, type Service } from './perform.ts'
import { Problem, shortened } from './problem.ts'
import { checkedBasePath, checkSize, pathBelow, withoutSlashes } from './request-url.ts'
import { secured } from './response.ts'

export interface HttpHandler {
  (request: Request, context?: RequestContext): Promise<Response>
  /** Closes the connections that wait for events, so that a server can close. */
  close(): void
}

const OPTIONS = namesOf<HttpOptions>({
  authorize: true,
  open: true,
  builtInTasks: true,
  permit: true,
  hosts: true,
  origins: true,
  trustedProxies: true,
  basePath: true,
  bodyLimit: true,
  logger: true,
  metrics: true,
  events: true,
  page: true,
})
const BODY_DEPTH = 64
const BODY_TIME_MS = 30_000
const DEFAULT_BODY_LIMIT = 1_000_000

/** @throws InvalidInputError naming the option */
export function http(kalends: Kalends, options: HttpOptions = {}): HttpHandler {
  checkKeys(options, OPTIONS)
  const service = serviceOf(kalends, options)
  const { gate, changes, logger } = service
  const basePath = options.basePath === undefined ? null : checkedBasePath(options.basePath)
  const isClosed = options.authorize === undefined && options.open === undefined
  const app = routerOf(service, options.page === false || isClosed ? null : new WebPage())
  const handler = async (request: Request, context: RequestContext = {}): Promise<Response> => {
    const entry: Entry = { request, url: new URL(request.url), context, base: '', below: '' }
    try {
      checkSize(entry.url, request.headers)
      entry.context = gate.withClient(request, context)
      entry.base = basePath ?? context.basePath ?? ''
      const below = pathBelow(entry.base, entry.url, context.incoming?.url)
      if (below === null) throw unknownPath()
      entry.below = below
      return secured(await app.fetch(request, entry))
    } catch (error) {
      return secured(refusal(error, entry, logger))
    }
  }
  const close = () => {
    changes.close()
    gate.close()
  }
  return Object.assign(handler, { close })
}

function serviceOf(kalends: Kalends, options: HttpOptions): Service {
  const { bodyLimit = DEFAULT_BODY_LIMIT } = options
  if (!Number.isInteger(bodyLimit) || bodyLimit < 1000)
    throw new InvalidInputError('bodyLimit', `must be an integer of at least 1000 bytes, got ${bodyLimit}`)
  const logger = options.logger === undefined ? kalends.logger : harmless(options.logger)
  return {
    kalends,
    gate: new Gate(options, logger),
    permit: options.permit ?? (() => true),
    builtInTasks: options.builtInTasks === true,
    logger,
    limits: { bytes: bodyLimit, depth: BODY_DEPTH, timeMs: BODY_TIME_MS },
    changes: new Changes(kalends, options.events),
    metrics: metricsOf(kalends, options.metrics),
    turn: onePerTurn(),
  }
}

/**
 * Spreads the long synchronous work of many requests over several turns of the event loop. If a hundred requests were
 * parsed in one turn, every timer and every response from the database would wait for all of them. A single submission
 * of a schedule needs about twelve responses from the database.
 *
 * @returns a function that resolves for one caller per turn, in the order of the calls
 */
function onePerTurn(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return () => (last = last.then(() => nextTurn()))
}

function routerOf(service: Service, page: WebPage | null): Hono<{ Bindings: Entry }> {
  const app = new Hono<{ Bindings: Entry }>({
    getPath: (_request, options) => withoutSlashes(options?.env?.below ?? ''),
  })
  app.use(async ({ env: { request, context, below } }, next) => {
    service.gate.checkHost(request, context)
    return page?.shown(request, below) ?? (await next())
  })
  for (const one of operations)
    app.on(one.method, one.path.replace(/\{(\w+)\}/g, ':$1'), (c) =>
      perform(one, c.env, c.req.param(), service),
    )
  app.notFound(({ env: { request, base, below } }) => {
    const found = page?.found(request, base, below) ?? null
    if (found !== null) return found
    throw unknownPath(withoutSlashes(below), request.method)
  })
  app.onError((error, { env }) => refusal(error, env, service.logger))
  return app
}

/** @returns Problem 405 if the path exists with another method, otherwise 404 */
function unknownPath(path = '', method = ''): Problem {
  const existing = operations.filter((one) =>
    new RegExp(`^${one.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  const allow = [...new Set(existing.map((one) => one.method))].join(', ')
  if (allow === '') return new Problem(404, 'UNKNOWN_PATH', 'Unknown path; see /api/v1/openapi.json')
  return new Problem(405, 'METHOD_NOT_ALLOWED', `${shortened(method)} is not allowed here; use ${allow}`, {
    headers: { allow },
  })
}
