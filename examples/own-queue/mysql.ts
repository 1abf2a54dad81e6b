import { and, eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/mysql2'
import { type Connection, createPool } from 'mysql2/promise'
import { itemOf, type OwnQueue } from './queue.ts'
import { CREATE, mysqlItem as item } from './schema.ts'

export async function openMysql(url: string): Promise<OwnQueue> {
  const pool = createPool({ uri: url.replace(/^mariadb:/, 'mysql:'), connectionLimit: 4 })
  await pool.query(CREATE)
  const db = drizzle(pool)
  return {
    async insert(jobs, tx) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- on MySQL, tx is a mysql2 connection
      const here = drizzle(tx as Connection)
      // After an error or a crash, the same jobs arrive again, so keep rows that already exist.
      await here
        .insert(item)
        .values(jobs.map(itemOf))
        .onDuplicateKeyUpdate({ set: { id: sql`id` } })
    },

    take: (worker) =>
      db.transaction(async (tx) => {
        const isNew = eq(item.state, 'new')
        const [found] = await tx
          .select()
          .from(item)
          .where(isNew)
          .orderBy(item.id)
          .limit(1)
          .for('update', { skipLocked: true })
        if (found === undefined) return null
        await tx.update(item).set({ state: 'taken', worker }).where(eq(item.id, found.id))
        return found
      }),

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

    close: () => pool.end(),
  }
}
