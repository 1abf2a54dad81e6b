/** What a full disk is felt by, and how a server comes out of it. */
import { setTimeout as delay } from 'node:timers/promises'
import mysql from 'mysql2/promise'
import type { ServerProcess } from '../faults/server.ts'

/** More than an emptied table has room for in the pages that it keeps. */
const MAX_ROWS = 300
/** In the row itself: what is undone then needs no more of the disk, for the lack of which MariaDB would end. */
const ROW_BYTES = 6000
const REFUSED_WITHIN_MS = 3000
/** MySQL and MariaDB look for room once a minute when their logs found none. Administrators do not wait for that. */
const WELL_WITHIN_MS = 4000

export const PROBE_TABLE = 'probe (id INT PRIMARY KEY AUTO_INCREMENT, content VARBINARY(6000))'

/** Into a table of its own, so that nothing of the workers is spoilt. @returns the refusal; null: all was written */
export async function writeMuch(url: string): Promise<string | null> {
  let connection: mysql.Connection | null = null
  try {
    connection = await mysql.createConnection({ uri: url, connectTimeout: REFUSED_WITHIN_MS })
    connection.on('error', () => {})
    for (let row = 0; row < MAX_ROWS; row += 1) {
      await connection.query({
        sql: 'INSERT INTO probe (content) VALUES (?)',
        values: [Buffer.alloc(ROW_BYTES)],
        timeout: REFUSED_WITHIN_MS,
      })
    }
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    connection?.destroy()
  }
}

/**
 * Restarts the server if it has exited or is still waiting for disk space. @returns what had to be done, as people read
 * it
 */
export async function reviveServer(server: ServerProcess, url: string): Promise<string> {
  // One that gives up does so within moments.
  await delay(100)
  const gaveUp = server.pid === null
  if (gaveUp) await server.start()
  const isWell = await emptied(url).then(
    () => true,
    () => false,
  )
  if (!isWell) {
    await server.kill()
    await server.start()
    await emptied(url)
    return '; the server waited on, and was killed and started again'
  }
  return gaveUp ? '; the server gave up, and was started again' : ''
}

async function emptied(url: string): Promise<void> {
  const connection = await mysql.createConnection({ uri: url, connectTimeout: WELL_WITHIN_MS })
  connection.on('error', () => {})
  try {
    await connection.query({ sql: 'TRUNCATE TABLE probe', timeout: WELL_WITHIN_MS })
  } finally {
    connection.destroy()
  }
}
