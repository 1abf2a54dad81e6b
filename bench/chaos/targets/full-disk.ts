/** Detects a full disk, and helps a server recover from it. */
import { setTimeout as delay } from 'node:timers/promises'
import mysql from 'mysql2/promise'
import type { ServerProcess } from '../faults/server.ts'

/** More rows than fit into the pages that an emptied table keeps. */
const MAX_ROWS = 300
/**
 * Small enough to be stored in the row itself, so that a rollback needs no more disk space. Without space for a
 * rollback, MariaDB would exit.
 */
const ROW_BYTES = 6000
const REFUSED_WITHIN_MS = 3000
/**
 * MySQL and MariaDB check for disk space once a minute if a log could not be written. Administrators would not wait for
 * that, so the server is restarted after this time.
 */
const WELL_WITHIN_MS = 4000

export const PROBE_TABLE = 'probe (id INT PRIMARY KEY AUTO_INCREMENT, content VARBINARY(6000))'

/**
 * Writes to a separate table, so that the workers' data is not affected.
 *
 * @returns the error, or null if everything was written
 */
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
 * Restarts the server if it has exited or is still waiting for disk space.
 *
 * @returns a description of what was done; empty if the server recovered by itself
 */
export async function reviveServer(server: ServerProcess, url: string): Promise<string> {
  // If the server exits, it does so almost immediately.
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
    return '; the server kept waiting, and was killed and restarted'
  }
  return gaveUp ? '; the server exited, and was restarted' : ''
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
