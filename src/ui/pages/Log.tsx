import { useEffect, useRef, useState } from 'preact/hooks'
import type { LogLines } from '../generated/api.ts'
import { useApi } from '../api/query.ts'
import { Section } from '../parts/layout.tsx'
import { Empty, Loaded } from '../parts/placeholders.tsx'
import { zone } from '../time/clock.ts'
import { counted, exact, wall } from '../time/format.ts'

/** The list follows new lines while it is scrolled this close to its end. */
const NEAR_PX = 40
/** The polling interval for new lines, which the server does not report as changes. */
const POLL_MS = 1000
const LINES_PER_REQUEST = 1000
/** Maximum number of lines that are drawn; the API returns all lines. */
const MAX_LINES = 2000

export function useLog(id: string, isRunning: boolean) {
  const [lines, setLines] = useState<LogLines['items']>([])
  // Only new lines are requested, because the query names the last known line.
  const query = { after: lines.at(-1)?.id ?? 0, limit: LINES_PER_REQUEST }
  const everyMs = isRunning ? POLL_MS : undefined
  const log = useApi('/api/v1/jobs/{id}/logs', { path: { id }, query }, ['jobs'], everyMs)
  const news = log.data?.items
  useEffect(() => {
    if (news === undefined || news.length === 0) return
    setLines((known) => [...known, ...news.filter(({ id }) => id > (known.at(-1)?.id ?? 0))])
  }, [news])
  return { lines, log }
}

interface LogProps extends ReturnType<typeof useLog> {
  readonly isRunning: boolean
}

export function Log({ lines, log, isRunning }: LogProps) {
  const box = useRef<HTMLOListElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    const list = box.current
    if (list !== null && isAtEnd.current && isRunning) list.scrollTop = list.scrollHeight
  }, [lines.length, isRunning])
  const hidden = Math.max(0, lines.length - MAX_LINES)
  return (
    <Section title="Log" aside={<span class="quiet">{`${isRunning ? 'live, ' : ''}${zone.value}`}</span>}>
      {lines.length === 0 ? (
        <Loaded query={log} rows={0}>
          {() => <Empty title={isRunning ? 'No log lines yet' : 'No log lines'} />}
        </Loaded>
      ) : (
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
              <span class="message">{counted(hidden, 'earlier line is', 'earlier lines are')} not shown</span>
            </li>
          )}
          {lines.slice(hidden).map(({ at, level, message }, index) => (
            <li key={hidden + index} class={level}>
              <time class="quiet" dateTime={at} title={exact(new Date(at), zone.value)}>
                {wall(new Date(at), zone.value).time}
              </time>
              <span class="level">{level}</span>
              <span class="message">{message}</span>
            </li>
          ))}
        </ol>
      )}
    </Section>
  )
}
