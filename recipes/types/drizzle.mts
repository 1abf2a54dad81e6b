import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/mysql-proxy'
import { int, mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import { tables } from 'kalends/drizzle/mysql'
import { tables as sqliteTables } from 'kalends/drizzle/sqlite'

const { job } = tables({ prefix: 'kalends_' })
const orders = mysqlTable('orders', { id: int('id').primaryKey(), mail: varchar('mail', { length: 190 }) })
type Order = {
  readonly order: number
  readonly state:
    | 'waiting'
    | 'blocked'
    | 'running'
    | 'external'
    | 'success'
    | 'failed'
    | 'cancelled'
    | 'skipped'
    | null
  readonly finishedAt: Date | null
}
export const found: readonly Order[] = await drizzle(async () => ({ rows: [] }))
  .select({ order: orders.id, state: job.state, finishedAt: job.finishedAt })
  .from(orders)
  .leftJoin(job, eq(job.id, orders.mail))
// @ts-expect-error a schedule needs a timer
export const schedule: ReturnType<typeof sqliteTables>['periodicTask']['$inferInsert'] = {
  id: 'a',
  task: 'mail',
}
