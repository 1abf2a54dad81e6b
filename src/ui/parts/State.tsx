/** A state: icon, word and colour, so that none of them is needed to tell it. */
import type { JobState, ScheduleStatus } from '../api/types.ts'
import { Icon } from './Icon.tsx'

const MEANINGS: Readonly<Record<JobState | ScheduleStatus, string>> = {
  active: 'Runs when its timer says so',
  paused: 'Nothing is submitted until it is resumed',
  done: 'Nothing more is to come',
  dead: 'A run failed for good, and it stops then; reset revives it',
  invalid: 'Its timer cannot be read; it goes on when the timer is edited',
  retired: 'The code does not declare it any more',
  running: 'A worker runs it now',
  waiting: 'For a worker that has room, or for its time',
  blocked: 'Its turn comes when the job before it ends',
  success: 'Its handler ended well',
  failed: 'Its last attempt failed',
  cancelled: 'Somebody cancelled it',
  skipped: 'The slot became no run; the reason is recorded',
}

export function State({
  of,
  isRetry = false,
}: {
  readonly of: JobState | ScheduleStatus
  readonly isRetry?: boolean
}) {
  return (
    <span class={`state ${of}`} title={MEANINGS[of]}>
      <Icon name={of} />
      {isRetry ? 'retrying' : of}
    </span>
  )
}
