/** Performs one operation: checks the caller and the input, runs the operation, and returns its response. */
import { z } from 'zod'
import type { Kalends, Logger, Scope } from '../index.ts'
import { type Access, type RequestContext, requirePermission, UNKNOWN_USER } from './access.ts'
import { type BodyLimits, readBody } from './body.ts'
import type { Changes } from './changes.ts'
import { hasCredentials } from './failed-sign-ins.ts'
import type { Gate } from './gate.ts'
import type { Operation } from './operation.ts'
import type { Permit, WriteRequest } from './options.ts'
import { invalidInput, Problem, problemOf } from './problem.ts'
import { queryOf } from './request-url.ts'
import { toResponse } from './response.ts'
import { writeLog } from './write-log.ts'

/** What all requests share. */
export interface Service {
  readonly kalends: Kalends
  readonly gate: Gate
  readonly permit: Permit
  readonly builtInTasks: boolean
  readonly logger: Logger
  readonly limits: BodyLimits
  readonly changes: Changes
  readonly metrics: () => Promise<Response>
  /** Awaited before long synchronous steps, such as parsing bodies and writing responses. */
  readonly turn: () => Promise<void>
}

/** A request and what is known about it so far. */
export interface Entry {
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

/**
 * @param params  the parameters of the path
 * @throws Problem
 */
export async function perform(
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
    permit: (subject) => checkPermit(service.permit, { ...subject, action: one.id, access }),
    kalends,
    redaction,
    writes: writeLog(logger, redaction, access, one.id),
    changes,
    metrics,
    base: `${entry.base}/`,
  })
  if (answer instanceof Response) return answer
  await service.turn()
  return toResponse(answer, request)
}

async function callerOf(one: Operation, entry: Entry, { gate, logger }: Service): Promise<Access> {
  const needsSignIn = one.permission !== null
  try {
    return await gate.access(entry.request, entry.context, needsSignIn)
  } catch (error) {
    if (needsSignIn) throw error
    // A probe gets an immediate response, but its credentials count like any others, so it cannot be used to guess
    // them.
    if (error instanceof Problem && error.status === 401) logRefused(error, entry, logger)
    return { role: 'read', user: UNKNOWN_USER }
  }
}

async function bodyOf({ body }: Operation, request: Request, { limits, turn }: Service): Promise<unknown> {
  if (body === null) return undefined
  const given = await readBody(request, limits, turn)
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

/** The response to a failed request. The cause is logged if the error is internal or a caller was rejected. */
export function refusal(error: unknown, entry: Entry, logger: Logger): Response {
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
