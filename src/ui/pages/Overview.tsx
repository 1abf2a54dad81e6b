import type { JobCounts, ListedJob, Upcoming } from '../generated/api.ts'
import { useApi } from '../api/query.ts'
import { Icon, type IconName } from '../parts/Icon.tsx'
import { PageHead, RowLink, Section } from '../parts/layout.tsx'
import { Empty, Loaded, Pending, Stale } from '../parts/placeholders.tsx'
import { totalText } from '../parts/list.tsx'
import { ProgressBar, shareOf } from '../parts/Progress.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link } from '../router.ts'
import { isScoped } from '../session.ts'
import { now, zone } from '../time/clock.ts'
import { Ago, Took } from '../time/Time.tsx'
import { count, counted, DAY_MS, HOUR_MS, MINUTE_MS, wall } from '../time/format.ts'
import { Errors } from './Errors.tsx'
import { Freezes, NeedsAttention } from './Notices.tsx'
import { useWorkers, WorkerTable } from './Workers.tsx'

const MAX_ERRORS = 5
const MAX_ROWS = 8
/** The server stops counting at this number. */
const MAX_COUNTED = 10_000

export function Overview() {
  const schedules = useApi('/api/v1/counts/schedules', {}, ['schedules'])
  const jobs = useApi('/api/v1/counts/jobs', {}, ['jobs'])
  const query = { ...schedules, error: schedules.error ?? jobs.error }
  return (
    <>
      <PageHead title="Overview" />
      <Stale query={query} />
      {query.data === undefined && query.error !== undefined ? (
        <Pending query={query} />
      ) : (
        <div class="figures">
          <Figure
            name="active schedules"
            state="active"
            counts={schedules.data}
            href={link(['schedules'], { status: 'active' })}
          />
          {(['running', 'waiting', 'failed', 'success'] as const).map((state) => (
            <Figure key={state} state={state} counts={jobs.data} href={link(['jobs'], { state })} />
          ))}
        </div>
      )}
      {!isScoped.value && <Freezes />}
      <NeedsAttention counts={schedules.data} />
      <div class="columns">
        <Running />
        {!isScoped.value && <Workers />}
      </div>
      <NextHour />
      <Failed />
    </>
  )
}

interface FigureProps {
  readonly state: IconName
  readonly name?: string
  readonly counts: JobCounts | undefined
  readonly href: string
}

function Figure({ state, name = state, counts, href }: FigureProps) {
  const number = counts === undefined ? undefined : (counts.counts[state] ?? 0)
  return (
    <a href={href}>
      <b>
        {number === undefined ? '…' : count(number)}
        {number === MAX_COUNTED && '+'}
      </b>
      <span class={`state ${number === 0 ? '' : state}`}>
        <Icon name={state} /> {name}
      </span>
    </a>
  )
}

const columns: readonly Column<ListedJob>[] = [
  {
    title: 'Job',
    kind: 'main',
    cell: ({ id, task, scheduleId, scheduleDeleted, subject }) => (
      <>
        <RowLink href={link(['jobs', id])}>{task}</RowLink>
        <span class="below">
          {scheduleId ?? subject}
          {scheduleDeleted === true && ' (a deleted schedule)'}
        </span>
      </>
    ),
  },
  { title: 'For', kind: 'number', cell: ({ startedAt }) => <Took from={startedAt} to={null} /> },
  {
    title: 'Progress',
    cell: ({ progress }) => {
      const share = shareOf(progress)
      return share === null ? null : <ProgressBar share={share} class="progress-cell" />
    },
  },
]

function Running() {
  const query = { state: 'running', limit: MAX_ROWS }
  const jobs = useApi('/api/v1/jobs', { query }, ['jobs'])
  const total = jobs.data?.total ?? 0
  return (
    <Section
      title="Running now"
      aside={total > MAX_ROWS && <a href={link(['jobs'], { state: 'running' })}>all {totalText(total)}</a>}
    >
      <Table
        label="Running now"
        query={jobs}
        rows={jobs.data?.items}
        columns={columns}
        empty={<Empty title="No jobs are running" />}
      />
    </Section>
  )
}

