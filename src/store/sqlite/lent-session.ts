/**
 * The connection while a callback of an external queue uses it. SQLite has no way to reset a connection, so the
 * settings that later statements depend on are read before and after, and restored.
 */
import type { LentSession } from '../lend.ts'
import type { SqliteConnection } from './connection.ts'

const SETTINGS = [
  'busy_timeout',
  'foreign_keys',
  'ignore_check_constraints',
  'locking_mode',
  'query_only',
  'read_uncommitted',
  'recursive_triggers',
  'reverse_unordered_selects',
  'synchronous',
  'temp_store',
  'trusted_schema',
  'writable_schema',
]
const ORDER = ['trigger', 'view', 'table']

export class SqliteLentSession implements LentSession {
  readonly #connection: SqliteConnection
  #before: ReadonlyMap<string, unknown> = new Map()

  constructor(connection: SqliteConnection) {
    this.#connection = connection
  }

  begin(): void {
    this.#before = this.#settings()
  }

  watch(): void {}

  async leftBehind(): Promise<readonly string[]> {
    return [...this.#restored(), ...this.#dropped()]
  }

  #settings(): ReadonlyMap<string, unknown> {
    return new Map(SETTINGS.map((name) => [name, this.#connection.pragma(name)]))
  }

  #restored(): string[] {
    const now = this.#settings()
    const changed = [...this.#before].filter(([name, value]) => now.get(name) !== value)
    for (const [name, value] of changed) this.#connection.exec(`PRAGMA ${name} = ${String(value)}`)
    return changed.map(([name]) => name)
  }

  /** Temporary tables would hide tables with the same names from the following statements. */
  #dropped(): string[] {
    const rows = this.#connection.rows('SELECT type, name FROM sqlite_temp_master', [])
    const found = rows.flatMap((row) =>
      typeof row === 'object' && row !== null
        ? [{ type: String(Reflect.get(row, 'type')), name: String(Reflect.get(row, 'name')) }]
        : [],
    )
    return ORDER.flatMap((type) => {
      const names = found.filter((one) => one.type === type).map(({ name }) => name)
      for (const name of names)
        this.#connection.exec(`DROP ${type.toUpperCase()} IF EXISTS temp."${name.replaceAll('"', '""')}"`)
      return names.map((name) => `the temporary ${type} ${name}`)
    })
  }
}
