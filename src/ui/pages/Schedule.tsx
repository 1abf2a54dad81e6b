import { useState } from 'preact/hooks'
import { actOn, perform, removeSchedules } from '../actions.tsx'
import { api } from '../api/client.ts'
import type { ListedJob, Schedule } from '../generated/api.ts'
import { useApi } from '../api/query.ts'
import { Button } from '../parts/Button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Wrong } from '../parts/Hint.tsx'
import { InstantInput } from '../parts/InstantInput.tsx'
import { Json } from '../parts/Json.tsx'
import { Facts, PageHead, Section } from '../parts/layout.tsx'
import { Empty, Loaded, Stale } from '../parts/placeholders.tsx'
import { RunTimes } from '../parts/RunTimes.tsx'
import { ScheduleState } from '../parts/State.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { toast } from '../parts/toast.tsx'
import { go, link } from '../router.ts'
import { mayEdit, mayOperate, maySubmit } from '../session.ts'
import { zone } from '../time/clock.ts'
import { count, zoneOf } from '../time/format.ts'
import { Ago, At } from '../time/Time.tsx'
import { spanText } from '../../duration.ts'
import { attemptColumn, outcomeColumn, stateColumn, tookColumn } from './job-columns.tsx'
import { type Field, InvalidArgs, parsedArgs, POLICIES, type Value } from './schedule-form.ts'
import { isActive, nextRunOf } from './Schedules.tsx'

const RUN_TIMES = 10

interface ScheduleProps {
  readonly schedule: Schedule
}

export function SchedulePage({ id }: { readonly id: string }) {
  const query = useApi('/api/v1/schedules/{id}', { path: { id } }, ['schedules'])
  return (
    <>
      {query.data === undefined ? <h1 tabIndex={-1}>{id}</h1> : <Head schedule={query.data} />}
      <Stale query={query} />
      <Loaded query={query}>
        {(schedule) => (
          <>
            <div class="columns wide-left">
              <div>
                <Why schedule={schedule} />
                <UpcomingRuns schedule={schedule} />
              </div>
              <Settings schedule={schedule} />
            </div>
            <History schedule={schedule} />
          </>
        )}
      </Loaded>
    </>
  )
}

function Head({ schedule }: ScheduleProps) {
  const { id, summary, declaredBy } = schedule
  const remove = async () => {
    if (await removeSchedules([id], declaredBy)) go(link(['schedules']))
  }
  return (
    <PageHead
      title={id}
      crumb="Schedules"
      beside={<ScheduleState of={schedule} />}
      below={summary !== null && <p class="lead">{summary}</p>}
    >
      {mayOperate.value && <Actions schedule={schedule} />}
      {mayOperate.value && maySubmit.value && <RunWithArgs schedule={schedule} />}
      {mayEdit.value && (
        <>
          <Button label="Edit" icon="edit" href={link(['schedules', id, 'edit'])} />
          <Button label="Delete" icon="trash" kind="danger" onClick={remove} />
        </>
      )}
    </PageHead>
  )
}

function Actions({ schedule: { id, status } }: ScheduleProps) {
  return (
    <>
      <Button label="Run now" icon="running" onClick={() => actOn(id, 'run')} />
      {isActive(status) && <Button label="Pause" icon="paused" onClick={() => actOn(id, 'pause')} />}
      {status === 'paused' && (
        <Button label="Resume" icon="active" kind="primary" onClick={() => actOn(id, 'resume')} />
      )}
      {(status === 'done' || status === 'dead') && (
        <Button label="Reset" icon="retrying" kind="primary" onClick={() => actOn(id, 'reset')} />
      )}
    </>
  )
}

