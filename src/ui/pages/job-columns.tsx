import type { Job, ListedJob } from '../generated/api.ts'
import { JobState } from '../parts/State.tsx'
import type { Column } from '../parts/Table.tsx'
import { link } from '../router.ts'
import { Ago, Took } from '../time/Time.tsx'
import { count } from '../time/format.ts'

const SKIPPED: Readonly<Record<string, string>> = {
  overlap: 'the previous run had not finished',
  missed: 'it was late, or later slots were already due, and catch-up does not cover it',
  frozen: 'a freeze was in force',
  'max-runs': 'the runs in progress may reach the maximum number of runs',
  unsubmittable: 'it could not be submitted',
}

export function outcome(job: Job | ListedJob): string {
  const slots = job.missed > 1 ? `${count(job.missed)} slots: ` : ''
  if (job.state === 'skipped') return `${slots}${SKIPPED[job.reason ?? ''] ?? job.reason ?? ''}`
  if (job.error !== null && job.state !== 'success') return firstLine(job)
  if (job.missed > 0) return `stands for ${count(job.missed)} missed slots`
  return job.reason ?? ''
}

/** A list omits an error whose first line is too long. */
function firstLine(job: Job | ListedJob): string {
  const line = job.error?.split('\n')[0] ?? ''
  const bytes = 'truncated' in job ? job.truncated?.['error'] : undefined
  if (line !== '' || bytes === undefined) return line
  return `error of ${count(Math.ceil(bytes / 1000))} KB: open the run to see it`
}

/** The schedule that created the job. If it was deleted, another one may have the same id, so there is no link. */
export function ScheduleOf({ job: { scheduleId, scheduleDeleted } }: { readonly job: Job | ListedJob }) {
  if (scheduleId === null) return <span class="quiet">none: submitted directly</span>
  if (scheduleDeleted === true) return <span class="quiet">{scheduleId} (a deleted schedule)</span>
  return <a href={link(['schedules', scheduleId])}>{scheduleId}</a>
}

export const stateColumn: Column<ListedJob> = { title: 'State', cell: (job) => <JobState job={job} /> }

export const attemptColumn: Column<ListedJob> = {
  title: 'Attempt',
  kind: 'number',
  cell: ({ attempt }) => (attempt === 0 ? null : attempt),
}

export const tookColumn: Column<ListedJob> = {
  title: 'Took',
  kind: 'number',
  cell: (job) => <JobTook job={job} />,
}

export const outcomeColumn: Column<ListedJob> = {
  title: 'What happened',
  kind: 'wide',
  cell: (job) => (
    <span class={job.state === 'failed' ? 'clip bad' : 'clip quiet'}>
      {job.state === 'waiting' && job.runAt !== null ? (
        <>
          runs <Ago at={job.runAt} />
        </>
      ) : (
        outcome(job)
      )}
    </span>
  ),
}

/** How long the last attempt took, or has been running. */
export function JobTook({ job: { state, startedAt: started, finishedAt: finished } }: { readonly job: Job }) {
  const hasRun = state === 'running' || (finished !== null && state !== 'skipped')
  return <Took from={hasRun ? started : null} to={finished} />
}
