/** Reads server-sent events, which name the topics to fetch again. Uses fetch: EventSource cannot send a token. */
import { effect, signal } from '@preact/signals'
import { createParser } from 'eventsource-parser'
import { signInNeeded } from '../sign-in.ts'
import { api, ApiError, contentOf } from './client.ts'

const TOPICS = ['schedules', 'jobs', 'workers'] as const
export type Topic = (typeof TOPICS)[number]

export type LiveState = 'connecting' | 'live' | 'lost' | 'paused'

export const liveState = signal<LiveState>('connecting')
/** Changes with each new connection. */
export const connections = signal(0)
export const following = signal(true)

export function toggleFollowing(): void {
  following.value = !following.value
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000
/** The server sends pings more often than this. */
const SILENCE_MS = 45_000

/** @param isOwn  whether this page made the change; if so, the page shows it even while updates are paused */
type Listener = (change: ReadonlySet<Topic>, isOwn: boolean) => void

const listeners = new Set<Listener>()

export function onChange(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function notify(...topics: readonly Topic[]): void {
  pass(topics, true)
}

function pass(topics: readonly Topic[], isOwn = false): void {
  for (const listener of listeners) listener(new Set(topics), isOwn)
}

export function startLive(): void {
  // A hidden page does not follow changes; it catches up when it is shown again.
  const visible = signal(!document.hidden)
  document.addEventListener('visibilitychange', () => {
    visible.value = !document.hidden
  })
  effect(() => {
    if (!following.value) {
      liveState.value = 'paused'
      return
    }
    if (!visible.value || signInNeeded.value) return
    const left = new AbortController()
    void follow(left.signal)
    return () => left.abort()
  })
}

async function follow(left: AbortSignal): Promise<void> {
  let wait = FIRST_WAIT_MS
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (event !== 'change') return
      const { topics }: { readonly topics: readonly string[] } = JSON.parse(data)
      pass(TOPICS.filter((topic) => topics.includes(topic)))
    },
  })
  while (!left.aborted) {
    if (liveState.peek() !== 'lost') liveState.value = 'connecting'
    const connection = new AbortController()
    const close = () => connection.abort()
    left.addEventListener('abort', close)
    let silence = setTimeout(close, SILENCE_MS)
    try {
      const stream = await contentOf(
        api.GET('/api/v1/events', {
          parseAs: 'stream',
          signal: connection.signal,
          headers: { accept: 'text/event-stream' },
        }),
      )
      // The server does not report changes from before this connection, so fetch everything.
      connections.value += 1
      pass(TOPICS)
      const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        // The server greets each connection, but middleware in between may keep back what it sends.
        liveState.value = 'live'
        wait = FIRST_WAIT_MS
        clearTimeout(silence)
        silence = setTimeout(close, SILENCE_MS)
        parser.feed(read.value)
      }
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return
    } finally {
      clearTimeout(silence)
      left.removeEventListener('abort', close)
      parser.reset()
    }
    if (left.aborted) return
    liveState.value = 'lost'
    await new Promise((resolve) => setTimeout(resolve, wait))
    wait = Math.min(wait * 2, LONGEST_WAIT_MS)
  }
}
