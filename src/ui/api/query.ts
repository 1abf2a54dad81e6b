import { useEffect, useRef, useState } from 'preact/hooks'
import { type Answer, get, OfflineError, type Params, type ReadablePath } from './client.ts'
import { following, onChange, type Topic } from './live.ts'

export interface Query<Content> {
  /** Identifies the request that `data` is the response to. */
  readonly key: string
  /** The newest content; it is kept during the next fetch, and if that fetch fails. */
  readonly data: Content | undefined
  /** For `If-Match`: makes a change fail if the data has been changed since it was read. */
  readonly etag: string | null
  readonly error: Error | undefined
  readonly reload: () => void
}

/** Changes come in bursts, so one request covers all changes during this time. */
const BURST_MS = 150
/** The minimum pause between requests … */
const PAUSE_MS = 1000
/** … and at least this many times the duration of the request. */
const PAUSE_FACTOR = 9
const OFFLINE_RETRY_MS = 2000

/**
 * @param params  if undefined, nothing is requested
 * @param topics  a change to any of these triggers another fetch
 * @param everyMs  the polling interval, for data that changes without a notification
 */
export function useApi<Path extends ReadablePath>(
  path: Path,
  params: Params<Path> | undefined,
  topics: readonly Topic[],
  everyMs?: number,
): Query<Answer<Path>> {
  const key = params === undefined ? '' : JSON.stringify([path, params])
  const [state, setState] = useState(() => initial<Answer<Path>>(key))
  const reload = useRef(() => {})

  useEffect(() => {
    if (params === undefined) return
    const left = new AbortController()
    const fetching = paced(async () => {
      try {
        const { data, response } = await get(path, { params, signal: left.signal })
        const etag = response.headers.get('etag')
        if (!left.signal.aborted) setState({ key, data, etag, error: undefined })
      } catch (caught) {
        if (left.signal.aborted) return
        const error = caught instanceof Error ? caught : new Error(String(caught))
        setState((before) => ({ ...(before.key === key ? before : initial(key)), error }))
        if (error instanceof OfflineError) fetching.soon(OFFLINE_RETRY_MS)
      }
    })
    reload.current = fetching.now
    const stopListening = onChange((change, isOwn) => {
      if (!topics.some((topic) => change.has(topic))) return
      if (isOwn) fetching.now()
      else if (following.peek()) fetching.soon()
    })
    // Pausing updates also cancels the fetch for a change that came just before.
    const stopPausing = following.subscribe((follows) => {
      if (!follows) fetching.cancel()
    })
    const poll = () => {
      if (following.peek() && !document.hidden) fetching.now()
    }
    const timer = everyMs === undefined ? undefined : setInterval(poll, everyMs)
    fetching.now()
    return () => {
      left.abort()
      clearInterval(timer)
      stopListening()
      stopPausing()
      fetching.cancel()
    }
  }, [key, everyMs])

  return {
    ...state,
    // With a new filter, the old rows stay until the new rows arrive, so that the page does not jump twice.
    data: key === '' ? undefined : state.data,
    error: state.key === key ? state.error : undefined,
    reload: () => reload.current(),
  }
}

function initial<Content>(key: string): Omit<Query<Content>, 'reload'> {
  return { key, data: undefined, etag: null, error: undefined }
}

/** Never fetches twice at the same time, and pauses between two automatic requests. */
function paced(fetch: () => Promise<void>) {
  let isFetching = false
  let isDue = false
  let pausedUntil = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const cancel = () => {
    clearTimeout(timer)
    timer = undefined
  }
  const soon = (afterMs = Math.max(BURST_MS, pausedUntil - performance.now())) => {
    timer ??= setTimeout(now, afterMs)
  }
  const run = async () => {
    isFetching = true
    const started = performance.now()
    await fetch()
    isFetching = false
    const ended = performance.now()
    pausedUntil = ended + Math.max(PAUSE_MS, (ended - started) * PAUSE_FACTOR)
    if (isDue) soon()
    isDue = false
  }
  const now = () => {
    cancel()
    if (isFetching) isDue = true
    else void run()
  }
  return { now, soon, cancel }
}
