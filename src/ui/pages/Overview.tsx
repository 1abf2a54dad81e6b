/** The first page: what is running, what will run, and what needs attention. */
import type { JobCounts, ListedJob } from '../api/generated/api.ts'
import { useApi } from '../api/query.ts'
import { Icon, type IconName } from '../parts/Icon.tsx'
import { PageHead, RowLink, Section } from '../parts/layout.tsx'
import { Empty, Loaded, Stale } from '../parts/placeholders.tsx'
import { totalText } from '../parts/list.tsx'
import { ProgressBar, shareOf } from '../parts/Progress.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link } from '../router.ts'
import { isScoped } from '../session.ts'
import { now } from '../time/clock.ts'
import { Took } from '../time/Time.tsx'
import { count, DAY_MS, HOUR_MS } from '../time/format.ts'
import { Errors } from './Errors.tsx'
import { NextHour } from './NextHour.tsx'
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
        <Loaded query={query}>{() => null}</Loaded>
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
  /** Default: the state. */
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
    isMain: true,
    cell: ({ id, task, scheduleId, subject }) => (
      <>
        <RowLink href={link(['jobs', id])}>{task}</RowLink>
        <span class="below">{scheduleId ?? subject}</span>
      </>
    ),
  },
  { title: 'For', isNumber: true, cell: ({ startedAt }) => <Took from={startedAt} to={null} /> },
  {
    title: 'Progress',
    cell: ({ progress }) => {
      const share = shareOf(progress)
      return share === null ? (
        <span class="none">–</span>
      ) : (
        <ProgressBar share={share} class="progress-cell" />
      )
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
      <Loaded query={jobs} rows={3}>
        {({ items }) => (
          <Table
            label="Running now"
            rows={items}
            columns={columns}
            empty={<Empty title="No jobs are running" />}
          />
        )}
      </Loaded>
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
      <Loaded query={workers} rows={3}>
        {({ items }) => <WorkerTable workers={items.slice(0, MAX_ROWS)} isShort />}
      </Loaded>
    </Section>
  )
}

function Failed() {
  // Starts at the full hour, so that the request does not change with each second.
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
