/** One schedule: what comes, what ran, what was skipped and why. */
import { useState } from 'preact/hooks'
import { actOn, removeSchedules } from '../actions.tsx'
import { urls } from '../api/calls.ts'
import { useApi } from '../api/query.ts'
import type { Elapse, Explanation, Schedule, TimerCheck } from '../api/types.ts'
import { Icon } from '../parts/Icon.tsx'
import { Json } from '../parts/Json.tsx'
import { Empty, Failure, Loading, Stale } from '../parts/placeholders.tsx'
import { State } from '../parts/State.tsx'
import { go, link } from '../router.ts'
import { mayEdit, mayOperate, maySubmit } from '../session.ts'
import { now, zone } from '../time/clock.ts'
import { At } from '../time/Time.tsx'
import { relativeTime, spanText } from '../../duration.ts'
import { count, exact, instantOf, zoneOf } from '../time/format.ts'
import { type Field, POLICIES, type Value } from './schedule-form.ts'
import { History } from './History.tsx'
import { RunWithArgs } from './RunWithArgs.tsx'
import { comingOf } from './Schedules.tsx'

const COMING = 10

export function SchedulePage({ id }: { readonly id: string }) {
  const { data: schedule, error, reload } = useApi<Schedule>(urls.schedule(id), ['schedules'])
  if (schedule === undefined) {
    return (
      <>
        <h1 tabIndex={-1}>{id}</h1>
        {error === undefined ? <Loading /> : <Failure error={error} onRetry={reload} />}
      </>
    )
  }
  return (
    <>
      <header class="head">
        <div>
          <a class="crumb" href={link(['schedules'])}>
            Schedules
          </a>
          <div class="title-line">
            <h1 tabIndex={-1}>{id}</h1>
            <State of={schedule.status} />
          </div>
          {schedule.summary !== null && <p class="lead">{schedule.summary}</p>}
        </div>
        <Actions schedule={schedule} />
      </header>
      <Stale error={error} />
      <div class="columns wide-left">
        <div>
          <Why schedule={schedule} />
          <Coming schedule={schedule} />
        </div>
        <Facts schedule={schedule} />
      </div>
      <History schedule={schedule} />
    </>
  )
}

function Actions({ schedule }: { readonly schedule: Schedule }) {
  const { id, status, declaredBy } = schedule
  const remove = async () => {
    if (await removeSchedules([id], declaredBy)) go(link(['schedules']))
  }
  return (
    <div class="actions">
      {mayOperate.value && (
        <>
          <button type="button" onClick={() => void actOn(id, 'run')}>
            <Icon name="running" /> Run now
          </button>
          {status === 'active' && (
            <button type="button" onClick={() => void actOn(id, 'pause')}>
              <Icon name="paused" /> Pause
            </button>
          )}
          {status === 'paused' && (
            <button type="button" class="primary" onClick={() => void actOn(id, 'resume')}>
              <Icon name="active" /> Resume
            </button>
          )}
          {(status === 'done' || status === 'dead') && (
            <button type="button" class="primary" onClick={() => void actOn(id, 'reset')}>
              <Icon name="reset" /> Reset
            </button>
          )}
        </>
      )}
      {mayOperate.value && maySubmit.value && <RunWithArgs schedule={schedule} />}
      {mayEdit.value && (
        <>
          <a class="button" href={link(['schedules', id, 'edit'])}>
            <Icon name="edit" /> Edit
          </a>
          <button type="button" class="danger" onClick={() => void remove()}>
            <Icon name="trash" /> Delete
          </button>
        </>
      )}
    </div>
  )
}

