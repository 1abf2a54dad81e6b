/** `/api/v1/schedules` */
import { ConflictError, NotFoundError } from '../errors.ts'
import type { Schedule, Schedules } from '../index.ts'
import { inWords, localText, timer } from '../timer/index.ts'
import { type Access, requireRole } from './access.ts'
import { type Answer, type Call, operation, type Operation } from './operation.ts'
import { Problem, invalidField } from './problem.ts'
import * as schemas from './schemas.ts'
import { shownJob, shownSchedule } from './shown.ts'

const { NoQuery, ScheduleParams } = schemas
const PATH = '/api/v1/schedules'
const ONE = `${PATH}/{id}`
const RUNS_WITHIN = 200

const schedule = { says: 'The schedule', schema: schemas.Schedule }
const changed = { says: 'The schedule as it is now', schema: schemas.Schedule }
const NOTHING: Answer = { status: 204 }

export const scheduleOperations: readonly Operation[] = [
  operation(
    {
      id: 'listSchedules',
      method: 'GET',
      path: PATH,
      summary: 'Schedules, page by page',
      description:
        'In the order of their ids. Totals are counted up to 10,000; text is looked for among the first 100,000 that the other filters leave.',
      role: 'read',
      query: schemas.SchedulesQuery,
      answers: { 200: { says: 'A page', schema: schemas.SchedulePage } },
      run: async ({ query, reach, redaction }) => {
        const { runs, ...view } = query
        if (runs !== undefined && (view.limit ?? 100) > RUNS_WITHIN)
          throw invalidField('limit', `with runs, at most ${RUNS_WITHIN} schedules come at a time`)
        const { items, ...total } = await reach.views.schedules(view)
        const recent =
          runs === undefined
            ? null
            : await reach.views.recentRuns(
                items.map(({ id }) => id),
                runs,
              )
        return {
          status: 200,
          body: {
            items: items.map((item) => ({
              ...shownSchedule(item, redaction),
              words: wordsOf(item.timer),
              ...(recent !== null && { runs: recent.get(item.id) ?? [] }),
            })),
            ...total,
          },
        }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'createSchedule',
      method: 'POST',
      path: PATH,
      summary: 'Make a schedule',
      description: 'With an id of your choosing it can be sent again: it is made once.',
      role: 'admin',
      body: schemas.NewSchedule,
      answers: {
        200: { says: 'It was there already, and says the same', schema: schemas.Schedule },
        201: { says: 'It was made', schema: schemas.Schedule },
      },
      run: async (call) => {
        const { body, reach, audit, redaction, base } = call
        checkOwner(body, call.access)
        const { id, ...input } = body
        const settings = withoutMarkers(input, call, null)
        const { result, schedule: made } =
          id === undefined
            ? { result: 'created', schedule: await reach.schedules.create(settings) }
            : await reach.schedules.createOnce({ ...settings, id })
        if (result === 'created') {
          audit.schedule('createSchedule', made.id, null, made)
          call.changes.mark(['schedules'])
        }
        return {
          status: result === 'created' ? 201 : 200,
          body: shownSchedule(made, redaction),
          headers: { location: `${base}api/v1/schedules/${encodeURIComponent(made.id)}` },
        }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'deleteSchedules',
      method: 'POST',
      path: `${PATH}/batch-delete`,
      summary: 'Delete many schedules',
      description: 'Ids that are not there are left out.',
      role: 'admin',
      body: schemas.Ids,
      answers: { 204: { says: 'They are gone' } },
      run: async ({ body, reach, audit, changes }) => {
        for (const id of new Set(body.ids)) {
          const before = await reach.schedules.get(id)
          if (before === null || !(await deleted(reach.schedules, id))) continue
          audit.schedule('deleteSchedules', id, before, null)
          changes.mark(['schedules'])
        }
        return NOTHING
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'getSchedule',
      method: 'GET',
      path: ONE,
      summary: 'A schedule',
      role: 'read',
      params: ScheduleParams,
      answers: { 200: schedule },
      run: async ({ params, reach, redaction }) => ({
        status: 200,
        body: shownSchedule(await existing(reach.schedules, params.id), redaction),
      }),
    },
    NoQuery,
  ),
  operation(
    {
      id: 'putSchedule',
      method: 'PUT',
      path: ONE,
      summary: 'Make a schedule, or change it to this',
      description:
        'What is left out has its default. `enabled` and `firstRun` count only for a new one: what was paused stays paused.',
      role: 'admin',
      params: ScheduleParams,
      body: schemas.ScheduleInput,
      answers: {
        200: changed,
        201: { says: 'It was made', schema: schemas.Schedule },
      },
      run: async (call) => {
        const { params, body, reach, redaction, audit } = call
        checkOwner(body, call.access)
        const before = await reach.schedules.get(params.id)
        const { result, schedule: after } = await reach.schedules.put(
          params.id,
          withoutMarkers(body, call, before),
        )
        if (result !== 'unchanged') {
          audit.schedule('putSchedule', params.id, before, after)
          call.changes.mark(['schedules'])
        }
        return { status: result === 'created' ? 201 : 200, body: shownSchedule(after, redaction) }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'changeSchedule',
      method: 'PATCH',
      path: ONE,
      summary: 'Change what is given',
      description: 'What is left out stays. A new timer is planned from now.',
      role: 'admin',
      params: ScheduleParams,
      body: schemas.ScheduleChanges,
      answers: { 200: changed },
      run: async (call) => {
        checkOwner(call.body, call.access)
        const before = await existing(call.reach.schedules, call.params.id)
        return changedAnswer(call, 'changeSchedule', () =>
          call.reach.schedules.update(call.params.id, withoutMarkers(call.body, call, before)),
        )
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'deleteSchedule',
      method: 'DELETE',
      path: ONE,
      summary: 'Delete a schedule',
      description: 'Jobs that were submitted already stay.',
      role: 'admin',
      params: ScheduleParams,
      answers: { 204: { says: 'It is gone' } },
      run: async ({ params, reach, audit, changes }) => {
        const before = await existing(reach.schedules, params.id)
        await reach.schedules.delete(params.id)
        audit.schedule('deleteSchedule', params.id, before, null)
        changes.mark(['schedules'])
        return NOTHING
      },
    },
    NoQuery,
  ),
  ...(['pause', 'resume', 'reset'] as const).map((action) =>
    operation(
      {
        id: `${action}Schedule`,
        method: 'POST',
        path: `${ONE}/${action}`,
        summary: {
          pause: 'Submit nothing until it is resumed',
          resume: 'Go on, planned from now',
          reset: 'Revive a schedule that is done or dead, with cleared counters',
        }[action],
        role: 'operate',
        params: ScheduleParams,
        answers: { 200: changed, 400: { says: 'It is not in the state for this' } },
        run: (call) =>
          changedAnswer(call, `${action}Schedule`, () => call.reach.schedules[action](call.params.id)).catch(
            (error: unknown) => {
              // The id is right and nothing is in the way: it is asked of the wrong state.
              if (error instanceof ConflictError) throw new Problem(400, 'WRONG_STATE', error.message)
              throw error
            },
          ),
      },
      NoQuery,
    ),
  ),
  operation(
    {
      id: 'runSchedule',
      method: 'POST',
      path: `${ONE}/run`,
      summary: 'Run it now, beside its timer',
      description: 'Also while it is paused. Refused with the id of the job while one is waiting or running.',
      role: 'operate',
      params: ScheduleParams,
      body: schemas.RunInput,
      bodyOptional: true,
      answers: { 200: { says: 'It was submitted', schema: schemas.JobReference } },
      run: async ({ params, body, reach, access, audit, changes, redaction }) => {
        if (body?.args !== undefined) requireRole(access, 'admin')
        const before = await existing(reach.schedules, params.id)
        const args = redaction.restored('args', body?.args, before.args)
        const job = await reach.schedules.runNow(params.id, args === undefined ? {} : { args })
        audit.write({
          action: 'runSchedule',
          schedule: params.id,
          job,
          before: null,
          after: args === undefined ? {} : { args: redaction.redacted('args', args) },
        })
        changes.mark(['schedules', 'jobs'])
        return { status: 200, body: { job } }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'scheduleHistory',
      method: 'GET',
      path: `${ONE}/history`,
      summary: 'Its runs and skips, newest slot first',
      role: 'read',
      params: ScheduleParams,
      query: schemas.HistoryQuery,
      answers: { 200: { says: 'Runs and skips', schema: schemas.History } },
      run: async ({ params, query, reach, redaction }) => {
        const jobs = await reach.schedules.history(params.id, query)
        return { status: 200, body: { items: jobs.map((job) => shownJob(job, redaction)) } }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'scheduleElapses',
      method: 'GET',
      path: `${ONE}/elapses`,
      summary: 'Its next elapses',
      role: 'read',
      params: ScheduleParams,
      query: schemas.ElapsesQuery,
      answers: { 200: { says: 'Elapses', schema: schemas.Elapses } },
      run: async ({ params, query, reach }) => {
        const { after, limit = 10 } = query
        const { timer: text } = await existing(reach.schedules, params.id)
        const { zone } = timer(text)
        const elapses = await reach.schedules.elapses(params.id, {
          limit,
          ...(after !== undefined && { after }),
        })
        return {
          status: 200,
          body: { zone, items: elapses.map((at) => ({ at, local: localText(at, zone) })) },
        }
      },
    },
    NoQuery,
  ),
  operation(
    {
      id: 'explainSchedule',
      method: 'GET',
      path: `${ONE}/explain`,
      summary: 'Why it did or did not run, and when it will next',
      role: 'read',
      params: ScheduleParams,
      query: schemas.ExplainQuery,
      answers: { 200: { says: 'Reasons, the most telling first', schema: schemas.Explanation } },
      run: async ({ params, query, reach }) => ({
        status: 200,
        body: await reach.schedules.explain(params.id, query),
      }),
    },
    NoQuery,
  ),
]

/** A scope writes its owner by itself; another one is refused rather than overwritten without a word. */
export function checkOwner(
  body: { readonly group?: string | undefined; readonly submitter?: string | null | undefined },
  { scope = {} }: Access,
): void {
  for (const field of ['group', 'submitter'] as const) {
    const [own, wanted] = [scope[field], body[field]]
    if (own !== undefined && wanted !== undefined && wanted !== own)
      throw new Problem(403, 'OUT_OF_SCOPE', `${field}: you may only write your own`, {
        errors: [{ field, detail: 'you may only write your own; leave it out' }],
      })
  }
}

async function existing(schedules: Schedules, id: string): Promise<Schedule> {
  const found = await schedules.get(id)
  if (found === null) throw new NotFoundError('schedule', id)
  return found
}

async function deleted(schedules: Schedules, id: string): Promise<boolean> {
  try {
    await schedules.delete(id)
    return true
  } catch (error) {
    if (error instanceof NotFoundError) return false
    throw error
  }
}

async function changedAnswer(
  { params, reach, audit, redaction, changes }: Call<{ id: string }>,
  action: string,
  change: () => Promise<Schedule>,
): Promise<Answer> {
  const before = await existing(reach.schedules, params.id)
  const after = await change()
  audit.schedule(action, params.id, before, after)
  changes.mark(['schedules'])
  return { status: 200, body: shownSchedule(after, redaction) }
}

/** What was hidden from the one who edits is not overwritten by what was shown in its place. */
function withoutMarkers<Body extends { readonly args?: unknown }>(
  body: Body,
  { redaction }: Pick<Call, 'redaction'>,
  stored: Schedule | null,
): Body {
  if (body.args === undefined) return body
  return { ...body, args: redaction.restored('args', body.args, stored?.args) }
}

function wordsOf(text: string): string | null {
  try {
    return inWords(timer(text))
  } catch {
    return null
  }
}
