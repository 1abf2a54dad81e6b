import { InvalidInputError, SchemaError } from '../errors.ts'
import { silentLogger } from '../logger.ts'
import { checkKeys, namesOf } from '../keys.ts'
import { checkedFlag, checkedFunction, checkedWhole, shownInput } from '../model/input.ts'
import type { Database, Databases, DatabaseTarget, OpenOptions, SqliteDriver } from './database.ts'
import {
  checkEngines,
  checkMigrated,
  checkVersion,
  migrate,
  pendingStatements,
  provingRow,
  schemaDrift,
} from './migrate.ts'
import { insteadOfMissing, openDatabase } from './kinds.ts'
import type { OnSetAside } from './refusal.ts'
import { tablesContext } from './sql/context.ts'
import { declaredStore } from './sql/declared.ts'
import { executingStore } from './sql/executing.ts'
import { freezeStore } from './sql/freezes.ts'
import { inspect } from './sql/inspection.ts'
import { jobStore } from './sql/jobs.ts'
import { listStore } from './sql/lists/lists.ts'
import { Isolations } from './sql/isolations.ts'
import { retentionStore } from './sql/retention.ts'
import { scheduleStore } from './sql/schedules.ts'
import { schedulingStore } from './sql/mark.ts'
import { workerStore } from './sql/workers.ts'
import type { Store, Stores } from './store.ts'

export interface StoreOptions {
  /** Prefix for the names of all tables; default: none. */
  readonly tablePrefix?: string | undefined
  /**
   * A separate database on the same server, such as `kalends`, for the tables, so that the application's migration
   * tools do not see them; default: the application's own database. It is created if it does not exist, unless
   * `migrate` is false. Not for SQLite.
   */
  readonly schema?: string | undefined
  /** Whether to bring the tables up to date (default), or to fail when they are out of date. */
  readonly migrate?: boolean | undefined
  /**
   * Maximum number of connections that this process opens to a database server, at least 3: about a tenth is for the
   * REST API, and the others are shared equally by the worker and by calls. Default: 22, or 5 if you pass a pool;
   * connections are opened on demand, in addition to those of the pool. SQLite has one.
   */
  readonly connections?: number | undefined
  /**
   * The driver for the URL of a SQLite file; default: the one that this process has loaded or else installed. Name the
   * one with which the application opens the file: two drivers that open the same file lose its commits.
   */
  readonly driver?: SqliteDriver | undefined
  /** The database's clock, for tests that control time; SQLite only. See `kalends/testing`. */
  readonly clock?: (() => Date) | undefined
}

/** The location of the tables. */
export type Place = Pick<StoreOptions, 'tablePrefix' | 'schema' | 'driver'>

/** One connection for each use. */
const LEAST_CONNECTIONS = 3
const MAX_CONNECTIONS = 1000
const PREFIX = /^[a-z0-9_]{0,32}$/i
export const PLACE = namesOf<Place>({ tablePrefix: true, schema: true, driver: true })

/**
 * @throws InvalidInputError when the target or an option is invalid
 * @throws StoreUnavailableError when the database cannot be reached
 * @throws SchemaError when the application has a table with the name of one of Kalends' tables, a table has an engine
 *   without transactions, the server does not lock rows, or the tables are out of date or need a later version of
 *   Kalends
 */
export async function openStores(
  target: DatabaseTarget,
  options: StoreOptions &
    Pick<OpenOptions, 'longestUseMs' | 'logger'> & { readonly onSetAside?: OnSetAside } = {},
): Promise<Stores> {
  const prefix = checkedPrefix(options)
  if (options.migrate !== undefined) checkedFlag('migrate', options.migrate)
  if (options.clock !== undefined) checkedFunction('clock', options.clock)
  checkedWhole('connections', options.connections, LEAST_CONNECTIONS, MAX_CONNECTIONS)
  const uses = await openDatabase(target, { ...options, createsSchema: options.migrate !== false })
  const { loops, calls, api, close } = uses
  try {
    await checkVersion(calls, prefix)
    if (options.migrate === false) await checkMigrated(calls, prefix)
    else await migrate(calls, prefix)
    await checkEngines(calls, prefix)
    await uses.proveLocks?.({ ...provingRow(calls, prefix), logger: options.logger ?? silentLogger })
  } catch (error) {
    await close()
    throw error
  }
  const isolations = new Isolations(calls.dialect, prefix, options.onSetAside)
  return {
    loops: storeOn(loops, prefix, isolations),
    calls: storeOn(calls, prefix, isolations),
    api: storeOn(api, prefix, isolations),
    close,
  }
}

