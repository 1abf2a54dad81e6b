import type { Load, Upcoming } from '../generated/api.ts'
import { useApi } from '../api/query.ts'
import { Button, IconButton } from '../parts/Button.tsx'
import { PageHead, RowLink, Section } from '../parts/layout.tsx'
import { FilterChips, filtersOf } from '../parts/list.tsx'
import { Empty, Loaded, Stale } from '../parts/placeholders.tsx'
import { link, linkHere, query, setQuery } from '../router.ts'
import { now, zone } from '../time/clock.ts'
import { count, counted, HOUR_MS, instantOf, wall } from '../time/format.ts'
import { hourOf, placed, weekOf } from '../time/week.ts'
import { type Column, Table } from '../parts/Table.tsx'

type HourLoad = Load['hours'][number]

const [FIRST_DAY, LAST_DAY] = ['1970-01-05', '9999-12-26']
const FILTERS = ['task', 'group', 'submitter'] as const

/** An instant from the address, which anyone can edit, or undefined if its week cannot be shown. */
function asked(text: string): Date | undefined {
  const at = new Date(text)
  return at >= new Date(FIRST_DAY) && at <= new Date(LAST_DAY) ? at : undefined
}

function askedDay(): string | undefined {
  const { week = '' } = query.value
  return /^\d{4}-\d\d-\d\d$/.test(week) && asked(week) !== undefined ? week : undefined
}

/** The week that contains the day or hour in the address, or else this week. */
function shownWeek() {
  const day = askedDay()
  const noon = day === undefined ? null : instantOf(`${day}T12:00`, zone.value)
  return weekOf(noon ?? asked(query.value['at'] ?? '') ?? now.peek(), zone.value)
}

export function CalendarPage() {
  const week = shownWeek()
  const { from, hours } = week
  const at = asked(query.value['at'] ?? '')
  const hour = at && hourOf(at, from).toISOString()
  const filter = filtersOf(FILTERS)
  const load = useApi('/api/v1/load', { query: { ...filter, from: from.toISOString(), hours } }, [
    'schedules',
  ])
  const weekLink = (first: string) => link(['calendar'], { ...filter, week: first })
  return (
    <>
      <PageHead title="Calendar">
        <IconButton icon="left" label="Previous week" href={weekLink(week.previous)} />
        <Button
          label="This week"
          href={link(['calendar'], filter)}
          aria-current={week.first === weekOf(now.peek(), zone.value).first ? 'date' : undefined}
        />
        <IconButton icon="right" label="Next week" href={weekLink(week.next)} />
        <input
          type="date"
          aria-label="Go to the week of"
          value={askedDay() ?? week.first}
          min={FIRST_DAY}
          max={LAST_DAY}
          onInput={({ currentTarget: { value, validity } }) => {
            if (value !== '' && validity.valid) setQuery({ week: value, at: undefined }, 'replace')
          }}
        />
      </PageHead>
      <p class="lead">
        {week.first} to {week.last}, hours in {zone.value}.{' '}
        {load.data !== undefined && <Quietest hours={load.data.hours} />}
      </p>
      <div class="row filters">
        <FilterChips names={FILTERS} />
      </div>
      <Stale query={load} />
      <Loaded query={load} rows={7}>
        {(data) => (
          <>
            <Hours load={data} shown={hour} />
            <Legend load={data} />
          </>
        )}
      </Loaded>
      {hour !== undefined && (
        <CalendarHour
          at={hour}
          filter={filter}
          ended={load.data?.hours.find((one) => one.hour === hour)?.ended ?? {}}
        />
      )}
    </>
  )
}

function Quietest({ hours }: { readonly hours: readonly HourLoad[] }) {
  const later = hours.filter(({ hour }) => Date.parse(hour) > now.peek().getTime())
  const [quiet] = later.toSorted((one, other) => one.planned - other.planned)
  if (quiet === undefined) return null
  const { weekday, time } = wall(new Date(quiet.hour), zone.value)
  return (
    <>
      The quietest upcoming hour:{' '}
      <Button
        kind="link"
        label={`${weekday} ${time.slice(0, 5)}, ${count(quiet.planned)} planned`}
        onClick={() => setQuery({ at: quiet.hour })}
      />
    </>
  )
}

function endedOf({ ended }: HourLoad): number {
  const { skipped: _, ...runs } = ended
  return Object.values(runs).reduce((sum, jobs) => sum + jobs, 0)
}

