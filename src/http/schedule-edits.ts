/** Handles concurrent edits of a schedule with entity tags, `If-Match` and retries. */
import { ConflictError, missing, VersionError } from '../errors.ts'
import type { IfVersion, Schedule } from '../index.ts'
import type { Answer, Call } from './operation.ts'
import { invalidField } from './problem.ts'
import { shownSchedule } from './shown.ts'

const MAX_TRIES = 3

type Edit<Result, Before = Schedule> = (before: Before, options: IfVersion) => Promise<Result>
type ScheduleCall = Call<{ readonly id: string }>

/**
 * Changes a schedule based on the version that was read: `If-Match` and the hook refer to this version, and the
 * restored secrets come from it. Versions for `If-Match` exclude secrets, so the write requires the whole row to be
 * unchanged since it was read.
 *
 * @throws VersionError when the caller's `If-Match` names another version
 * @throws ConflictError after repeated concurrent edits
 */
export async function onBasis<Before extends Schedule | null, Result>(
  { params, request, reach }: ScheduleCall,
  read: () => Promise<Before>,
  change: Edit<Result, Before>,
): Promise<Result> {
  const wanted = ifMatch(request)
  for (let attempt = 1; ; attempt += 1) {
    const before = await read()
    if (wanted !== null && (before === null || reach.schedules.versionOf(before) !== wanted))
      throw new VersionError(params.id)
    try {
      return await change(before, { ifVersion: before })
    } catch (error) {
      if (!(error instanceof VersionError)) throw error
      if (attempt === MAX_TRIES) throw new ConflictError(error.message)
    }
  }
}

/** Like `onBasis`, but the schedule must exist, and the hook must permit the change. @throws NotFoundError */
export function onExisting<Result>(call: ScheduleCall, change: Edit<Result>): Promise<[Schedule, Result]> {
  const read = () => existing(call)
  return onBasis(call, read, async (before, options) => {
    await call.permit({ task: before.task, scheduleId: call.params.id })
    return [before, await change(before, options)]
  })
}

/** @throws NotFoundError */
export async function existing({ params, reach }: Pick<ScheduleCall, 'params' | 'reach'>): Promise<Schedule> {
  return (await reach.schedules.get(params.id)) ?? missing('schedule', params.id)
}

export async function edited(call: ScheduleCall, change: Edit<Schedule>): Promise<Answer> {
  const [before, after] = await onExisting(call, change)
  call.writes.schedule(call.params.id, before, after)
  return scheduleAnswer(after, call)
}

/** @throws NotFoundError */
export async function removed(call: ScheduleCall): Promise<void> {
  const { id } = call.params
  const [before] = await onExisting(call, (_, options) => call.reach.schedules.delete(id, options))
  call.writes.schedule(id, before, null)
}

/** Adds a warning if no worker is known to handle the task of the schedule that was written. */
export async function withWarning(
  answer: Answer,
  task: string | undefined,
  { reach }: Pick<Call, 'reach'>,
): Promise<Answer> {
  const warning = task === undefined ? null : await reach.jobs.taskWarning(task)
  return warning === null ? answer : { ...answer, body: Object.assign({}, answer.body, { warning }) }
}

export function scheduleAnswer(
  schedule: Schedule,
  call: Pick<Call, 'access' | 'redaction' | 'reach'>,
  { status = 200, ...headers }: { readonly status?: number; readonly location?: string } = {},
): Answer {
  const etag = `"${call.reach.schedules.versionOf(schedule)}"`
  return { status, body: shownSchedule(schedule, call), headers: { etag, ...headers } }
}

/**
 * @returns null if there is no such header, so that any version matches
 * @throws Problem 422 if the header is not one strong entity tag (RFC 9110, section 13.1.1)
 */
function ifMatch(request: Request): string | null {
  const wanted = request.headers.get('if-match')
  if (wanted === null) return null
  const tag = /^ *"([\w-]{22})" *$/.exec(wanted)?.[1]
  if (tag === undefined)
    throw invalidField('if-match', 'must be one entity tag, as in the ETag header of the schedule')
  return tag
}

/** Restores the stored secrets in place of the markers that the editor was shown. */
export function withoutMarkers<Body extends { readonly args?: unknown }>(
  body: Body,
  { redaction }: Pick<Call, 'redaction'>,
  stored: Schedule | null,
): Body {
  if (body.args === undefined) return body
  return { ...body, args: redaction.restored('args', body.args, stored?.args) }
}
