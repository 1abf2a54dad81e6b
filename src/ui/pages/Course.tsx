/** What became of a job, in order of time. */
import type { ComponentChildren } from 'preact'
import type { Job } from '../api/types.ts'
import { Icon, type IconName } from '../parts/Icon.tsx'
import { At } from '../time/Time.tsx'
import { outcome } from './History.tsx'

interface Step {
  readonly icon: IconName
  readonly tone?: 'good' | 'bad' | 'now'
  readonly what: ComponentChildren
  readonly at: string | null
}

export function Course({ job }: { readonly job: Job }) {
  return (
    <ol class="course">
      {steps(job).map(({ icon, tone, what, at }, index) => (
        <li key={index} class={tone}>
          <Icon name={icon} />
          <div>
            {what}
            {at !== null && (
              <span class="below">
                <At at={at} />
              </span>
            )}
          </div>
        </li>
      ))}
    </ol>
  )
}

function steps(job: Job): Step[] {
  if (job.state === 'skipped')
    return [{ icon: 'skipped', what: `Skipped: ${outcome(job)}`, at: job.slot ?? job.submitted }]
  const steps: Step[] = [{ icon: 'plus', what: 'Submitted', at: job.submitted }]
  const isRetried = job.state === 'waiting' && job.attempt > 0
  if (job.runAt !== null && job.attempt === 0)
    steps.push({ icon: 'waiting', what: 'Not before', at: job.runAt })
  if (job.state === 'blocked')
    steps.push({ icon: 'blocked', tone: 'now', what: 'Waits for the end of the job before it', at: null })
  if (job.state === 'waiting' && job.attempt === 0 && job.runAt === null)
    steps.push({ icon: 'waiting', tone: 'now', what: 'Waits for a worker that has room', at: null })
  const failedBefore = isRetried ? job.attempt : job.attempt - 1
  if (failedBefore > 0) {
    const attempts = failedBefore === 1 ? 'Attempt 1 failed' : `Attempts 1 to ${failedBefore} failed`
    steps.push({ icon: 'failed', tone: 'bad', what: attempts, at: isRetried ? job.started : null })
  }
  if (isRetried)
    steps.push({ icon: 'reset', tone: 'now', what: `Attempt ${job.attempt + 1} is to come`, at: job.runAt })
  else if (job.started !== null)
    steps.push({
      icon: 'running',
      ...(job.state === 'running' && { tone: 'now' as const }),
      what: `Attempt ${job.attempt} began${job.worker === null ? '' : ` on ${job.worker.split('/')[0] ?? ''}`}`,
      at: job.started,
    })
  if (job.stopRequested !== null) steps.push({ icon: 'stop', what: 'Asked to stop', at: job.stopRequested })
  if (job.finished !== null)
    steps.push({
      icon: job.state,
      ...(job.state === 'success'
        ? { tone: 'good' as const }
        : job.state === 'failed'
          ? { tone: 'bad' as const }
          : {}),
      what: ENDS[job.state] ?? job.state,
      at: job.finished,
    })
  return steps
}

const ENDS: Readonly<Partial<Record<Job['state'], string>>> = {
  success: 'Ended well',
  failed: 'Failed for good',
  cancelled: 'Cancelled',
}
