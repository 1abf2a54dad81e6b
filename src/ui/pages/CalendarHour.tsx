/** One hour of the calendar: the jobs that ended in it, or the schedules that will run in it. */
import type { Upcoming } from '../api/generated/api.ts'
import { useApi } from '../api/query.ts'
import { Button } from '../parts/Button.tsx'
import { RowLink, Section } from '../parts/layout.tsx'
import { Empty, Loaded } from '../parts/placeholders.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link, setQuery } from '../router.ts'
import { now, zone } from '../time/clock.ts'
import { count, HOUR_MS, wall } from '../time/format.ts'

const MAX_RUNS = 200
const TIMES_SHOWN = 6

interface ScheduleRuns {
  readonly id: string
  readonly task: string
  readonly times: readonly string[]
}

const columns: readonly Column<ScheduleRuns>[] = [
  {
    title: 'Schedule',
    isMain: true,
    cell: ({ id }) => <RowLink href={link(['schedules', id])}>{id}</RowLink>,
  },
  { title: 'Task', cell: ({ task }) => <a href={link(['schedules'], { task })}>{task}</a> },
  { title: 'Times', isNumber: true, cell: ({ times }) => count(times.length) },
  { title: 'At', isWide: true, cell: ({ times }) => <Times times={times} /> },
]

function Times({ times }: { readonly times: readonly string[] }) {
  const shown = times
    .slice(0, TIMES_SHOWN)
    .map((at) => wall(new Date(at), zone.value).time.replace(/:00$/u, ''))
  return (
    <span>
      {shown.join(', ')}
      {times.length > TIMES_SHOWN && <span class="quiet"> and {times.length - TIMES_SHOWN} more</span>}
    </span>
  )
}

interface CalendarHourProps {
  readonly at: string
  readonly filter: Readonly<Record<string, string>>
  /** Number of jobs by state. */
  readonly ended: Readonly<Record<string, number>>
}

export function CalendarHour({ at, filter, ended }: CalendarHourProps) {
  const start = new Date(at)
  const end = new Date(start.getTime() + HOUR_MS)
  const isPast = end <= now.value
  const { weekday, date, time, offset } = wall(start, zone.value)
  const bounds = { ...filter, finishedFrom: start.toISOString(), finishedTo: end.toISOString() }
  return (
    <Section
      title={[weekday, date, time.slice(0, 5), ...new Set([offset, zone.value])].join(' ')}
      isLive
      aside={<Button label="close" kind="link" onClick={() => setQuery({ at: undefined })} />}
    >
      <nav class="row counts" aria-label="Jobs that ended in this hour">
        {Object.entries(ended).map(([state, jobs]) => (
          <a key={state} href={link(['jobs'], { ...bounds, state })}>
            {state} <b>{count(jobs)}</b>
          </a>
        ))}
        {isPast && <a href={link(['jobs'], bounds)}>all jobs that ended in this hour</a>}
      </nav>
      {!isPast && <UpcomingRuns from={at} to={end.toISOString()} filter={filter} />}
    </Section>
  )
}

interface UpcomingRunsProps extends Pick<CalendarHourProps, 'filter'> {
  readonly from: string
  readonly to: string
}

function UpcomingRuns({ from, to, filter }: UpcomingRunsProps) {
  const query = { ...filter, from, to, limit: MAX_RUNS }
  return (
    <Loaded query={useApi('/api/v1/upcoming', { query }, ['schedules'])} rows={3}>
      {({ items, complete }) => (
        <>
          <Table
            label="Upcoming runs in this hour"
            rows={bySchedule(items)}
            columns={columns}
            view={from}
            empty={<Empty title="No runs in this hour" />}
          />
          {!complete && <p class="row pager">Only the first {count(items.length)} runs are shown.</p>}
        </>
      )}
    </Loaded>
  )
}

function bySchedule(items: Upcoming['items']): ScheduleRuns[] {
  const schedules = new Map<string, ScheduleRuns>()
  for (const { scheduleId: id, task, at } of items) {
    const times = schedules.get(id)?.times ?? []
    schedules.set(id, { id, task, times: [...times, at] })
  }
  return [...schedules.values()]
}
