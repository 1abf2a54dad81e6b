/** Deadlocks that a server has counted over its restarts, less those that were made on purpose. */
import type { Access } from './access.ts'
import { serverDeadlocks } from './url.ts'

/** What a kill -9 may lose of the count. */
const LOOK_EVERY_MS = 1000

export class DeadlockCount {
  readonly #access: Pick<Access, 'query'>
  readonly #isMariaDb: boolean
  readonly #timer: NodeJS.Timeout
  #ofEarlierLives = 0
  #last: number | null = null
  #leftOut = 0
  #looking: Promise<number | null> | null = null

  constructor(access: Pick<Access, 'query'>, isMariaDb: boolean) {
    this.#access = access
    this.#isMariaDb = isMariaDb
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS)
    this.#timer.unref()
  }

  /** All so far; null: the server does not tell. */
  async look(): Promise<number | null> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return await this.#looking
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
    await this.#looking
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
