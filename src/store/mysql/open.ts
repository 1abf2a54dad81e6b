import { admittedForApi, API_STATEMENT_MS } from '../admission.ts'
import type { Databases, DatabaseTarget, OpenOptions } from '../database.ts'
import { createPoolLike } from './application-pool.ts'
import { MysqlDatabase } from './database.ts'

/** The most connections to a host, by default. */
const TO_A_URL = 22
const LIKE_A_POOL = 5
/** One in this many is for the API. */
const API_SHARE = 10

/**
 * Connects. A pool of the application stays the application's: only its configuration is used.
 *
 * @throws InvalidInputError for an invalid target, before it connects
 * @throws StoreUnavailableError
 */
export async function openMysql(
  target: DatabaseTarget,
  { longestUseMs, connections }: OpenOptions,
): Promise<Databases> {
  const from = typeof target === 'string' ? target : createPoolLike(target)
  const most = connections ?? (typeof from === 'string' ? TO_A_URL : LIKE_A_POOL)
  const apiConnections = Math.max(1, Math.floor(most / API_SHARE))
  const others = most - apiConnections
  const loops = new MysqlDatabase(from, Math.ceil(others / 2), { longestUseMs })
  const calls = new MysqlDatabase(from, Math.floor(others / 2), { longestUseMs })
  const api = new MysqlDatabase(from, apiConnections, { longestUseMs, statementLimitMs: API_STATEMENT_MS })
  const close = async () => {
    await Promise.all([loops, calls, api].map((database) => database.close()))
  }
  // Fails now, instead of on first use, when the server accepts only some of the connections. Neither is closed while it
  // still connects.
  const connected = await Promise.allSettled([loops.connect(), calls.connect()])
  const failed = connected.find((end) => end.status === 'rejected')
  if (failed !== undefined) {
    await close()
    throw failed.reason
  }
  return { loops, calls, api: admittedForApi(api, apiConnections), close }
}