/** The store on a database whose tables exist. */
export function storeOn(database: Database, prefix: string, isolations?: Isolations): Store {
  const context = tablesContext(database, prefix, isolations)
  return {
    schedules: scheduleStore(context),
    jobs: jobStore(context),
    scheduling: schedulingStore(context),
    executing: executingStore(context),
    workers: workerStore(context),
    declared: declaredStore(context),
    retention: retentionStore(context),
    freezes: freezeStore(context),
    lists: listStore(context),
    inspection: { inspect: () => inspect(context), schemaDrift: () => schemaDrift(database, prefix) },
    longestWaitMs: () => database.longestWaitMs(),
    serverChanges: () => database.serverChanges(),
    warnings: () => database.warnings(),
    setAside: () => context.isolations.setAside(),
    close: () => database.close(),
  }
}

/** Opens a database whose tables may be outdated or damaged, for inspection only. */
export async function openToInspect(target: DatabaseTarget, options: Place): Promise<Store> {
  const prefix = checkedPrefix(options)
  const { calls, close } = await openDatabase(insteadOfMissing(target) ?? target, options)
  return { ...storeOn(calls, prefix), close }
}

/** Options for `Kalends.migrate`. */
export interface MigrateOptions extends Place {
  /** Called before each statement; on large tables, a statement may take a long time. */
  readonly onStep?: ((done: number, of: number) => void) | undefined
}

/** Migrates the tables and disconnects. @returns the migrations that were applied */
export async function migrateDatabase(
  target: DatabaseTarget,
  options: MigrateOptions = {},
): Promise<string[]> {
  checkKeys(options, [...PLACE, 'onStep'])
  if (options.onStep !== undefined) checkedFunction('onStep', options.onStep)
  const prefix = checkedPrefix(options)
  const { calls, close } = await openDatabase(target, { ...options, createsSchema: true })
  try {
    await checkVersion(calls, prefix)
    return await migrate(calls, prefix, options.onStep)
  } finally {
    await close()
  }
}

/** The statements that `migrateDatabase` would run. */
export async function printMigrations(target: DatabaseTarget, options: Place = {}): Promise<string[]> {
  checkKeys(options, PLACE)
  const prefix = checkedPrefix(options)
  const { schema } = options
  const { database, isNew } = await openToPrint(target, options)
  try {
    if (!isNew) await checkVersion(database.calls, prefix)
    const statements = await pendingStatements(database.calls, prefix, isNew)
    if (schema === undefined || statements.length === 0) return statements
    return [...database.calls.dialect.schema.create(schema), ...statements]
  } finally {
    await database.close()
  }
}

/** Opens the target or, if its file or schema does not exist yet, a substitute. Writes nothing to either. */
async function openToPrint(
  target: DatabaseTarget,
  { schema, driver }: Place,
): Promise<{ readonly database: Databases; readonly isNew: boolean }> {
  const empty = insteadOfMissing(target)
  if (empty !== null) return { database: await openDatabase(empty, { driver }), isNew: true }
  try {
    return { database: await openDatabase(target, { schema, driver }), isNew: false }
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    return { database: await openDatabase(target), isNew: true }
  }
}

function checkedPrefix({ tablePrefix = '' }: StoreOptions): string {
  if (typeof tablePrefix === 'string' && PREFIX.test(tablePrefix)) return tablePrefix
  throw new InvalidInputError(
    'tablePrefix',
    `must be up to 32 letters, digits and underscores, got ${shownInput(tablePrefix)}`,
  )
}
