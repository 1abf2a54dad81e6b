import { z } from 'zod'
import type { FailureGroup } from '../index.ts'
import { checkTimer } from '../timer/index.ts'
import { type Access, type RequestContext, taskNames, UNKNOWN_USER } from './access.ts'
import * as answers from './answer-schemas.ts'
import * as bodies from './body-schemas.ts'
import { clientKey } from './client-address.ts'
import { openApiDocument } from './document.ts'
import { jobOperations } from './job-operations.ts'
import { type Answer, type Call, ok, operation, type Operation } from './operation.ts'
import { codeOf, invalidField, Problem } from './problem.ts'
import * as queries from './query-schemas.ts'
import { scheduleOperations } from './schedule-operations.ts'
import { checkSearch, shownFailure, unsearchable } from './shown.ts'

const FREEZES = '/api/v1/freezes'
const oneFreeze = { description: 'The freeze', schema: answers.Freeze }

const HOUR_MS = 3_600_000
const MAX_FAILURES = 100
/** How long ago the range of upcoming runs may start, and how long it may be, in milliseconds. */
const MAX_DISTANCE_MS = 31 * 24 * HOUR_MS

/** In the order in which the document lists them. */
export const operations: readonly Operation[] = [
  ...scheduleOperations,
  ...jobOperations,
  operation('listFreezes', 'GET', FREEZES, 'read', {
    summary: 'List the active freezes',
    unscoped: true,
    answers: { 200: { description: 'Freezes', schema: answers.Freezes } },
    run: async ({ kalends }) => ok({ items: await kalends.api.freezes.list() }),
  }),
  operation('freeze', 'POST', FREEZES, 'admin', {
    summary: 'Stop a schedule, a task, a group or everything until a given time',
    description:
      'A freeze applies to everything that matches all fields. Jobs and retries wait; slots are skipped with the reason `frozen`.',
    unscoped: true,
    body: bodies.NewFreeze,
    answers: { 201: oneFreeze },
    run: async (call) => {
      await permitted(call, call.body)
      const freeze = await call.kalends.api.freezes.add(call.body)
      call.writes.freeze(freeze.id, null, freeze)
      return { status: 201, body: freeze }
    },
  }),
  operation('previewFreeze', 'POST', `${FREEZES}/preview`, 'operate', {
    summary: 'Show what a freeze would hold and skip',
    unscoped: true,
    body: bodies.FreezeTarget,
    answers: { 200: { description: 'Slots and jobs', schema: answers.FreezePreview } },
    run: async ({ kalends, body }) => ok(await kalends.api.freezes.preview(body)),
  }),
  operation('thaw', 'DELETE', `${FREEZES}/{id}`, 'admin', {
    summary: 'End a freeze now',
    unscoped: true,
    params: z.object({ id: z.string() }),
    answers: { 200: oneFreeze },
    run: async (call) => {
      const { freezes } = call.kalends.api
      const { id } = call.params
      const found = (await freezes.list()).find((freeze) => freeze.id === id)
      if (found !== undefined) await permitted(call, found)
      const freeze = await freezes.end(id)
      call.writes.freeze(id, found ?? null, freeze)
      return ok(freeze)
    },
  }),
  operation('countSchedules', 'GET', '/api/v1/counts/schedules', 'read', {
    summary: 'Count schedules by status',
    query: queries.ScheduleCountsQuery,
    answers: {
      200: {
        description: 'Counts. Without a filter, each is at most 10,000',
        schema: answers.ScheduleCounts,
      },
    },
    run: async ({ query, reach }) => ok(await reach.schedules.count(query)),
  }),
  operation('countJobs', 'GET', '/api/v1/counts/jobs', 'read', {
    summary: 'Count jobs by state',
    description: 'With a filter, at most the newest 100,000 jobs are counted.',
    query: queries.JobCountsQuery,
    answers: {
      200: { description: 'Counts. Without a filter, each is at most 10,000', schema: answers.JobCounts },
    },
    run: async (call) => {
      checkSearch(call.query, call)
      return ok(await call.reach.jobs.count(call.query))
    },
  }),
  operation('listFailures', 'GET', '/api/v1/failures', 'read', {
    summary: 'List the first lines of the errors of the newest 10,000 failed jobs, most frequent first',
    description: 'At most 100 errors.',
    query: queries.JobCountsQuery.omit({ state: true }),
    answers: { 200: { description: 'Errors', schema: answers.Failures } },
    run: async (call) => {
      const { query, reach, redaction } = call
      checkSearch(query, call)
      const found = await reach.views.failures(query)
      const items: FailureGroup[] = []
      for (const group of found.items.slice(0, MAX_FAILURES)) {
        // Errors that were stored before `redact` was set, or written in SQL, may contain secrets from the args of
        // their jobs.
        const job = redaction.hides() ? await reach.jobs.get(group.lastJobId) : null
        items.push({ ...group, error: shownFailure(group.error, job, call) })
      }
      return ok({ ...found, items })
    },
  }),
  operation('listTasks', 'GET', '/api/v1/tasks', 'read', {
    summary: 'List the tasks of schedules and workers',
    answers: { 200: { description: 'Tasks, by name', schema: answers.Tasks } },
    run: async ({ reach, kalends, access }) => {
      const isScoped = access.scope !== undefined
      const workers = (await kalends.api.workers()).filter(({ alive }) => alive)
      // Other owners' tasks and the number of workers are not exposed to owners.
      const others = isScoped ? (taskNames(access) ?? []) : workers.flatMap(({ tasks }) => tasks)
      const names = [...new Set([...(await reach.views.tasks()), ...others])].toSorted()
      const items = names.map((name) => {
        const count = workers.filter(({ tasks }) => tasks.includes(name)).length
        return { name, workers: isScoped ? Math.min(1, count) : count }
      })
      return ok({ items })
    },
  }),
  operation('listWorkers', 'GET', '/api/v1/workers', 'read', {
    summary: 'List the workers of this database',
    unscoped: true,
    answers: { 200: { description: 'Workers', schema: answers.Workers } },
    run: async ({ kalends }) => ok({ items: await kalends.api.workers() }),
  }),
  operation('doctor', 'GET', '/api/v1/doctor', 'read', {
    summary: 'List problems and how to fix them',
    unscoped: true,
    answers: { 200: { description: 'Problems; empty if there are none', schema: answers.Findings } },
    run: async ({ kalends }) => ok({ items: await kalends.api.doctor() }),
  }),
  operation('checkTimer', 'GET', '/api/v1/timers/check', 'read', {
    summary: 'Check a timer and describe it',
    query: queries.CheckQuery,
    answers: {
      200: { description: 'The syntax error, or the meaning of the timer', schema: answers.TimerCheck },
    },
    run: async ({ query, kalends }) => {
      const { timer, zone = kalends.zone ?? undefined, limit = 10, after, anchor } = query
      const checked = checkTimer(timer, { zone, limit, after, anchor })
      return ok(
        checked.valid ? checked : { valid: false, error: { ...checked.error, code: codeOf(checked.error) } },
      )
    },
  }),
  operation('getLoad', 'GET', '/api/v1/load', 'read', {
    summary: 'Count planned and past runs by hour',
    query: queries.LoadQuery,
    answers: { 200: { description: 'Hours', schema: answers.Load } },
    run: async ({ query, reach }) => {
      const { from = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS), hours = 168 } = query
      return ok(await reach.views.load({ ...query, from, hours }))
    },
  }),
  operation('listUpcoming', 'GET', '/api/v1/upcoming', 'read', {
    summary: 'List the runs between two instants, earliest first',
    query: queries.UpcomingQuery,
    answers: {
      200: { description: 'Run times of active, retrying and frozen schedules', schema: answers.Upcoming },
    },
    run: async ({ query, reach }) => {
      const { from = new Date() } = query
      const { to = new Date(from.getTime() + HOUR_MS) } = query
      if (to < from) throw invalidField('to', 'must not be before from')
      if (to.getTime() - from.getTime() > MAX_DISTANCE_MS)
        throw invalidField('to', 'must be at most 31 days after from; request less at a time')
      if (from.getTime() < Date.now() - MAX_DISTANCE_MS)
        throw invalidField('from', 'must be at most 31 days ago; past runs are in /api/v1/jobs')
      return ok({ from, to, ...(await reach.views.upcoming({ ...query, from, to })) })
    },
  }),
  operation('getMe', 'GET', '/api/v1/me', 'read', {
    summary: 'Get what you may do here',
    answers: {
      200: {
        description: 'The permissions of the caller, and the zone and the time of the server',
        schema: answers.Me,
      },
    },
    run: async ({ access, kalends, redaction }) =>
      ok({
        role: access.role,
        submit: access.submit === true,
        tasks: taskNames(access) ?? null,
        user: access.user ?? null,
        scope: { group: access.scope?.group ?? null, submitter: access.scope?.submitter ?? null },
        unsearchable: unsearchable({ access, redaction }),
        zone: kalends.zone ?? 'UTC',
        now: new Date(),
      }),
  }),
  operation('followChanges', 'GET', '/api/v1/events', 'read', {
    summary: 'Follow changes as server-sent events',
    description:
      'Events of the type `change` contain `{"topics": [...]}`, which lists what to read again: schedules, jobs or workers. At most one event per second is sent; together, the events cover every change, including changes in SQL. With `Last-Event-ID`, the first event lists all topics, because any may have changed. With a scope, an event arrives every five seconds, whether or not anything has changed, so that events do not reveal what others do.',
    answers: {
      200: { description: 'A stream of events', type: 'text/event-stream' },
      429: { description: 'This user or address has too many streams open' },
    },
    run: async ({ request, context, changes, access }) => {
      if (request.method === 'HEAD') return { status: 200, headers: { 'content-type': 'text/event-stream' } }
      return changes.subscribe(request.headers.has('last-event-id'), request.signal, {
        isScoped: access.scope !== undefined,
        user: listenerOf(access, context),
      })
    },
  }),
  operation('getMetrics', 'GET', '/metrics', 'read', {
    summary: 'Get metrics for Prometheus',
    unscoped: true,
    answers: {
      200: { description: 'The text format of Prometheus', type: 'text/plain' },
      501: { description: 'prom-client is not installed' },
    },
    run: ({ metrics }) => metrics(),
  }),
  operation('getHealth', 'GET', '/health', null, {
    summary: 'Whether this process works',
    description:
      'For readiness probes; requires no sign-in. Signed-in callers without a scope see the reasons.',
    answers: {
      200: { description: 'The process works', schema: answers.Health },
      503: { description: 'The process does not work' },
    },
    run: async (call) => healthAnswer(call, 'ok'),
  }),
  operation('getLiveness', 'GET', '/health/live', null, {
    summary: 'Whether this process can recover without a restart',
    description:
      'For liveness probes: an unavailable database is not a reason to restart the process, but a stuck loop is.',
    answers: {
      200: { description: 'The process can recover', schema: answers.Health },
      503: { description: 'The process needs a restart' },
    },
    run: async (call) => healthAnswer(call, 'live'),
  }),
  operation('getDocument', 'GET', '/api/v1/openapi.json', 'read', {
    summary: 'Get this document',
    answers: { 200: { description: 'OpenAPI 3.1', schema: z.looseObject({}) } },
    run: async ({ base }) => ok(openApiDocument(operations, base)),
  }),
]

