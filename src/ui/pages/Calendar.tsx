/** A week by hours: what ran, what comes, and where there is room. */
import { urls } from '../api/calls.ts'
import { useApi } from '../api/query.ts'
import type { HourLoad, Load, UpcomingList } from '../api/types.ts'
import { Icon } from '../parts/Icon.tsx'
import { Chip } from '../parts/list.tsx'
import { Empty, Failure, Loading, Stale } from '../parts/placeholders.tsx'
import { type Column, Table } from '../parts/Table.tsx'
import { link, query, setQuery } from '../router.ts'
import { now, zone } from '../time/clock.ts'
import { count, instantOf, wall } from '../time/format.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WEEK_HOURS = 168
const FILTERS = ['task', 'group', 'submitter'] as const
const LISTED = 200

/** The first day of the week of an instant, as a date, in the zone shown. */
function mondayOf(at: Date, zoneName: string): string {
  const day = new Date(`${wall(at, zoneName).date}T00:00:00Z`)
  return new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * DAY_MS).toISOString().slice(0, 10)
}

function shifted(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)
}

/** An instant in the address, which people and other pages write; undefined when it is not one that can be shown. */
function hourAt(text: string | undefined): string | undefined {
  const at = Date.parse(text ?? '')
  // Its hour must have an end that can be written as well.
  return Number.isNaN(at) || Number.isNaN(new Date(at + HOUR_MS).getTime()) ? undefined : text
}

export function CalendarPage() {
  const thisWeek = mondayOf(now.peek(), zone.value)
  const day = query.value['week'] ?? ''
  const isDay = /^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(Date.parse(day))
  const week = isDay ? mondayOf(new Date(`${day}T12:00:00Z`), 'UTC') : thisWeek
  const from = instantOf(`${week}T00:00`, zone.value) ?? new Date()
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.value[name]]))
  const { data, error, reload } = useApi<Load>(
    urls.load({ ...filters, from: from.toISOString(), hours: WEEK_HOURS }),
    ['schedules'],
  )
  const at = hourAt(query.value['at'])
  return (
    <>
      <header class="head">
        <h1 tabIndex={-1}>Calendar</h1>
        <div class="actions">
          <a
            class="button"
            href={link(['calendar'], { ...filters, week: shifted(week, -7) })}
            aria-label="Week before"
          >
            <Icon name="left" />
          </a>
          <a
            class="button"
            href={link(['calendar'], filters)}
            aria-current={week === thisWeek ? 'date' : undefined}
          >
            This week
          </a>
          <a
            class="button"
            href={link(['calendar'], { ...filters, week: shifted(week, 7) })}
            aria-label="Next week"
          >
            <Icon name="right" />
          </a>
        </div>
      </header>
      <p class="lead">
        {week} to {shifted(week, 6)}, hours of {zone.value}.{' '}
        {data !== undefined && <Quietest hours={data.hours} />}
      </p>
      <div class="filters">
        {FILTERS.map((name) => {
          const value = query.value[name]
          return (
            value !== undefined && (
              <Chip key={name} name={name}>
                {name} <b>{value}</b>
              </Chip>
            )
          )
        })}
      </div>
      <Stale error={data === undefined ? undefined : error} />
      {data === undefined ? (
        error === undefined ? (
          <Loading rows={7} />
        ) : (
          <Failure error={error} onRetry={reload} />
        )
      ) : (
        <>
          <Map load={data} />
          <Legend load={data} />
        </>
      )}
      {at !== undefined && <Hour at={at} filters={filters} load={data} />}
    </>
  )
}

/** Where something new would meet the least. */
function Quietest({ hours }: { readonly hours: readonly HourLoad[] }) {
  const later = hours.filter(({ hour }) => Date.parse(hour) > now.peek().getTime())
  const [quiet] = later.toSorted((one, other) => one.planned - other.planned)
  if (quiet === undefined) return null
  const { weekday, time } = wall(new Date(quiet.hour), zone.value)
  return (
    <>
      The quietest hour to come:{' '}
      <button type="button" class="link" onClick={() => setQuery({ at: quiet.hour })}>
        {weekday} {time.slice(0, 5)}, {count(quiet.planned)} planned
      </button>
    </>
  )
}

function endedOf({ ended }: HourLoad): number {
  return Object.entries(ended).reduce(
    (sum, [state, jobs]) => (state === 'skipped' ? sum : sum + (jobs ?? 0)),
    0,
  )
}

function Map({ load }: { readonly load: Load }) {
  const current = Math.floor(now.value.getTime() / HOUR_MS) * HOUR_MS
  const numberOf = (hour: HourLoad) => (Date.parse(hour.hour) < current ? endedOf(hour) : hour.planned)
  const isPastHour = ({ hour }: HourLoad) => Date.parse(hour) < current
  const shares = new globalThis.Map([
    ...sharesOf(load.hours.filter(isPastHour), endedOf),
    ...sharesOf(
      load.hours.filter((hour) => !isPastHour(hour)),
      ({ planned }) => planned,
    ),
  ])
  const days = [...new Set(load.hours.map(({ hour }) => wall(new Date(hour), zone.value).date))]
  const { at } = query.value
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
      {load.hours.map((hour) => {
        const start = Date.parse(hour.hour)
        const { weekday, date, time } = wall(new Date(start), zone.value)
        const isPast = start < current
        const number = numberOf(hour)
        const failed = hour.ended.failed ?? 0
        const words = `${weekday} ${date} ${time.slice(0, 5)}: ${count(number)} ${isPast ? 'ended' : 'planned'}${failed > 0 ? `, ${count(failed)} failed` : ''}`
        const classes = ['cell', isPast && 'past', start === current && 'is-now', failed > 0 && 'failed']
        return (
          <a
            key={hour.hour}
            class={classes.filter((name) => name !== false).join(' ')}
            style={{
              '--load': shares.get(hour.hour) ?? 0,
              '--d': days.indexOf(date),
              '--h': Number(time.slice(0, 2)),
            }}
            href={link(['calendar'], { ...query.value, at: hour.hour })}
            aria-current={at === hour.hour ? 'true' : undefined}
            aria-label={words}
            title={words}
          >
            {number === 0 ? '' : short(number)}
          </a>
        )
      })}
    </div>
  )
}

