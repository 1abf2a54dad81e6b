import { setTimeout as pause } from 'node:timers/promises'
import { and, eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/sqlite-proxy'
import Libsql from 'libsql'
import { itemOf, type OwnQueue } from './queue.ts'
import { CREATE, sqliteItem as item } from './schema.ts'

export async function openSqlite(path: string): Promise<OwnQueue> {
  const connection = new Libsql(path, { timeout: 5 })
  await whileBusy(() => connection.exec(CREATE))
  const db = drizzleOn(connection)
  return {
    async insert(jobs, tx) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- on SQLite, tx has the better-sqlite3 API
      const here = drizzleOn(tx as Libsql.Database)
      // After an error or a crash, the same jobs arrive again, so keep rows that already exist.
      await here.insert(item).values(jobs.map(itemOf)).onConflictDoNothing()
    },

    async take(worker) {
      const oldest = sql`(SELECT MIN(id) FROM work_item WHERE state = 'new')`
      const [taken] = await db
        .update(item)
        .set({ state: 'taken', worker })
        .where(eq(item.id, oldest))
        .returning()
      return taken ?? null
    },

    async release(worker) {
      const taken = and(eq(item.state, 'taken'), eq(item.worker, worker))
      await db.update(item).set({ state: 'new' }).where(taken)
    },

    async set(id, state) {
      await db.update(item).set({ state }).where(eq(item.id, id))
    },

    async done() {
      const rows = await db.select({ id: item.id }).from(item).where(eq(item.state, 'done'))
      return rows.map(({ id }) => id)
    },

    close: async () => void connection.close(),
  }
}

/** With better-sqlite3, use `drizzle(connection)` from drizzle-orm/better-sqlite3 instead. */
function drizzleOn(connection: Pick<Libsql.Database, 'prepare'>) {
  return drizzle(async (text, params: unknown[]) => {
    // Prepare once, because after SQLITE_BUSY this driver leaves the write pending until the same statement runs again.
    const statement = connection.prepare(text)
    return {
      rows: await whileBusy(() => {
        if (statement.reader) return statement.raw().all(...params)
        statement.run(...params)
        return []
      }),
    }
  })
}

/** Waits here while another connection is writing, because a wait in the driver would block the event loop. */
async function whileBusy<Result>(work: () => Result): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return work()
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : ''
      if (!code.startsWith('SQLITE_BUSY') || tries === 1000) throw error
      await pause(5)
    }
  }
}
