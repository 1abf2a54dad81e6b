/** `/api/v1/jobs` */
import { isDeepStrictEqual } from 'node:util'
import { ConflictError, NotFoundError } from '../errors.ts'
import type { Job, JobConditions, Jobs } from '../index.ts'
import { type Call, operation, type Operation } from './operation.ts'
import { invalidField, problemOf } from './problem.ts'
import { checkOwner } from './schedule-operations.ts'
import * as schemas from './schemas.ts'
import { shownJob, shownText } from './shown.ts'

const { JobParams, NoQuery } = schemas
const PATH = '/api/v1/jobs'
const ONE = `${PATH}/{id}`
const MOST_AT_ONCE = 1000

const ACTIONS = {
  cancel: {
    summary: 'Cancel a job that waits; ask the worker to stop one that runs',
    many: 'Cancel many jobs',
    states: 'waiting, blocked or running (default: all of these)',
  },
  retry: {
    summary: 'Let a failed or cancelled job run again, from its first attempt',
    many: 'Let many jobs run again',
    states: 'failed (default) or cancelled',
  },
} as const satisfies Record<string, { summary: string; many: string; states: string }>
type Action = keyof typeof ACTIONS

export const jobOperations: readonly Operation[] = [
  operation(
    {
      id: 'listJobs',
      method: 'GET',
      path: PATH,
      summary: 'Jobs, newest first, page by page',
      description:
        'Totals are counted up to 10,000. What no index serves, such as the text of errors, is looked for among the newest 100,000 that the other filters leave.',
      permission: 'read',
      query: schemas.JobsQuery,
      answers: { 200: { says: 'A page', schema: schemas.JobPage } },
      run: async (call) => {
        const { query, reach } = call
        checkSearch(query, call)
        const { items, ...total } = await reach.jobs.list(query)
        return { status: 200, body: { items: items.map((job) => shownJob(job, call)), ...total } }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'submitJob',
      method: 'POST',
      path: PATH,
      summary: 'Submit a job of its own, beside all schedules',
      description: 'With an id of your choosing it can be sent again: it is submitted once.',
      permission: 'submit',
      body: schemas.NewJob,
      answers: {
        200: { says: 'It was there already, and is the same', schema: schemas.Job },
        201: { says: 'It was submitted', schema: schemas.Job },
      },
      run: async (call) => {
        checkOwner(call.body, call.access)
        await call.permit({ task: call.body.task, job: call.body.id ?? null })
        const { job, isNew } = await submitted(call)
        if (isNew) {
          call.audit.job('submitJob', job.id, null, job)
          call.changes.mark(['jobs'])
        }
        return {
          status: isNew ? 201 : 200,
          body: shownJob(job, call),
          headers: { location: `${call.base}api/v1/jobs/${encodeURIComponent(job.id)}` },
        }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'getJob',
      method: 'GET',
      path: ONE,
      summary: 'A job',
      permission: 'read',
      params: JobParams,
      answers: { 200: { says: 'The job', schema: schemas.Job } },
      run: async (call) => ({
        status: 200,
        body: shownJob(await existing(call.reach.jobs, call.params.id), call),
      }),
    },
    NoQuery,
  ),
  operation(
    {
      id: 'jobLogs',
      method: 'GET',
      path: `${ONE}/logs`,
      summary: 'What its attempts have logged, in order',
      description: 'To follow it, ask again with `after` the id of the last line.',
      permission: 'read',
      params: JobParams,
      query: schemas.LogsQuery,
      answers: { 200: { says: 'Lines', schema: schemas.LogLines } },
      run: async (call) => {
        const { params, query, reach } = call
        const job = call.redaction.hides() ? await existing(reach.jobs, params.id) : null
        const lines = await reach.jobs.logs(params.id, query)
        return {
          status: 200,
          body: { items: lines.map((line) => ({ ...line, message: shownText(line.message, job, call) })) },
        }
      },
    },
    NoQuery,
  ),
  ...(['cancel', 'retry'] as const).flatMap((action) => [
    operation(
      {
        id: `${action}Job`,
        method: 'POST',
        path: `${ONE}/${action}`,
        summary: ACTIONS[action].summary,
        permission: 'operate',
        params: JobParams,
        answers: {
          200: { says: 'Its state now: `running` when it was asked to stop', schema: schemas.JobStateAnswer },
        },
        run: async (call) => {
          const { id } = call.params
          await acted(call, action, id)
          const { state } = await existing(call.reach.jobs, id)
          return { status: 200, body: { id, state } }
        },
      },
      NoQuery,
    ),
    operation(
      {
        id: `${action}Jobs`,
        method: 'POST',
        path: `${PATH}/${action}`,
        summary: ACTIONS[action].many,
        description: `By their ids, or all that a filter finds, of the state ${ACTIONS[action].states}, up to a thousand at a time. With dryRun it only says how many there are.`,
        permission: 'operate',
        body: schemas.JobsAction,
        answers: { 200: { says: 'What was done', schema: schemas.JobsActionAnswer } },
        run: async (call) => ({ status: 200, body: await actOnMany(call, action) }),
      },
      NoQuery,
    ),
  ]),
]

/**
 * A search reveals letter by letter what it looks through, so what is hidden from a caller cannot be searched.
 *
 * @param path  of the conditions, in a body
 */
export function checkSearch(
  conditions: JobConditions,
  { access, redaction }: Pick<Call, 'access' | 'redaction'>,
  path = '',
): void {
  if (conditions.args !== undefined && redaction.hides('args'))
    throw invalidField(`${path}args`, 'cannot be searched here, because parts of the args are hidden')
  if (access.scope === undefined) return
  if (conditions.error !== undefined)
    throw invalidField(`${path}error`, 'callers with a scope cannot search errors, parts of which are hidden')
  if (conditions.worker !== undefined)
    throw invalidField(`${path}worker`, 'callers with a scope cannot search by worker')
}

async function submitted({
  body,
  reach,
  redaction,
}: Call<unknown, unknown, typeof schemas.NewJob._output>): Promise<{ job: Job; isNew: boolean }> {
  const { task, args: given, id, ...options } = body
  const args = redaction.restored('args', given, undefined)
  const known = id === undefined ? null : await reach.jobs.get(id)
  const isSame = (job: Job) => job.task === task && isDeepStrictEqual(job.args, args ?? {})
  if (known !== null && isSame(known)) return { job: known, isNew: false }
  try {
    const made = await reach.jobs.submit(task, args, { ...options, ...(id !== undefined && { id }) })
    return { job: await existing(reach.jobs, made), isNew: true }
  } catch (error) {
    if (!(error instanceof ConflictError) || id === undefined) throw error
    // Sent twice at the same moment.
    const there = await reach.jobs.get(id)
    if (there === null || !isSame(there)) throw error
    return { job: there, isNew: false }
  }
}

async function existing(jobs: Jobs, id: string): Promise<Job> {
  const job = await jobs.get(id)
  if (job === null) throw new NotFoundError('job', id)
  return job
}

/** @param act  default: the action on this job */
async function acted(
  call: Call,
  action: Action,
  id: string,
  act: () => Promise<unknown> = () => call.reach.jobs[action](id),
): Promise<void> {
  const { jobs } = call.reach
  const before = await existing(jobs, id)
  await call.permit({ task: before.task, schedule: before.scheduleId, job: id })
  await act()
  call.audit.job(`${action}Job`, id, before, await jobs.get(id))
  call.changes.mark(['schedules', 'jobs'])
}

async function actOnMany(
  call: Call<unknown, unknown, typeof schemas.JobsAction._output>,
  action: Action,
): Promise<typeof schemas.JobsActionAnswer._output> {
  const { ids, filter = {}, dryRun, limit = MOST_AT_ONCE } = call.body
  if (ids === undefined) checkSearch(filter, call, 'filter.')
  const which = ids === undefined ? { filter } : { ids }
  const { refused, ...result } = await call.reach.jobs[`${action}Many`](which, {
    dryRun,
    ...(ids === undefined && { limit }),
    each: (id, change) => acted(call, action, id, change),
    // The database is unavailable, or the error is internal: the other jobs would fail as well.
    isRefusal: (error) => (problemOf(error)?.status ?? 500) < 500,
  })
  return {
    ...result,
    changed: [...result.changed],
    refused: refused.map(({ id, error }) => ({ id, detail: problemOf(error)?.message ?? '' })),
  }
}
