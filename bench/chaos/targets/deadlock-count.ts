/** Deadlocks that servers have counted over their restarts, less those that were made on purpose. */
import type { Access } from './access.ts'
import { serverDeadlocks } from './url.ts'

/** What a kill -9 may lose of the count. */
const LOOK_EVERY_MS = 1000

export class DeadlockCount {
  readonly #servers: readonly Server[]
  readonly #timer: NodeJS.Timeout
  #leftOut = 0

  /** @param servers  each node of a cluster counts its own */
  constructor(servers: readonly Pick<Access, 'query'>[], isMariaDb: boolean) {
    this.#servers = servers.map((access) => new Server(access, isMariaDb))
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS)
    this.#timer.unref()
  }

  /** All so far; null: no server tells. */
  async look(): Promise<number | null> {
    const counts = await Promise.all(this.#servers.map((server) => server.look()))
    const known = counts.filter((count) => count !== null)
    return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0)
  }

  leaveOut(count: number): void {
    this.#leftOut += count
  }

  async unmade(): Promise<number | null> {
    const all = await this.look()
    return all === null ? null : Math.max(0, all - this.#leftOut)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    // One that is under way would ask a connection that is gone.
    await this.look()
  }
}

class Server {
  readonly #access: Pick<Access, 'query'>
  readonly #isMariaDb: boolean
  #ofEarlierLives = 0
  #last: number | null = null
  #looking: Promise<number | null> | null = null

  constructor(access: Pick<Access, 'query'>, isMariaDb: boolean) {
    this.#access = access
    this.#isMariaDb = isMariaDb
  }

  async look(): Promise<number | null> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return await this.#looking
  }

  async #look(): Promise<number | null> {
    const now = await serverDeadlocks(this.#access, this.#isMariaDb)
    if (now === null) return this.#last === null ? null : this.#ofEarlierLives + this.#last
    // It begins at 0 with each start of the server.
    if (this.#last !== null && now < this.#last) this.#ofEarlierLives += this.#last
    this.#last = now
    return this.#ofEarlierLives + now
  }
}
