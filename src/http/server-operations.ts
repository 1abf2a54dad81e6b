/** What is about the whole: counts, times, workers, health, metrics, events, the document itself. */
import type { FailureGroup } from '../index.ts'
import { checkTimer } from '../timer/index.ts'
import { type Access, type RequestContext, taskNames } from './access.ts'
import { clientKey } from './client-address.ts'
import { checkSearch } from './job-operations.ts'
import { operation, type Operation } from './operation.ts'
import { invalidField } from './problem.ts'
import * as schemas from './schemas.ts'
import { shownFailure } from './shown.ts'

const { NoQuery } = schemas
const HOUR_MS = 3_600_000
const MOST_FAILURES = 100
const LONGEST_LOOK_AHEAD_MS = 31 * 24 * HOUR_MS
const MOST_LOOKED_BACK_MS = 744 * HOUR_MS

export const serverOperations: readonly Operation[] = [
  operation(
    {
      id: 'countSchedules',
      method: 'GET',
      path: '/api/v1/counts/schedules',
      summary: 'Schedules by status',
      permission: 'read',
      query: schemas.ScheduleCountsQuery,
      answers: { 200: { says: 'Counts, each up to 10,000', schema: schemas.ScheduleCounts } },
      run: async ({ query, reach }) => ({ status: 200, body: await reach.schedules.count(query) }),
    },
    NoQuery,
  ),
  operation(
    {
      id: 'countJobs',
      method: 'GET',
      path: '/api/v1/counts/jobs',
      summary: 'Jobs by state',
      permission: 'read',
      query: schemas.JobCountsQuery,
      answers: {
        200: {
          says: 'Counts, each up to 10,000; with a filter, of the newest 100,000',
          schema: schemas.JobCounts,
        },
      },
      run: async (call) => {
        const { query, reach } = call
        checkSearch(query, call)
        return { status: 200, body: await reach.jobs.count(query) }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'listFailures',
      method: 'GET',
      path: '/api/v1/failures',
      summary: 'The newest 10,000 failed jobs by the first line of their error, most frequent first',
      description: 'At most 100 errors.',
      permission: 'read',
      query: schemas.JobCountsQuery.omit({ state: true }),
      answers: { 200: { says: 'Errors', schema: schemas.Failures } },
      run: async (call) => {
        const { query, reach, redaction } = call
        checkSearch(query, call)
        const found = await reach.views.failures(query)
        const items: FailureGroup[] = []
        for (const group of found.items.slice(0, MOST_FAILURES)) {
          // What was written before `redact` was set, or by SQL, still contains the secrets of its args.
          const job = redaction.hides() ? await reach.jobs.get(group.lastJob) : null
          items.push({ ...group, error: shownFailure(group.error, job, call) })
        }
        return { status: 200, body: { ...found, items } }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'listTasks',
      method: 'GET',
      path: '/api/v1/tasks',
      summary: 'The tasks of schedules and workers',
      permission: 'read',
      answers: { 200: { says: 'Tasks, by name', schema: schemas.Tasks } },
      run: async ({ reach, kalends, access }) => {
        const isScoped = access.scope !== undefined
        const workers = (await kalends.api.workers()).filter(({ alive }) => alive)
        // Which other tasks there are is not for an owner to know, nor how many workers.
        const others = isScoped ? (taskNames(access) ?? []) : workers.flatMap(({ tasks }) => tasks)
        const names = [...new Set([...(await reach.views.tasks()), ...others])].toSorted()
        const items = names.map((name) => {
          const count = workers.filter(({ tasks }) => tasks.includes(name)).length
          return { name, workers: isScoped ? Math.min(1, count) : count }
        })
        return { status: 200, body: { items } }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'listWorkers',
      method: 'GET',
      path: '/api/v1/workers',
      summary: 'The workers of this database',
      permission: 'read',
      unscoped: true,
      answers: { 200: { says: 'Workers', schema: schemas.Workers } },
      run: async ({ kalends }) => ({ status: 200, body: { items: await kalends.api.workers() } }),
    },
    NoQuery,
  ),
  operation(
    {
      id: 'doctor',
      method: 'GET',
      path: '/api/v1/doctor',
      summary: 'What is wrong, and what to do about it',
      permission: 'read',
      unscoped: true,
      answers: { 200: { says: 'Findings; none when all is well', schema: schemas.Findings } },
      run: async ({ kalends }) => ({ status: 200, body: { items: await kalends.api.doctor() } }),
    },
    NoQuery,
  ),
  operation(
    {
      id: 'checkTimer',
      method: 'GET',
      path: '/api/v1/timers/check',
      summary: 'What a timer means, or what is wrong with it',
      permission: 'read',
      query: schemas.CheckQuery,
      answers: { 200: { says: 'The error, or the meaning', schema: schemas.TimerCheck } },
      run: async ({ query, kalends }) => {
        const { timer, zone = kalends.zone ?? undefined, limit = 10, after, anchor } = query
        return { status: 200, body: checkTimer(timer, { zone, limit, after, anchor }) }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'getLoad',
      method: 'GET',
      path: '/api/v1/load',
      summary: 'Planned and past runs, hour by hour',
      permission: 'read',
      query: schemas.LoadQuery,
      answers: { 200: { says: 'Hours', schema: schemas.Load } },
      run: async ({ query, reach }) => {
        const { from = new Date(), hours = 168, ...owners } = query
        return { status: 200, body: await reach.views.load({ from, hours, ...owners }) }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'listUpcoming',
      method: 'GET',
      path: '/api/v1/upcoming',
      summary: 'What comes between two instants, earliest first',
      permission: 'read',
      query: schemas.UpcomingQuery,
      answers: { 200: { says: 'Elapses of active schedules', schema: schemas.Upcoming } },
      run: async ({ query, reach }) => {
        const { from = new Date(), limit, ...owners } = query
        const { to = new Date(from.getTime() + HOUR_MS) } = query
        if (to < from) throw invalidField('to', 'it is before from')
        if (to.getTime() - from.getTime() > LONGEST_LOOK_AHEAD_MS)
          throw invalidField('to', 'it is more than 31 days after from; ask for less at a time')
        const now = Date.now()
        if (from.getTime() < now - MOST_LOOKED_BACK_MS)
          throw invalidField('from', 'it is more than 31 days ago; what ran is in /api/v1/jobs')
        const found = await reach.views.upcoming({ ...owners, from, to, limit })
        return { status: 200, body: { from, to, ...found } }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'getMe',
      method: 'GET',
      path: '/api/v1/me',
      summary: 'Who you are here',
      permission: 'read',
      answers: { 200: { says: 'Role, scope and the zone of the server', schema: schemas.Me } },
      run: async ({ access, kalends }) => ({
        status: 200,
        body: {
          role: access.role,
          submit: access.submit === true,
          tasks: taskNames(access) ?? null,
          user: access.user ?? null,
          scope: { group: access.scope?.group ?? null, submitter: access.scope?.submitter ?? null },
          zone: kalends.zone ?? 'UTC',
          now: new Date(),
        },
      }),
    },
    NoQuery,
  ),
  operation(
    {
      id: 'followChanges',
      method: 'GET',
      path: '/api/v1/events',
      summary: 'Server-sent events that say what to look at again',
      description:
        'Events of the type `change` with `{"topics": [...]}` out of schedules, jobs and workers, at most two a second, for every change, including changes made in SQL. With `Last-Event-ID` the stream continues where it ended. With a scope there is one every five seconds, whether or not anything changed, so that it does not show what others do.',
      permission: 'read',
      answers: {
        200: { says: 'A stream without end', type: 'text/event-stream' },
        429: { says: 'The same user, or address, follows too often already' },
      },
      run: async ({ request, context, changes, access }) => {
        if (request.method === 'HEAD')
          return { status: 200, headers: { 'content-type': 'text/event-stream' } }
        return changes.subscribe(request.headers.get('last-event-id'), request.signal, {
          isScoped: access.scope !== undefined,
          user: listenerOf(access, context),
        })
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'getMetrics',
      method: 'GET',
      path: '/metrics',
      summary: 'Metrics for Prometheus',
      permission: 'read',
      unscoped: true,
      answers: {
        200: { says: 'The text format of Prometheus', type: 'text/plain' },
        501: { says: 'prom-client is not installed' },
      },
      run: ({ metrics }) => metrics.response(),
    },
    NoQuery,
  ),
]

/** Whose streams are counted together. */
function listenerOf({ user }: Access, { address }: RequestContext): string | null {
  if (user !== undefined) return `user ${user}`
  return address === undefined ? null : `address ${clientKey(address)}`
}