function Why({ schedule: { id } }: ScheduleProps) {
  const [at, setAt] = useState('')
  const query = useApi(
    '/api/v1/schedules/{id}/explain',
    { path: { id }, query: { at: at === '' ? undefined : at } },
    ['schedules', 'jobs'],
  )
  return (
    <Section title="Why">
      <Loaded query={query} rows={2}>
        {({ reasons }) => (
          <ul class="reasons" aria-live="polite">
            {reasons.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        )}
      </Loaded>
      <div class="row ask">
        <label for="asked">Why did it not run at</label>
        <InstantInput id="asked" value={at} onChange={setAt} />
        <span class="quiet">{zone.value}</span>
        {at !== '' && <Button label="show now" kind="link" onClick={() => setAt('')} />}
      </div>
    </Section>
  )
}

function UpcomingRuns({ schedule }: ScheduleProps) {
  const { id, status } = schedule
  const params = { path: { id }, query: { limit: RUN_TIMES } }
  const { data, error } = useApi('/api/v1/schedules/{id}/elapses', params, ['schedules'])
  return (
    <Section title="Upcoming runs" aside={!isActive(status) && <span class="quiet">if it were active</span>}>
      {error !== undefined && <Empty title="Cannot show upcoming runs">{error.message}</Empty>}
      {data?.items.length === 0 && <Empty title="No upcoming runs: the timer has ended" />}
      {data !== undefined && data.items.length > 0 && (
        <RunTimes
          label="Upcoming runs"
          times={data.items}
          timerZone={data.zone}
          zones={[zone.value, 'UTC']}
          next={nextRunOf(schedule)}
        />
      )}
    </Section>
  )
}

function Settings({ schedule }: ScheduleProps) {
  const { id, timer, task, createdAt: created, lastRunAt, lastJobId, lastError, group } = schedule
  const { runCount, errorCount, failedAttempts } = schedule
  const query = { timer, anchor: created, limit: 0 }
  const { data: check } = useApi('/api/v1/timers/check', { query }, [])
  const timerZone = zoneOf(timer)
  const policies = POLICIES.filter(({ name }) => name !== 'group' && name !== 'submitter')
  const facts = {
    Timer: (
      <>
        {check?.valid === true && <div>{check.description}</div>}
        <code>{timer}</code>
      </>
    ),
    Task: <a href={link(['jobs'], { task })}>{task}</a>,
    Next: <At at={nextRunOf(schedule)} own={timerZone} />,
    'Last run': (
      <>
        <At at={lastRunAt} own={timerZone} />{' '}
        {lastJobId !== null && <a href={link(['jobs', lastJobId])}>job</a>}
      </>
    ),
    Runs: (
      <>
        <a href={link(['jobs'], { scheduleId: id })}>{count(runCount)}</a>,{' '}
        <a href={link(['jobs'], { scheduleId: id, state: 'failed' })}>{count(errorCount)} failed</a>
        {failedAttempts > errorCount && `, ${count(failedAttempts)} attempts failed`}
      </>
    ),
    'Last error': lastError !== null && <span class="bad">{lastError.split('\n')[0]}</span>,
    Owner: <Owner schedule={schedule} />,
    Group: group !== '' && <a href={link(['schedules'], { group })}>{group}</a>,
    ...Object.fromEntries(policies.map((field) => [field.label, shownPolicy(field, schedule[field.name])])),
    Created: <At at={created} />,
    Args: <Json value={schedule.args} label="Args" />,
  }
  return (
    <Section title="Settings" aside={mayEdit.value && <a href={link(['schedules', id, 'edit'])}>Edit</a>}>
      <Facts of={facts} />
    </Section>
  )
}

/** Null if the policy has no value to show. */
function shownPolicy({ kind, otherwise, values, default: usual }: Field, value: Value) {
  if (value === '' || ((value === 0 || value === false) && usual === value)) return null
  if (value === null) return otherwise === undefined ? null : <span class="quiet">{otherwise}</span>
  if (kind === 'instant') return <At at={String(value)} />
  if (kind === 'span') return spanText(Number(value))
  return values?.[String(value)] ?? String(value)
}

function Owner({ schedule: { declaredBy, submitter } }: ScheduleProps) {
  if (declaredBy !== null)
    return (
      <>
        code, set <a href={link(['schedules'], { declaredBy })}>{declaredBy}</a>
        <span class="below">Changes here last until the next deployment. A pause is kept.</span>
      </>
    )
  if (submitter === null) return <>users (page, API or SQL)</>
  return <a href={link(['schedules'], { submitter })}>{submitter}</a>
}

function RunWithArgs({ schedule: { id, args } }: ScheduleProps) {
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState('')
  const [error, setError] = useState<string | null>(null)
  const run = () =>
    perform(async () => {
      try {
        const body = { args: parsedArgs(text) }
        await api.POST('/api/v1/schedules/{id}/run', { params: { path: { id } }, body })
        toast(`${id}: job submitted with these args`)
        setOpen(false)
      } catch (caught) {
        if (!(caught instanceof InvalidArgs)) throw caught
        setError(caught.message)
      }
    })
  return (
    <>
      <Button
        label="Run with args…"
        onClick={() => {
          setText(JSON.stringify(args, null, 2))
          setError(null)
          setOpen(true)
        }}
      />
      {isOpen && (
        <Dialog title="Run once with other args" onClose={() => setOpen(false)}>
          <div class="field">
            <label for="run-args">Args for this run only</label>
            <textarea
              id="run-args"
              class="mono"
              rows={8}
              spellcheck={false}
              value={text}
              aria-invalid={error !== null}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <div role="alert">{error !== null && <Wrong>{error}</Wrong>}</div>
          </div>
          <div class="row dialog-actions">
            <Button label="Cancel" onClick={() => setOpen(false)} />
            <Button label="Run" kind="primary" onClick={run} />
          </div>
        </Dialog>
      )}
    </>
  )
}

const NEWEST = 25

const historyColumns = (timerZone: string): readonly Column<ListedJob>[] => [
  stateColumn,
  {
    title: 'Slot',
    kind: 'main',
    cell: ({ id, slot, submittedAt: submitted }) => (
      <a class="row-link" href={link(['jobs', id])}>
        <At at={slot ?? submitted} own={timerZone} />
      </a>
    ),
  },
  { title: 'Run', kind: 'number', cell: ({ run }) => (run === null ? null : count(run)) },
  attemptColumn,
  tookColumn,
  { title: 'Ended', cell: ({ finishedAt }) => <Ago at={finishedAt} own={timerZone} /> },
  outcomeColumn,
]

function History({ schedule: { id, timer } }: ScheduleProps) {
  const params = { path: { id }, query: { limit: NEWEST } }
  const history = useApi('/api/v1/schedules/{id}/history', params, ['jobs'])
  return (
    <Section title="Run history" aside={<a href={link(['jobs'], { scheduleId: id })}>All jobs</a>}>
      <Table
        label="Runs and skips"
        query={history}
        rows={history.data?.items}
        columns={historyColumns(zoneOf(timer))}
        empty={<Empty title="No runs yet" />}
      />
    </Section>
  )
}
