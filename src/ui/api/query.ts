/** Something of the API that is shown: fetched, kept while it is fetched again, and fetched anew when it changes. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { get, OfflineError } from './client.ts'
import { following, onChange, type Topic } from './live.ts'

export interface Shown<Answer> {
  /** What came last; kept while and after a later look fails. */
  readonly data: Answer | undefined
  readonly error: Error | undefined
  /** The first look is under way, or one for another address. */
  readonly isLoading: boolean
  readonly reload: () => void
}

/** Changes come in bursts: one look serves all of this time. */
const TOGETHER_MS = 150
/** What changes all the time is looked at no more often than this … */
const PAUSE_MS = 1000
/** … and what is costly to tell, for no more than this part of the time. */
const PAUSE_PER_COST = 9
const OFFLINE_RETRY_MS = 2000

interface State<Answer> {
  readonly key: string
  readonly data: Answer | undefined
  readonly error: Error | undefined
}

/**
 * @param url  undefined: nothing is wanted now
 * @param topics  what it is about: a change of it is a reason to look again
 * @param everyMs  look again after this time as well, where changes are not told
 */
export function useApi<Answer>(
  url: URL | undefined,
  topics: readonly Topic[],
  everyMs?: number,
): Shown<Answer> {
  const key = url?.href ?? ''
  const [state, setState] = useState<State<Answer>>({ key, data: undefined, error: undefined })
  const load = useRef(() => {})

  useEffect(() => {
    if (key === '') return
    const left = new AbortController()
    let loading = false
    let again = false
    let restedAt = 0
    let later: ReturnType<typeof setTimeout> | undefined
    const look = async () => {
      later = undefined
      if (loading) {
        again = true
        return
      }
      loading = true
      const began = performance.now()
      try {
        const data = await get<Answer>(new URL(key), left.signal)
        if (!left.signal.aborted) setState({ key, data, error: undefined })
      } catch (error) {
        if (left.signal.aborted) return
        const known = error instanceof Error ? error : new Error(String(error))
        setState((before) => ({ key, data: before.key === key ? before.data : undefined, error: known }))
        if (error instanceof OfflineError) soon(OFFLINE_RETRY_MS)
      } finally {
        loading = false
        const ended = performance.now()
        restedAt = ended + Math.max(PAUSE_MS, (ended - began) * PAUSE_PER_COST)
        if (again) {
          again = false
          soon()
        }
      }
    }
    const soon = (ms = Math.max(TOGETHER_MS, restedAt - performance.now())) => {
      later ??= setTimeout(() => void look(), ms)
    }
    const now = () => {
      clearTimeout(later)
      void look()
    }
    load.current = now
    const forget = onChange((change, isOwn) => {
      if (!topics.some((topic) => change.has(topic))) return
      if (isOwn) now()
      else if (following.peek()) soon()
    })
    // What was heard of just before the page was held still is not looked at any more.
    const hold = following.subscribe((follows) => {
      if (follows) return
      clearTimeout(later)
      later = undefined
    })
    const regular =
      everyMs === undefined
        ? undefined
        : setInterval(() => {
            if (following.peek() && !document.hidden) void look()
          }, everyMs)
    void look()
    return () => {
      left.abort()
      clearTimeout(later)
      clearInterval(regular)
      forget()
      hold()
    }
  }, [key, everyMs])

  const isCurrent = state.key === key
  return {
    // A new filter keeps the old rows until the new ones are there: nothing jumps twice.
    data: key === '' ? undefined : state.data,
    error: isCurrent ? state.error : undefined,
    isLoading: key !== '' && (!isCurrent || (state.data === undefined && state.error === undefined)),
    reload: () => load.current(),
  }
}
