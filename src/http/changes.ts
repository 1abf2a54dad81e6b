/**
 * Server-sent events that name what to read again, without its content.
 *
 * Changes made by this process are reported immediately. One query per second finds changes made by other processes or
 * in SQL; it runs only while a client is connected. A message only names topics, so it is small, contains no secrets,
 * and can be missed without harm. A client that reconnects (`Last-Event-ID`) may have missed messages, so it receives
 * all topics.
 *
 * Everything is limited: messages (two per second), connections (in total and per user), the lifetime of a connection
 * (the client reconnects and is authorized again), and waiting messages per slow client (one).
 */
import type { Kalends, ChangeTokens } from '../index.ts'
import { checkKeys } from '../keys.ts'
import { EventStream, type Listener, type Topic } from './event-stream.ts'
import { Problem } from './problem.ts'

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
/** The pause between two messages. */
const PAUSE_MS = 500
/** The interval for scopes, in ticks. It is fixed, so that a scope cannot learn when other owners change something. */
const SCOPED_TICKS = 5
const PING_TICKS = 15

export class Changes {
  readonly #kalends: Kalends
  readonly #limits: { readonly listeners: number; readonly perUser: number; readonly lifeMs: number }
  readonly #streams = new Set<EventStream>()
  readonly #changed: () => Promise<readonly Topic[]>
  readonly #marked = new Set<Topic>()
  /** The timer that runs until the next message may be sent. */
  #pause: NodeJS.Timeout | null = null
  #stop: (() => void) | null = null

  constructor(kalends: Kalends, options: ChangesOptions = {}) {
    checkKeys(options, ['listeners', 'perUser', 'lifeMs'], 'events.')
    const { listeners = 200, perUser = 10, lifeMs = 600_000 } = options
    this.#kalends = kalends
    this.#limits = { listeners, perUser, lifeMs }
    this.#changed = watched(() => kalends.api.views.changeTokens())
  }

  /** Called when this process has changed something. */
  mark(topics: readonly Topic[]): void {
    for (const topic of topics) this.#marked.add(topic)
    if (this.#streams.size === 0 || this.#marked.size === 0 || this.#pause !== null) return
    this.#pause = setTimeout(() => this.#flush(), 0).unref()
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
    this.#stop ??= this.#start()
    // Sends the topics that were marked before the first listener connected.
    this.mark([])
    if (signal.aborted) stream.close()
    return stream.response
  }

  close(): void {
    for (const stream of this.#streams) stream.close()
  }

  #leave(stream: EventStream): void {
    this.#streams.delete(stream)
    if (this.#streams.size > 0) return
    this.#stop?.()
    this.#stop = null
  }

  /** @returns a function that stops the messages */
  #start(): () => void {
    const on = (event: Parameters<Kalends['on']>[0], ...topics: Topic[]) =>
      this.#kalends.on(event, () => this.mark(topics))
    const subscriptions = [
      on('submitted', 'schedules', 'jobs'),
      on('started', 'jobs'),
      on('settled', 'schedules', 'jobs'),
      on('workerLost', 'workers', 'jobs'),
      on('leaseLost', 'workers'),
    ]
    const look = () => void this.#changed().then((topics) => this.mark(topics))
    let ticks = 0
    const timer = setInterval(() => {
      ticks += 1
      look()
      if (ticks % SCOPED_TICKS === 0) this.#notify(SCOPED_TOPICS, true)
      for (const stream of this.#streams) {
        if (ticks % PING_TICKS === 0) stream.send(': ping')
        // Sends the topics that a slow client had no room for.
        stream.notify([])
      }
    }, TICK_MS).unref()
    look()
    return () => {
      clearInterval(timer)
      for (const unsubscribe of subscriptions) unsubscribe()
    }
  }

  #flush(): void {
    const topics = [...this.#marked]
    this.#marked.clear()
    this.#notify(topics, false)
    this.#pause = setTimeout(() => {
      this.#pause = null
      this.mark([])
    }, PAUSE_MS).unref()
  }

  #notify(topics: readonly Topic[], isScoped: boolean): void {
    for (const stream of this.#streams) if (stream.listener.isScoped === isScoped) stream.notify(topics)
  }
}

/**
 * Finds changes made by other processes or in SQL.
 *
 * @returns the topics that changed since the last call; empty while a read is in progress, and while the database is
 *   unavailable
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
    if (before === null || now === null) return []
    const changed = TOPICS.filter((topic) => now[topic] !== before[topic])
    // Databases store the time of a change in seconds, so a later change in the same second would not be noticed: the
    // next call returns these topics again.
    const topics = [...changed, ...again]
    again = changed
    return topics
  }
}
