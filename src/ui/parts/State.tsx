/** A state as icon, word and colour: each of them is enough to recognise it. */
import type { Job, Schedule } from '../api/generated/api.ts'
import { Icon } from './Icon.tsx'

type AnyState = Job['state'] | Schedule['status']

const MEANINGS: Readonly<Record<AnyState, string>> = {
  active: 'Runs at the times of its timer',
  paused: 'No jobs are submitted until it is resumed',
  done: 'No more runs will follow',
  dead: 'A run failed after all retries; reset the schedule to revive it',
  invalid: 'Its timer cannot be read; edit the timer to continue',
  retired: 'No longer declared in code',
  running: 'A worker is running it',
  waiting: 'Waiting for a free worker, or for its time',
  blocked: 'Starts when the job before it has finished',
  success: 'Its handler succeeded',
  failed: 'Its last attempt failed',
  cancelled: 'It was cancelled',
  skipped: 'This slot was skipped; the reason is recorded',
}

interface StateProps {
  readonly of: AnyState
  readonly isRetry?: boolean
}

export function State({ of, isRetry = false }: StateProps) {
  return (
    <span class={`state ${of}`} title={MEANINGS[of]}>
      <Icon name={of} />
      {isRetry ? 'retrying' : of}
    </span>
  )
}

export function JobState({ job }: { readonly job: Pick<Job, 'state' | 'attempt'> }) {
  return <State of={job.state} isRetry={job.state === 'waiting' && job.attempt > 0} />
}
