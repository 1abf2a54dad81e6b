/** One connection that receives server-sent events. */

export type Topic = 'schedules' | 'jobs' | 'workers'

/** Maximum number of messages that may wait in a connection. */
const MAX_WAITING = 8
/** A client that has read nothing for this long is disconnected. */
const STUCK_MS = 30_000

export interface Listener {
  /** The user whose connections are counted together, or null if unknown. */
  readonly user: string | null
  /** Whether the caller sees only the rows of one owner. */
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
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' },
    })
  }

  /** Sends these topics together with those that are waiting. */
  notify(topics: readonly Topic[]): void {
    for (const topic of topics) this.#pending.add(topic)
    if (this.#pending.size === 0) return
    const data = JSON.stringify({ topics: [...this.#pending] })
    if (this.send(`event: change\ndata: ${data}`)) this.#pending.clear()
  }

  /** @returns whether the connection has room for another message */
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
