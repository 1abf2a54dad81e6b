/** What became of a job, in order of time. */
import type { ComponentChildren } from 'preact'
import type { Job } from '../api/generated/api.ts'
import { Icon, type IconName } from '../parts/Icon.tsx'
import { At } from '../time/Time.tsx'
import { outcome } from './job-columns.tsx'
import type { LogLine } from './Log.tsx'

interface Step {
  readonly icon: IconName
  readonly tone?: 'good' | 'bad' | 'now'
  readonly what: ComponentChildren
  readonly at: string | null
}

export function JobTimeline({ job, lines }: { readonly job: Job; readonly lines: readonly LogLine[] }) {
  return (
    <ol class="course">
      {steps(job, lines).map(({ icon, tone, what, at }, index) => (
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

function steps(job: Job, lines: readonly LogLine[]): Step[] {
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
  steps.push(...failedBefore(job, isRetried ? job.attempt : job.attempt - 1, lines))
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

/** The attempts before the last one; of those that the log does not tell of, only that they failed. */
function failedBefore(job: Job, count: number, lines: readonly LogLine[]): Step[] {
  const told = lines.flatMap(({ at, message }): Step[] => {
    const [, number = '', error] = /^Attempt (\d+) failed: (.*)/u.exec(message) ?? []
    if (number === '' || Number(number) > count) return []
    const what = (
      <>
        Attempt {number} failed<span class="below">{error}</span>
      </>
    )
    return [{ icon: 'failed', tone: 'bad', what, at }]
  })
  if (count <= 0 || told.length > 0) return told
  const what = count === 1 ? 'Attempt 1 failed' : `Attempts 1 to ${count} failed`
  return [{ icon: 'failed', tone: 'bad', what, at: job.state === 'waiting' ? job.started : null }]
}

const ENDS: Readonly<Partial<Record<Job['state'], string>>> = {
  success: 'Ended well',
  failed: 'Failed for good',
  cancelled: 'Cancelled',
}
