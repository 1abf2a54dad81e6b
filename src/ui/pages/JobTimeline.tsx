/** The history of a job in chronological order: its submission, each attempt, and its outcome. */
import type { ComponentChildren } from 'preact'
import type { Attempts, Job } from '../api/generated/api.ts'
import { useApi } from '../api/query.ts'
import { Icon, type IconName } from '../parts/Icon.tsx'
import { Loaded } from '../parts/placeholders.tsx'
import { At, Took } from '../time/Time.tsx'
import { outcome } from './job-columns.tsx'

type Attempt = Attempts['items'][number]

interface Step {
  readonly icon: IconName
  readonly tone?: 'good' | 'bad' | 'now' | undefined
  readonly title: string
  readonly details?: ComponentChildren
  readonly at: string | null
}

export function JobTimeline({ job }: { readonly job: Job }) {
  const query = useApi('/api/v1/jobs/{id}/attempts', { path: { id: job.id } }, ['jobs'])
  return (
    <Loaded query={query} rows={3}>
      {({ items }) => (
        <ol class="course">
          {steps(job, items).map(({ icon, tone, title, details, at }, index) => (
            <li key={index} class={tone}>
              <Icon name={icon} />
              <div>
                {title}
                {at !== null && (
                  <span class="below">
                    <At at={at} />
                  </span>
                )}
                {details}
              </div>
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  )
}

function steps(job: Job, attempts: readonly Attempt[]): Step[] {
  if (job.state === 'skipped')
    return [{ icon: 'skipped', title: `Skipped: ${outcome(job)}`, at: job.slot ?? job.submittedAt }]
  const steps: Step[] = [{ icon: 'plus', title: 'Submitted', at: job.submittedAt }]
  steps.push(...attempts.map(attemptStep))
  if (job.state === 'blocked')
    steps.push({ icon: 'blocked', tone: 'now', title: 'Waiting until the earlier job finishes', at: null })
  if (job.state === 'waiting') {
    const { attempt, runAt: at } = job
    const title = at === null ? 'Waiting for a free worker' : 'Not before'
    if (attempt > 0) steps.push({ icon: 'retrying', tone: 'now', title: `Attempt ${attempt + 1} is due`, at })
    else steps.push({ icon: 'waiting', tone: 'now', title, at })
  }
  if (job.stopRequestedAt !== null)
    steps.push({ icon: 'stop', title: 'Asked to stop', at: job.stopRequestedAt })
  if (job.finishedAt !== null)
    steps.push({ icon: job.state, title: job.state, at: job.finishedAt, ...ENDS[job.state] })
  return steps
}

function attemptStep({ attempt, outcome, worker, startedAt: started, endedAt: ended, error }: Attempt): Step {
  const { icon, tone, text } = OUTCOMES[outcome ?? 'running']
  const [firstLine = ''] = error?.split('\n', 1) ?? []
  return {
    icon,
    tone,
    title: `Attempt ${attempt} ${text}`,
    at: started,
    details: (
      <>
        <span class="below">
          {worker !== null && <>on {worker}, </>}
          {ended === null ? 'for ' : 'took '}
          <Took from={started} to={ended} />
        </span>
        {ended !== null && (
          <span class="below">
            ended <At at={ended} />
          </span>
        )}
        {firstLine !== '' && <span class="below">{firstLine}</span>}
      </>
    ),
  }
}

const OUTCOMES = {
  running: { icon: 'running', tone: 'now', text: 'is running' },
  success: { icon: 'success', tone: 'good', text: 'succeeded' },
  failed: { icon: 'failed', tone: 'bad', text: 'failed' },
  timeout: { icon: 'late', tone: 'bad', text: 'timed out' },
  cancelled: { icon: 'cancelled', tone: undefined, text: 'was cancelled' },
  released: { icon: 'retrying', tone: undefined, text: 'was released by a stopping worker' },
  snoozed: { icon: 'waiting', tone: undefined, text: 'asked to run again later' },
  lost: { icon: 'dead', tone: 'bad', text: 'was lost with its worker' },
} as const

const ENDS: Readonly<Partial<Record<Job['state'], Pick<Step, 'tone' | 'title'>>>> = {
  success: { tone: 'good', title: 'Succeeded' },
  failed: { tone: 'bad', title: 'Failed permanently' },
  cancelled: { title: 'Cancelled' },
}
