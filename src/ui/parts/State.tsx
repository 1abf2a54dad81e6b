/** A state as an icon, a word and a colour, each of which is enough to recognise it. */
import type { Job, Schedule } from '../generated/api.ts'
import { Ago } from '../time/Time.tsx'
import { Icon } from './Icon.tsx'

type AnyState = Job['state'] | Schedule['status']

const MEANINGS: Readonly<Record<AnyState, string>> = {
  active: 'Runs at the times of its timer',
  retrying: 'Its last attempt failed; another attempt will follow',
  frozen: 'A freeze holds it until a given time',
  paused: 'No jobs are submitted until it is resumed',
  done: 'No more runs will follow',
  dead: 'A run failed and will not be retried; reset the schedule to reactivate it',
  invalid: 'Its timer cannot be read; edit the timer to continue',
  retired: 'No longer declared in code',
  running: 'A worker is running it',
  external: 'It is in an external queue, which will report the outcome',
  waiting: 'Waiting; its page says what for',
  blocked: 'Starts when the previous job has finished',
  success: 'Its handler succeeded',
  failed: 'Its last attempt failed',
  cancelled: 'It was cancelled',
  skipped: 'This slot was skipped; the reason is recorded',
}

export function State({ of }: { readonly of: AnyState }) {
  return (
    <span class={`state ${of}`} title={MEANINGS[of]}>
      <Icon name={of} />
      {of}
    </span>
  )
}

export function JobState({ job: { state, attempt } }: { readonly job: Pick<Job, 'state' | 'attempt'> }) {
  return <State of={state === 'waiting' && attempt > 0 ? 'retrying' : state} />
}

export function ScheduleState({ of }: { readonly of: Schedule }) {
  const { status, frozenUntil, retryAt, retry, retryLimit } = of
  return (
    <>
      <State of={status} />
      {status === 'frozen' && (
        <span class="below">
          until <Ago at={frozenUntil} />
        </span>
      )}
      {status === 'retrying' && (
        <span class="below">
          {retry}
          {retryLimit !== null && ` of ${retryLimit}`}, next <Ago at={retryAt} />
        </span>
      )}
    </>
  )
}
