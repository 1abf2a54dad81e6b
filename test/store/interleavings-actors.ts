/**
 * Actors that need permission for each statement. They replace the `Database` of the real store, so that a test decides
 * in which order the statements of several workers reach the database, and where a worker crashes.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { StoreUnavailableError } from '../../src/errors.ts'
import type { Database, Sql, SqlValue } from '../../src/store/database.ts'
import { toText } from '../../src/model/instant.ts'
import { MysqlDatabase } from '../../src/store/mysql/database.ts'
import { storeOn } from '../../src/store/open.ts'
import { SqliteDatabase } from '../../src/store/sqlite/database.ts'
import type { Store } from '../../src/store/store.ts'
import type { TestDatabase } from '../support/databases.ts'

/**
 * The effect of a step on other actors. `read` sees only committed rows; `lock` locks or writes rows in a transaction;
 * `commit` publishes and unlocks them; `write` does all of this at once; `time` advances the clock.
 */
export type StepKind = 'read' | 'lock' | 'commit' | 'write' | 'time'

export interface Step {
  readonly kind: StepKind
  readonly text: string
}

/** Whether the order of two steps of different actors can matter. */
export function areDependent(a: StepKind, b: StepKind): boolean {
  if (a === 'time' || b === 'time' || a === 'write' || b === 'write') return !(a === 'read' && b === 'read')
  if (a === 'read' || b === 'read') return a === 'commit' || b === 'commit'
  return !(a === 'commit' && b === 'commit')
}

/**
 * A placeholder for the time, filled in when a statement is sent, because the statement may have waited for a long
 * time.
 */
const NOW = ':the time:'

/** The process has crashed: its statements no longer reach the database. */
export class Crash extends StoreUnavailableError {
  constructor() {
    super('The process has crashed')
  }
}

/** The clock that applies to all statements of all actors. */
export interface Clock {
  now: Date
}

type Standing = 'between statements' | 'wants to go on' | 'ended' | 'crashed'

/** A worker or a person whose statements wait for permission. */
export class Actor {
  readonly name: string
  readonly store: Store
  readonly database: Database
  readonly #inner: Database
  readonly #overseer: TestDatabase
  #connection: number | null = null
  #standing: Standing = 'ended'
  #wants: { readonly step: Step; readonly go: () => void; readonly crash: () => void } | null = null
  #changed: () => void = () => undefined
  /** Whether to crash at the commit of the transaction that begins now; used for a database with a single writer. */
  #crashAtCommit = false
  #transaction = false
  #free = false
  #program: Promise<void> = Promise.resolve()
  #lastStep: StepKind | null = null
  failure: unknown = null

  private constructor(name: string, inner: Database, overseer: TestDatabase, clock: Clock) {
    this.name = name
    this.#inner = inner
    this.#overseer = overseer
    this.database = this.#gated(inner, clock)
    this.store = storeOn(this.database, '')
  }

  static async open(name: string, overseer: TestDatabase, clock: Clock): Promise<Actor> {
    if (overseer.kind !== 'sqlite')
      return new Actor(name, new MysqlDatabase(overseer.url, 1), overseer, clock)
    const inner = await SqliteDatabase.open(overseer.url.slice('sqlite:'.length))
    // Power failures are not tested.
    await inner.rows('PRAGMA synchronous = OFF')
    return new Actor(name, inner, overseer, clock)
  }

  /** Starts a program, which stops before its first statement. */
  async begin(program: (actor: Actor) => Promise<void>): Promise<void> {
    this.#free = false
    if (this.#overseer.kind !== 'sqlite') {
      const [row] = await this.#inner.rows<{ id: number }>('SELECT CONNECTION_ID() AS id')
      this.#connection = row?.id ?? null
    }
    this.failure = null
    this.#crashAtCommit = false
    this.#lastStep = null
    this.#stand('between statements')
    this.#program = program(this).then(
      () => this.#stand('ended'),
      (error: unknown) => {
        if (this.#standing !== 'crashed') this.failure = error
        this.#stand('ended')
      },
    )
  }

  /** Waits until the actor's program has ended or crashed. */
  over(): Promise<void> {
    return this.#program
  }

  /** After this call, the actor's statements need no permission. */
  release(): void {
    this.#stand('between statements')
    this.#free = true
  }

  /** The step for which the actor awaits permission, if any. */
  get wants(): Step | null {
    return this.#standing === 'wants to go on' ? (this.#wants?.step ?? null) : null
  }

  get hasEnded(): boolean {
    return this.#standing === 'ended' || this.#standing === 'crashed'
  }

  /** Whether a crash here has a different result from a crash one step earlier. */
  get mayCrash(): boolean {
    return this.wants !== null && this.wants.kind !== 'time' && this.#lastStep !== 'read'
  }

  go(): void {
    const wants = this.#wants
    this.#lastStep = wants?.step.kind ?? null
    this.#stand('between statements')
    wants?.go()
  }

