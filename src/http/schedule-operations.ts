import { ConflictError, NotFoundError } from '../errors.ts'
import { inWords, localText, timer } from '../timer/index.ts'
import { checkOwner, requirePermission } from './access.ts'
import { type Answer, ok, operation, type Operation } from './operation.ts'
import { invalidField, Problem } from './problem.ts'
import { shownJob, shownSchedule } from './shown.ts'
import * as answers from './answer-schemas.ts'
import * as bodies from './body-schemas.ts'
import * as edits from './schedule-edits.ts'
import * as queries from './query-schemas.ts'

const { ScheduleParams } = queries
const PATH = '/api/v1/schedules'
const ONE = `${PATH}/{id}`
const MAX_WITH_RUNS = 200
const NO_CONTENT: Answer = { status: 204 }

const created = { description: 'The new schedule', schema: answers.WrittenSchedule }
const current = { description: 'The current schedule', schema: answers.WrittenSchedule }

const ACTIONS = {
  resume: 'Continue, planned from now',
  reset: 'Reactivate a schedule that is done or dead, and clear its counters',
} as const satisfies Record<string, string>

const CHANGED = { 200: current, 400: { description: 'Not possible in the current state of the schedule' } }

export const scheduleOperations: readonly Operation[] = [
  operation('listSchedules', 'GET', PATH, 'read', {
    summary: 'List schedules',
    description:
      'Ordered by id. For each page, `text` is searched in the next 100,000 schedules that match the other filters.',
    query: queries.SchedulesQuery,
    answers: { 200: { description: 'One page', schema: answers.SchedulePage } },
    run: async (call) => {
      const { runs, ...query } = call.query
      if (runs !== undefined && (query.limit ?? 100) > MAX_WITH_RUNS)
        throw invalidField('limit', `with runs, must be at most ${MAX_WITH_RUNS}`)
      const { items, ...page } = await call.reach.schedules.list(query)
      const ids = items.map(({ id }) => id)
      const recent = runs === undefined ? null : await call.reach.views.recentRuns(ids, runs)
      const shown = items.map((item) => ({
        ...shownSchedule(item, call),
        timerDescription: timerDescription(item.timer),
        ...(recent !== null && { runs: recent.get(item.id) ?? [] }),
      }))
      return ok({ items: shown, ...page })
    },
  }),
  operation('createSchedule', 'POST', PATH, 'admin', {
    summary: 'Create a schedule',
    description: 'A request with an id of your choice can be repeated: the schedule is created only once.',
    body: bodies.NewSchedule,
    answers: {
      200: {
        description: 'The schedule already exists with these settings',
        schema: answers.WrittenSchedule,
      },
      201: created,
    },
    run: async (call) => {
      const { body, reach } = call
      checkOwner(body, call.access)
      const { id, ...input } = body
      await call.permit({ task: input.task, scheduleId: id ?? null })
      const settings = edits.withoutMarkers(input, call, null)
      const { isNew, schedule } = await reach.schedules.createOrFind(
        id === undefined ? settings : { ...settings, id, ifExists: 'same' },
      )
      if (isNew) call.writes.schedule(schedule.id, null, schedule)
      const answer = edits.scheduleAnswer(schedule, call, {
        status: isNew ? 201 : 200,
        location: `${call.base}api/v1/schedules/${encodeURIComponent(schedule.id)}`,
      })
      return edits.withWarning(answer, schedule.task, call)
    },
  }),
  operation('deleteSchedules', 'POST', `${PATH}/batch-delete`, 'admin', {
    summary: 'Delete several schedules',
    description: 'Unknown ids are ignored. The request stops at the first schedule that you may not delete.',
    body: bodies.Ids,
    answers: { 204: { description: 'Deleted' } },
    run: async (call) => {
      if (call.request.headers.has('if-match'))
        throw invalidField(
          'if-match',
          'applies to a single schedule; delete schedules one at a time to use it',
        )
      for (const id of new Set(call.body.ids))
        await edits.removed({ ...call, params: { id } }).catch((error: unknown) => {
          if (!(error instanceof NotFoundError)) throw error
        })
      return NO_CONTENT
    },
  }),
  operation('getSchedule', 'GET', ONE, 'read', {
    summary: 'Get a schedule',
    params: ScheduleParams,
    answers: { 200: { description: 'The schedule', schema: answers.Schedule } },
    run: async (call) => edits.scheduleAnswer(await edits.existing(call), call),
  }),
  operation('putSchedule', 'PUT', ONE, 'admin', {
    summary: 'Create or replace a schedule',
    description:
      'Omitted settings get their defaults. `enabled` and `firstRun` apply to a new schedule only, so a paused schedule stays paused. You can change the response of GET and send it back: its read-only fields are ignored.',
    params: ScheduleParams,
    body: bodies.PutSchedule,
    answers: { 200: current, 201: created },
    run: async (call) => {
      const { params, body, reach } = call
      checkOwner(body, call.access)
      const read = () => reach.schedules.get(params.id)
      const { before, result, schedule } = await edits.onBasis(call, read, async (before, options) => {
        for (const task of new Set([before?.task ?? body.task, body.task]))
          await call.permit({ task, scheduleId: params.id })
        const input = edits.withoutMarkers(body, call, before)
        return { before, ...(await reach.schedules.put(params.id, input, options)) }
      })
      if (result !== 'unchanged') call.writes.schedule(params.id, before, schedule)
      const answer = edits.scheduleAnswer(schedule, call, { status: result === 'created' ? 201 : 200 })
      return edits.withWarning(answer, result === 'unchanged' ? undefined : schedule.task, call)
    },
  }),
  operation('changeSchedule', 'PATCH', ONE, 'admin', {
    summary: 'Change some settings',
    description:
      'Omitted settings stay unchanged. A new timer is planned from now. If the task changes but the args do not, they must be valid for the new task.',
    params: ScheduleParams,
    body: bodies.ScheduleChanges,
    answers: { 200: current },
    run: async (call) => {
      const { params, body, reach } = call
      checkOwner(body, call.access)
      const answer = await edits.edited(call, async (before, options) => {
        if (body.task !== undefined && body.task !== before.task)
          await call.permit({ task: body.task, scheduleId: params.id })
        return reach.schedules.update(params.id, edits.withoutMarkers(body, call, before), options)
      })
      return edits.withWarning(answer, body.task, call)
    },
  }),
  operation('deleteSchedule', 'DELETE', ONE, 'admin', {
    summary: 'Delete a schedule',
    description: 'The jobs of the schedule are kept.',
    params: ScheduleParams,
    answers: { 204: { description: 'Deleted' } },
    run: async (call) => {
      await edits.removed(call)
      return NO_CONTENT
    },
  }),
  operation('pauseSchedule', 'POST', `${ONE}/pause`, 'operate', {
    summary: 'Submit no runs until the schedule is resumed',
    params: ScheduleParams,
    body: bodies.PauseInput.optional(),
    answers: CHANGED,
    run: (call) =>
      edits.edited(call, (_, options) =>
        call.reach.schedules.pause(call.params.id, { ...call.body, ...options }).catch(wrongState),
      ),
  }),
  ...(['resume', 'reset'] as const).map((action) =>
    operation(`${action}Schedule`, 'POST', `${ONE}/${action}`, 'operate', {
      summary: ACTIONS[action],
      params: ScheduleParams,
      answers: CHANGED,
      run: (call) =>
        edits.edited(call, (_, options) =>
          call.reach.schedules[action](call.params.id, options).catch(wrongState),
        ),
    }),
  ),
  operation('runSchedule', 'POST', `${ONE}/run`, 'operate', {
    summary: 'Run a schedule now, in addition to its timer',
    description:
      'This also works while the schedule is paused. Unless its runs may overlap, the request is rejected while one of its jobs is not final; `jobId` in the response names that job.',
    params: ScheduleParams,
    body: bodies.RunInput.optional(),
    answers: { 200: { description: 'The submitted job', schema: answers.JobReference } },
    run: async (call) => {
      const { params, body, reach, redaction } = call
      if (body?.args !== undefined) requirePermission(call.access, 'submit')
      const [, { job, args }] = await edits.onExisting(call, async (before, options) => {
        const args = redaction.restored('args', body?.args, before.args)
        return { job: await reach.schedules.runNow(params.id, { ...options, args }), args }
      })
      call.writes.run(params.id, job, args)
      return ok({ jobId: job })
    },
  }),
  operation('scheduleHistory', 'GET', `${ONE}/history`, 'read', {
    summary: 'List the runs and skips of a schedule, newest slot first',
    params: ScheduleParams,
    query: queries.HistoryQuery,
    answers: { 200: { description: 'Runs and skips', schema: answers.History } },
    run: async (call) => {
      const jobs = await call.reach.schedules.history(call.params.id, call.query)
      return ok({ items: jobs.map((job) => shownJob(job, call)) })
    },
  }),
  operation('scheduleElapses', 'GET', `${ONE}/elapses`, 'read', {
    summary: 'List the next run times of a schedule',
    params: ScheduleParams,
    query: queries.ElapsesQuery,
    answers: { 200: { description: 'Run times', schema: answers.Elapses } },
    run: async (call) => {
      const { after, limit = 10 } = call.query
      const { zone } = timer((await edits.existing(call)).timer)
      const elapses = await call.reach.schedules.elapses(call.params.id, { after, limit })
      return ok({ zone, items: elapses.map((at) => ({ at, local: localText(at, zone) })) })
    },
  }),
  operation('explainSchedule', 'GET', `${ONE}/explain`, 'read', {
    summary: 'Explain why a schedule did or did not run, and when it runs next',
    params: ScheduleParams,
    query: queries.ExplainQuery,
    answers: { 200: { description: 'Reasons, most important first', schema: answers.Explanation } },
    run: async ({ params, query, reach }) => ok(await reach.schedules.explain(params.id, query)),
  }),
]

function timerDescription(text: string): string | null {
  try {
    return inWords(timer(text))
  } catch {
    return null
  }
}

/** Here, a conflict means that the schedule is in the wrong state, because no job is involved. @throws Problem 400 */
function wrongState(error: unknown): never {
  throw error instanceof ConflictError ? new Problem(400, 'WRONG_STATE', error.message) : error
}
