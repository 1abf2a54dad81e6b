/** A week by hours: what ran, what will run, and which hours have room. */
import type { Load } from '../api/generated/api.ts'
import { useApi } from '../api/query.ts'
import { Button, IconButton } from '../parts/Button.tsx'
import { PageHead } from '../parts/layout.tsx'
import { FilterChips, filtersOf } from '../parts/list.tsx'
import { Loaded, Stale } from '../parts/placeholders.tsx'
import { link, query, setQuery } from '../router.ts'
import { now, zone } from '../time/clock.ts'
import { count, DAY_MS, HOUR_MS, instantOf, wall } from '../time/format.ts'
import { CalendarHour } from './CalendarHour.tsx'

type HourLoad = Load['hours'][number]

const WEEK_HOURS = 168
const FILTERS = ['task', 'group', 'submitter'] as const

/** The first day of the week that an instant is in, as a date. */
function mondayOf(at: Date, zoneName: string): string {
  const day = new Date(`${wall(at, zoneName).date}T00:00:00Z`)
  return new Date(day.getTime() - ((day.getUTCDay() + 6) % 7) * DAY_MS).toISOString().slice(0, 10)
}

function shifted(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)
}

/** An hour from the address, which anyone can edit; undefined if it cannot be shown. */
function hourAt(text: string | undefined): string | undefined {
  const at = Date.parse(text ?? '')
  // The end of the hour must be a valid date as well.
  return Number.isNaN(at) || Number.isNaN(new Date(at + HOUR_MS).getTime()) ? undefined : text
}

export function CalendarPage() {
  const thisWeek = mondayOf(now.peek(), zone.value)
  const day = query.value['week'] ?? ''
  const isDay = /^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(Date.parse(day))
  const week = isDay ? mondayOf(new Date(`${day}T12:00:00Z`), 'UTC') : thisWeek
  const from = instantOf(`${week}T00:00`, zone.value) ?? new Date()
  const filter = filtersOf(FILTERS)
  const load = useApi('/api/v1/load', { query: { ...filter, from: from.toISOString(), hours: WEEK_HOURS } }, [
    'schedules',
  ])
  const at = hourAt(query.value['at'])
  const weekLink = (days: number) => link(['calendar'], { ...filter, week: shifted(week, days) })
  return (
    <>
      <PageHead title="Calendar">
        <IconButton icon="left" label="Previous week" href={weekLink(-7)} />
        <Button
          label="This week"
          href={link(['calendar'], filter)}
          aria-current={week === thisWeek ? 'date' : undefined}
        />
        <IconButton icon="right" label="Next week" href={weekLink(7)} />
      </PageHead>
      <p class="lead">
        {week} to {shifted(week, 6)}, hours in {zone.value}.{' '}
        {load.data !== undefined && <Quietest hours={load.data.hours} />}
      </p>
      <div class="filters">
        <FilterChips names={FILTERS} />
      </div>
      <Stale query={load} />
      <Loaded query={load} rows={7}>
        {(data) => (
          <>
            <Week load={data} />
            <Legend load={data} />
          </>
        )}
      </Loaded>
      {at !== undefined && (
        <CalendarHour
          at={at}
          filter={filter}
          ended={load.data?.hours.find(({ hour }) => hour === at)?.ended ?? {}}
        />
      )}
    </>
  )
}

/** The hour in which another schedule would meet the fewest runs. */
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

function Week({ load: { hours } }: { readonly load: Load }) {
  const current = Math.floor(now.value.getTime() / HOUR_MS) * HOUR_MS
  const isPast = ({ hour }: HourLoad) => Date.parse(hour) < current
  const shares = new Map([
    ...sharesOf(hours.filter(isPast), endedOf),
    ...sharesOf(
      hours.filter((hour) => !isPast(hour)),
      ({ planned }) => planned,
    ),
  ])
  const days = [...new Set(hours.map(({ hour }) => wall(new Date(hour), zone.value).date))]
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
      {hours.map((hour) => (
        <Cell
          key={hour.hour}
          load={hour}
          share={shares.get(hour.hour) ?? 0}
          days={days}
          isPast={isPast(hour)}
          isNow={Date.parse(hour.hour) === current}
        />
      ))}
    </div>
  )
}

interface CellProps {
  readonly load: HourLoad
  /** How busy the hour is, from 0 to 1. */
  readonly share: number
  readonly days: readonly string[]
  readonly isPast: boolean
  readonly isNow: boolean
}

function Cell({ load, share, days, isPast, isNow }: CellProps) {
  const { weekday, date, time } = wall(new Date(load.hour), zone.value)
  const number = isPast ? endedOf(load) : load.planned
  const failed = load.ended['failed'] ?? 0
  const failures = failed > 0 ? `, ${count(failed)} failed` : ''
  const words = `${weekday} ${date} ${time.slice(0, 5)}: ${count(number)} ${isPast ? 'ended' : 'planned'}${failures}`
  const classes = ['cell', isPast && 'past', isNow && 'is-now', failed > 0 && 'failed']
  return (
    <a
      class={classes.filter((name) => name !== false).join(' ')}
      style={{ '--load': share, '--d': days.indexOf(date), '--h': Number(time.slice(0, 2)) }}
      href={link(['calendar'], { ...query.value, at: load.hour })}
      aria-current={query.value['at'] === load.hour ? 'true' : undefined}
      aria-label={words}
      title={words}
    >
      {number === 0 ? '' : compact.format(number)}
    </a>
  )
}

/** What fits into a cell: `9`, `840`, `12K`. */
const compact = new Intl.NumberFormat('en', { notation: 'compact' })

/** Where each hour is between the quietest and the busiest one, from 0 to 1. */
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
    planned: `planned, by ${count(load.schedules)} active schedules`,
    failed: 'some failed',
  }
  return (
    <div class="legend">
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
