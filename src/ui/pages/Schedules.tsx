import { actOn, actOnMany, removeSchedules, type ScheduleAction } from '../actions.tsx'
import type { ListedSchedule, RecentRun, Schedule } from '../generated/api.ts'
import { useApi } from '../api/query.ts'
import { Button, IconButton } from '../parts/Button.tsx'
import { PageHead, RowLink } from '../parts/layout.tsx'
import { type BulkAction, FilterChips, filtersOf, List, paging, Search, StateCounts } from '../parts/list.tsx'
import { Empty } from '../parts/placeholders.tsx'
import { Select } from '../parts/Select.tsx'
import { ScheduleState } from '../parts/State.tsx'
import type { Column } from '../parts/Table.tsx'
import { link, query, setQuery } from '../router.ts'
import { mayEdit, mayOperate } from '../session.ts'
import { Ago } from '../time/Time.tsx'
import { count, zoneOf } from '../time/format.ts'
import { durationText } from '../../duration.ts'
import { STATUSES } from '../../model/states.ts'

const FILTERS = ['task', 'group', 'submitter', 'declaredBy'] as const

const columns: readonly Column<ListedSchedule>[] = [
  { title: 'Status', cell: (schedule) => <ScheduleState of={schedule} /> },
  {
    title: 'Schedule',
    kind: 'main',
    cell: ({ id, summary }) => (
      <>
        <RowLink href={link(['schedules', id])}>{id}</RowLink>
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
    kind: 'wide',
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
  { title: 'Next', cell: (schedule) => <Ago at={nextRunOf(schedule)} own={zoneOf(schedule.timer)} /> },
  { title: 'Last', cell: ({ lastRunAt, timer }) => <Ago at={lastRunAt} own={zoneOf(timer)} /> },
  { title: 'Last runs', kind: 'no-phone', cell: (schedule) => <Sparkline schedule={schedule} /> },
  {
    title: 'Runs',
    kind: 'number',
    cell: ({ id, runCount }) => <a href={link(['jobs'], { scheduleId: id })}>{count(runCount)}</a>,
  },
  {
    title: 'Errors',
    kind: 'number',
    cell: ({ id, errorCount }) =>
      errorCount === 0 ? (
        <span class="none">0</span>
      ) : (
        <a href={link(['jobs'], { scheduleId: id, state: 'failed' })}>{count(errorCount)}</a>
      ),
  },
  { title: 'Task', kind: 'no-phone', cell: ({ task }) => <a href={link(['schedules'], { task })}>{task}</a> },
]

const actions: Column<ListedSchedule> = {
  title: 'Actions',
  isTitleHidden: true,
  kind: 'no-phone',
  cell: ({ id, status }) => (
    <span class="row-actions">
      <IconButton icon="running" label={`Run ${id} now`} onClick={() => actOn(id, 'run')} />
      {status === 'paused' ? (
        <IconButton icon="active" label={`Resume ${id}`} onClick={() => actOn(id, 'resume')} />
      ) : (
        <IconButton
          icon="paused"
          label={`Pause ${id}`}
          disabled={!isActive(status)}
          onClick={() => actOn(id, 'pause')}
        />
      )}
    </span>
  ),
}

/** Shortens a timer in words: omits what `every` is counted from, and the zone if the timer text below names it. */
function short(description: string, timer: string): string {
  const [, zone = ''] = / \(([^)]*)\)$/u.exec(description) ?? []
  const text = zone !== '' && timer.endsWith(zone) ? description.slice(0, -zone.length - 3) : description
  return text.replace(/, counted from the creation.*/u, '')
}

/** Null if the time of the next run is not known: `nextRunAt` may still hold the time of an earlier run. */
export function nextRunOf({ status, waitingFor, nextRunAt }: Schedule) {
  return isActive(status) && status !== 'frozen' && waitingFor === null ? nextRunAt : null
}

const GOING_ON: readonly Schedule['status'][] = ['active', 'retrying', 'frozen']
export const isActive = (status: Schedule['status']) => GOING_ON.includes(status)

const bulk = (action: ScheduleAction, label: string): BulkAction => ({
  label,
  run: (ids) => actOnMany(ids, action, label),
})
const BULK = [bulk('run', 'Run now'), bulk('pause', 'Pause'), bulk('resume', 'Resume')]
const BULK_DELETE: BulkAction = { label: 'Delete', run: (ids) => removeSchedules(ids), isDangerous: true }

export function SchedulesPage() {
  const { q: text, status, order } = query.value
  const filter = { ...filtersOf(FILTERS), text }
  const wanted = { ...filter, status, order, ...paging(), runs: SHOWN }
  const list = useApi('/api/v1/schedules', { query: wanted }, ['schedules', 'jobs'])
  const counts = useApi('/api/v1/counts/schedules', { query: filter }, ['schedules'])
  return (
    <>
      <PageHead title="Schedules">
        {mayEdit.value && (
          <Button label="New schedule" icon="plus" kind="primary" href={link(['schedules', 'new'])} />
        )}
      </PageHead>
      <StateCounts names={STATUSES} counts={counts.data} entry="status" />
      <Filters />
      <List
        query={list}
        title="Schedules"
        columns={mayOperate.value ? [...columns, actions] : columns}
        filter={{ ...filter, status, after: wanted.after }}
        empty={<NoSchedules />}
        actions={[...(mayOperate.value ? BULK : []), ...(mayEdit.value ? [BULK_DELETE] : [])]}
      />
    </>
  )
}

function Filters() {
  const { order = 'id' } = query.value
  return (
    <div class="row filters" role="search">
      <Search label="Search by id, summary, subject or task" />
      <Select
        label="Order"
        value={order}
        options={{ id: 'By id', nextRunAt: 'By next run' }}
        onChange={(value) => setQuery({ order: value === 'id' ? undefined : value })}
      />
      <FilterChips names={FILTERS} labelOf={(name) => (name === 'declaredBy' ? 'declared in' : name)} />
    </div>
  )
}

function NoSchedules() {
  return (
    <Empty title="No schedules yet">
      {mayEdit.value && <a href={link(['schedules', 'new'])}>Create the first schedule</a>}
      <p>
        You can also declare schedules in code, or insert them with SQL:{' '}
        <code>INSERT INTO periodic_task (id, task, timer) VALUES ('nightly', 'cleanup', 'daily')</code>
      </p>
    </Empty>
  )
}

const WIDTH = 6
const HEIGHT = 20
const SHOWN = 20

function Sparkline({ schedule: { id, runs = [] } }: { readonly schedule: ListedSchedule }) {
  if (runs.length === 0) return <span class="none">–</span>
  const shown = runs.toReversed()
  const longest = Math.max(1, ...shown.map(tookMs))
  const words = summary(shown)
  return (
    <a
      class="sparkline"
      href={link(['schedules', id])}
      aria-label={`Last runs: ${words}`}
      title={words}
      tabIndex={-1}
    >
      <svg width={SHOWN * WIDTH} height={HEIGHT} aria-hidden="true">
        {shown.map((run, index) => {
          const height = run.state === 'skipped' ? 3 : 4 + Math.round((tookMs(run) / longest) * (HEIGHT - 4))
          return (
            <rect
              key={run.id}
              class={run.state}
              x={(SHOWN - shown.length + index) * WIDTH}
              y={HEIGHT - height}
              width={WIDTH - 2}
              height={height}
              rx="1"
            />
          )
        })}
      </svg>
    </a>
  )
}

function summary(runs: readonly RecentRun[]): string {
  const groups = Map.groupBy(runs, ({ state }) => state)
  const words = [...groups].map(([state, { length }]) => `${length} ${state}`)
  const took = runs.map(tookMs).filter((ms) => ms > 0)
  return took.length === 0
    ? words.join(', ')
    : `${words.join(', ')}; the longest took ${durationText(Math.max(...took))}`
}

function tookMs({ startedAt: started, finishedAt: finished }: RecentRun): number {
  return started === null || finished === null ? 0 : Math.max(0, Date.parse(finished) - Date.parse(started))
}
