/** All schedules: the columns of `systemctl list-timers`, and what their last runs were like. */
import { useState } from 'preact/hooks'
import { actOn, actOnMany, removeSchedules } from '../actions.tsx'
import { urls } from '../api/calls.ts'
import { useApi } from '../api/query.ts'
import {
  type Counts,
  type ListedSchedule,
  type Page,
  type Schedule,
  SCHEDULE_STATUSES,
  type ScheduleStatus,
} from '../api/types.ts'
import { Icon } from '../parts/Icon.tsx'
import { Chip, PAGE_SIZE, Pager, pageNumber, Search, StateCounts } from '../parts/list.tsx'
import { Empty, Failure, Loading, Stale } from '../parts/placeholders.tsx'
import { Sparkline } from '../parts/Sparkline.tsx'
import { State } from '../parts/State.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link, query, setQuery } from '../router.ts'
import { mayEdit, mayOperate } from '../session.ts'
import { Ago } from '../time/Time.tsx'
import { count, zoneOf } from '../time/format.ts'

const FILTERS = ['task', 'group', 'submitter', 'declaredBy'] as const

const columns: readonly Column<ListedSchedule>[] = [
  { title: 'Status', cell: ({ status }) => <State of={status} /> },
  {
    title: 'Schedule',
    phone: 'first',
    class: 'wide',
    cell: ({ id, summary }) => (
      <>
        <a class="row-link name" href={link(['schedules', id])}>
          {id}
        </a>
        {summary !== null && (
          <span class="below line" title={summary}>
            {summary}
          </span>
        )}
      </>
    ),
  },
  {
    title: 'Timer',
    class: 'wide',
    cell: ({ timer, timerDescription }) => (
      <>
        <span class="line" title={timerDescription ?? undefined}>
          {timerDescription === null ? (
            <span class="bad">cannot be read</span>
          ) : (
            short(timerDescription, timer)
          )}
        </span>
        <code class="below line" title={timer}>
          {timer}
        </code>
      </>
    ),
  },
  { title: 'Next', cell: ({ timer, ...schedule }) => <Ago at={comingOf(schedule)} own={zoneOf(timer)} /> },
  { title: 'Last', cell: ({ lastRun, timer }) => <Ago at={lastRun} own={zoneOf(timer)} /> },
  {
    title: 'Last runs',
    phone: 'none',
    cell: ({ id, runs }) => <Sparkline runs={runs ?? []} schedule={id} />,
  },
  {
    title: 'Runs',
    isNumber: true,
    cell: ({ id, runCount }) => <a href={link(['jobs'], { schedule: id })}>{count(runCount)}</a>,
  },
  {
    title: 'Errors',
    isNumber: true,
    cell: ({ id, errorCount }) =>
      errorCount === 0 ? (
        <span class="none">0</span>
      ) : (
        <a href={link(['jobs'], { schedule: id, state: 'failed' })}>{count(errorCount)}</a>
      ),
  },
  { title: 'Task', phone: 'none', cell: ({ task }) => <a href={link(['schedules'], { task })}>{task}</a> },
]

const actions: Column<ListedSchedule> = {
  title: '#Actions',
  phone: 'none',
  cell: ({ id, status }) => (
    <span class="row-actions">
      <button
        type="button"
        class="plain"
        title="Run now"
        aria-label={`Run ${id} now`}
        onClick={() => void actOn(id, 'run')}
      >
        <Icon name="running" />
      </button>
      {status === 'paused' ? (
        <button
          type="button"
          class="plain"
          title="Resume"
          aria-label={`Resume ${id}`}
          onClick={() => void actOn(id, 'resume')}
        >
          <Icon name="active" />
        </button>
      ) : (
        <button
          type="button"
          class="plain"
          title="Pause"
          aria-label={`Pause ${id}`}
          disabled={status !== 'active'}
          onClick={() => void actOn(id, 'pause')}
        >
          <Icon name="paused" />
        </button>
      )}
    </span>
  ),
}

/** Without what the timer below it says anyway. */
function short(description: string, timer: string): string {
  const [, zone = ''] = / \(([^)]*)\)$/u.exec(description) ?? []
  const text = zone !== '' && timer.endsWith(zone) ? description.slice(0, -zone.length - 3) : description
  return text.replace(/, counted from the creation.*/u, '')
}

