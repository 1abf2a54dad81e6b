/**
 * Server-sent events: what to look at again, not what it is now.
 *
 * What this process does is known at once; what other processes and SQL have changed is found by one look a
 * second, which happens only while somebody listens. A message names topics and nothing else, so it is small,
 * tells no secret, and missing one costs nothing: a client that comes back with `Last-Event-ID` gets the topics
 * that changed since, or all of them when nobody can know.
 *
 * Bounded: messages (two a second), listeners, also those of one user, the life of a connection (it comes back by itself, and is
 * authorized anew), and what waits for a slow client (one message, in which topics come together).
 */
import { randomBytes } from 'node:crypto'
import type { Kalends, Revisions } from '../index.ts'
import { Problem } from './problem.ts'

export type Topic = 'schedules' | 'jobs' | 'workers'
const TOPICS: readonly Topic[] = ['schedules', 'jobs', 'workers']

export interface ChangesOptions {
  /** Most listeners at a time; default 200. */
  readonly listeners?: number | undefined
  /** Most listeners of one user, or where the user has no name, of one address; default 10. */
  readonly perUser?: number | undefined
  /** How long a connection may last, in milliseconds; default 10 minutes. */
  readonly lifeMs?: number | undefined
}

const LOOK_MS = 1000
const PAUSE_MS = 500
const PING_MS = 15_000
/** Messages that may wait in a connection. */
const WAITING = 8
/** A client that takes nothing for so long is gone. */
const PATIENCE_MS = 30_000

/** How often a listener of a scope gets an event. The times of events must not reveal when other owners change something. */
const SCOPED_MS = 5000
const SCOPED_TOPICS: readonly Topic[] = ['schedules', 'jobs']

/** Until a connection has begun. */
const noEnd = (): void => undefined

interface Listener {
  readonly user: string | null
  /** Whether it hears at a fixed pace, and not of changes. */
  readonly isScoped: boolean
  /** Waits until the client has taken what it was sent. */
  readonly pending: Set<Topic>
  stuckSince: number | null
  readonly send: (text: string) => boolean
  readonly close: () => void
}

export class Changes {
  readonly #kalends: Kalends
  readonly #limits: { readonly listeners: number; readonly perUser: number; readonly lifeMs: number }
  /** Event ids of another process say nothing here. */
  readonly #instance = randomBytes(4).toString('hex')
  readonly #listeners = new Set<Listener>()
  /** The number of the message that last named a topic. */
  readonly #lastOf = new Map<Topic, number>()
  readonly #dirty = new Set<Topic>()
  #sequence = 0
  #seen: Revisions | null = null
  #again: ReadonlySet<Topic> = new Set()
  #stop: (() => void) | null = null
  #lastFlush = -Infinity
  #flushing: NodeJS.Timeout | null = null

  constructor(kalends: Kalends, { listeners = 200, perUser = 10, lifeMs = 600_000 }: ChangesOptions = {}) {
    this.#kalends = kalends
    this.#limits = { listeners, perUser, lifeMs }
  }

