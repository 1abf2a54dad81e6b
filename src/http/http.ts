/**
 * The REST API as a fetch handler. Reasons to refuse a request are checked in this order: a URL or a header that is too
 * long, a path outside the mount point, an unknown host, an unknown path, a write from a page on another site, an
 * unknown caller, a role that is too low, a scope where none is allowed, and an invalid query or body.
 */
import { Hono } from 'hono'
import { z } from 'zod'
import { InvalidInputError } from '../errors.ts'
import type { Kalends, Logger, Scope } from '../index.ts'
import { checkKeys, namesOf } from '../keys.ts'
import { halfOfTheTime } from '../event-loop.ts'
import { harmless } from '../logger.ts'
import { collectMetrics } from '../telemetry/metrics.ts'
import { type Access, type RequestContext, requirePermission, UNKNOWN_USER } from './access.ts'
import { readBody } from './body.ts'
import { Changes } from './changes.ts'
import { hasCredentials } from './failed-sign-ins.ts'
import { Gate } from './gate.ts'
import type { Operation } from './operation.ts'
import { operations } from './operations.ts'
import type { HttpOptions, MetricsRegistry, Permit, WriteRequest } from './options.ts'
import { WebPage } from './page.ts'
import { invalidInput, Problem, problemOf, shortened } from './problem.ts'
import { checkedBasePath, checkSize, pathBelow, queryOf, withoutSlashes } from './request-url.ts'
import { secured, toResponse } from './response.ts'
import { writeLog } from './write-log.ts'

export interface HttpHandler {
  (request: Request, context?: RequestContext): Promise<Response>
  /** Closes event streams, and ends the delays after failed sign-ins, so that a server can close. */
  close(): void
}

type Service = Readonly<ReturnType<typeof serviceOf>>

interface Entry {
  readonly request: Request
  readonly url: URL
  context: RequestContext
  /** The mount point, without a trailing slash. */
  base: string
  /** The path below the mount point: empty, or starting with a slash. */
  below: string
  operation?: Operation
  access?: Access
}

/** Items of at most 64 KB each, which are written within a few milliseconds. */
const SHORT_LIST = 25

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

function serviceOf(kalends: Kalends, options: HttpOptions) {
  const { bodyLimit = 1_000_000 } = options
  if (!Number.isInteger(bodyLimit) || bodyLimit < 1000)
    throw new InvalidInputError('bodyLimit', `must be an integer of at least 1000 bytes, got ${bodyLimit}`)
  const logger = options.logger === undefined ? kalends.logger : harmless(options.logger)
  return {
    kalends,
    gate: new Gate(options, logger),
    permit: options.permit ?? ((): boolean => true),
    builtInTasks: options.builtInTasks === true,
    logger,
    bodyLimit,
    changes: new Changes(kalends, options.events),
    metrics: metricsOf(kalends, options.metrics),
    /** Awaited before long synchronous steps: parsing a body, and writing a long list. */
    turn: halfOfTheTime(),
  }
}

/** @param given  the application's registry with the metrics of `kalends/prometheus`; default: a new registry */
function metricsOf(kalends: Kalends, given: MetricsRegistry | undefined): () => Promise<Response> {
  const registry = given === undefined ? ownRegistry(kalends) : Promise.resolve(given)
  return async () => {
    const found = await registry
    if (found === null)
      throw new Problem(
        501,
        'NO_METRICS',
        'Metrics need the package prom-client in addition to kalends: npm install prom-client',
      )
    return new Response(await found.metrics(), { headers: { 'content-type': found.contentType } })
  }
}

/** Starts counting immediately, so that the first scrape includes earlier events. */
async function ownRegistry(kalends: Kalends): Promise<MetricsRegistry | null> {
  try {
    const client = await import('prom-client')
    const registry = new client.Registry()
    collectMetrics(client, kalends, { registry })
    return registry
  } catch {
    return null
  }
}