/** What the server says about it now, and about a time that somebody wonders about. */
function Why({ schedule }: { readonly schedule: Schedule }) {
  const [typed, setTyped] = useState('')
  const at = typed === '' ? null : instantOf(typed, zone.value)
  const { data, error, reload } = useApi<Explanation>(urls.explain(schedule.id, at?.toISOString()), [
    'schedules',
    'jobs',
  ])
  return (
    <section>
      <div class="section-head">
        <h2>Why</h2>
      </div>
      {data === undefined ? (
        error === undefined ? (
          <Loading rows={2} />
        ) : (
          <Failure error={error} onRetry={reload} />
        )
      ) : (
        <ul class="reasons" aria-live="polite">
          {data.reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      )}
      <div class="ask">
        <label for="asked">Why did it not run at</label>
        <input
          id="asked"
          type="datetime-local"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <span class="quiet">{zone.value}</span>
        {typed !== '' && (
          <button type="button" class="link" onClick={() => setTyped('')}>
            now instead
          </button>
        )}
      </div>
    </section>
  )
}

function Coming({ schedule }: { readonly schedule: Schedule }) {
  const { data, error } = useApi<{ readonly zone: string; readonly items: readonly Elapse[] }>(
    urls.elapses(schedule.id, COMING),
    ['schedules'],
  )
  const own = data?.zone ?? zoneOf(schedule.timer)
  const zones = [...new Set([own, zone.value, 'UTC'])]
  const next = comingOf(schedule)
  const first = next === null ? null : new Date(next)
  return (
    <section>
      <div class="section-head">
        <h2>Upcoming runs</h2>
        {schedule.status !== 'active' && <span class="quiet">if it were active</span>}
      </div>
      {error !== undefined && <Empty title="Nothing can be told">{error.message}</Empty>}
      {data?.items.length === 0 && <Empty title="Its timer does not elapse any more" />}
      {data !== undefined && data.items.length > 0 && (
        <div class="table-scroll" tabIndex={0} role="region" aria-label="Upcoming runs">
          <table class="elapses">
            <thead>
              <tr>
                <th scope="col">In</th>
                {zones.map((one) => (
                  <th key={one} scope="col">
                    {one}
                    {one === own && ' (timer)'}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.items.map(({ at }) => {
                const date = new Date(at)
                return (
                  <tr key={at} class={first?.getTime() === date.getTime() ? 'is-next' : undefined}>
                    <td>{relativeTime(date, now.value).replace(/^in /u, '')}</td>
                    {zones.map((one) => (
                      <td key={one}>{exact(date, one)}</td>
                    ))}
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function Facts({ schedule }: { readonly schedule: Schedule }) {
  const { id, timer } = schedule
  const { data: check } = useApi<TimerCheck>(urls.check({ timer, anchor: schedule.created, limit: 0 }), [])
  const words = check?.valid === true ? check.words : null
  const own = zoneOf(timer)
  return (
    <section>
      <div class="section-head">
        <h2>Settings</h2>
        {mayEdit.value && <a href={link(['schedules', id, 'edit'])}>Edit</a>}
      </div>
      <dl class="facts">
        <dt>Timer</dt>
        <dd>
          {words !== null && <div>{words}</div>}
          <code>{timer}</code>
        </dd>
        <dt>Task</dt>
        <dd>
          <a href={link(['jobs'], { task: schedule.task })}>{schedule.task}</a>
        </dd>
        <dt>Next</dt>
        <dd>
          <At at={comingOf(schedule)} own={own} />
        </dd>
        <dt>Last run</dt>
        <dd>
          <At at={schedule.lastRun} own={own} />
          {schedule.lastJob !== null && (
            <>
              {' '}
              <a href={link(['jobs', schedule.lastJob])}>job</a>
            </>
          )}
        </dd>
        <dt>Runs</dt>
        <dd>
          <a href={link(['jobs'], { schedule: id })}>{count(schedule.runCount)}</a>,{' '}
          <a href={link(['jobs'], { schedule: id, state: 'failed' })}>{count(schedule.errorCount)} failed</a>
        </dd>
        {schedule.lastError !== null && (
          <>
            <dt>Last error</dt>
            <dd class="bad clip">{schedule.lastError.split('\n')[0]}</dd>
          </>
        )}
        <dt>Owner</dt>
        <dd>
          <Owner schedule={schedule} />
        </dd>
        {schedule.group !== '' && (
          <>
            <dt>Group</dt>
            <dd>
              <a href={link(['schedules'], { group: schedule.group })}>{schedule.group}</a>
            </dd>
          </>
        )}
        {POLICIES.map((field) => (
          <Policy key={field.name} field={field} value={schedule[field.property]} />
        ))}
        <dt>Created</dt>
        <dd>
          <At at={schedule.created} />
        </dd>
        <dt>Args</dt>
        <dd>
          <Json value={schedule.args} label="Args" />
        </dd>
      </dl>
    </section>
  )
}

/** These have a line of their own. */
const OWN: readonly string[] = ['group', 'submitter']

function Policy({ field, value }: { readonly field: Field; readonly value: Value }) {
  const { name, kind, label, otherwise, values } = field
  const isNothing =
    value === '' || (value === null && otherwise === undefined) || (value === 0 && field.default === 0)
  if (isNothing || OWN.includes(name)) return null
  return (
    <>
      <dt>{label}</dt>
      <dd>
        {value === null ? (
          <span class="quiet">{otherwise}</span>
        ) : kind === 'instant' ? (
          <At at={String(value)} />
        ) : kind === 'span' ? (
          spanText(Number(value))
        ) : (
          (values?.[String(value)] ?? String(value))
        )}
      </dd>
    </>
  )
}

/** Who decides about it: what code declares, code wins back. */
function Owner({ schedule: { declaredBy, submitter } }: { readonly schedule: Schedule }) {
  if (declaredBy !== null) {
    return (
      <>
        code, set <a href={link(['schedules'], { declaredBy })}>{declaredBy}</a>
        <span class="below">Changes here last until the next deployment; pausing lasts.</span>
      </>
    )
  }
  if (submitter === null) return <>people (page, API or SQL)</>
  return <a href={link(['schedules'], { submitter })}>{submitter}</a>
}
