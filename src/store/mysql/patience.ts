/** How long a connection may be busy with one thing: one that died without a word is never told so. */
import { Duplex } from 'node:stream'
import type mysql from 'mysql2/promise'

/** As the driver's own: it copies the code of an error, and not its class. */
const SILENT = 'ETIMEDOUT'

/** Everything that waits for the connection fails with a lost connection, unless the timer is cleared in time. */
export function giveUpAfter(connection: mysql.PoolConnection, limitMs: number): NodeJS.Timeout {
  const reason = Object.assign(
    new Error(`The connection has not come to an end of its work within ${limitMs} ms`),
    { code: SILENT },
  )
  return setTimeout(() => {
    // Not the connection's own destroy, which leaves those who wait for an answer waiting.
    const driver: object = connection.connection
    if ('stream' in driver && driver.stream instanceof Duplex) driver.stream.destroy(reason)
    else connection.destroy()
  }, limitMs)
}

/** It was given up because the other side said nothing. */
export function isSilent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === SILENT
}
