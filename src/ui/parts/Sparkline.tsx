/**
 * The last runs as bars, with the oldest on the left. The height is the duration of the run, and a short bar is a
 * skipped slot.
 */
import type { ListedSchedule, RecentRun } from '../api/generated/api.ts'
import { link } from '../router.ts'
import { durationText } from '../../duration.ts'

const WIDTH = 6
const HEIGHT = 20
const SHOWN = 20

export function Sparkline({ schedule: { id, runs = [] } }: { readonly schedule: ListedSchedule }) {
  if (runs.length === 0) return <span class="none">–</span>
  const shown = runs.slice(0, SHOWN).toReversed()
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
  const counts = new Map<string, number>()
  for (const { state } of runs) counts.set(state, (counts.get(state) ?? 0) + 1)
  const words = [...counts].map(([state, number]) => `${number} ${state}`)
  const took = runs.map(tookMs).filter((ms) => ms > 0)
  return took.length === 0
    ? words.join(', ')
    : `${words.join(', ')}; the longest took ${durationText(Math.max(...took))}`
}

function tookMs({ startedAt: started, finishedAt: finished }: RecentRun): number {
  return started === null || finished === null ? 0 : Math.max(0, Date.parse(finished) - Date.parse(started))
}
