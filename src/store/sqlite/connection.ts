/** One connection, which behaves the same with every driver. */
import { StoreUnavailableError } from '../../errors.ts'
import type { SqlValue } from '../database.ts'
import { type Connect, type DriverConnection, type DriverStatement, inTransaction } from './driver.ts'

/**
 * Maximum time for which one locking attempt blocks the event loop. [Several connections of this process may wait at
 * once. With 5 ms each, they delayed the next statement of the transaction that held the lock: six stores that opened a
 * new file at the same time took up to 30 s on a busy machine. Without a timeout, processes wait longer for the lock;
 * with 1 ms, the slowest 1 % of the transactions of eight competing processes took a quarter longer than with 5 ms.]
 */
const BUSY_TIMEOUT_MS = 1

/** The defaults of these differ between the drivers, their versions and builds. */
const SETTINGS: Readonly<Record<string, number>> = {
  busy_timeout: BUSY_TIMEOUT_MS,
  // Foreign keys of the application that refer to Kalends' tables hold for Kalends' deletions, too.
  foreign_keys: 1,
  recursive_triggers: 0,
  // Every commit is on disk when it returns (FULL), because a finished job must not run again after a power failure.
  synchronous: 2,
  // Functions with side effects cannot be called from the schema.
  trusted_schema: 0,
}

const MAX_STATEMENTS = 300

export class SqliteConnection {
  /** The driver's own connection. */
  readonly client: DriverConnection
  readonly #statements = new Map<string, DriverStatement>()
  #isOpen = true

  private constructor(client: DriverConnection) {
    this.client = client
  }

  /** @throws StoreUnavailableError when the driver is too old; an error of the driver when the file cannot be opened */
  static open(path: string, connect: Connect): SqliteConnection {
    const client = connect(path)
    if (typeof inTransaction(client) === 'boolean') return new SqliteConnection(client)
    client.close()
    throw new StoreUnavailableError(
      'This version of node:sqlite does not report whether a transaction is open: use Node.js 22.16 or later, or another driver',
    )
  }

  /** @throws StoreUnavailableError when the driver does not support a setting */
  configure(): void {
    for (const [name, value] of Object.entries(SETTINGS)) this.#set(name, value)
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  get inTransaction(): boolean {
    return inTransaction(this.client) === true
  }

  exec(text: string): void {
    this.client.exec(text)
  }

  rows(text: string, params: readonly SqlValue[]): unknown[] {
    const rows = readAll(this.#prepared(text), bindable(params))
    for (const row of rows) normalize(row)
    return rows
  }

  /** @returns the number of matched rows */
  run(text: string, params: readonly SqlValue[]): number {
    return Number(this.#prepared(text).run(...bindable(params)).changes)
  }

  /** The value of a PRAGMA, which may also set it: `journal_mode = WAL`. */
  pragma(text: string): unknown {
    const [row] = readAll(this.client.prepare(`PRAGMA ${text}`), [])
    return typeof row === 'object' && row !== null ? Object.values(row)[0] : undefined
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#statements.clear()
    this.client.close()
  }

  #set(name: string, value: number): void {
    this.exec(`PRAGMA ${name} = ${value}`)
    const found = this.pragma(name)
    if (found !== value)
      throw new StoreUnavailableError(
        `The SQLite driver does not support PRAGMA ${name} = ${value}: it reports ${String(found)}`,
      )
  }

  #prepared(text: string): DriverStatement {
    const known = this.#statements.get(text)
    if (known !== undefined) return known
    const statement = this.client.prepare(text)
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear()
    this.#statements.set(text, statement)
    return statement
  }
}

function readAll(statement: DriverStatement, params: readonly SqlValue[]): unknown[] {
  try {
    return listOf(statement.all(...params))
  } catch (error) {
    // An integer that JavaScript cannot represent exactly, which other drivers round.
    if (statement.setReadBigInts === undefined || !isOutOfRange(error)) throw error
    statement.setReadBigInts(true)
    try {
      return listOf(statement.all(...params))
    } finally {
      statement.setReadBigInts(false)
    }
  }
}

function listOf(rows: unknown): unknown[] {
  return Array.isArray(rows) ? rows : []
}

function isOutOfRange(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_OUT_OF_RANGE'
}

/** Rejects objects, which untyped code may pass and with which libsql crashes the process. @throws RangeError */
function bindable(params: readonly unknown[]): readonly SqlValue[] {
  for (const value of params)
    if (value !== null && typeof value !== 'string' && typeof value !== 'number')
      throw new RangeError(`SQL takes strings and numbers, not a value of type ${typeof value}`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- checked above
  return params as readonly SqlValue[]
}

/** SQLite text columns also accept manually written BLOBs, but readers expect text. */
function normalize(row: unknown): void {
  if (typeof row !== 'object' || row === null) return
  for (const [column, value] of Object.entries(row)) {
    if (ArrayBuffer.isView(value))
      Reflect.set(row, column, Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8'))
    // libsql returns an ArrayBuffer, which may be of another context.
    else if (typeof value === 'object' && value !== null)
      Reflect.set(row, column, Buffer.from(value).toString('utf8'))
    else if (typeof value === 'bigint') Reflect.set(row, column, Number(value))
  }
}
