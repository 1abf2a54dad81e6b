import { InvalidInputError } from '../../errors.ts'
import { admittedForApi, API_STATEMENT_MS } from '../admission.ts'
import type { Databases, DatabaseTarget, OpenOptions, Use } from '../database.ts'
import { MysqlDatabase } from './database.ts'

/** The most connections of each use to one host. */
const CONNECTIONS: Readonly<Record<Use, number>> = { loops: 10, calls: 10, api: 2 }
/** The API uses at most one in this many connections of a caller-supplied pool. */
const API_SHARE = 3

/** @throws InvalidInputError for an invalid target, before it connects */
export function openMysql(target: DatabaseTarget, { longestUseMs }: OpenOptions): Databases {
  return typeof target === 'string' ? openUrl(target, longestUseMs) : openPool(target)
}

function openUrl(url: string, longestUseMs: number | undefined): Databases {
  const open = (use: Use, statementLimitMs?: number) =>
    MysqlDatabase.open(url, CONNECTIONS[use], { longestUseMs, statementLimitMs })
  const [loops, calls, api] = [open('loops'), open('calls'), open('api', API_STATEMENT_MS)]
  return {
    loops,
    calls,
    api: admittedForApi(api, CONNECTIONS.api),
    close: async () => {
      await Promise.all([loops, calls, api].map((database) => database.close()))
    },
  }
}

/** A caller-supplied pool is never closed. */
function openPool(target: Exclude<DatabaseTarget, string>): Databases {
  const given = target !== null && '$client' in target ? target.$client : target
  if (typeof given?.getConnection !== 'function')
    throw new InvalidInputError(
      'database',
      'a URL, a mysql2 pool or a drizzle database on a mysql2 pool is needed',
    )
  const pool = 'promise' in given ? given.promise() : given
  const shared = new MysqlDatabase(pool, { isCallerSupplied: true })
  const limited = new MysqlDatabase(pool, { isCallerSupplied: true, statementLimitMs: API_STATEMENT_MS })
  const atOnce = Math.max(1, Math.floor((pool.pool.config.connectionLimit ?? 1) / API_SHARE))
  return { loops: shared, calls: shared, api: admittedForApi(limited, atOnce), close: () => shared.close() }
}
