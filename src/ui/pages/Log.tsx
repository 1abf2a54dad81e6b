/** What a handler logs, as it comes. It stays at its end while somebody reads there. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { urls } from '../api/calls.ts'
import { type Shown, useApi } from '../api/query.ts'
import type { LogLine } from '../api/types.ts'
import { Empty, Failure } from '../parts/placeholders.tsx'
import { zone } from '../time/clock.ts'
import { exact, wall } from '../time/format.ts'

/** From the end within which somebody reads the newest lines. */
const NEAR_PX = 40
/** Lines that are logged are not told as changes. */
const LOOK_MS = 1000
/** More are not drawn; the API gives them all. */
const MOST_LINES = 2000

/** The lines of a job's log, as they come. */
export function useLog(
  job: string,
  isRunning: boolean,
): { readonly lines: readonly LogLine[]; readonly log: Shown<Lines> } {
  const [lines, setLines] = useState<readonly LogLine[]>([])
  // Only what is new: the address names the last line that is there.
  const log = useApi<Lines>(urls.logs(job, lines.at(-1)?.id ?? 0), ['jobs'], isRunning ? LOOK_MS : undefined)
  const news = log.data?.items
  useEffect(() => {
    if (news === undefined || news.length === 0) return
    setLines((known) => [...known, ...news.filter(({ id }) => id > (known.at(-1)?.id ?? 0))])
  }, [news])
  return { lines, log }
}

interface Lines {
  readonly items: readonly LogLine[]
}

interface LogProps {
  readonly lines: readonly LogLine[]
  readonly log: Shown<Lines>
  readonly isRunning: boolean
}

export function Log({ lines, log, isRunning }: LogProps) {
  const box = useRef<HTMLOListElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    const list = box.current
    if (list !== null && isAtEnd.current && isRunning) list.scrollTop = list.scrollHeight
  }, [lines.length, isRunning])
  const hidden = Math.max(0, lines.length - MOST_LINES)
  return (
    <section>
      <div class="section-head">
        <h2>Log</h2>
        <span class="quiet">
          {isRunning ? 'live, ' : ''}
          {zone.value}
        </span>
      </div>
      {log.error !== undefined && log.data === undefined && (
        <Failure error={log.error} onRetry={log.reload} />
      )}
      {log.data !== undefined && lines.length === 0 && (
        <Empty title={isRunning ? 'Nothing logged yet' : 'Nothing was logged'} />
      )}
      {lines.length > 0 && (
        <ol
          class="log mono"
          ref={box}
          tabIndex={0}
          aria-label="Log"
          onScroll={({ currentTarget: list }) => {
            isAtEnd.current = list.scrollHeight - list.scrollTop - list.clientHeight < NEAR_PX
          }}
        >
          {hidden > 0 && (
            <li>
              <span class="message">{hidden} earlier lines are not shown</span>
            </li>
          )}
          {lines.slice(hidden).map((line, index) => (
            <li key={hidden + index} class={line.level}>
              <time class="quiet" dateTime={line.at} title={exact(new Date(line.at), zone.value)}>
                {wall(new Date(line.at), zone.value).time}
              </time>
              <span class="level">{line.level}</span>
              <span class="message">{line.message}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}
