import { spanText } from '../../duration.ts'
import { cancelJob, retryJob } from '../actions.tsx'
import type { Attempts, Job, ShownJob } from '../generated/api.ts'
import { useApi } from '../api/query.ts'
import { Button } from '../parts/Button.tsx'
import { Copy, Json } from '../parts/Json.tsx'
import { Facts, PageHead, Section } from '../parts/layout.tsx'
import { Loaded, Stale } from '../parts/placeholders.tsx'
import { ProgressBar, shareOf } from '../parts/Progress.tsx'
import { JobState } from '../parts/State.tsx'
import { link } from '../router.ts'
import { mayOperate } from '../session.ts'
import { At, Took } from '../time/Time.tsx'
import { count } from '../time/format.ts'
import { JobTook, outcome, ScheduleOf } from './job-columns.tsx'
import { Log, useLog } from './Log.tsx'
import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from '../parts/Icon.tsx'

export function JobPage({ id }: { readonly id: string }) {
  const query = useApi('/api/v1/jobs/{id}', { path: { id } }, ['jobs'])
  const log = useLog(id, query.data?.state === 'running')
  return (
    <>
      {query.data === undefined ? <h1 tabIndex={-1}>Job</h1> : <Head job={query.data} />}
      <Stale query={query} />
      <Loaded query={query}>
        {(job) => (
          <>
            <Progress value={job.progress} isRunning={job.state === 'running'} />
            <div class="columns wide-left">
              <div>
                {job.error !== null && (
                  <Section title="Error" aside={<Copy text={job.error} what="Error" />}>
                    <pre class="block error" tabIndex={0} role="region" aria-label="Error">
                      {job.error}
                    </pre>
                  </Section>
                )}
                <Log {...log} isRunning={job.state === 'running'} />
                <Section title="Args">
                  <Json value={job.args} label="Args" />
                </Section>
                {job.result !== null && (
                  <Section title="Result">
                    <Json value={job.result} label="Result" />
                  </Section>
                )}
              </div>
              <div>
                <Section title="Timeline">
                  <JobTimeline job={job} />
                </Section>
                <Section title="Facts">
                  <Facts of={factsOf(job)} />
                </Section>
              </div>
            </div>
          </>
        )}
      </Loaded>
    </>
  )
}

function Head({ job }: { readonly job: Job }) {
  const { id, state, task, queue, finishedAt, stopRequestedAt: stopRequested } = job
  return (
    <PageHead
      title={task}
      crumb="Jobs"
      beside={
        <>
          <JobState job={job} />
          {stopRequested !== null && (state === 'running' || state === 'external') && (
            <span class="quiet">asked to stop</span>
          )}
        </>
      }
      below={<p class="lead mono">{id}</p>}
    >
      {mayOperate.value && queue === null && (state === 'failed' || state === 'cancelled') && (
        <Button label="Retry" icon="retrying" kind="primary" onClick={() => retryJob(id)} />
      )}
      {mayOperate.value && finishedAt === null && (
        <Button
          label="Cancel"
          icon="stop"
          kind="danger"
          disabled={stopRequested !== null}
          onClick={() => cancelJob(job)}
        />
      )}
    </PageHead>
  )
}

function Progress({ value, isRunning }: { readonly value: unknown; readonly isRunning: boolean }) {
  if (value === null || value === undefined) return null
  const share = shareOf(value)
  if (share !== null) return isRunning ? <ProgressBar share={share} class="progress" /> : null
  return (
    <p class="lead" role="status">
      Progress: {typeof value === 'string' ? value : <code>{JSON.stringify(value)}</code>}
    </p>
  )
}

function factsOf(job: Job) {
  const { slot, run, missed, task, queue, worker, group, subject, submitter, priority } = job
  const { attempt, retries, timeout } = job
  return {
    Schedule: <ScheduleOf job={job} />,
    Slot: slot !== null && <At at={slot} />,
    Run: run !== null && count(run),
    'Missed slots': missed > 0 && `${count(missed)} before it`,
    Task: <a href={link(['jobs'], { task })}>{task}</a>,
    'External queue': queue,
    Worker: worker !== null && <a href={link(['workers'])}>{worker}</a>,
    Took: <JobTook job={job} />,
    Attempts: `${attempt}${typeof retries === 'number' ? ` (at most ${retries + 1})` : ''}`,
    Timeout: timeout === null ? <span class="quiet">task default</span> : spanText(timeout),
    Group: group !== '' && <a href={link(['jobs'], { group })}>{group}</a>,
    Subject: subject,
    Submitter: submitter !== null && <a href={link(['jobs'], { submitter })}>{submitter}</a>,
    Priority: priority !== 0 && priority,
  }
}

type Attempt = Attempts['items'][number]

interface Step {
  readonly icon: IconName
  readonly tone?: 'good' | 'bad' | 'now' | undefined
  readonly title: string
  readonly details?: ComponentChildren
  readonly at: string | null
}

function JobTimeline({ job }: { readonly job: ShownJob }) {
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

function steps(job: ShownJob, attempts: readonly Attempt[]): Step[] {
  const { explanation } = job
  if (job.state === 'skipped')
    return [{ icon: 'skipped', title: `Skipped: ${outcome(job)}`, at: job.slot ?? job.submittedAt }]
  const steps: Step[] = [{ icon: 'plus', title: 'Submitted', at: job.submittedAt }]
  steps.push(...attempts.map(attemptStep))
  if (job.state === 'blocked')
    steps.push({ icon: 'blocked', tone: 'now', title: explanation ?? 'Blocked', at: null })
  if (job.state === 'waiting') {
    const icon = job.attempt > 0 ? 'retrying' : 'waiting'
    steps.push({ icon, tone: 'now', title: explanation ?? 'Waiting', at: null })
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
