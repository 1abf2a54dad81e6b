/**
 * What changes on the server, as it happens: server-sent events that say what to look at again. They are read with
 * fetch rather than EventSource, which cannot send a token.
 */
import { effect, signal } from '@preact/signals'
import { address, ApiError, isRecord, request, signInNeeded } from './client.ts'

/** Kinds of things that a change may be about. */
export type Topic = 'schedules' | 'jobs' | 'workers'

/** What to look at again. */
export type Change = ReadonlySet<Topic>

/** `paused`: by the one who reads. */
export type LiveState = 'connecting' | 'live' | 'lost' | 'paused'

export const liveState = signal<LiveState>('connecting')
/** Changes whenever a connection is made. */
export const connections = signal(0)
/** Whether the one who reads wants to see changes as they come. */
export const following = signal(true)

const TOPICS: readonly Topic[] = ['schedules', 'jobs', 'workers']
const ANYTHING: Change = new Set(TOPICS)
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000
/** The server pings more often than this. */
const SILENCE_MS = 45_000

/** @param isOwn  made here: it is shown also while the page is held still */
type Listener = (change: Change, isOwn: boolean) => void

const listeners = new Set<Listener>()

/** @returns a function that ends it */
export function onChange(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Something was changed here. */
export function notify(change: Change): void {
  for (const listener of listeners) listener(change, true)
}

function pass(change: Change): void {
  for (const listener of listeners) listener(change, false)
}

export function startLive(): void {
  let connection: AbortController | null = null
  const close = () => {
    connection?.abort()
    connection = null
  }
  // Nobody looks at a hidden page: it catches up when it is shown again.
  const visible = signal(!document.hidden)
  document.addEventListener('visibilitychange', () => {
    visible.value = !document.hidden
  })
  effect(() => {
    close()
    if (!following.value) {
      liveState.value = 'paused'
      return
    }
    if (!visible.value || signInNeeded.value) return
    connection = new AbortController()
    void follow(connection.signal)
  })
}

async function follow(aborted: AbortSignal): Promise<void> {
  let wait = FIRST_WAIT_MS
  let lastEvent: string | undefined
  while (!aborted.aborted) {
    if (liveState.peek() !== 'lost') liveState.value = 'connecting'
    try {
      const reading = new AbortController()
      const stop = () => reading.abort()
      aborted.addEventListener('abort', stop, { once: true })
      let silence = setTimeout(stop, SILENCE_MS)
      const response = await request(address(['events']), {
        signal: reading.signal,
        headers: {
          accept: 'text/event-stream',
          ...(lastEvent !== undefined && { 'last-event-id': lastEvent }),
        },
      })
      liveState.value = 'live'
      wait = FIRST_WAIT_MS
      // What happened before it was connected is not told.
      connections.value += 1
      pass(ANYTHING)
      try {
        for await (const event of events(response)) {
          clearTimeout(silence)
          silence = setTimeout(stop, SILENCE_MS)
          lastEvent = event.id ?? lastEvent
          const change = changeOf(event)
          if (change !== null) pass(change)
        }
      } finally {
        clearTimeout(silence)
        aborted.removeEventListener('abort', stop)
      }
    } catch (error) {
      if (aborted.aborted) return
      if (error instanceof ApiError && error.status === 401) return
    }
    if (aborted.aborted) return
    liveState.value = 'lost'
    await new Promise((resolve) => setTimeout(resolve, wait))
    wait = Math.min(wait * 2, LONGEST_WAIT_MS)
  }
}

interface ServerEvent {
  readonly id: string | undefined
  readonly event: string
  readonly data: string
}

async function* events(response: Response): AsyncGenerator<ServerEvent> {
  if (response.body === null) return
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    for (const block of blocks) yield parsed(block)
  }
}

function parsed(block: string): ServerEvent {
  const fields = block.split(/\r?\n/).map((line) => /^(\w*): ?(.*)$/.exec(line))
  const all = (name: string) => fields.filter((field) => field?.[1] === name).map((field) => field?.[2] ?? '')
  return { id: all('id').at(-1), event: all('event').at(-1) ?? 'message', data: all('data').join('\n') }
}

/** Null: a ping or a greeting. */
function changeOf({ event, data }: ServerEvent): Change | null {
  if (event !== 'change') return null
  const message: unknown = JSON.parse(data)
  const topics = isRecord(message) ? message['topics'] : undefined
  return Array.isArray(topics) ? new Set(TOPICS.filter((topic) => topics.includes(topic))) : null
}
