/** Which database it is: from a URL, or from what the application has open already. */
import type { Pool as CallbackPool } from 'mysql2'
import type { Pool } from 'mysql2/promise'
import { InvalidInputError } from '../errors.ts'
import { admitted } from './admission.ts'
import type { Database, Use } from './database.ts'
import { checkEngines, checkMigrated, checkVersion, migrate } from './migrate.ts'
import { TablesContext } from './sql/context.ts'
import { SqlDeclared } from './sql/declared.ts'
import { SqlExecuting } from './sql/executing.ts'
import { SqlInspection } from './sql/inspection.ts'
import { SqlJobs } from './sql/jobs.ts'
import { SqlLists } from './sql/lists.ts'
import { SqlRetention } from './sql/retention.ts'
import { SqlSchedules } from './sql/schedules.ts'
import { SqlScheduling } from './sql/scheduling.ts'
import { SqlWorkers } from './sql/workers.ts'
import type { Store, Stores } from './store.ts'

/**
 * `mysql://user:password@host:port/database` (also `mariadb://`, and several hosts, `h1:3306,h2`), `sqlite:./file.db`, `sqlite::memory:`, a
 * mysql2 pool, or a drizzle database on one. What is lent stays the application's: it is not closed.
 */
export type DatabaseTarget = string | Pool | CallbackPool | { readonly $client: Pool | CallbackPool }

export interface StoreOptions {
  /** Put before the names of all tables; default none. */
  readonly tablePrefix?: string | undefined
  /** Whether to bring the tables up to date (default), or to refuse to work when they are not. */
  readonly migrate?: boolean | undefined
  /** Milliseconds after which a connection that is busy with one piece of work is given up: the lease of a worker. */
  readonly longestUseMs?: number | undefined
  /** The database's clock, for tests that make time pass: only on SQLite. See `kalends/testing`. */
  readonly clock?: (() => Date) | undefined
}

/** Most connections of each use to one host. */
const CONNECTIONS: Readonly<Record<Use, number>> = { loops: 10, calls: 10, api: 2 }
/** Of a caller-supplied pool: the API holds at most one connection in so many. */
const API_SHARE = 3
const API_WAITING = { waiting: 64, waitMs: 5000 }
/** For a statement of the API. */
const API_STATEMENT_MS = 5000
const PREFIX = /^[a-z0-9_]{0,32}$/i

/**
 * @throws InvalidInputError when the target or an option cannot be meant
 * @throws StoreUnavailableError when the database cannot be reached
 * @throws SchemaError when a table of the application has one of our names, a table has an engine
 *   without transactions, or the tables are out of date or need a later version of Kalends
 */
export async function openStore(target: DatabaseTarget, options: StoreOptions = {}): Promise<Store> {
  const stores = await openStores(target, options)
  return { ...stores.loops, close: () => stores.close() }
}

/** As `openStore`, for each use. */
export async function openStores(target: DatabaseTarget, options: StoreOptions = {}): Promise<Stores> {
  const prefix = checkedPrefix(options)
  const uses = await openDatabase(target, options)
  const { loops, calls, api, close } = uses
  try {
    await checkVersion(loops, prefix)
    if (options.migrate === false) await checkMigrated(loops, prefix)
    else await migrate(loops, prefix)
    await checkEngines(loops, prefix)
  } catch (error) {
    await close()
    throw error
  }
  return {
    loops: storeOn(loops, prefix),
    calls: storeOn(calls, prefix),
    api: storeOn(api, prefix),
    close,
  }
}

/** The roles on a database whose tables are there. */
export function storeOn(database: Database, prefix: string): Store {
  const context = new TablesContext(database, prefix)
  return {
    schedules: new SqlSchedules(context),
    jobs: new SqlJobs(context),
    scheduling: new SqlScheduling(context),
    executing: new SqlExecuting(context),
    workers: new SqlWorkers(context),
    declared: new SqlDeclared(context),
    retention: new SqlRetention(context),
    lists: new SqlLists(context),
    inspection: new SqlInspection(context, prefix),
    longestWaitMs: () => database.longestWaitMs?.() ?? 0,
    serverChanges: () => database.serverChanges?.() ?? 0,
    close: () => database.close(),
  }
}

/** Opens whatever is there, however old or damaged the tables are: for a look at them, and nothing else. */
export async function openToInspect(
  target: DatabaseTarget,
  options: Pick<StoreOptions, 'tablePrefix'>,
): Promise<Store> {
  const prefix = checkedPrefix(options)
  const { calls, close } = await openDatabase(target)
  return { ...storeOn(calls, prefix), close }
}

