/**
 * Speeds up the creation of many rows: gives the server more memory and lets it delay flushes, then restores its
 * settings and waits until everything is on disk. Later measurements therefore run on an idle server with its original
 * settings.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { BenchDatabase } from './database.ts'

const GIB = 2 ** 30
const LENT: Readonly<Record<string, number>> = {
  innodb_buffer_pool_size: 4 * GIB,
  // Some supported versions cannot resize the log, so creating the rows takes longer there.
  innodb_log_file_size: 2 * GIB,
  innodb_flush_log_at_trx_commit: 0,
}
const FLUSHED: Readonly<Record<string, number>> = { innodb_max_dirty_pages_pct: 0 }
/** A few dirty pages always remain, because the server keeps writing in the background. */
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

/** Waits for the flush, because the next measurement would otherwise share the disk with it. */
async function flushed(database: BenchDatabase): Promise<void> {
  const deadline = performance.now() + FLUSH_WITHIN_MS
  for (;;) {
    const [row] = await database.query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
    if (Number(row?.['Value']) <= FEW_PAGES || performance.now() > deadline) return
    await pause(200)
  }
}