/** Where nothing is to come, the row may still hold the time that was. */
export function comingOf({
  status,
  idle,
  nextRun,
}: Pick<Schedule, 'status' | 'idle' | 'nextRun'>): string | null {
  return status === 'active' && idle === null ? nextRun : null
}

export function SchedulesPage() {
  const { q, status, order } = query.value
  const page = pageNumber()
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.value[name]]))
  const wanted = { ...filters, text: q, status }
  const list = useApi<Page<ListedSchedule>>(
    urls.schedules({ ...wanted, order, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE, runs: 20 }),
    ['schedules', 'jobs'],
  )
  const counts = useApi<Counts<ScheduleStatus>>(urls.scheduleCounts({ ...filters, text: q }), ['schedules'])
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const isFiltered = Object.values(wanted).some((value) => value !== undefined)

  return (
    <>
      <header class="head">
        <h1 tabIndex={-1}>Schedules</h1>
        <div class="actions">
          {mayEdit.value && (
            <a class="button primary" href={link(['schedules', 'new'])}>
              <Icon name="plus" /> New schedule
            </a>
          )}
        </div>
      </header>
      <StateCounts names={SCHEDULE_STATUSES} counts={counts.data} entry="status" />
      <div class="filters" role="search">
        <Search label="Search by id, summary, subject or task" />
        <select
          aria-label="Order"
          value={order ?? 'id'}
          onChange={(event) =>
            setQuery({ order: event.currentTarget.value === 'id' ? undefined : event.currentTarget.value })
          }
        >
          <option value="id">By id</option>
          <option value="nextRun">Next to run first</option>
        </select>
        {FILTERS.map((name) => {
          const value = query.value[name]
          return (
            value !== undefined && (
              <Chip key={name} name={name}>
                {name === 'declaredBy' ? 'declared in' : name} <b>{value}</b>
              </Chip>
            )
          )
        })}
      </div>
      <Stale error={list.data === undefined ? undefined : list.error} />
      {list.data === undefined ? (
        list.error === undefined ? (
          <Loading />
        ) : (
          <Failure error={list.error} onRetry={list.reload} />
        )
      ) : list.data.items.length === 0 ? (
        <NoSchedules isFiltered={isFiltered || page > 1} />
      ) : (
        <>
          <Table
            label="Schedules"
            rows={list.data.items}
            idOf={({ id }) => id}
            columns={mayOperate.value ? [...columns, actions] : columns}
            view={JSON.stringify([wanted, page, order])}
            selection={mayOperate.value ? { ids: chosen, change: setChosen } : undefined}
          />
          <Pager page={page} of={list.data} what="schedules" />
        </>
      )}
      {chosen.size > 0 && <Bulk ids={[...chosen]} onDone={() => setChosen(new Set())} />}
    </>
  )
}

function NoSchedules({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No schedule is like that">
        <a href={link(['schedules'])}>Show all schedules</a>
      </Empty>
    )
  }
  return (
    <Empty title="There are no schedules yet">
      {mayEdit.value && <a href={link(['schedules', 'new'])}>Create the first schedule</a>}
      <p>
        Code can declare them, and so can SQL:{' '}
        <code>INSERT INTO periodic_task (id, task, timer) VALUES ('nightly', 'cleanup', 'daily')</code>
      </p>
    </Empty>
  )
}

function Bulk({ ids, onDone }: { readonly ids: readonly string[]; readonly onDone: () => void }) {
  const then = (done: Promise<boolean>) => void done.then((isDone) => isDone && onDone())
  return (
    <div class="bulk" role="region" aria-label="Selected schedules">
      <span>{count(ids.length)} selected</span>
      <button type="button" onClick={() => then(actOnMany(ids, 'run', 'Run now'))}>
        Run now
      </button>
      <button type="button" onClick={() => then(actOnMany(ids, 'pause', 'Pause'))}>
        Pause
      </button>
      <button type="button" onClick={() => then(actOnMany(ids, 'resume', 'Resume'))}>
        Resume
      </button>
      {mayEdit.value && (
        <button type="button" class="danger" onClick={() => then(removeSchedules(ids))}>
          Delete
        </button>
      )}
      <button type="button" class="plain" onClick={onDone}>
        Clear
      </button>
    </div>
  )
}
