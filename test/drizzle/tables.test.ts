/** `kalends/drizzle/*`: an application reads the tables and joins its own tables with them. */
import { eq } from 'drizzle-orm'
import { drizzle as onPool } from 'drizzle-orm/mysql2'
import { mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import { drizzle as onProxy } from 'drizzle-orm/sqlite-proxy'
import { sqliteTable, text } from 'drizzle-orm/sqlite-core'
import Libsql from 'libsql'
import mysql from 'mysql2/promise'
import { expect, it, onTestFinished } from 'vitest'
import * as mysqlTables from '../../src/drizzle/mysql.ts'
import * as sqliteTables from '../../src/drizzle/sqlite.ts'
import { task } from '../../src/index.ts'
import { ended, scene } from '../kalends/scene.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'

const PREFIX = 'kalends_'

/** The jobs that belong to orders, and all schedules, read with drizzle. */
async function read(database: TestDatabase) {
  if (database.kind === 'sqlite') {
    const connection = new Libsql(database.url.slice('sqlite:'.length))
    onTestFinished(() => void connection.close())
    const db = onProxy(async (sql, params) => ({
      rows: connection
        .prepare(sql)
        .raw()
        .all(...params),
    }))
    const { job, periodicTask } = sqliteTables.tables({ prefix: PREFIX })
    const orders = sqliteTable('orders', { id: text().primaryKey(), reminder: text() })
    return {
      orders: await db
        .select({ order: orders.id, job })
        .from(orders)
        .innerJoin(job, eq(job.id, orders.reminder)),
      schedules: await db.select().from(periodicTask),
    }
  }
  const pool = mysql.createPool(database.url)
  onTestFinished(() => pool.end())
  const db = onPool({ client: pool })
  const { job, periodicTask } = mysqlTables.tables({ prefix: PREFIX })
  const orders = mysqlTable('orders', {
    id: varchar({ length: 9 }).primaryKey(),
    reminder: varchar({ length: 190 }),
  })
  return {
    orders: await db
      .select({ order: orders.id, job })
      .from(orders)
      .innerJoin(job, eq(job.id, orders.reminder)),
    schedules: await db.select().from(periodicTask),
  }
}

eachDatabase((under) => {
  it('an application can join its own table with the jobs and read Dates, flags and JSON [E2]', async () => {
    const { database, open } = await scene({ fresh: under.bare })
    const kalends = await open({ tablePrefix: PREFIX })
    const mail = task('mail')
    kalends.handle(mail, ({ args }) => ({ sent: args }))
    await kalends.start()
    const id = await kalends.jobs.submit(mail, { to: ['ä'] }, { timeout: '1min' })
    const { finishedAt: finished } = await ended(kalends, id)
    await kalends.schedules.create({
      id: 'daily',
      task: 'mail',
      timer: 'daily',
      enabled: false,
      starts: new Date('2030-01-02T03:04:05.678Z'),
    })
    await kalends.stop()
    await database.query('CREATE TABLE orders (id VARCHAR(9) PRIMARY KEY, reminder VARCHAR(190))')
    await database.query('INSERT INTO orders VALUES (?, ?)', ['one', id])
    const { orders, schedules } = await read(database)
    expect(orders).toMatchObject([
      {
        order: 'one',
        job: {
          id,
          task: 'mail',
          state: 'success',
          exclusive: true,
          args: { to: ['ä'] },
          result: { sent: { to: ['ä'] } },
          progress: null,
          timeout: 60_000,
          retries: 3,
          runAt: null,
          finishedAt: finished,
        },
      },
    ])
    expect(schedules.find((schedule) => schedule.id === 'daily')).toMatchObject({
      enabled: false,
      status: 'paused',
      args: {},
      jitter: 0,
      starts: new Date('2030-01-02T03:04:05.678Z'),
      nextRunAt: null,
    })
  })

  it('instants that were written in SQL are read as Dates', async () => {
    if (under.kind !== 'sqlite') return
    const { database, open } = await scene({ fresh: under.bare })
    await open({ tablePrefix: PREFIX })
    await database.query('CREATE TABLE orders (id VARCHAR(9) PRIMARY KEY, reminder VARCHAR(190))')
    const forms = ['2030-01-02T03:04:05Z', '2030-01-02 03:04:05', '2030-01-02 05:04:05.000+02:00']
    for (const [index, nextrun] of forms.entries())
      await database.query(
        `INSERT INTO ${PREFIX}periodic_task (id, task, timer, nextrun) VALUES (?, 'mail', 'daily', ?)`,
        [`s${index}`, nextrun],
      )
    const { schedules } = await read(database)
    expect(schedules.map(({ nextRunAt }) => nextRunAt)).toEqual(
      forms.map(() => new Date('2030-01-02T03:04:05Z')),
    )
  })
})