function Hours({ load, shown }: { readonly load: Load; readonly shown: string | undefined }) {
  const { from, hours } = load
  const current = hourOf(now.value, new Date(from)).getTime()
  const isPast = ({ hour }: HourLoad) => Date.parse(hour) < current
  const past = hours.filter(isPast)
  const shares = new Map([
    ...sharesOf(past, endedOf),
    ...sharesOf(hours.slice(past.length), ({ planned }) => planned),
  ])
  const cells = placed(hours, zone.value)
  const days = [...new Set(cells.map(({ wall: { date } }) => date))]
  return (
    <div class="week" role="group" aria-label="Runs by day and hour">
      {Array.from({ length: 24 }, (_, hour) => (
        <span key={hour} class="hours" style={{ '--h': hour }} aria-hidden="true">
          {String(hour).padStart(2, '0')}
        </span>
      ))}
      {days.map((date, day) => (
        <span key={date} class="day" style={{ '--d': day }} aria-hidden="true">
          <b>{wall(new Date(`${date}T12:00:00Z`), 'UTC').weekday}</b> {date.slice(5)}
        </span>
      ))}
      {cells.map(({ of: load, wall: { weekday, date, time, offset }, half }) => {
        const isOver = isPast(load)
        const number = isOver ? endedOf(load) : load.planned
        const failed = load.ended['failed'] ?? 0
        const start = `${weekday} ${date} ${time.slice(0, 5)}${half === null ? '' : ` ${offset}`}`
        const failures = failed > 0 ? `, ${count(failed)} failed` : ''
        const words = `${start}: ${count(number)} ${isOver ? 'ended' : 'planned'}${failures}`
        const isNow = Date.parse(load.hour) === current
        const classes = ['cell', isOver && 'past', isNow && 'is-now', failed > 0 && 'failed', half ?? false]
        return (
          <a
            key={load.hour}
            class={classes.filter((name) => name !== false).join(' ')}
            style={{
              '--load': shares.get(load.hour) ?? 0,
              '--d': days.indexOf(date),
              '--h': Number(time.slice(0, 2)),
            }}
            href={linkHere({ at: load.hour })}
            aria-current={load.hour === shown ? 'true' : undefined}
            aria-label={words}
            title={words}
          >
            {number === 0 ? '' : compact.format(number)}
          </a>
        )
      })}
    </div>
  )
}

/** A number in a form that fits in a cell: `9`, `840`, `12K`. */
const compact = new Intl.NumberFormat('en', { notation: 'compact' })

/** The shade of each hour, from 0.2 for the quietest to 1 for the busiest; 0 for an empty hour. */
function sharesOf(hours: readonly HourLoad[], numberOf: (hour: HourLoad) => number): [string, number][] {
  const numbers = hours.map(numberOf).filter((number) => number > 0)
  const least = Math.min(...numbers)
  const span = Math.max(1, Math.max(...numbers) - least)
  return hours.map((hour) => {
    const number = numberOf(hour)
    return [hour.hour, number === 0 ? 0 : Number((0.2 + (0.8 * (number - least)) / span).toFixed(2))]
  })
}

function Legend({ load }: { readonly load: Load }) {
  const items = {
    ran: 'ended',
    planned: `planned, by ${counted(load.schedules, 'schedule')}`,
    failed: 'some failed',
  }
  return (
    <div class="row legend">
      {Object.entries(items).map(([name, text]) => (
        <span key={name}>
          <i class={name} />
          {text}
        </span>
      ))}
      {!load.plannedIsExact && <span>Planned numbers are estimates.</span>}
      {!load.endedIsComplete && <span>There are too many jobs: the first hours are incomplete.</span>}
    </div>
  )
}

const MAX_RUNS = 200
const TIMES_SHOWN = 6

interface ScheduleRuns {
  readonly id: string
  readonly runs: Upcoming['items']
}

const columns: readonly Column<ScheduleRuns>[] = [
  {
    title: 'Schedule',
    kind: 'main',
    cell: ({ id }) => <RowLink href={link(['schedules', id])}>{id}</RowLink>,
  },
  {
    title: 'Task',
    cell: ({ runs: [run] }) => run && <a href={link(['schedules'], { task: run.task })}>{run.task}</a>,
  },
  { title: 'Times', kind: 'number', cell: ({ runs }) => count(runs.length) },
  { title: 'At', kind: 'wide', cell: ({ runs }) => <Times runs={runs} /> },
]

function Times({ runs }: Pick<ScheduleRuns, 'runs'>) {
  const shown = runs
    .slice(0, TIMES_SHOWN)
    .map(({ at }) => wall(new Date(at), zone.value).time.replace(/:00$/u, ''))
  return (
    <span>
      {shown.join(', ')}
      {runs.length > TIMES_SHOWN && <span class="quiet"> and {runs.length - TIMES_SHOWN} more</span>}
    </span>
  )
}

interface CalendarHourProps {
  readonly at: string
  readonly filter: Readonly<Record<string, string>>
  /** Number of jobs by state. */
  readonly ended: Readonly<Record<string, number>>
}

function CalendarHour({ at, filter, ended }: CalendarHourProps) {
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
      {!isPast && <UpcomingRuns query={{ ...filter, from: at, to: end.toISOString() }} />}
    </Section>
  )
}

function UpcomingRuns({ query }: { readonly query: { readonly from: string; readonly to: string } }) {
  const upcoming = useApi('/api/v1/upcoming', { query: { ...query, limit: MAX_RUNS } }, ['schedules'])
  const { data } = upcoming
  const groups = data && Map.groupBy(data.items, ({ scheduleId }) => scheduleId)
  return (
    <>
      <Table
        label="Upcoming runs in this hour"
        query={upcoming}
        rows={groups && [...groups].map(([id, runs]) => ({ id, runs }))}
        columns={columns}
        empty={<Empty title="No runs in this hour" />}
      />
      {data?.complete === false && (
        <p class="row pager">Only the first {count(data.items.length)} runs are shown.</p>
      )}
    </>
  )
}
