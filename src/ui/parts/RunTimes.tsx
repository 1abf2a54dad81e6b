import { relativeTime } from '../../duration.ts'
import { now } from '../time/clock.ts'
import { exact } from '../time/format.ts'

interface RunTimesProps {
  readonly label: string
  readonly times: readonly { readonly at: string }[]
  readonly timerZone: string
  readonly myZone?: string
  readonly zones: readonly string[]
  readonly next?: string | null
}

export function RunTimes({ label, times, timerZone, myZone, zones, next }: RunTimesProps) {
  const columns = [...new Set([timerZone, ...zones])]
  const nextMs = Date.parse(next ?? '')
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={label}>
      <table class="run-times">
        <thead>
          <tr>
            <th scope="col">In</th>
            {columns.map((zone) => (
              <th key={zone} scope="col">
                {zone}
                {zone === timerZone && ' (timer)'}
                {zone === myZone && ' (mine)'}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map(({ at }) => {
            const date = new Date(at)
            return (
              <tr key={at} class={date.getTime() === nextMs ? 'is-next' : undefined}>
                <td>{relativeTime(date, now.value).replace(/^in /u, '')}</td>
                {columns.map((zone) => (
                  <td key={zone}>{exact(date, zone)}</td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
