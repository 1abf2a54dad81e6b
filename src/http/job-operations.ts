import { isDeepStrictEqual } from 'node:util'
import { ConflictError, missing } from '../errors.ts'
import type { Job, Jobs } from '../index.ts'
import { checkOwner } from './access.ts'
import { type Call, ok, operation, type Operation } from './operation.ts'
import { problemOf } from './problem.ts'
import { checkSearch, shownAttempts, shownJob, shownText } from './shown.ts'
import * as answers from './answer-schemas.ts'
import * as bodies from './body-schemas.ts'
import * as queries from './query-schemas.ts'

const { JobParams } = queries
const PATH = '/api/v1/jobs'
const ONE = `${PATH}/{id}`
const MAX_AT_ONCE = 1000

const ACTIONS = {
  cancel: {
    summary: 'Cancel a waiting job, or ask the worker to stop a running one',
    many: 'Cancel several jobs',
    states: 'waiting, blocked, running or external (default: all of these)',
  },
  retry: {
    summary: 'Run a failed or cancelled job again, from its first attempt',
    many: 'Run several jobs again',
    states: 'failed (default) or cancelled',
  },
} as const satisfies Record<string, { summary: string; many: string; states: string }>

export const jobOperations: readonly Operation[] = [
  operation('listJobs', 'GET', PATH, 'read', {
    summary: 'List jobs, newest first',
    description:
      'With a final state, the jobs that ended last come first. For each page, filters without an index, such as the text of errors, search the next 100,000 jobs that match the other filters.',
    query: queries.JobsQuery,
    answers: { 200: { description: 'One page', schema: answers.JobPage } },
    run: async (call) => {
      const { query, reach } = call
      checkSearch(query, call)
      const { items, ...page } = await reach.jobs.list(query)
      return ok({ items: items.map((job) => shownJob(job, call)), ...page })
    },
  }),
  operation('submitJob', 'POST', PATH, 'submit', {
    summary: 'Submit a job without a schedule',
    description: 'A request with an id of your choice can be repeated: the job is submitted only once.',
    body: bodies.NewJob,
    answers: {
      200: { description: 'The same job already exists', schema: answers.SubmittedJob },
      201: { description: 'The new job', schema: answers.SubmittedJob },
    },
    run: async (call) => {
      checkOwner(call.body, call.access)
      await call.permit({ task: call.body.task, jobId: call.body.id ?? null })
      const { job, isNew } = await submitted(call)
      if (isNew) call.writes.job(job.id, null, job)
      const warning = await call.reach.jobs.taskWarning(job.task)
      return {
        status: isNew ? 201 : 200,
        body: { ...shownJob(job, call), ...(warning !== null && { warning }) },
        headers: { location: `${call.base}api/v1/jobs/${encodeURIComponent(job.id)}` },
      }
    },
  }),
  operation('getJob', 'GET', ONE, 'read', {
    summary: 'Get a job',
    params: JobParams,
    answers: { 200: { description: 'The job', schema: answers.ShownJob } },
    run: async (call) => {
      const { params, reach } = call
      const job = await existing(reach.jobs, params.id)
      return ok({ ...shownJob(job, call), explanation: await reach.jobs.explain(params.id) })
    },
  }),
  operation('jobAttempts', 'GET', `${ONE}/attempts`, 'read', {
    summary: 'List the newest 100 attempts of a job, oldest first',
    description: 'This includes a running attempt, a successful attempt and attempts before a manual retry.',
    params: JobParams,
    answers: { 200: { description: 'Attempts', schema: answers.Attempts } },
    run: async (call) => {
      const { params, reach } = call
      const job = call.redaction.hides() ? await existing(reach.jobs, params.id) : null
      return ok({ items: shownAttempts(await reach.jobs.attempts(params.id), job, call) })
    },
  }),
  operation('jobLogs', 'GET', `${ONE}/logs`, 'read', {
    summary: 'List the log lines of all attempts of a job, in order',
    description: 'To follow the log, repeat the request with the id of the last line in `after`.',
    params: JobParams,
    query: queries.LogsQuery,
    answers: { 200: { description: 'Lines', schema: answers.LogLines } },
    run: async (call) => {
      const lines = await call.reach.jobs.logs(call.params.id, call.query)
      return ok({ items: lines.map((line) => ({ ...line, message: shownText(line.message, call) })) })
    },
  }),
  ...(['cancel', 'retry'] as const).flatMap((action) => [
    operation(`${action}Job`, 'POST', `${ONE}/${action}`, 'operate', {
      summary: ACTIONS[action].summary,
      params: JobParams,
      answers: {
        200: {
          description: 'The job after the request; still `running` if its worker was asked to stop it',
          schema: answers.Job,
        },
      },
      run: async (call) => {
        const { id } = call.params
        return ok(shownJob(await acted(call, id, () => call.reach.jobs[action](id)), call))
      },
    }),
    operation(`${action}Jobs`, 'POST', `${PATH}/${action}`, 'operate', {
      summary: ACTIONS[action].many,
      description: `By id, or by a filter and the state ${ACTIONS[action].states}, up to 1000 at a time. With dryRun, the matching jobs are only counted.`,
      body: bodies.JobsAction,
      answers: { 200: { description: 'The result', schema: answers.JobsActionAnswer } },
      run: async (call) => ok(await actOnMany(call, action)),
    }),
  ]),
]

