/**
 * Makes many rows at the speed of the machine: lends the server memory, lets it flush when it likes, and gives it back
 * as it was, with all of it on disk. What is measured afterwards finds a server with its own settings, at rest.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { BenchDatabase } from './database.ts'

const GIB = 2 ** 30
const LENT: Readonly<Record<string, number>> = {
  innodb_buffer_pool_size: 4 * GIB,
  // Not in all versions that we support can the log be resized; where it cannot, it takes longer.
  innodb_log_file_size: 2 * GIB,
  innodb_flush_log_at_trx_commit: 0,
}
const FLUSHED: Readonly<Record<string, number>> = { innodb_max_dirty_pages_pct: 0 }
/** Pages that are written all the time, by nobody's wish. */
const FEW_PAGES = 100
const FLUSH_WITHIN_MS = 180_000

export async function faster(database: BenchDatabase, fill: () => Promise<void>): Promise<void> {
  await lending(database, LENT, async () => {
    await fill()
    await database.query('ANALYZE TABLE periodic_task, job')
  })
  await lending(database, FLUSHED, () => flushed(database))
}

async function lending(
  database: BenchDatabase,
  settings: Readonly<Record<string, number>>,
  work: () => Promise<void>,
): Promise<void> {
  const before = new Map<string, number>()
  try {
    for (const [name, value] of Object.entries(settings)) {
      const [row] = await database.query(`SHOW GLOBAL VARIABLES LIKE '${name}'`)
      try {
        await database.query(`SET GLOBAL ${name} = ${value}`)
        before.set(name, Number(row?.['Value']))
      } catch (error) {
        if (name !== 'innodb_log_file_size') throw error
      }
    }
    await work()
  } finally {
    for (const [name, value] of before) await database.query(`SET GLOBAL ${name} = ${value}`)
  }
}

/** Or what is measured next would share the disk with what was made before. */
async function flushed(database: BenchDatabase): Promise<void> {
  const deadline = performance.now() + FLUSH_WITHIN_MS
  for (;;) {
    const [row] = await database.query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
    if (Number(row?.['Value']) <= FEW_PAGES || performance.now() > deadline) return
    await pause(200)
  }
}
