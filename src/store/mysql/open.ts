import { admittedForApi, API_STATEMENT_MS } from '../admission.ts'
import type { Databases, MysqlTarget, OpenOptions } from '../database.ts'
import { type CreatePool, createPoolLike } from './application-pool.ts'
import { IMPATIENT, MysqlDatabase } from './database.ts'

/** Defaults for the maximum number of connections to a host. */
const URL_CONNECTIONS = 22
const POOL_CONNECTIONS = 5
/** With a short lease, loops keep a connection for longer than it, so that they can wait for a lock in two statements. */
const LEAST_LOOP_USE_MS = 3000
/** One in this many is for the API. */
const API_SHARE = 10

/**
 * Connects. Never closes a pool of the application, because only its configuration is used.
 *
 * @throws InvalidInputError for an invalid target, before it connects
 * @throws StoreUnavailableError
 */
export async function openMysql(
  target: string | MysqlTarget,
  { longestUseMs, connections, schema, createsSchema = false }: OpenOptions,
): Promise<Databases> {
  const from = typeof target === 'string' ? target : createPoolLike(target)
  const most = connections ?? (typeof from === 'string' ? URL_CONNECTIONS : POOL_CONNECTIONS)
  const apiConnections = Math.max(1, Math.floor(most / API_SHARE))
  const others = most - apiConnections
  if (schema !== undefined && createsSchema) await createSchema(from, schema)
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
  // A server that accepts only some of the connections is reported now instead of on first use. A pool that is closed
  // while it connects would report an error of its own.
  const connected = await Promise.allSettled([loops.connect(), calls.connect()])
  const failed = connected.find((end) => end.status === 'rejected')
  if (failed !== undefined) {
    await close()
    throw failed.reason
  }
  return { loops, calls, api: admittedForApi(api, apiConnections), close }
}

/** A user who may not create databases needs one that exists. */
async function createSchema(from: string | CreatePool, schema: string): Promise<void> {
  const database = new MysqlDatabase(from, 1)
  try {
    const [found] = await database.rows(
      'SELECT schema_name AS name FROM information_schema.schemata WHERE schema_name = ?',
      [schema],
    )
    if (found === undefined) await database.run(`CREATE DATABASE IF NOT EXISTS \`${schema}\``)
  } finally {
    await database.close()
  }
}
