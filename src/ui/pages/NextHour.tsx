/** The runs of the next hour: a bar for each minute, and the first few as a list. */
import type { Upcoming } from '../api/generated/api.ts'
import { useApi } from '../api/query.ts'
import { Section } from '../parts/layout.tsx'
import { Empty } from '../parts/placeholders.tsx'
import { link } from '../router.ts'
import { now, zone } from '../time/clock.ts'
import { Ago } from '../time/Time.tsx'
import { count, HOUR_MS, MINUTE_MS, wall } from '../time/format.ts'

const MAX_RUNS = 1000
const LISTED = 6
/** The full height of the chart represents at least this many runs. */
const LEAST_HEIGHT = 4

export function NextHour() {
  // Starts at the full minute, so that the request does not change with each second.
  const from = Math.floor(now.value.getTime() / MINUTE_MS) * MINUTE_MS
  const query = {
    from: new Date(from).toISOString(),
    to: new Date(from + HOUR_MS).toISOString(),
    limit: MAX_RUNS,
  }
  const { data, error } = useApi('/api/v1/upcoming', { query }, ['schedules'])
  return (
    <Section title="The next hour" aside={<a href={link(['calendar'])}>Calendar</a>}>
      {error !== undefined && data === undefined && (
        <Empty title="Cannot show the next hour">{error.message}</Empty>
      )}
      {data !== undefined && (
        <>
          <Chart from={from} runs={data.items} />
          {!data.complete && <p class="quiet">Only the first {count(data.items.length)} runs are shown.</p>}
          <NextRuns runs={data.items} />
        </>
      )}
    </Section>
  )
}

interface RunsProps {
  readonly runs: Upcoming['items']
}

function Chart({ from, runs }: RunsProps & { readonly from: number }) {
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
        const words = `${timeOf(minute)}: ${count(number)} ${number === 1 ? 'run' : 'runs'}`
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

function NextRuns({ runs }: RunsProps) {
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
