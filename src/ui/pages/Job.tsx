/** One job: its course, what went in and came out, its log as it grows. */
import { cancelJob, retryJob } from '../actions.tsx'
import { urls } from '../api/calls.ts'
import { isRecord } from '../api/client.ts'
import { useApi } from '../api/query.ts'
import type { Job } from '../api/types.ts'
import { Icon } from '../parts/Icon.tsx'
import { Copy, Json } from '../parts/Json.tsx'
import { Failure, Loading, Stale } from '../parts/placeholders.tsx'
import { State } from '../parts/State.tsx'
import { link } from '../router.ts'
import { mayOperate } from '../session.ts'
import { At, Took } from '../time/Time.tsx'
import { spanText } from '../../duration.ts'
import { count } from '../time/format.ts'
import { JobTimeline } from './JobTimeline.tsx'
import { Log, useLog } from './Log.tsx'

export function JobPage({ id }: { readonly id: string }) {
  const { data: job, error, reload } = useApi<Job>(urls.job(id), ['jobs'])
  const { lines, log } = useLog(id, job?.state === 'running')
  if (job === undefined) {
    return (
      <>
        <h1 tabIndex={-1}>Job</h1>
        {error === undefined ? <Loading /> : <Failure error={error} onRetry={reload} />}
      </>
    )
  }
  return (
    <>
      <header class="head">
        <div>
          <a class="crumb" href={link(['jobs'])}>
            Jobs
          </a>
          <div class="title-line">
            <h1 tabIndex={-1}>{job.task}</h1>
            <State of={job.state} isRetry={job.state === 'waiting' && job.attempt > 0} />
            {job.stopRequested !== null && job.state === 'running' && (
              <span class="quiet">asked to stop</span>
            )}
          </div>
          <p class="lead mono">{job.id}</p>
        </div>
        <Actions job={job} />
      </header>
      <Stale error={error} />
      <Progress value={job.progress} isRunning={job.state === 'running'} />
      <div class="columns wide-left">
        <div>
          {job.error !== null && <ErrorOf text={job.error} />}
          <Log lines={lines} log={log} isRunning={job.state === 'running'} />
          <section>
            <div class="section-head">
              <h2>Args</h2>
            </div>
            <Json value={job.args} label="Args" />
          </section>
          {job.result !== null && (
            <section>
              <div class="section-head">
                <h2>Result</h2>
              </div>
              <Json value={job.result} label="Result" />
            </section>
          )}
        </div>
        <div>
          <section>
            <div class="section-head">
              <h2>Timeline</h2>
            </div>
            <JobTimeline job={job} lines={lines} />
          </section>
          <Facts job={job} />
        </div>
      </div>
    </>
  )
}

function Actions({ job: { id, state, stopRequested } }: { readonly job: Job }) {
  if (!mayOperate.value) return null
  const isOpen = state === 'running' || state === 'waiting' || state === 'blocked'
  return (
    <div class="actions">
      {(state === 'failed' || state === 'cancelled') && (
        <button type="button" class="primary" onClick={() => void retryJob(id)}>
          <Icon name="reset" /> Retry
        </button>
      )}
      {isOpen && (
        <button
          type="button"
          class="danger"
          disabled={stopRequested !== null}
          onClick={() => void cancelJob(id, state === 'running')}
        >
          <Icon name="stop" /> Cancel
        </button>
      )}
    </div>
  )
}

/** A share from 0 to 1, or a percentage, is drawn; anything else is shown as it is. */
function Progress({ value, isRunning }: { readonly value: unknown; readonly isRunning: boolean }) {
  if (value === null || value === undefined) return null
  const share = shareOf(value)
  if (share === null) {
    return (
      <p class="lead" role="status">
        Progress: {typeof value === 'string' ? value : <code>{JSON.stringify(value)}</code>}
      </p>
    )
  }
  if (!isRunning) return null
  const percent = Math.round(share * 100)
  return (
    <div class="progress">
      <span
        class="bar"
        role="progressbar"
        aria-label="Progress"
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <span style={{ width: `${percent}%` }} />
      </span>
      {percent} %
    </div>
  )
}

export function shareOf(value: unknown): number | null {
  if (typeof value === 'number' && value >= 0) return value <= 1 ? value : value <= 100 ? value / 100 : null
  if (!isRecord(value)) return null
  const { percent, done, total } = value
  if (typeof percent === 'number') return Math.min(1, Math.max(0, percent / 100))
  return typeof done === 'number' && typeof total === 'number' && total > 0 ? Math.min(1, done / total) : null
}

/** The first line, and what caused it below. */
function ErrorOf({ text }: { readonly text: string }) {
  return (
    <section>
      <div class="section-head">
        <h2>Error</h2>
        <Copy text={text} what="Error" />
      </div>
      <pre class="block fault" tabIndex={0} role="region" aria-label="Error">
        {text}
      </pre>
    </section>
  )
}

function Facts({ job }: { readonly job: Job }) {
  const ofTask = <span class="quiet">as the task says</span>
  return (
    <section>
      <div class="section-head">
        <h2>Facts</h2>
      </div>
      <dl class="facts">
        <dt>Schedule</dt>
        <dd>
          {job.scheduleId === null ? (
            <span class="quiet">none: submitted by itself</span>
          ) : (
            <a href={link(['schedules', job.scheduleId])}>{job.scheduleId}</a>
          )}
        </dd>
        {job.slot !== null && (
          <>
            <dt>Slot</dt>
            <dd>
              <At at={job.slot} />
            </dd>
          </>
        )}
        {job.run !== null && (
          <>
            <dt>Run</dt>
            <dd>{count(job.run)}</dd>
          </>
        )}
        {job.missed > 0 && (
          <>
            <dt>Missed slots</dt>
            <dd>{count(job.missed)} before it</dd>
          </>
        )}
        <dt>Task</dt>
        <dd>
          <a href={link(['jobs'], { task: job.task })}>{job.task}</a>
        </dd>
        {job.worker !== null && (
          <>
            <dt>Worker</dt>
            <dd>
              <a href={link(['workers'])}>{job.worker}</a>
            </dd>
          </>
        )}
        <dt>Took</dt>
        <dd>
          <Took
            from={job.finished === null && job.state !== 'running' ? null : job.started}
            to={job.finished}
          />
        </dd>
        <dt>Attempts</dt>
        <dd>
          {job.attempt} {job.maxRetries === null ? null : <>of {job.maxRetries + 1} at most</>}
        </dd>
        <dt>Timeout</dt>
        <dd>{job.timeoutMs === null ? ofTask : spanText(job.timeoutMs)}</dd>
        {job.group !== '' && (
          <>
            <dt>Group</dt>
            <dd>
              <a href={link(['jobs'], { group: job.group })}>{job.group}</a>
            </dd>
          </>
        )}
        {job.subject !== null && (
          <>
            <dt>Subject</dt>
            <dd>{job.subject}</dd>
          </>
        )}
        {job.submitter !== null && (
          <>
            <dt>Submitter</dt>
            <dd>
              <a href={link(['jobs'], { submitter: job.submitter })}>{job.submitter}</a>
            </dd>
          </>
        )}
        {job.priority !== 0 && (
          <>
            <dt>Priority</dt>
            <dd>{job.priority}</dd>
          </>
        )}
      </dl>
    </section>
  )
}
