/** How long a connection may be busy with one thing: one that died without a word is never told so. */
import { Duplex } from 'node:stream'
import type mysql from 'mysql2/promise'

/** As the driver's own: it copies the code of an error, and not its class. */
const SILENT = 'ETIMEDOUT'

/**
 * After the time, everything that waits for the connection fails with a lost connection.
 *
 * @param timeoutMs  null: the work takes as long as it takes
 */
export async function withTimeout<Result>(
  connection: mysql.PoolConnection,
  timeoutMs: number | null,
  work: () => Promise<Result>,
): Promise<Result> {
  if (timeoutMs === null) return await work()
  const reason = Object.assign(
    new Error(`The connection has not come to an end of its work within ${timeoutMs} ms`),
    { code: SILENT },
  )
  const timer = setTimeout(() => {
    // Not the connection's own destroy, which leaves those who wait for an answer waiting.
    const driver: object = connection.connection
    if ('stream' in driver && driver.stream instanceof Duplex) driver.stream.destroy(reason)
    else connection.destroy()
  }, timeoutMs)
  try {
    return await work()
  } finally {
    clearTimeout(timer)
  }
}

/** It was destroyed because the other side said nothing. */
export function isSilent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === SILENT
}
