/** `/api/v1/schedules` */
import { ConflictError, NotFoundError, VersionError } from '../errors.ts'
import type { IfVersion, Schedule, Schedules } from '../index.ts'
import { inWords, localText, timer } from '../timer/index.ts'
import { type Access, requirePermission } from './access.ts'
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
      permission: 'read',
      query: schemas.SchedulesQuery,
      answers: { 200: { says: 'A page', schema: schemas.SchedulePage } },
      run: async (call) => {
        const { query, reach } = call
        const { runs, ...view } = query
        if (runs !== undefined && (view.limit ?? 100) > RUNS_WITHIN)
          throw invalidField('limit', `with runs, at most ${RUNS_WITHIN} schedules come at a time`)
        const { items, ...total } = await reach.schedules.list(view)
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
              ...shownSchedule(item, call),
              timerDescription: timerDescription(item.timer),
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
      permission: 'admin',
      body: schemas.NewSchedule,
      answers: {
        200: { says: 'It was there already, and says the same', schema: schemas.Schedule },
        201: { says: 'It was made', schema: schemas.Schedule },
      },
      run: async (call) => {
        const { body, reach, audit, base } = call
        checkOwner(body, call.access)
        const { id, ...input } = body
        await call.permit({ task: input.task, schedule: id ?? null })
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
          body: shownSchedule(made, call),
          headers: {
            ...tagOf(made, reach.schedules),
            location: `${base}api/v1/schedules/${encodeURIComponent(made.id)}`,
          },
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
      description: 'Ids that are not there are left out. It ends at the first that may not be deleted.',
      permission: 'admin',
      body: schemas.Ids,
      answers: { 204: { says: 'They are gone' } },
      run: async ({ body, reach, permit, audit, changes }) => {
        for (const id of new Set(body.ids)) {
          const before = await reach.schedules.get(id)
          if (before === null) continue
          await permit({ task: before.task, schedule: id })
          if (!(await deleted(reach.schedules, id, before))) continue
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
      permission: 'read',
      params: ScheduleParams,
      answers: { 200: schedule },
      run: async (call) => {
        const found = await existing(call.reach.schedules, call.params.id)
        return { status: 200, body: shownSchedule(found, call), headers: tagOf(found, call.reach.schedules) }
      },
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
      permission: 'admin',
      params: ScheduleParams,
      body: schemas.ScheduleInput,
      answers: {
        200: changed,
        201: { says: 'It was made', schema: schemas.Schedule },
      },
      run: async (call) => {
        const { params, body, reach, audit } = call
        checkOwner(body, call.access)
        const { before, result, after } = await onBasis(call, params.id, async (before, options) => {
          for (const task of new Set([before?.task ?? body.task, body.task]))
            await call.permit({ task, schedule: params.id })
          const input = withoutMarkers(body, call, before)
          const { result, schedule: after } = await reach.schedules.put(params.id, input, options)
          return { before, result, after }
        })
        if (result !== 'unchanged') {
          audit.schedule('putSchedule', params.id, before, after)
          call.changes.mark(['schedules'])
        }
        return {
          status: result === 'created' ? 201 : 200,
          body: shownSchedule(after, call),
          headers: tagOf(after, reach.schedules),
        }
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
      permission: 'admin',
      params: ScheduleParams,
      body: schemas.ScheduleChanges,
      answers: { 200: changed },
      run: async (call) => {
        checkOwner(call.body, call.access)
        return changedAnswer(call, 'changeSchedule', (before, options) =>
          call.reach.schedules.update(call.params.id, withoutMarkers(call.body, call, before), options),
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
      permission: 'admin',
      params: ScheduleParams,
      answers: { 204: { says: 'It is gone' } },
      run: async (call) => {
        const { params, reach, permit, audit, changes } = call
        const before = await onBasis(call, params.id, async (found, options) => {
          if (found === null) throw new NotFoundError('schedule', params.id)
          await permit({ task: found.task, schedule: params.id })
          await reach.schedules.delete(params.id, options)
          return found
        })
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
        permission: 'operate',
        params: ScheduleParams,
        answers: { 200: changed, 400: { says: 'It is not in the state for this' } },
        run: (call) =>
          changedAnswer(call, `${action}Schedule`, (_, options) =>
            call.reach.schedules[action](call.params.id, options),
          ).catch((error: unknown) => {
            // The id is right and nothing is in the way: it is asked of the wrong state.
            if (error instanceof ConflictError) throw new Problem(400, 'WRONG_STATE', error.message)
            throw error
          }),
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
      permission: 'operate',
      params: ScheduleParams,
      body: schemas.RunInput,
      bodyOptional: true,
      answers: { 200: { says: 'It was submitted', schema: schemas.JobReference } },
      run: async (call) => {
        const { params, body, reach, access, permit, audit, changes, redaction } = call
        if (body?.args !== undefined) requirePermission(access, 'submit')
        const { job, args } = await onBasis(call, params.id, async (before, { ifVersion }) => {
          if (before === null) throw new NotFoundError('schedule', params.id)
          if (typeof ifVersion === 'string' && ifVersion !== reach.schedules.versionOf(before))
            throw new VersionError(params.id)
          await permit({ task: before.task, schedule: params.id })
          const restored = redaction.restored('args', body?.args, before.args)
          const options = { task: before.task, ...(restored !== undefined && { args: restored }) }
          return { job: await reach.schedules.runNow(params.id, options), args: restored }
        })
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
      permission: 'read',
      params: ScheduleParams,
      query: schemas.HistoryQuery,
      answers: { 200: { says: 'Runs and skips', schema: schemas.History } },
      run: async (call) => {
        const jobs = await call.reach.schedules.history(call.params.id, call.query)
        return { status: 200, body: { items: jobs.map((job) => shownJob(job, call)) } }
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
      permission: 'read',
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
      permission: 'read',
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

/**
 * A scope writes its owner by itself; another one is refused rather than overwritten without a word. So is the field
 * that the scope leaves open: with it, a row would appear among those of another owner.
 */
export function checkOwner(
  body: { readonly group?: string | undefined; readonly submitter?: string | null | undefined },
  { scope }: Access,
): void {
  if (scope === undefined) return
  for (const field of ['group', 'submitter'] as const)
    if (body[field] !== undefined && body[field] !== scope[field])
      throw new Problem(403, 'OUT_OF_SCOPE', `${field}: you may only write your own`, {
        errors: [{ field, detail: 'you may only write your own; leave it out' }],
      })
}

function tagOf(found: Schedule, schedules: Schedules): { readonly etag: string } {
  return { etag: `"${schedules.versionOf(found)}"` }
}

/** How often a change is tried again after a concurrent edit. */
const MOST_TRIES = 3

/**
 * Changes a schedule on the basis of what was read: what the hook has permitted, and the secrets that were put back, are
 * those of this very row.
 *
 * @throws Problem 412 when the caller's `If-Match` names another version
 * @throws ConflictError when others change the schedule again and again
 */
async function onBasis<Result>(
  { request, reach }: Pick<Call, 'request' | 'reach'>,
  id: string,
  change: (before: Schedule | null, options: IfVersion) => Promise<Result>,
): Promise<Result> {
  const wanted = ifMatch(request)
  for (let attempt = 1; ; attempt += 1) {
    const before = await reach.schedules.get(id)
    try {
      return await change(before, wanted ?? { ifVersion: before ?? undefined })
    } catch (error) {
      if (!(error instanceof VersionError) || wanted !== null) throw error
      if (attempt === MOST_TRIES) throw new ConflictError(error.message)
    }
  }
}

/**
 * The version that the header `If-Match` asks for (RFC 9110, section 13.1.1); null: any.
 *
 * @throws Problem 422 for what is not one strong entity tag
 */
function ifMatch(request: Request): IfVersion | null {
  const wanted = request.headers.get('if-match')
  if (wanted === null) return null
  const tag = /^ *"([\w-]{22})" *$/.exec(wanted)?.[1]
  if (tag === undefined)
    throw invalidField('if-match', 'one entity tag is needed, as the header etag of the schedule has it')
  return { ifVersion: tag }
}

async function existing(schedules: Schedules, id: string): Promise<Schedule> {
  const found = await schedules.get(id)
  if (found === null) throw new NotFoundError('schedule', id)
  return found
}

async function deleted(schedules: Schedules, id: string, before: Schedule): Promise<boolean> {
  try {
    await schedules.delete(id, { ifVersion: before })
    return true
  } catch (error) {
    if (error instanceof NotFoundError) return false
    throw error
  }
}

async function changedAnswer(
  call: Call<{ id: string }>,
  action: string,
  change: (before: Schedule, options: IfVersion) => Promise<Schedule>,
): Promise<Answer> {
  const { params, reach, permit, audit, changes } = call
  const { before, after } = await onBasis(call, params.id, async (found, options) => {
    if (found === null) throw new NotFoundError('schedule', params.id)
    await permit({ task: found.task, schedule: params.id })
    return { before: found, after: await change(found, options) }
  })
  audit.schedule(action, params.id, before, after)
  changes.mark(['schedules'])
  return { status: 200, body: shownSchedule(after, call), headers: tagOf(after, reach.schedules) }
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

function timerDescription(text: string): string | null {
  try {
    return inWords(timer(text))
  } catch {
    return null
  }
}
