/**
 * Server-sent events that tell clients what to read again.
 *
 * One query per second finds every change, whether made by this process, by another process or in SQL. The query runs
 * only while a client is connected. A message only names topics, so it is small, contains no secrets, and can be missed
 * without harm. A client that reconnects (`Last-Event-ID`) may have missed messages, so it receives all topics. The
 * lifetime of a connection is limited, so that the client is authorized again.
 */
import type { ChangeTokens, Kalends } from '../index.ts'
import { checkKeys } from '../keys.ts'
import { Problem } from './problem.ts'

type Topic = 'schedules' | 'jobs' | 'workers'

const TOPICS: readonly Topic[] = ['schedules', 'jobs', 'workers']
const SCOPED_TOPICS: readonly Topic[] = ['schedules', 'jobs']

export interface ChangesOptions {
  /** Maximum number of listeners at the same time; default 200. */
  readonly listeners?: number | undefined
  /** Maximum number of listeners of one user, or of one address for users without a name; default 10. */
  readonly perUser?: number | undefined
  /** How long a connection may last, in milliseconds; default 10 minutes. */
  readonly lifeMs?: number | undefined
}

const TICK_MS = 1000
/** The interval for callers with a scope, in ticks. It is fixed, to hide when other owners change something. */
const SCOPED_TICKS = 5
const PING_TICKS = 15

export class Changes {
  readonly #limits: { readonly listeners: number; readonly perUser: number; readonly lifeMs: number }
  readonly #streams = new Set<EventStream>()
  readonly #kalends: Kalends
  #changed: () => Promise<readonly Topic[]> = () => Promise.resolve([])
  #ticks = 0
  #timer: NodeJS.Timeout | null = null

  constructor(kalends: Kalends, options: ChangesOptions = {}) {
    checkKeys(options, ['listeners', 'perUser', 'lifeMs'], 'events.')
    const { listeners = 200, perUser = 10, lifeMs = 600_000 } = options
    this.#limits = { listeners, perUser, lifeMs }
    this.#kalends = kalends
  }

  /** @throws Problem 429 when this user has too many connections, 503 when there are too many in total */
  subscribe(isReconnect: boolean, signal: AbortSignal, listener: Listener): Response {
    const headers = { 'retry-after': '10' }
    const { user, isScoped } = listener
    const own = [...this.#streams].filter((stream) => user !== null && stream.listener.user === user).length
    if (own >= this.#limits.perUser)
      throw new Problem(429, 'TOO_MANY_STREAMS', `You have ${own} event streams open; close one first`, {
        headers,
      })
    if (this.#streams.size >= this.#limits.listeners)
      throw new Problem(503, 'TOO_MANY_LISTENERS', 'Too many event streams are open; try again later', {
        headers,
      })
    const stream = new EventStream(listener, signal, this.#limits.lifeMs, (ended) => this.#leave(ended))
    this.#streams.add(stream)
    // The id makes EventSource send `Last-Event-ID` when it reconnects.
    stream.send('retry: 2000\nid: 1\nevent: hello\ndata: {}')
    if (isReconnect) stream.notify(isScoped ? SCOPED_TOPICS : TOPICS)
    if (this.#timer === null) {
      this.#changed = watched(() => this.#kalends.api.views.changeTokens())
      this.#timer = setInterval(() => this.#tick(), TICK_MS).unref()
      void this.#changed()
    }
    if (signal.aborted) stream.close()
    return stream.response
  }

  close(): void {
    for (const stream of this.#streams) stream.close()
  }

  #leave(stream: EventStream): void {
    this.#streams.delete(stream)
    if (this.#streams.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #tick(): void {
    this.#ticks += 1
    void this.#changed().then((topics) => this.#notify(topics, false))
    this.#notify(this.#ticks % SCOPED_TICKS === 0 ? SCOPED_TOPICS : [], true)
    if (this.#ticks % PING_TICKS === 0) for (const stream of this.#streams) stream.send(': ping')
  }

  /** If `topics` is empty, sends only the topics that slow clients had no room for. */
  #notify(topics: readonly Topic[], isScoped: boolean): void {
    for (const stream of this.#streams) if (stream.listener.isScoped === isScoped) stream.notify(topics)
  }
}

const MAX_WAITING = 8
/** A client that has read nothing for this long is disconnected. */
const STUCK_MS = 30_000

interface Listener {
  /** The user (or address) whose connections are counted together, or null if unknown. */
  readonly user: string | null
  readonly isScoped: boolean
}

export class EventStream {
  readonly listener: Listener
  readonly response: Response
  /** The topics that a slow client has not received yet; they are sent as one message. */
  readonly #pending = new Set<string>()
  readonly #end: () => void
  readonly #encoder = new TextEncoder()
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null
  #stuckSince: number | null = null

  /** @param onEnd  called once when either side closes the connection */
  constructor(listener: Listener, signal: AbortSignal, lifeMs: number, onEnd: (stream: EventStream) => void) {
    const close = () => this.close()
    const life = setTimeout(close, lifeMs).unref()
    signal.addEventListener('abort', close)
    this.#end = () => {
      this.#controller = null
      clearTimeout(life)
      signal.removeEventListener('abort', close)
      onEnd(this)
    }
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        cancel: () => this.#end(),
      },
      { highWaterMark: MAX_WAITING },
    )
    this.listener = listener
    this.response = new Response(body, {
      headers: {
        'content-type': 'text/event-stream; charset=utf-8',
        // Compressing middleware would keep the events in its buffer.
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
      },
    })
  }

  notify(topics: readonly Topic[]): void {
    for (const topic of topics) this.#pending.add(topic)
    if (this.#pending.size === 0) return
    const data = JSON.stringify({ topics: [...this.#pending] })
    if (this.send(`event: change\ndata: ${data}`)) this.#pending.clear()
  }

  /** @returns whether the message was sent; false if the connection has no room for it, or is closed */
  send(message: string): boolean {
    if ((this.#controller?.desiredSize ?? 0) > 0) {
      this.#controller?.enqueue(this.#encoder.encode(`${message}\n\n`))
      this.#stuckSince = null
      return true
    }
    this.#stuckSince ??= performance.now()
    if (performance.now() - this.#stuckSince > STUCK_MS) this.close()
    return false
  }

  close(): void {
    const controller = this.#controller
    if (controller === null) return
    this.#end()
    controller.close()
  }
}

/**
 * @returns a function that returns the topics that changed since its last call; none during another read or while the
 *   database is unavailable. The first call only reads what later calls compare with. The second returns all topics,
 *   because the client may have read its data before the first
 */
function watched(read: () => Promise<ChangeTokens>): () => Promise<readonly Topic[]> {
  let isReading = false
  let known: ChangeTokens | null = null
  let again: readonly Topic[] = []
  return async () => {
    if (isReading) return []
    isReading = true
    // The loops report that the database is unavailable, and the next call finds the changes.
    const now = await read().catch(() => null)
    isReading = false
    const before = known
    known = now ?? known
    if (now === null) return []
    if (before === null) {
      again = TOPICS
      return []
    }
    const changed = TOPICS.filter((topic) => now[topic] !== before[topic])
    // MySQL and MariaDB report the time of a change only to the second, so a later change in the same second would not
    // be noticed. Therefore, the next call returns these topics again.
    const topics = [...changed, ...again]
    again = changed
    return topics
  }
}
