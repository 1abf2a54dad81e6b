/** The first page: what runs, what comes, what needs somebody. */
import { urls } from '../api/calls.ts'
import { useApi } from '../api/query.ts'
import type {
  Counts,
  Job,
  JobState,
  ListedSchedule,
  Page,
  ScheduleStatus,
  UpcomingList,
  Worker,
} from '../api/types.ts'
import { Icon, type IconName } from '../parts/Icon.tsx'
import { Empty, Failure, Loading, Stale } from '../parts/placeholders.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link } from '../router.ts'
import { isScoped } from '../session.ts'
import { now, zone } from '../time/clock.ts'
import { Ago, Took } from '../time/Time.tsx'
import { count, wall } from '../time/format.ts'
import { Errors } from './Errors.tsx'
import { shareOf } from './Job.tsx'

/** Heartbeats are not told as changes. */
const HEARTBEAT_MS = 5000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const MOST_ERRORS = 5
const MOST_RUNNING = 8
/** Within the poll interval and the lease a schedule is not late yet. */
const LATE_MS = 90_000

/** The start of the minute, so that the address of a look does not change with each second. */
function thisMinute(): number {
  return Math.floor(now.value.getTime() / MINUTE_MS) * MINUTE_MS
}

export function Overview() {
  const schedules = useApi<Counts<ScheduleStatus>>(urls.scheduleCounts({}), ['schedules'])
  const jobs = useApi<Counts<JobState>>(urls.jobCounts({}), ['jobs'])
  const error = schedules.error ?? jobs.error
  return (
    <>
      <header class="head">
        <h1 tabIndex={-1}>Overview</h1>
      </header>
      <Stale error={schedules.data === undefined ? undefined : error} />
      {schedules.data === undefined && error !== undefined ? (
        <Failure error={error} onRetry={schedules.reload} />
      ) : (
        <Figures schedules={schedules.data} jobs={jobs.data} />
      )}
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

interface Figure {
  readonly name: string
  readonly icon: IconName
  readonly tone: string
  readonly number: number | undefined
  readonly href: string
}

function Figures({
  schedules,
  jobs,
}: {
  readonly schedules: Counts<ScheduleStatus> | undefined
  readonly jobs: Counts<JobState> | undefined
}) {
  const ofJobs = (state: JobState, tone: string = state): Figure => ({
    name: state,
    icon: state,
    tone,
    number: jobs === undefined ? undefined : (jobs.counts[state] ?? 0),
    href: link(['jobs'], { state }),
  })
  const figures: readonly Figure[] = [
    {
      name: 'active schedules',
      icon: 'active',
      tone: 'active',
      number: schedules === undefined ? undefined : (schedules.counts.active ?? 0),
      href: link(['schedules'], { status: 'active' }),
    },
    ofJobs('running'),
    ofJobs('waiting'),
    ofJobs('failed'),
    ofJobs('success'),
  ]
  return (
    <div class="figures">
      {figures.map(({ name, icon, tone, number, href }) => (
        <a key={name} href={href}>
          <b>
            {number === undefined ? '…' : count(number)}
            {number === 10_000 && '+'}
          </b>
          <span class={`state ${number === 0 ? '' : tone}`}>
            <Icon name={icon} /> {name}
          </span>
        </a>
      ))}
    </div>
  )
}

/** Schedules of which nothing comes although somebody may expect it, and those that are late. */
function NeedsAttention({ counts }: { readonly counts: Counts<ScheduleStatus> | undefined }) {
  const { data } = useApi<Page<ListedSchedule>>(urls.schedules({ order: 'nextRun', limit: 20 }), [
    'schedules',
  ])
  const late = (data?.items ?? []).filter(
    ({ nextRun, status, idle }) =>
      status === 'active' &&
      idle === null &&
      nextRun !== null &&
      now.value.getTime() - Date.parse(nextRun) > LATE_MS,
  )
  const dead = counts?.counts.dead ?? 0
  const invalid = counts?.counts.invalid ?? 0
  const [first] = late
  if (dead + invalid === 0 && first === undefined) return null
  return (
    <section>
      <div class="section-head">
        <h2>Needs attention</h2>
      </div>
      <ul class="attention">
        {first !== undefined && (
          <li>
            <span class="state failed">
              <Icon name="late" /> late
            </span>
            <span>
              <a href={link(['schedules'], { order: 'nextRun' })}>
                {late.length === 20 ? '20 or more' : count(late.length)}{' '}
                {late.length === 1 ? 'schedule' : 'schedules'}
              </a>{' '}
              not submitted in time, such as <a href={link(['schedules', first.id])}>{first.id}</a>, due{' '}
              <Ago at={first.nextRun} />
            </span>
          </li>
        )}
        {dead > 0 && (
          <li>
            <span class="state dead">
              <Icon name="dead" /> dead
            </span>
            <a href={link(['schedules'], { status: 'dead' })}>
              {count(dead)} {dead === 1 ? 'schedule has' : 'schedules have'} failed for good: reset revives
              them
            </a>
          </li>
        )}
        {invalid > 0 && (
          <li>
            <span class="state invalid">
              <Icon name="invalid" /> invalid
            </span>
            <a href={link(['schedules'], { status: 'invalid' })}>
              {count(invalid)} {invalid === 1 ? 'schedule has a timer' : 'schedules have timers'} that cannot
              be read
            </a>
          </li>
        )}
      </ul>
    </section>
  )
}

const running: readonly Column<Job>[] = [
  {
    title: 'Job',
    phone: 'first',
    class: 'wide',
    cell: ({ id, task, scheduleId, subject }) => (
      <>
        <a class="row-link name" href={link(['jobs', id])}>
          {task}
        </a>
        <span class="below">{scheduleId ?? subject}</span>
      </>
    ),
  },
  { title: 'For', isNumber: true, cell: ({ started }) => <Took from={started} to={null} /> },
  {
    title: 'Progress',
    cell: ({ progress }) => {
      const share = shareOf(progress)
      if (share === null) return <span class="none">–</span>
      return (
        <span class="progress-cell">
          <span class="bar">
            <span style={{ width: `${share * 100}%` }} />
          </span>
          {Math.round(share * 100)} %
        </span>
      )
    },
  },
]

function Running() {
  const { data, error, reload } = useApi<Page<Job>>(urls.jobs({ state: 'running', limit: MOST_RUNNING }), [
    'jobs',
  ])
  return (
    <section>
      <div class="section-head">
        <h2>Running now</h2>
        {data !== undefined && data.total > MOST_RUNNING && (
          <a href={link(['jobs'], { state: 'running' })}>all {count(data.total)}</a>
        )}
      </div>
      {data === undefined ? (
        error === undefined ? (
          <Loading rows={3} />
        ) : (
          <Failure error={error} onRetry={reload} />
        )
      ) : data.items.length === 0 ? (
        <Empty title="Nothing runs just now" />
      ) : (
        <Table label="Running now" rows={data.items} idOf={({ id }) => id} columns={running} />
      )}
    </section>
  )
}

const workers: readonly Column<Worker>[] = [
  {
    title: 'Worker',
    phone: 'first',
    class: 'wide',
    cell: ({ name, host, pid, alive }) => (
      <>
        <a class="row-link name" href={link(['workers'])}>
          {name}
        </a>
        {!alive && <span class="bad"> silent</span>}
        <span class="below">
          {host}, process {pid}
        </span>
      </>
    ),
  },
  { title: 'Heartbeat', cell: ({ heartbeat }) => <Ago at={heartbeat} /> },
  {
    title: 'Runs',
    isNumber: true,
    cell: ({ id, running: number }) => (
      <a href={link(['jobs'], { state: 'running', worker: id })}>{count(number)}</a>
    ),
  },
]

function Workers() {
  const { data, error, reload } = useApi<{ readonly items: readonly Worker[] }>(
    urls.workers(),
    ['workers', 'jobs'],
    HEARTBEAT_MS,
  )
  return (
    <section>
      <div class="section-head">
        <h2>Workers</h2>
        <a href={link(['workers'])}>{data === undefined ? '' : `all ${count(data.items.length)}`}</a>
      </div>
      {data === undefined ? (
        error === undefined ? (
          <Loading rows={3} />
        ) : (
          <Failure error={error} onRetry={reload} />
        )
      ) : data.items.length === 0 ? (
        <Empty title="No worker is there">
          Nothing is submitted and no job runs until a process calls start.
        </Empty>
      ) : (
        <Table
          label="Workers"
          rows={data.items.slice(0, MOST_RUNNING)}
          idOf={({ id }) => id}
          columns={workers}
        />
      )}
    </section>
  )
}

const NEXT = 6
const MOST_ELAPSES = 1000

/** The elapses of the next hour, a bar for each minute. */
function NextHour() {
  const from = thisMinute()
  const { data, error } = useApi<UpcomingList>(
    urls.upcoming({
      from: new Date(from).toISOString(),
      to: new Date(from + HOUR_MS).toISOString(),
      limit: MOST_ELAPSES,
    }),
    ['schedules'],
  )
  const minutes = Array.from({ length: 60 }, () => 0)
  for (const { at } of data?.items ?? []) {
    const minute = Math.floor((Date.parse(at) - from) / MINUTE_MS)
    minutes[minute] = (minutes[minute] ?? 0) + 1
  }
  const most = Math.max(4, ...minutes)
  const next = (data?.items ?? []).filter(({ at }) => Date.parse(at) > now.value.getTime()).slice(0, NEXT)
  return (
    <section>
      <div class="section-head">
        <h2>The next hour</h2>
        <a href={link(['calendar'])}>Calendar</a>
      </div>
      {error !== undefined && data === undefined && (
        <Empty title="The next hour cannot be shown">{error.message}</Empty>
      )}
      {data !== undefined && (
        <>
          <div class="hour" role="group" aria-label="Elapses by minute">
            {minutes.map((number, minute) => {
              const time = wall(new Date(from + minute * MINUTE_MS), zone.value).time.slice(0, 5)
              const start = Math.floor((from + minute * MINUTE_MS) / HOUR_MS) * HOUR_MS
              const words = `${time}: ${count(number)} ${number === 1 ? 'elapse' : 'elapses'}`
              return (
                <a
                  key={minute}
                  href={link(['calendar'], { at: new Date(start).toISOString() })}
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
                {wall(new Date(from + minute * MINUTE_MS), zone.value).time.slice(0, 5)}
                {minute === 60 && ` ${zone.value}`}
              </span>
            ))}
          </div>
          {!data.complete && (
            <p class="quiet">The first {count(data.items.length)} elapses; there are more.</p>
          )}
          {next.length === 0 ? (
            <Empty title="Nothing comes in the next hour">
              <a href={link(['schedules'], { order: 'nextRun' })}>Upcoming runs</a>
            </Empty>
          ) : (
            <ol class="next">
              {next.map(({ at, schedule, task }) => (
                <li key={`${at} ${schedule}`}>
                  <span class="when">
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
                <a href={link(['schedules'], { order: 'nextRun' })}>all upcoming runs</a>
              </li>
            </ol>
          )}
        </>
      )}
    </section>
  )
}

function Failed() {
  const since = new Date(Math.floor(thisMinute() / HOUR_MS) * HOUR_MS - DAY_MS).toISOString()
  return (
    <section>
      <div class="section-head">
        <h2>Failed in the last 24 hours</h2>
        <a href={link(['jobs'], { by: 'error', finishedFrom: since })}>all errors</a>
      </div>
      <Errors wanted={{ finishedFrom: since }} most={MOST_ERRORS} />
    </section>
  )
}