  /** Something was changed here. */
  mark(topics: readonly Topic[]): void {
    for (const topic of topics) this.#dirty.add(topic)
    if (this.#listeners.size === 0 || this.#dirty.size === 0 || this.#flushing !== null) return
    const waitMs = Math.max(0, this.#lastFlush + PAUSE_MS - performance.now())
    this.#flushing = setTimeout(() => this.#flush(), waitMs).unref()
  }

  /**
   * @param lastId  the header `Last-Event-ID`
   * @param options.isScoped  the caller sees only the rows of one owner
   * @param options.user  whose listeners are counted together; null: not known
   * @throws Problem 429 when this user has too many listeners, 503 when all together are too many
   */
  subscribe(
    lastId: string | null,
    signal: AbortSignal,
    {
      isScoped = false,
      user = null,
    }: { readonly isScoped?: boolean | undefined; readonly user?: string | null | undefined } = {},
  ): Response {
    const own = user === null ? 0 : [...this.#listeners].filter((listener) => listener.user === user).length
    if (own >= this.#limits.perUser) {
      throw new Problem(429, 'TOO_MANY_STREAMS', `You have ${own} event streams open; close one first`, {
        headers: { 'retry-after': '10' },
      })
    }
    if (this.#listeners.size >= this.#limits.listeners) {
      throw new Problem(503, 'TOO_MANY_LISTENERS', 'Too many event streams are open; try again later', {
        headers: { 'retry-after': '10' },
      })
    }
    const encoder = new TextEncoder()
    let end: () => void = noEnd
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const listener: Listener = {
            isScoped,
            user,
            pending: new Set(),
            stuckSince: null,
            send: (text) => {
              if ((controller.desiredSize ?? 0) <= 0) return false
              controller.enqueue(encoder.encode(text))
              return true
            },
            close: () => {
              end()
              try {
                controller.close()
              } catch {
                // The client was faster.
              }
            },
          }
          const life = setTimeout(() => listener.close(), this.#limits.lifeMs).unref()
          end = () => {
            clearTimeout(life)
            signal.removeEventListener('abort', listener.close)
            this.#leave(listener)
          }
          signal.addEventListener('abort', listener.close)
          this.#join(listener, lastId)
          // Gone before it began.
          if (signal.aborted) listener.close()
        },
        cancel: () => end(),
      },
      { highWaterMark: WAITING },
    )
    return new Response(body, {
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
    })
  }

  /** Ends all connections. */
  close(): void {
    for (const listener of this.#listeners) listener.close()
  }

  get listeners(): number {
    return this.#listeners.size
  }

  #join(listener: Listener, lastId: string | null): void {
    this.#listeners.add(listener)
    listener.send(`retry: 2000\nid: ${this.#id(listener)}\nevent: hello\ndata: {}\n\n`)
    if (lastId !== null) {
      const missed = listener.isScoped ? SCOPED_TOPICS : this.#changedSince(lastId)
      if (missed.length > 0) listener.send(this.#message(listener, missed))
    }
    if (this.#stop === null) this.#start()
    // What was marked while nobody listened.
    this.mark([])
  }

  #leave(listener: Listener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    this.#stop?.()
    this.#stop = null
  }

  #changedSince(lastId: string): Topic[] {
    const [instance, number] = lastId.split('-')
    const known = instance === this.#instance && /^\d{1,15}$/.test(number ?? '')
    // While nobody listened nobody looked: the next look says what has changed since the last one.
    return known ? TOPICS.filter((topic) => (this.#lastOf.get(topic) ?? 0) > Number(number)) : [...TOPICS]
  }

  #start(): void {
    const mark =
      (...topics: Topic[]) =>
      () =>
        this.mark(topics)
    const subscriptions = [
      this.#kalends.on('submitted', mark('schedules', 'jobs')),
      this.#kalends.on('started', mark('jobs')),
      this.#kalends.on('settled', mark('schedules', 'jobs')),
      this.#kalends.on('workerLost', mark('workers', 'jobs')),
      this.#kalends.on('leaseLost', mark('workers')),
    ]
    let looking = false
    const looks = setInterval(() => {
      if (looking) return
      looking = true
      void this.#look().finally(() => {
        looking = false
      })
    }, LOOK_MS).unref()
    const pings = setInterval(() => this.#ping(), PING_MS).unref()
    const paces = setInterval(() => this.#pace(), SCOPED_MS).unref()
    this.#stop = () => {
      clearInterval(looks)
      clearInterval(paces)
      clearInterval(pings)
      for (const forget of subscriptions) forget()
    }
    void this.#look()
  }

  async #look(): Promise<void> {
    let seen: Revisions
    try {
      seen = await this.#kalends.api.views.revisions()
    } catch {
      // The database is away: the loops say so, and the next look will tell.
      return
    }
    const before = this.#seen
    this.#seen = seen
    if (before === null) return
    const changed = new Set(TOPICS.filter((topic) => seen[topic] !== before[topic]))
    // Databases tell the time of a change in seconds: what came later in the same one shows in the next look.
    this.mark([...changed, ...this.#again])
    this.#again = changed
  }

  #flush(): void {
    this.#flushing = null
    this.#lastFlush = performance.now()
    this.#sequence += 1
    const topics = [...this.#dirty]
    this.#dirty.clear()
    for (const topic of topics) this.#lastOf.set(topic, this.#sequence)
    for (const listener of this.#listeners) {
      if (listener.isScoped) continue
      for (const topic of topics) listener.pending.add(topic)
      this.#deliver(listener)
    }
  }

  #pace(): void {
    for (const listener of this.#listeners) {
      if (!listener.isScoped) continue
      for (const topic of SCOPED_TOPICS) listener.pending.add(topic)
      this.#deliver(listener)
    }
  }

  #deliver(listener: Listener): void {
    if (listener.pending.size === 0) return
    if (listener.send(this.#message(listener, [...listener.pending]))) {
      listener.pending.clear()
      listener.stuckSince = null
      return
    }
    listener.stuckSince ??= performance.now()
    if (performance.now() - listener.stuckSince > PATIENCE_MS) listener.close()
  }

  #ping(): void {
    for (const listener of this.#listeners) {
      if (!listener.send(': ping\n\n')) listener.stuckSince ??= performance.now()
      this.#deliver(listener)
    }
  }

  /** The number of messages so far tells how much others change. */
  #id({ isScoped }: Listener): string {
    return `${this.#instance}-${isScoped ? 0 : this.#sequence}`
  }

  #message(listener: Listener, topics: readonly Topic[]): string {
    return `id: ${this.#id(listener)}\nevent: change\ndata: ${JSON.stringify({ topics })}\n\n`
  }
}