function routerOf(service: Service, page: WebPage | null): Hono<{ Bindings: Entry }> {
  const app = new Hono<{ Bindings: Entry }>({
    getPath: (_request, options) => withoutSlashes(options?.env?.below ?? ''),
  })
  app.use(async ({ env: { request, context } }, next) => {
    service.gate.checkHost(request, context)
    await next()
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

/** @throws Problem */
async function perform(
  one: Operation,
  entry: Entry,
  params: Readonly<Record<string, string>>,
  service: Service,
): Promise<Response> {
  const { kalends, logger, changes, metrics } = service
  const { request, context } = entry
  const { redaction } = kalends
  entry.operation = one
  if (one.method !== 'GET') service.gate.checkOrigin(request)
  const access = await callerOf(one, entry, service)
  entry.access = access
  if (one.permission !== null) requirePermission(access, one.permission)
  if (one.unscoped === true && access.scope !== undefined)
    throw new Problem(403, 'SCOPED', 'Callers with a scope cannot use this endpoint')
  const answer = await one.run({
    params: parsed(one.params, params),
    query: parsed(one.query, queryOf(entry.url)),
    body: await bodyOf(one, request, service),
    request,
    context,
    access,
    reach: reachOf(access, service),
    builtInTasks: service.builtInTasks,
    permit: (subject) => checkPermit(service.permit, { ...subject, action: one.id, access }),
    kalends,
    redaction,
    writes: writeLog(logger, redaction, access, one.id),
    changes,
    metrics,
    base: `${entry.base}/`,
  })
  if (answer instanceof Response) return answer
  // Probes and short answers do not wait for the bodies of other callers.
  if (isLongList(answer.body)) await service.turn()
  return toResponse(answer, request)
}

function isLongList(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || !('items' in body)) return false
  return Array.isArray(body.items) && body.items.length > SHORT_LIST
}

async function callerOf(one: Operation, entry: Entry, { gate, logger }: Service): Promise<Access> {
  const needsSignIn = one.permission !== null
  try {
    return await gate.access(entry.request, entry.context, needsSignIn)
  } catch (error) {
    if (needsSignIn) throw error
    // A probe with wrong credentials gets an immediate response, but counts as a failed sign-in, so that probes cannot
    // be used to guess credentials.
    if (error instanceof Problem && error.status === 401) logRefused(error, entry, logger)
    return { role: 'read', user: UNKNOWN_USER }
  }
}

async function bodyOf({ body }: Operation, request: Request, { bodyLimit, turn }: Service): Promise<unknown> {
  if (body === null) return undefined
  const given = await readBody(request, bodyLimit, turn)
  if (given === undefined && !(body instanceof z.ZodOptional))
    throw new Problem(400, 'NO_BODY', 'The body must be a JSON object')
  return parsed(body, given)
}

function reachOf({ scope, tasks, limits }: Access, { kalends: { api }, builtInTasks }: Service): Scope {
  if (scope !== undefined) return api.scope({ ...scope, tasks, limits })
  return api.everyOwner({ tasks, limits, builtInTasks })
}

/** @throws Problem 403 */
async function checkPermit(permit: Permit, write: WriteRequest): Promise<void> {
  const permitted = await permit(write)
  if (permitted === true) return
  const detail = typeof permitted === 'string' ? permitted : 'The application does not permit this'
  throw new Problem(403, 'NOT_PERMITTED', detail)
}

/** @throws Problem naming each field */
function parsed(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value)
  if (!result.success) throw invalidInput(result.error)
  return result.data
}

function refusal(error: unknown, entry: Entry, logger: Logger): Response {
  const problem = problemOf(error)
  if (problem === null) {
    logger.error({ err: error, operation: entry.operation?.id }, 'A request failed')
    return new Problem(500, 'INTERNAL', 'An internal error occurred; see the log of the server').toResponse()
  }
  logRefused(problem, entry, logger)
  return problem.toResponse()
}

function logRefused({ status, code }: Problem, entry: Entry, logger: Logger): void {
  const { method, headers } = entry.request
  // A request without credentials, such as a browser's first request or a probe, is not a rejected sign-in.
  const isRejected = status === 401 && hasCredentials(headers)
  if (status !== 403 && status !== 421 && !isRejected) return
  const { user } = entry.access ?? {}
  const { address } = entry.context
  logger.warn(
    { refused: { code, method, operation: entry.operation?.id, user, address } },
    isRejected ? 'A sign-in was rejected' : 'A request was refused',
  )
}
