/**
 * Server-sent events: what to look at again, not what it is now.
 *
 * What this process does is known at once; what other processes and SQL have changed is found by one look a
 * second, which happens only while somebody listens. A message names topics and nothing else, so it is small,
 * tells no secret, and missing one costs nothing: a client that comes back with `Last-Event-ID` gets the topics
 * that changed since, or all of them when nobody can know.
 *
 * Bounded: messages (two a second), listeners, the life of a connection (it comes back by itself, and is
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

/** Until a connection has begun. */
const noEnd = (): void => undefined

interface Listener {
  readonly topics: ReadonlySet<Topic>
  /** Waits until the client has taken what it was sent. */
  readonly pending: Set<Topic>
  stuckSince: number | null
  readonly send: (text: string) => boolean
  readonly close: () => void
}

export class Changes {
  readonly #kalends: Kalends
  readonly #limits: { readonly listeners: number; readonly lifeMs: number }
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

  constructor(kalends: Kalends, { listeners = 200, lifeMs = 600_000 }: ChangesOptions = {}) {
    this.#kalends = kalends
    this.#limits = { listeners, lifeMs }
  }

  /** Something was changed here. */
  mark(topics: Iterable<Topic>): void {
    for (const topic of topics) this.#dirty.add(topic)
    if (this.#listeners.size === 0 || this.#dirty.size === 0 || this.#flushing !== null) return
    const waitMs = Math.max(0, this.#lastFlush + PAUSE_MS - performance.now())
    this.#flushing = setTimeout(() => this.#flush(), waitMs).unref()
  }

  /**
   * @param lastId  the header `Last-Event-ID`
   * @param allowed  the topics that the caller may hear of
   * @throws Problem 503 when there are too many listeners
   */
  subscribe(lastId: string | null, signal: AbortSignal, allowed: readonly Topic[] = TOPICS): Response {
    if (this.#listeners.size >= this.#limits.listeners) {
      throw new Problem(503, 'TOO_MANY_LISTENERS', 'Too many listen already; try again later', {
        headers: { 'retry-after': '10' },
      })
    }
    const encoder = new TextEncoder()
    let end: () => void = noEnd
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const listener: Listener = {
            topics: new Set(allowed),
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
    listener.send(`retry: 2000\nid: ${this.#id(this.#sequence)}\nevent: hello\ndata: {}\n\n`)
    if (lastId !== null) {
      const missed = this.#changedSince(lastId).filter((topic) => listener.topics.has(topic))
      if (missed.length > 0) listener.send(this.#message(missed))
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
    this.#stop = () => {
      clearInterval(looks)
      clearInterval(pings)
      for (const forget of subscriptions) forget()
    }
    void this.#look()
  }

  async #look(): Promise<void> {
    let seen: Revisions
    try {
      seen = await this.#kalends.views.revisions()
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
      for (const topic of topics) if (listener.topics.has(topic)) listener.pending.add(topic)
      this.#deliver(listener)
    }
  }

  #deliver(listener: Listener): void {
    if (listener.pending.size === 0) return
    if (listener.send(this.#message([...listener.pending]))) {
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

  #id(sequence: number): string {
    return `${this.#instance}-${sequence}`
  }

  #message(topics: readonly Topic[]): string {
    return `id: ${this.#id(this.#sequence)}\nevent: change\ndata: ${JSON.stringify({ topics })}\n\n`
  }
}