function Workers() {
  const workers = useWorkers()
  const { data } = workers
  return (
    <Section
      title="Workers"
      aside={data !== undefined && <a href={link(['workers'])}>all {count(data.items.length)}</a>}
    >
      <WorkerTable query={workers} limit={MAX_ROWS} />
    </Section>
  )
}

function Failed() {
  // Starts on the hour, so that the request does not change with each second.
  const hour = Math.floor(now.value.getTime() / HOUR_MS) * HOUR_MS
  const finishedFrom = new Date(hour - DAY_MS).toISOString()
  return (
    <Section
      title="Failed in the last 24 hours"
      aside={<a href={link(['jobs'], { by: 'error', finishedFrom })}>all errors</a>}
    >
      <Errors filter={{ finishedFrom }} limit={MAX_ERRORS} />
    </Section>
  )
}

const MAX_RUNS = 1000
const LISTED = 6
/** The full height of the chart represents at least this many runs. */
const LEAST_HEIGHT = 4

function NextHour() {
  // Starts at the beginning of a minute, so that the request does not change with each second.
  const from = Math.floor(now.value.getTime() / MINUTE_MS) * MINUTE_MS
  const query = {
    from: new Date(from).toISOString(),
    to: new Date(from + HOUR_MS).toISOString(),
    limit: MAX_RUNS,
  }
  return (
    <Section title="The next hour" aside={<a href={link(['calendar'])}>Calendar</a>}>
      <Loaded query={useApi('/api/v1/upcoming', { query }, ['schedules'])} rows={3}>
        {({ items, complete }) => (
          <>
            <Chart from={from} runs={items} />
            {!complete && <p class="quiet">Only the first {count(items.length)} runs are shown.</p>}
            <NextRuns runs={items} />
          </>
        )}
      </Loaded>
    </Section>
  )
}

function Chart({ from, runs }: { readonly from: number; readonly runs: Upcoming['items'] }) {
  const minutes = Array.from({ length: 60 }, () => 0)
  for (const { at } of runs) {
    const minute = Math.floor((Date.parse(at) - from) / MINUTE_MS)
    minutes[minute] = (minutes[minute] ?? 0) + 1
  }
  const most = Math.max(LEAST_HEIGHT, ...minutes)
  const timeOf = (minute: number) => wall(new Date(from + minute * MINUTE_MS), zone.value).time.slice(0, 5)
  return (
    <div class="hour" role="group" aria-label="Runs by minute">
      {minutes.map((number, minute) => {
        const words = `${timeOf(minute)}: ${counted(number, 'run')}`
        return (
          <a
            key={minute}
            href={link(['calendar'], { at: new Date(from + minute * MINUTE_MS).toISOString() })}
            aria-label={words}
            title={words}
            tabIndex={number === 0 ? -1 : undefined}
          >
            <i style={{ height: `${(number / most) * 100}%` }} />
          </a>
        )
      })}
      {[0, 15, 30, 45, 60].map((minute) => (
        <span key={minute} style={{ left: `${(minute / 60) * 100}%` }} aria-hidden="true">
          {timeOf(minute)}
          {minute === 60 && ` ${zone.value}`}
        </span>
      ))}
    </div>
  )
}

function NextRuns({ runs }: { readonly runs: Upcoming['items'] }) {
  const next = runs.filter(({ at }) => Date.parse(at) > now.value.getTime()).slice(0, LISTED)
  const all = link(['schedules'], { order: 'nextRunAt' })
  if (next.length === 0)
    return (
      <Empty title="No runs in the next hour">
        <a href={all}>Upcoming runs</a>
      </Empty>
    )
  return (
    <ol class="next">
      {next.map(({ at, scheduleId: schedule, task }) => (
        <li key={`${at} ${schedule}`}>
          <span class="number quiet">
            <Ago at={at} />
          </span>
          <a class="row-link" href={link(['schedules', schedule])}>
            {schedule}
          </a>
          <span class="quiet">{task}</span>
        </li>
      ))}
      <li>
        <span />
        <a href={all}>all upcoming runs</a>
      </li>
    </ol>
  )
}
