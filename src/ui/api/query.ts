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
    const ended = new AbortController()
    let loading = false
    let again = false
    let later: ReturnType<typeof setTimeout> | undefined
    const look = async () => {
      later = undefined
      if (loading) {
        again = true
        return
      }
      loading = true
      try {
        const data = await get<Answer>(new URL(key), ended.signal)
        if (!ended.signal.aborted) setState({ key, data, error: undefined })
      } catch (error) {
        if (ended.signal.aborted) return
        const known = error instanceof Error ? error : new Error(String(error))
        setState((before) => ({ key, data: before.key === key ? before.data : undefined, error: known }))
        if (error instanceof OfflineError) soon(OFFLINE_RETRY_MS)
      } finally {
        loading = false
        if (again) {
          again = false
          soon()
        }
      }
    }
    const soon = (ms = TOGETHER_MS) => {
      later ??= setTimeout(() => void look(), ms)
    }
    load.current = () => void look()
    const forget = onChange((change) => {
      if (topics.some((topic) => change.has(topic))) soon()
    })
    const regular =
      everyMs === undefined
        ? undefined
        : setInterval(() => {
            if (following.peek() && !document.hidden) void look()
          }, everyMs)
    void look()
    return () => {
      ended.abort()
      clearTimeout(later)
      clearInterval(regular)
      forget()
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
