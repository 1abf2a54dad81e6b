/** The types of `kalends/drizzle/*`. This code never runs. */
import { eq } from 'drizzle-orm'
import type { MySql2Database } from 'drizzle-orm/mysql2'
import { bigint, mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { expectTypeOf } from 'vitest'
import * as onMysql from '../../src/drizzle/mysql.ts'
import * as onSqlite from '../../src/drizzle/sqlite.ts'
import type { JobState, Overlap, ScheduleStatus } from '../../src/index.ts'

declare const mysql: MySql2Database
declare const sqlite: BetterSQLite3Database

export async function joins(): Promise<void> {
  const { job } = onMysql.tables()
  const orders = mysqlTable('orders', {
    id: bigint({ mode: 'number' }).primaryKey(),
    reminder: varchar({ length: 190 }),
  })
  const rows = await mysql
    .select({ order: orders.id, state: job.state, runAt: job.runAt, group: job.group, args: job.args })
    .from(orders)
    .innerJoin(job, eq(job.id, orders.reminder))
  expectTypeOf<(typeof rows)[number]>().toEqualTypeOf<{
    order: number
    state: JobState
    runAt: Date | null
    group: string
    args: unknown
  }>()
  // @ts-expect-error unknown column
  mysql.select({ state: job.status }).from(job)
}

export function ofSqlite(): void {
  const { job, periodicTask, jobLog } = onSqlite.tables({ prefix: 'kalends_' })
  const orders = sqliteTable('orders', { id: integer().primaryKey(), reminder: text() })
  const rows = sqlite
    .select({ order: orders.id, job: { state: job.state, retries: job.retries, timeout: job.timeout } })
    .from(orders)
    .leftJoin(job, eq(job.id, orders.reminder))
    .all()
  expectTypeOf<(typeof rows)[number]>().toEqualTypeOf<{
    order: number
    job: { state: JobState; retries: number | null; timeout: number | null } | null
  }>()
  const [schedule] = sqlite
    .select({
      enabled: periodicTask.enabled,
      overlap: periodicTask.overlap,
      status: periodicTask.status,
      starts: periodicTask.starts,
      nextRunAt: periodicTask.nextRunAt,
      jitter: periodicTask.jitter,
    })
    .from(periodicTask)
    .all()
  expectTypeOf(schedule).toEqualTypeOf<
    | {
        enabled: boolean
        overlap: Overlap
        status: ScheduleStatus | null
        starts: Date | null
        nextRunAt: Date | null
        jitter: number
      }
    | undefined
  >()
  expectTypeOf(jobLog.$inferSelect.level).toEqualTypeOf<'debug' | 'info' | 'warn' | 'error'>()
  // The id, the task and the timer are enough; a missing timer and an unknown policy must not compile.
  sqlite.insert(periodicTask).values({ id: 'daily', task: 'mail', timer: 'daily' })
  // @ts-expect-error a schedule needs a timer
  sqlite.insert(periodicTask).values({ id: 'daily', task: 'mail' })
  // @ts-expect-error unknown policy
  sqlite.insert(periodicTask).values({ id: 'daily', task: 'mail', timer: 'daily', overlap: 'queue' })
}