/**
 * @throws Problem 403 when the caller is restricted to certain tasks, the task is built in, or the application's hook
 *   refuses
 */
async function permitted(
  { access, permit, kalends, builtInTasks }: Pick<Call, 'access' | 'permit' | 'kalends' | 'builtInTasks'>,
  { task = null, group = null, scheduleId = null }: FreezeTarget,
): Promise<void> {
  if (access.tasks !== undefined)
    throw new Problem(403, 'FORBIDDEN', 'Only callers that may use every task can freeze and thaw')
  const schedule = scheduleId === null ? null : await kalends.api.schedules.get(scheduleId)
  const held = task ?? schedule?.task ?? '*'
  kalends.api.requireTask({ builtInTasks }, held)
  await permit({ task: held, scheduleId, freeze: { task, group, scheduleId } })
}

type FreezeTarget = { readonly [Name in 'task' | 'group' | 'scheduleId']?: string | null | undefined }

function listenerOf({ user }: Access, { address }: RequestContext): string | null {
  if (user !== undefined) return `user ${user}`
  return address === undefined ? null : `address ${clientKey(address)}`
}

/** Worker errors and ids are not exposed to callers that are not signed in or have a scope. */
function healthAnswer({ kalends, access }: Call, property: 'ok' | 'live'): Answer {
  const health = kalends.health()
  const isVisible = access.user !== UNKNOWN_USER && access.scope === undefined
  return {
    status: health[property] ? 200 : 503,
    body: isVisible ? health : { ok: health.ok, live: health.live },
  }
}
