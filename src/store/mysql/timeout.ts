/** Nothing reports a connection that died silently, so the time for one piece of work is limited. */
import { Duplex } from 'node:stream'
import type mysql from 'mysql2/promise'

/** A code that the driver also uses. It identifies the error, because the driver copies the code but not the class. */
const SILENT = 'ETIMEDOUT'

/** After the timeout, everything that waits for the connection fails. @param timeoutMs  null means no limit */
export async function withTimeout<Result>(
  connection: mysql.PoolConnection,
  timeoutMs: number | null,
  work: () => Promise<Result>,
): Promise<Result> {
  if (timeoutMs === null) return await work()
  const reason = Object.assign(new Error(`The connection did not finish its work within ${timeoutMs} ms`), {
    code: SILENT,
  })
  const timer = setTimeout(() => abandon(connection, reason), timeoutMs)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}

/** Closes a connection that may be busy. The driver's own destroy() would leave pending queries waiting. */
export function abandon(connection: mysql.PoolConnection, reason: Error): void {
  const driver: object = connection.connection
  if ('stream' in driver && driver.stream instanceof Duplex) driver.stream.destroy(reason)
  else connection.destroy()
}

export function isSilent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === SILENT
}