/** From 0 to 1: where an hour stands between the quietest and the busiest one that has any. */
function sharesOf(hours: readonly HourLoad[], numberOf: (hour: HourLoad) => number): [string, number][] {
  const numbers = hours.map(numberOf).filter((number) => number > 0)
  const least = Math.min(...numbers)
  const span = Math.max(1, Math.max(...numbers) - least)
  return hours.map((hour) => {
    const number = numberOf(hour)
    return [hour.hour, number === 0 ? 0 : Number((0.2 + (0.8 * (number - least)) / span).toFixed(2))]
  })
}

/** What fits into a cell: `9`, `840`, `12k`. */
function short(value: number): string {
  if (value < 1000) return String(value)
  if (value < 10_000) return `${(value / 1000).toFixed(1)}k`
  return value < 1_000_000 ? `${Math.round(value / 1000)}k` : `${Math.round(value / 1_000_000)}M`
}

function Legend({ load }: { readonly load: Load }) {
  return (
    <div class="legend">
      <span>
        <i class="ran" />
        ended
      </span>
      <span>
        <i class="planned" />
        planned, by {count(load.schedules)} active schedules
      </span>
      <span>
        <i class="failed" />
        some failed
      </span>
      {!load.plannedIsExact && <span>Planned numbers are estimates: there are very many.</span>}
      {!load.endedIsComplete && <span>The first hours are incomplete: there are very many jobs.</span>}
    </div>
  )
}

interface Coming {
  readonly schedule: string
  readonly task: string
  readonly times: readonly string[]
}

const columns: readonly Column<Coming>[] = [
  {
    title: 'Schedule',
    phone: 'first',
    class: 'wide',
    cell: ({ schedule }) => (
      <a class="row-link name" href={link(['schedules', schedule])}>
        {schedule}
      </a>
    ),
  },
  { title: 'Task', cell: ({ task }) => <a href={link(['schedules'], { task })}>{task}</a> },
  { title: 'Times', isNumber: true, cell: ({ times }) => count(times.length) },
  { title: 'At', class: 'wide', cell: ({ times }) => <Times times={times} /> },
]

const TIMES_SHOWN = 6

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

function Hour({
  at,
  filters,
  load,
}: {
  readonly at: string
  readonly filters: Record<string, string | undefined>
  readonly load: Load | undefined
}) {
  const start = new Date(at)
  const end = new Date(start.getTime() + HOUR_MS)
  const isPast = end <= now.value
  const { data, error, reload } = useApi<UpcomingList>(
    isPast ? undefined : urls.upcoming({ ...filters, from: at, to: end.toISOString(), limit: LISTED }),
    ['schedules'],
  )
  const { weekday, date, time } = wall(start, zone.value)
  const ended = load?.hours.find(({ hour }) => hour === at)?.ended ?? {}
  const bounds = { ...filters, finishedFrom: start.toISOString(), finishedTo: end.toISOString() }
  const groups = new globalThis.Map<string, Coming>()
  for (const { schedule, task, at: elapse } of data?.items ?? [])
    groups.set(schedule, { schedule, task, times: [...(groups.get(schedule)?.times ?? []), elapse] })
  return (
    <section aria-live="polite">
      <div class="section-head">
        <h2>
          {weekday} {date} {time.slice(0, 5)} {zone.value}
        </h2>
        <button type="button" class="link" onClick={() => setQuery({ at: undefined })}>
          close
        </button>
      </div>
      <nav class="counts" aria-label="Jobs that ended in this hour">
        {Object.entries(ended).map(([state, jobs]) => (
          <a key={state} href={link(['jobs'], { ...bounds, state })}>
            {state} <b>{count(jobs ?? 0)}</b>
          </a>
        ))}
        {isPast && <a href={link(['jobs'], bounds)}>all jobs that ended then</a>}
      </nav>
      {!isPast &&
        (data === undefined ? (
          error === undefined ? (
            <Loading rows={3} />
          ) : (
            <Failure error={error} onRetry={reload} />
          )
        ) : groups.size === 0 ? (
          <Empty title="Nothing comes in this hour" />
        ) : (
          <>
            <Table
              label="Upcoming runs in this hour"
              rows={[...groups.values()]}
              idOf={({ schedule }) => schedule}
              columns={columns}
              view={at}
            />
            {!data.complete && (
              <p class="pager">The first {count(data.items.length)} elapses; there are more.</p>
            )}
          </>
        ))}
    </section>
  )
}