/** Options of `Kalends.migrate`. */
export interface MigrateOptions extends Pick<StoreOptions, 'tablePrefix'> {
  /** Told before each statement: on large tables one may take long. */
  readonly onStep?: ((done: number, of: number) => void) | undefined
}

/** Migrates and closes again. @returns the migrations that were applied */
export async function migrateDatabase(
  target: DatabaseTarget,
  options: MigrateOptions = {},
): Promise<string[]> {
  const prefix = checkedPrefix(options)
  const { calls, close } = await openDatabase(target)
  try {
    await checkVersion(calls, prefix)
    return await migrate(calls, prefix, options.onStep)
  } finally {
    await close()
  }
}

function checkedPrefix({ tablePrefix = '' }: StoreOptions): string {
  if (typeof tablePrefix === 'string' && PREFIX.test(tablePrefix)) return tablePrefix
  throw new InvalidInputError(
    'tablePrefix',
    `up to 32 letters, digits and underscores are needed, not '${tablePrefix}'`,
  )
}

/** One database by use. */
interface Databases extends Readonly<Record<Use, Database>> {
  readonly close: () => Promise<void>
}

async function openDatabase(
  target: DatabaseTarget,
  {
    clock = null,
    longestUseMs,
  }: { clock?: (() => Date) | null | undefined; longestUseMs?: number | undefined } = {},
): Promise<Databases> {
  if (clock !== null && !(typeof target === 'string' && target.startsWith('sqlite:'))) {
    throw new InvalidInputError('clock', 'only SQLite can have a clock of its own')
  }
  if (typeof target !== 'string') {
    const { MysqlDatabase } = await import('./mysql/database.ts')
    const pool = target !== null && '$client' in target ? target.$client : target
    if (typeof pool?.getConnection !== 'function')
      throw new InvalidInputError(
        'database',
        'a URL, a mysql2 pool or a drizzle database on a mysql2 pool is needed',
      )
    const lent = 'promise' in pool ? pool.promise() : pool
    const shared = new MysqlDatabase(lent, { lent: true })
    const limited = new MysqlDatabase(lent, { lent: true, statementLimitMs: API_STATEMENT_MS })
    const atOnce = Math.max(1, Math.floor((lent.pool.config.connectionLimit ?? 1) / API_SHARE))
    return {
      loops: shared,
      calls: shared,
      api: admitted(limited, { atOnce, ...API_WAITING }),
      close: () => shared.close(),
    }
  }
  if (/^(mysql|mariadb):\/\//.test(target)) {
    const { MysqlDatabase } = await import('./mysql/database.ts')
    const loops = MysqlDatabase.open(target, CONNECTIONS.loops, { longestUseMs })
    const calls = MysqlDatabase.open(target, CONNECTIONS.calls, { longestUseMs })
    const api = MysqlDatabase.open(target, CONNECTIONS.api, {
      longestUseMs,
      statementLimitMs: API_STATEMENT_MS,
    })
    return {
      loops,
      calls,
      api: admitted(api, { atOnce: CONNECTIONS.api, ...API_WAITING }),
      close: async () => {
        await Promise.all([loops, calls, api].map((database) => database.close()))
      },
    }
  }
  if (target.startsWith('sqlite:')) {
    const path = target.slice('sqlite:'.length).replace(/^\/\//, '')
    if (path === '')
      throw new InvalidInputError(
        'database',
        'the URL names no file; write sqlite:./file.db or sqlite::memory:',
      )
    const { SqliteDatabase } = await import('./sqlite/database.ts')
    const loops = await SqliteDatabase.open(path, clock)
    return {
      loops,
      calls: loops.beside('calls'),
      api: admitted(loops.beside('api'), { atOnce: 1, ...API_WAITING }),
      close: () => loops.close(),
    }
  }
  throw new InvalidInputError(
    'database',
    `'${withoutPassword(target)}' is no URL of a database that Kalends knows; write mysql://user@host/name or sqlite:./file.db`,
  )
}

/** Whatever stands before the last @ may be a password, or the rest of one. */
function withoutPassword(url: string): string {
  return url.replace(/^([a-z0-9+.-]+:\/\/)?.*@/is, '$1***@').replace(/(password=)[^&]*/i, '$1***')
}