async function submitted({
  body,
  reach,
  redaction,
}: Call<unknown, unknown, typeof bodies.NewJob._output>): Promise<{ job: Job; isNew: boolean }> {
  const { task, args: given, id, ...options } = body
  const args = redaction.restored('args', given, undefined)
  const known = id === undefined ? null : await reach.jobs.get(id)
  // Secrets are not compared; otherwise, a caller could find them by guessing.
  const shown = (value: unknown) => redaction.redacted('args', value)
  const isSame = (job: Job) => job.task === task && isDeepStrictEqual(shown(job.args), shown(args ?? {}))
  if (known !== null && isSame(known)) return { job: known, isNew: false }
  try {
    const made = await reach.jobs.submit(task, args, { ...options, id })
    return { job: await existing(reach.jobs, made), isNew: true }
  } catch (error) {
    if (!(error instanceof ConflictError) || id === undefined) throw error
    // The same request may have been sent twice at the same time.
    const there = await reach.jobs.get(id)
    if (there === null || !isSame(there)) throw error
    return { job: there, isNew: false }
  }
}

async function existing(jobs: Jobs, id: string): Promise<Job> {
  return (await jobs.get(id)) ?? missing('job', id)
}

async function acted(call: Call, id: string, act: () => Promise<Job>): Promise<Job> {
  const before = await existing(call.reach.jobs, id)
  await call.permit({ task: before.task, scheduleId: before.scheduleId, jobId: id })
  const after = await act()
  call.writes.job(id, before, after)
  return after
}

async function actOnMany(
  call: Call<unknown, unknown, typeof bodies.JobsAction._output>,
  action: keyof typeof ACTIONS,
) {
  const { ids, filter = {}, dryRun, limit = MAX_AT_ONCE } = call.body
  if (ids === undefined) checkSearch(filter, call, 'filter.')
  const which = ids === undefined ? { filter } : { ids }
  const { refused, ...result } = await call.reach.jobs[`${action}Many`](which, {
    dryRun,
    ...(ids === undefined && { limit }),
    each: async (id, change) => void (await acted(call, id, change)),
    // An internal error or an unavailable database ends the call, because the other jobs would fail as well.
    isRefusal: (error) => (problemOf(error)?.status ?? 500) < 500,
  })
  return {
    ...result,
    refused: refused.map(({ id, error }) => ({ id, detail: problemOf(error)?.message ?? '' })),
  }
}
