import { api, contentOf, OfflineError } from './api/client.ts'
import type { Job, JobsAction, JobsActionAnswer } from './generated/api.ts'
import { notify } from './api/live.ts'
import { ask, type Question } from './parts/dialog.tsx'
import { toast, toastError } from './parts/toast.tsx'
import { count, counted } from './time/format.ts'

export type ScheduleAction = 'pause' | 'resume' | 'run' | 'reset'
export type BulkJobAction = 'retry' | 'cancel'

const DONE: Readonly<Record<ScheduleAction, string>> = {
  pause: 'paused',
  resume: 'resumed',
  run: 'job submitted',
  reset: 'reset, counters set to zero',
}

/** Maximum number of concurrent requests, so that a bulk action does not block other users. */
const CONCURRENCY = 4
const NAMES_SHOWN = 8

/** @returns whether the action was done: false if the user declines or the action fails */
export async function perform(action: () => Promise<unknown>, question?: Question): Promise<boolean> {
  if (question !== undefined && !(await ask(question))) return false
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

export function actOnMany(ids: readonly string[], action: ScheduleAction, label: string): Promise<boolean> {
  const title = `${label}: ${counted(ids.length, 'schedule')}?`
  return perform(
    async () => {
      let done = 0
      const errors: string[] = []
      for (let start = 0; start < ids.length; start += CONCURRENCY) {
        const batch = ids.slice(start, start + CONCURRENCY)
        const results = await Promise.allSettled(batch.map((id) => act(id, action)))
        const failed = results.filter((result) => result.status === 'rejected')
        done += results.length - failed.length
        errors.push(
          ...failed.map(({ reason }) => (reason instanceof Error ? reason.message : String(reason))),
        )
        if (failed.some(({ reason }) => reason instanceof OfflineError)) break
      }
      report(label, ids.length, done, errors)
    },
    { title, body: <Names ids={ids} />, action: label },
  )
}

export function removeSchedules(ids: readonly string[], declaredBy: string | null = null): Promise<boolean> {
  const [only] = ids
  const isOne = ids.length === 1 && only !== undefined
  const names = isOne ? only : counted(ids.length, 'schedule')
  const body = (
    <>
      {!isOne && <Names ids={ids} />}
      <p>Jobs that were already submitted are kept. This cannot be undone.</p>
      {declaredBy !== null && (
        <p>The set '{declaredBy}' declares it in code, so it will return within minutes. Pause it instead.</p>
      )}
    </>
  )
  return perform(
    async () => {
      if (isOne) await api.DELETE('/api/v1/schedules/{id}', { params: { path: { id: only } } })
      else await api.POST('/api/v1/schedules/batch-delete', { body: { ids: [...ids] } })
      toast(`Deleted ${names}`)
    },
    { title: `Delete ${names}?`, body, action: 'Delete', isDangerous: true },
  )
}

const BODIES: Readonly<Partial<Record<Job['state'], string>>> = {
  running: 'Its handler is asked to stop. Work already done is kept.',
  external: 'Its schedule will stop waiting for it, but the external queue may still run it.',
}

export function cancelJob({ id, state }: Job): Promise<boolean> {
  return perform(
    async () => {
      const job = await contentOf(api.POST('/api/v1/jobs/{id}/cancel', { params: { path: { id } } }))
      toast(job.state === 'running' ? 'The job was asked to stop' : 'The job is cancelled')
    },
    {
      title: 'Cancel this job?',
      body: BODIES[state] ?? 'It will not run.',
      action: 'Cancel the job',
      dismiss: 'Go back',
      isDangerous: true,
    },
  )
}

export function retryJob(id: string): Promise<boolean> {
  return perform(async () => {
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

export function actOnJobs(ids: readonly string[], action: BulkJobAction): Promise<boolean> {
  const { label, ...question } = BULK_JOB_ACTIONS[action]
  return perform(
    async () => {
      const answer = await contentOf(api.POST(`/api/v1/jobs/${action}`, { body: { ids: [...ids] } }))
      reportJobs(label, ids.length, answer)
    },
    { ...question, title: `${label} ${counted(ids.length, 'job')}?`, action: `${label} jobs` },
  )
}

export function actOnMatching(
  filter: NonNullable<JobsAction['filter']>,
  action: BulkJobAction,
): Promise<boolean> {
  const path = `/api/v1/jobs/${action}` as const
  const { label, body, ...question } = BULK_JOB_ACTIONS[action]
  return perform(async () => {
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
      // Jobs that the server refused to change, or only asked to stop, would match again each time.
      const isProgress = answer.changed.length > 0 && answer.refused.length === 0
      more = answer.more && filter.state !== 'running' && isProgress
    }
  })
}

function reportJobs(label: string, asked: number, { changed, refused }: JobsActionAnswer): void {
  const errors = refused.map(({ detail }) => detail)
  report(label, asked, changed.length, errors)
}

function report(label: string, asked: number, done: number, errors: readonly string[]): void {
  if (done > 0) toast(`${label}: done for ${count(done)} of ${count(asked)}`)
  const [first] = errors
  if (first !== undefined) toastError(`${label}: ${count(errors.length)} refused. ${first}`)
  else if (done === 0) toastError(`${label}: nothing to do`)
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
