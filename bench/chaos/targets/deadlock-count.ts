/** The deadlocks counted by all servers, summed across their restarts, minus deliberate ones. */
import type { Access } from './access.ts'
import type { RowText } from '../record.ts'

/** Deadlocks that a server has counted since the last query are lost if the server is killed. */
const LOOK_EVERY_MS = 1000

export class DeadlockCount {
  readonly #servers: readonly Server[]
  readonly #timer: NodeJS.Timeout
  #leftOut = 0

  /** @param servers  every node of a cluster, because each has its own counter */
  constructor(servers: readonly Pick<Access, 'query'>[], isMariaDb: boolean) {
    this.#servers = servers.map((access) => new Server(access, isMariaDb))
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS)
    this.#timer.unref()
  }

  /** The total so far, including deliberate deadlocks; null if no server has a counter. */
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
    // Wait for a running query, which would otherwise use a closed connection.
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
    // The counter is reset to 0 each time the server starts.
    if (this.#last !== null && now < this.#last) this.#ofEarlierLives += this.#last
    this.#last = now
    return this.#ofEarlierLives + now
  }
}

/**
 * The number of deadlocks on the whole server since it started; null if it cannot be queried, does not count them or
 * does not show the count to this user.
 */
async function serverDeadlocks(access: Pick<Access, 'query'>, isMariaDb: boolean): Promise<number | null> {
  let rows: readonly RowText[]
  try {
    rows = await access.query(
      isMariaDb
        ? "SELECT VARIABLE_VALUE AS n FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_DEADLOCKS'"
        : "SELECT COUNT AS n FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'",
    )
  } catch {
    return null
  }
  return rows[0]?.['n'] === undefined ? null : Number(rows[0]['n'])
}
