/** What is about the whole: counts, times, workers, health, metrics, events, the document itself. */
import { checkTimer } from '../timer/index.ts'
import { checkSearch } from './job-operations.ts'
import { operation, type Operation } from './operation.ts'
import { invalidField } from './problem.ts'
import * as schemas from './schemas.ts'

const { NoQuery } = schemas
const HOUR_MS = 3_600_000
const LONGEST_LOOK_AHEAD_MS = 31 * 24 * HOUR_MS
const MOST_LOOKED_BACK_MS = 744 * HOUR_MS

export const serverOperations: readonly Operation[] = [
  operation(
    {
      id: 'countSchedules',
      method: 'GET',
      path: '/api/v1/counts/schedules',
      summary: 'Schedules by status',
      role: 'read',
      query: schemas.ScheduleCountsQuery,
      answers: { 200: { says: 'Counts, each up to 10,000', schema: schemas.ScheduleCounts } },
      run: async ({ query, reach }) => ({ status: 200, body: await reach.views.scheduleCounts(query) }),
    },
    NoQuery,
  ),
  operation(
    {
      id: 'countJobs',
      method: 'GET',
      path: '/api/v1/counts/jobs',
      summary: 'Jobs by state',
      role: 'read',
      query: schemas.JobCountsQuery,
      answers: {
        200: {
          says: 'Counts, each up to 10,000; with a filter, of the newest 100,000',
          schema: schemas.JobCounts,
        },
      },
      run: async ({ query, reach, redaction }) => {
        checkSearch(query, redaction)
        return { status: 200, body: await reach.views.jobCounts(query) }
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
      role: 'read',
      query: schemas.JobCountsQuery.omit({ state: true }),
      answers: { 200: { says: 'Errors', schema: schemas.Failures } },
      run: async ({ query, reach, redaction }) => {
        checkSearch(query, redaction)
        return { status: 200, body: { items: await reach.views.failures(query) } }
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
      role: 'read',
      answers: { 200: { says: 'Tasks, by name', schema: schemas.Tasks } },
      run: async ({ reach, kalends, access }) => {
        const isScoped = access.scope !== undefined
        const workers = (await kalends.workers()).filter(({ alive }) => alive)
        // What others have is nobody's business.
        const handled = isScoped ? [] : workers.flatMap(({ tasks }) => tasks)
        const names = [...new Set([...(await reach.views.tasks()), ...handled])].toSorted()
        const items = names.map((name) => ({
          name,
          workers: workers.filter(({ tasks }) => tasks.includes(name)).length,
        }))
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
      role: 'read',
      unscoped: true,
      answers: { 200: { says: 'Workers', schema: schemas.Workers } },
      run: async ({ kalends }) => ({ status: 200, body: { items: await kalends.workers() } }),
    },
    NoQuery,
  ),
  operation(
    {
      id: 'doctor',
      method: 'GET',
      path: '/api/v1/doctor',
      summary: 'What is wrong, and what to do about it',
      role: 'read',
      unscoped: true,
      answers: { 200: { says: 'Findings; none when all is well', schema: schemas.Findings } },
      run: async ({ kalends }) => ({ status: 200, body: { items: await kalends.doctor() } }),
    },
    NoQuery,
  ),
  operation(
    {
      id: 'checkTimer',
      method: 'GET',
      path: '/api/v1/timers/check',
      summary: 'What a timer means, or what is wrong with it',
      role: 'read',
      query: schemas.CheckQuery,
      answers: { 200: { says: 'The fault, or the meaning', schema: schemas.TimerCheck } },
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
      role: 'read',
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
      role: 'read',
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
      role: 'read',
      answers: { 200: { says: 'Role, scope and the zone of the server', schema: schemas.Me } },
      run: async ({ access, kalends }) => ({
        status: 200,
        body: {
          role: access.role,
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
        'Events of the type `change` with `{"topics": [...]}` out of schedules, jobs and workers, at most two a second, whoever made the change, also in SQL. With `Last-Event-ID` it goes on where it ended.',
      role: 'read',
      answers: { 200: { says: 'A stream without end', type: 'text/event-stream' } },
      run: async ({ request, changes, access }) => {
        if (request.method === 'HEAD')
          return { status: 200, headers: { 'content-type': 'text/event-stream' } }
        const topics = ['schedules', 'jobs', 'workers'] as const
        const allowed = access.scope === undefined ? topics : topics.slice(0, 2)
        return changes.subscribe(request.headers.get('last-event-id'), request.signal, allowed)
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
      role: 'read',
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
