/** The settings of the connection while a callback of the application uses it. They are restored afterwards. */
import type { LentSession } from '../lend.ts'
import type { SqliteConnection } from './connection.ts'

/** `PRAGMA name = value` or `PRAGMA name(value)`, for settings that later statements depend on. */
const SETS =
  /^pragma\s+(?:\w+\.)?(busy_timeout|cache_size|foreign_keys|ignore_check_constraints|locking_mode|query_only|recursive_triggers|reverse_unordered_selects|synchronous|temp_store|trusted_schema|writable_schema)\s*[=(]/i

export class SqliteLentSession implements LentSession {
  readonly #connection: SqliteConnection
  readonly #before = new Map<string, unknown>()

  constructor(connection: SqliteConnection) {
    this.#connection = connection
  }

  watch(statement: string): void {
    const name = SETS.exec(statement)?.[1]?.toLowerCase()
    if (name !== undefined && !this.#before.has(name)) this.#before.set(name, this.#connection.pragma(name))
  }

  async leftBehind(): Promise<readonly string[]> {
    const changed = [...this.#before].filter(([name, value]) => this.#connection.pragma(name) !== value)
    for (const [name, value] of changed) this.#connection.exec(`PRAGMA ${name} = ${String(value)}`)
    return changed.map(([name]) => name)
  }
}