  /**
   * Crashes the process before its next step. On a server, this cuts the connection and returns after the rollback. On
   * SQLite, the transaction runs to its end and is then rolled back.
   */
  async crash(): Promise<void> {
    const wants = this.#wants
    if (wants?.step.kind === 'write' && this.#overseer.kind === 'sqlite') {
      this.#crashAtCommit = true
      this.go()
      await this.atRest()
      return
    }
    await this.#cut()
    this.#stand('crashed')
    wants?.crash()
  }

  /** Ends the program early and without an error, because the rest of the order does not matter. */
  abandon(): void {
    if (this.hasEnded) return
    const wants = this.#wants
    this.#stand('crashed')
    wants?.crash()
  }

  /**
   * Waits until the actor has a next step, has ended, or, according to the database, waits for another actor's lock.
   */
  async atRest(): Promise<'at rest' | 'waits for a lock'> {
    for (;;) {
      if (this.#standing !== 'between statements') return 'at rest'
      const changed = new Promise<void>((resolve) => {
        this.#changed = resolve
      })
      // The pause only determines when to query the database.
      await Promise.race([changed, pause(3)])
      if (this.#standing !== 'between statements') return 'at rest'
      if (await this.#waitsForLock()) return 'waits for a lock'
    }
  }

  /** Waits until the actor may take this step. */
  step(kind: StepKind, text: string): Promise<void> {
    if (this.#free) return Promise.resolve()
    if (this.#standing === 'crashed') return Promise.reject(new Crash())
    return new Promise((resolve, reject) => {
      this.#wants = { step: { kind, text }, go: resolve, crash: () => reject(new Crash()) }
      this.#stand('wants to go on')
    })
  }

  close(): Promise<void> {
    return this.#inner.close()
  }

  #stand(standing: Standing): void {
    if (this.#standing === 'crashed' && standing !== 'between statements') return
    this.#standing = standing
    this.#changed()
  }

  async #waitsForLock(): Promise<boolean> {
    if (this.#connection === null) return false
    const [row] = await this.#overseer.query('SHOW ENGINE INNODB STATUS')
    // The text before the first marker is about the latest deadlock, and the text after the last one is not a
    // transaction.
    const [status = ''] = String(row?.['Status']).split('FILE I/O')
    const transactions = status.split('---TRANSACTION').slice(1)
    return transactions.some(
      (text) =>
        text.includes('LOCK WAIT') && new RegExp(`(MySQL|MariaDB) thread id ${this.#connection},`).test(text),
    )
  }

  async #cut(): Promise<void> {
    if (this.#connection === null || !this.#transaction) return
    await this.#overseer.query(`KILL ${this.#connection}`)
    for (;;) {
      const left = await this.#overseer.query('SELECT 1 FROM information_schema.processlist WHERE id = ?', [
        this.#connection,
      ])
      if (left.length === 0) return
    }
  }

  #gated(inner: Database, clock: Clock): Database {
    const isServer = this.#overseer.kind !== 'sqlite'
    const timed = (text: string) => {
      const now = `'${toText(clock.now)}'`
      return text.replaceAll(NOW, isServer ? `CAST(${now} AS DATETIME(3))` : now)
    }
    const isRead = (text: string) => text.startsWith('SELECT') && !text.includes('FOR UPDATE')
    /** The statements of a transaction. On SQLite, it has exclusive access from the start. */
    const within = (sql: Sql): Sql => ({
      rows: async <Row>(text: string, params?: readonly SqlValue[]) => {
        if (isServer) await this.step(isRead(text) ? 'read' : 'lock', text)
        return sql.rows<Row>(timed(text), params)
      },
      run: async (text, params) => {
        if (isServer) await this.step('lock', text)
        return sql.run(timed(text), params)
      },
    })
    const transaction: Database['transaction'] = async (work) => {
      if (!isServer) await this.step('write', 'a transaction')
      if (this.#standing === 'crashed') throw new Crash()
      return inner.transaction(async (sql, lend) => {
        this.#transaction = true
        try {
          const result = await work(within(sql), lend)
          if (isServer) await this.step('commit', 'COMMIT')
          if (this.#crashAtCommit) {
            this.#stand('crashed')
            throw new Crash()
          }
          return result
        } finally {
          this.#transaction = false
        }
      })
    }
    return {
      dialect: {
        ...inner.dialect,
        now: NOW,
      },
      rows: async <Row>(text: string, params?: readonly SqlValue[]) => {
        await this.step('read', text)
        return inner.rows<Row>(timed(text), params)
      },
      // The commit is a separate step; otherwise, a statement that waited for a lock would commit as soon as the lock
      // is released.
      run: (text, params) => transaction((sql) => sql.run(text, params)),
      transaction,
      exclusively: (name, work) => inner.exclusively(name, work),
      mostAtOnce: () => inner.mostAtOnce(),
      longestWaitMs: () => inner.longestWaitMs(),
      serverChanges: () => inner.serverChanges(),
      warnings: () => inner.warnings(),
      close: () => inner.close(),
    }
  }
}
