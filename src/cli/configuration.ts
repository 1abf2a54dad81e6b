import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { messageOf } from '../errors.ts'
import type { SqliteDriver } from '../index.ts'
import { type Command, type OptionValues, withFlags } from './commander.ts'
import { CommandError, EXIT, UsageError } from './failure.ts'

export type DatabaseFlags = {
  readonly [Name in 'database' | 'tablePrefix' | 'schema' | 'driver' | 'config']?: string | undefined
}

interface Configuration {
  readonly database: string
  /** Where the URL was found, for messages. */
  readonly origin: string
  readonly tables: {
    readonly tablePrefix: string | undefined
    readonly schema: string | undefined
    readonly driver: SqliteDriver | undefined
  }
}

const CONFIG_FILE = 'kalends.config.json'
const DEFAULT_DATABASE = 'sqlite:./kalends.db'

export function withDatabaseOptions<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
): Command<Args, Flags & DatabaseFlags> {
  return withFlags(command, (plain) => {
    plain
      .option(
        '-d, --database <url>',
        'mysql://user:password@host:3306/name, mariadb://… or sqlite:./file.db\n' +
          `(else KALENDS_DATABASE, else ${CONFIG_FILE}, else ${DEFAULT_DATABASE})`,
      )
      .option(
        '--table-prefix <text>',
        "the prefix of all table names, such as 'kalends_' (KALENDS_TABLE_PREFIX)",
      )
      .option('--schema <name>', 'the database that contains the tables, on the same server (KALENDS_SCHEMA)')
      .option(
        '--driver <name>',
        'the driver for SQLite: better-sqlite3, libsql or node:sqlite (KALENDS_DRIVER)',
      )
      .option(
        '--config <file>',
        `the configuration file (default: ${CONFIG_FILE} in this folder, if it exists)`,
      )
  })
}

/** @throws UsageError if the configuration file is invalid, or if --config names a file that does not exist */
export function configurationOf(flags: DatabaseFlags): Configuration {
  const file = readConfig(flags.config)
  const sources: [database: string | undefined, origin: string][] = [
    [flags.database, '--database'],
    [environment('KALENDS_DATABASE'), 'KALENDS_DATABASE'],
    [file.database, flags.config ?? CONFIG_FILE],
  ]
  const [database = DEFAULT_DATABASE, origin = 'the default'] =
    sources.find(([url]) => url !== undefined) ?? []
  const tablePrefix = flags.tablePrefix ?? environment('KALENDS_TABLE_PREFIX') ?? file.tablePrefix
  const schema = flags.schema ?? environment('KALENDS_SCHEMA') ?? file.schema
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the library rejects other names
  const driver = (flags.driver ?? environment('KALENDS_DRIVER') ?? file.driver) as SqliteDriver | undefined
  return { database, origin, tables: { tablePrefix, schema, driver } }
}

/** @throws CommandError if the URL names a SQLite file that does not exist, because SQLite would create the file */
export function existingDatabase(flags: DatabaseFlags): Configuration {
  const configuration = configurationOf(flags)
  const path = sqlitePath(configuration.database)
  if (path === null || existsSync(path)) return configuration
  throw new CommandError(
    `the database file '${path}' does not exist (from ${configuration.origin}): name one with --database, or create it with 'kalends migrate'`,
    EXIT.unavailable,
  )
}

function environment(name: string): string | undefined {
  const value = process.env[name]
  return value === '' ? undefined : value
}

function readConfig(path: string | undefined): Omit<DatabaseFlags, 'config'> {
  const file = resolve(path ?? CONFIG_FILE)
  if (!existsSync(file)) {
    if (path === undefined) return {}
    throw wrong(`the file '${path}' does not exist (looked for ${file})`)
  }
  let read: unknown
  try {
    read = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw wrong(`'${path ?? CONFIG_FILE}' cannot be read: ${messageOf(error)}`)
  }
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw wrong(`'${file}' must contain a JSON object such as { "database": "mysql://root@localhost/app" }`)
  const { database, tablePrefix, schema, driver, ...others }: Record<string, unknown> = { ...read }
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw wrong(
      `'${file}' has the unknown key '${unknown}'; the keys are database, tablePrefix, schema and driver`,
    )
  const text = (key: string, value: unknown) => {
    if (value === undefined || typeof value === 'string') return value
    throw wrong(`'${file}': ${key} must be a string, got ${JSON.stringify(value)}`)
  }
  const url = text('database', database)
  // The path of a SQLite file is relative to the configuration file, so --config works from any folder.
  const relative = url === undefined ? null : sqlitePath(url)
  return {
    database: relative === null ? url : `sqlite:${resolve(dirname(file), relative)}`,
    tablePrefix: text('tablePrefix', tablePrefix),
    schema: text('schema', schema),
    driver: text('driver', driver),
  }
}

/** The path of the SQLite file; null if the URL names no file. */
export function sqlitePath(database: string): string | null {
  if (!database.startsWith('sqlite:')) return null
  const path = database.slice('sqlite:'.length).replace(/^\/\//, '')
  return path === '' || path === ':memory:' ? null : path
}

function wrong(message: string): UsageError {
  return new UsageError(`option '--config': ${message}`)
}

/** The URL without its password. Everything before the last @ may be, or contain, a password. */
export function shownUrl(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^?]*@/i, '$1***@').replace(/(password=)[^&]*/i, '$1***')
}
