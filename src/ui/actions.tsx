/** What users do to schedules and jobs: asks first where needed, and reports the result. */
import { api, contentOf, OfflineError } from './api/client.ts'
import type { Job, JobsAction, JobsActionAnswer } from './api/generated/api.ts'
import { notify } from './api/live.ts'
import { ask } from './parts/dialog.tsx'
import { toast, toastError } from './parts/toast.tsx'
import { count } from './time/format.ts'

export type ScheduleAction = 'pause' | 'resume' | 'run' | 'reset'
export type BulkJobAction = 'retry' | 'cancel'

const DONE: Readonly<Record<ScheduleAction, string>> = {
  pause: 'paused',
  resume: 'resumed',
  run: 'run started',
  reset: 'reset, counters set to zero',
}

/** Requests at a time, so that a bulk action does not block other users. */
const CONCURRENCY = 4
const NAMES_SHOWN = 8

/** Shows the error of an action, if it has one, and refreshes the page. @returns whether it succeeded */
export async function perform(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action()
    return true
  } catch (error) {
    toastError(error)
    return false
  } finally {
    notify('schedules', 'jobs')
  }
}

function act(id: string, action: ScheduleAction) {
  return api.POST(`/api/v1/schedules/{id}/${action}`, { params: { path: { id } } })
}

export function actOn(id: string, action: ScheduleAction): Promise<boolean> {
  return perform(async () => {
    await act(id, action)
    toast(`${id}: ${DONE[action]}`)
  })
}

export async function actOnMany(
  ids: readonly string[],
  action: ScheduleAction,
  label: string,
): Promise<boolean> {
  const title = `${label}: ${countOf(ids, 'schedule')}?`
  if (!(await ask({ title, body: <Names ids={ids} />, action: label }))) return false
  return perform(async () => {
    let done = 0
    const errors: unknown[] = []
    for (let start = 0; start < ids.length; start += CONCURRENCY) {
      const batch = ids.slice(start, start + CONCURRENCY)
      for (const result of await Promise.allSettled(batch.map((id) => act(id, action))))
        if (result.status === 'fulfilled') done += 1
        else errors.push(result.reason)
      if (errors.some((error) => error instanceof OfflineError)) break
    }
    report(
      label,
      ids.length,
      done,
      errors.map((error) => (error instanceof Error ? error.message : String(error))),
    )
  })
}

export async function removeSchedules(
  ids: readonly string[],
  declaredBy: string | null = null,
): Promise<boolean> {
  const [only] = ids
  const isOne = ids.length === 1 && only !== undefined
  const names = isOne ? only : countOf(ids, 'schedule')
  const body = (
    <>
      {!isOne && <Names ids={ids} />}
      <p>Jobs that were already submitted are kept. This cannot be undone.</p>
      {declaredBy !== null && (
        <p>The set '{declaredBy}' declares it in code, so it will return within minutes. Pause it instead.</p>
      )}
    </>
  )
  if (!(await ask({ title: `Delete ${names}?`, body, action: 'Delete', isDangerous: true }))) return false
  return perform(async () => {
    if (isOne) await api.DELETE('/api/v1/schedules/{id}', { params: { path: { id: only } } })
    else await api.POST('/api/v1/schedules/batch-delete', { body: { ids: [...ids] } })
    toast(`Deleted ${names}`)
  })
}

export async function cancelJob({ id, state }: Job): Promise<void> {
  const yes = await ask({
    title: 'Cancel this job?',
    body:
      state === 'running' ? 'Its handler is asked to stop. Work already done is kept.' : 'It will not run.',
    action: 'Cancel the job',
    dismiss: 'Go back',
    isDangerous: true,
  })
  if (!yes) return
  await perform(async () => {
    const job = await contentOf(api.POST('/api/v1/jobs/{id}/cancel', { params: { path: { id } } }))
    toast(job.state === 'running' ? 'The job was asked to stop' : 'The job is cancelled')
  })
}

export async function retryJob(id: string): Promise<void> {
  await perform(async () => {
    await api.POST('/api/v1/jobs/{id}/retry', { params: { path: { id } } })
    toast('The job will run again, starting with attempt 1')
  })
}

export const BULK_JOB_ACTIONS = {
  retry: {
    label: 'Retry',
    body: 'Failed and cancelled jobs run again, starting with attempt 1. Other jobs do not change.',
    isDangerous: false,
  },
  cancel: {
    label: 'Cancel',
    body: 'Waiting jobs will not run. Running jobs are asked to stop.',
    dismiss: 'Go back',
    isDangerous: true,
  },
} as const

export async function actOnJobs(ids: readonly string[], action: BulkJobAction): Promise<boolean> {
  const { label, ...question } = BULK_JOB_ACTIONS[action]
  const title = `${label} ${countOf(ids, 'job')}?`
  if (!(await ask({ ...question, title, action: `${label} ${ids.length === 1 ? 'job' : 'jobs'}` })))
    return false
  return perform(async () => {
    const answer = await contentOf(api.POST(`/api/v1/jobs/${action}`, { body: { ids: [...ids] } }))
    reportJobs(label, ids.length, answer)
  })
}

/** Retries or cancels all jobs that match a filter, after asking with their number. */
export async function actOnMatching(
  filter: NonNullable<JobsAction['filter']>,
  action: BulkJobAction,
): Promise<void> {
  const path = `/api/v1/jobs/${action}` as const
  const { label, body, ...question } = BULK_JOB_ACTIONS[action]
  await perform(async () => {
    const { matched, matchedIsExact } = await contentOf(api.POST(path, { body: { filter, dryRun: true } }))
    const number = `${matchedIsExact ? '' : 'more than '}${count(matched)}`
    const yes = await ask({
      ...question,
      title: `${label} ${number} ${filter.state ?? ''} jobs?`,
      body: `This applies to every page of the list. ${body}`,
      action: label,
    })
    for (let more = yes; more; ) {
      const answer = await contentOf(api.POST(path, { body: { filter } }))
      reportJobs(label, matched, answer)
      // Jobs that were refused or asked to stop would match again each time.
      const isProgress = answer.changed.length > 0 && answer.refused.length === 0
      more = answer.more && filter.state !== 'running' && isProgress
    }
  })
}

function reportJobs(label: string, asked: number, { changed, refused }: JobsActionAnswer): void {
  report(
    label,
    asked,
    changed.length,
    refused.map(({ detail }) => detail),
  )
}

function report(label: string, asked: number, done: number, errors: readonly string[]): void {
  if (done > 0) toast(`${label}: done for ${count(done)} of ${count(asked)}`)
  const [first] = errors
  if (first !== undefined) toastError(`${label}: ${count(errors.length)} refused. ${first}`)
  else if (done === 0) toastError(`${label}: nothing to do`)
}

function countOf(ids: readonly string[], noun: string): string {
  return `${count(ids.length)} ${noun}${ids.length === 1 ? '' : 's'}`
}

function Names({ ids }: { readonly ids: readonly string[] }) {
  const more = ids.length - NAMES_SHOWN
  return (
    <ul>
      {ids.slice(0, NAMES_SHOWN).map((id) => (
        <li key={id}>{id}</li>
      ))}
      {more > 0 && <li class="quiet">and {count(more)} more</li>}
    </ul>
  )
}
