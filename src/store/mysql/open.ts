import { SchemaError } from '../../errors.ts'
import { admitted } from '../admission.ts'
import type { Databases, MysqlTarget, OpenOptions } from '../database.ts'
import { type CreatePool, createPoolLike } from './application-pool.ts'
import { IMPATIENT, MysqlDatabase } from './database.ts'
import { mysqlDriver } from './driver.ts'
import { errorNumber } from './errors.ts'
import { proveLocks } from './lock-proof.ts'

/** Default number of connections to a host. */
const URL_CONNECTIONS = 22
const POOL_CONNECTIONS = 5
/** Loops may use a connection for this long, even if the lease is shorter: two statements may wait for locks. */
const LEAST_LOOP_USE_MS = 3000
const API_STATEMENT_MS = 5000
/** One connection out of this many is for the API. */
const API_SHARE = 10
/** ER_BAD_DB_ERROR and ER_DBACCESS_DENIED_ERROR. */
const NO_DATABASE = 1049
const NO_RIGHTS = 1044

/** @throws InvalidInputError for an invalid target, before connecting; StoreUnavailableError, SchemaError */
export async function openMysql(
  target: string | MysqlTarget,
  { longestUseMs, connections, schema, createsSchema = false }: OpenOptions,
): Promise<Databases> {
  await mysqlDriver()
  const from = typeof target === 'string' ? target : createPoolLike(target)
  const most = connections ?? (typeof from === 'string' ? URL_CONNECTIONS : POOL_CONNECTIONS)
  const apiConnections = Math.max(1, Math.floor(most / API_SHARE))
  const others = most - apiConnections
  const loops = new MysqlDatabase(from, Math.ceil(others / 2), {
    longestUseMs: longestUseMs && Math.max(longestUseMs, LEAST_LOOP_USE_MS),
    lockWaits: IMPATIENT,
    schema,
  })
  const calls = new MysqlDatabase(from, Math.floor(others / 2), { longestUseMs, schema })
  const api = new MysqlDatabase(from, apiConnections, {
    longestUseMs,
    statementLimitMs: API_STATEMENT_MS,
    schema,
  })
  const close = async () => {
    await Promise.all([loops, calls, api].map((database) => database.close()))
  }
  // Connect now, to find out at once whether the server accepts both pools. Wait for both: a pool that is closed while
  // it connects would report a different error.
  const connected = await Promise.allSettled([loops.connect(), calls.connect()])
  const failed = connected.find((end) => end.status === 'rejected')
  if (failed !== undefined) {
    await close()
    if (schema === undefined || !isAboutDatabase(failed.reason)) throw failed.reason
    if (!createsSchema) throw missing(schema, failed.reason)
    await createSchema(from, schema)
    return openMysql(target, { longestUseMs, connections, schema })
  }
  const reconnect = () => new MysqlDatabase(from, 1, { longestUseMs, lockWaits: IMPATIENT, schema })
  return {
    loops,
    calls,
    api: admitted(api, { atOnce: apiConnections }),
    proveLocks: (proof) => proveLocks({ first: calls, second: loops, reconnect }, proof),
    close,
  }
}

function isAboutDatabase(error: unknown): boolean {
  const { cause = error } = error instanceof Error ? error : {}
  return [NO_DATABASE, NO_RIGHTS].includes(errorNumber(cause) ?? 0)
}

function missing(schema: string, cause: unknown): SchemaError {
  return new SchemaError(
    `The database '${schema}' of the option schema does not exist, or this user has no rights on it: create it with 'kalends migrate', or run CREATE DATABASE \`${schema}\` and GRANT ALL ON \`${schema}\`.* to the user`,
    { cause },
  )
}

async function createSchema(from: string | CreatePool, schema: string): Promise<void> {
  const database = new MysqlDatabase(from, 1)
  try {
    const [found] = await database.rows(
      'SELECT schema_name AS name FROM information_schema.schemata WHERE schema_name = ?',
      [schema],
    )
    if (found === undefined) await database.run(`CREATE DATABASE IF NOT EXISTS \`${schema}\``)
  } catch (error) {
    throw isAboutDatabase(error) ? missing(schema, error) : error
  } finally {
    await database.close()
  }
}
