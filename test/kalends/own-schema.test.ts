/** The option `schema`: the tables are in a separate database on the same server. */
import { drizzle } from 'drizzle-orm/mysql2'
import mysql from 'mysql2/promise'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { tables } from '../../src/drizzle/mysql.ts'
import { Kalends, task } from '../../src/index.ts'
import { databases, type DatabaseUnderTest, type TestDatabase } from '../support/databases.ts'
import { ended } from './scene.ts'

const mail = task('mail')

interface Place {
  readonly database: TestDatabase
  readonly schema: string
}

/** An empty application database, and the name of a schema that does not exist. */
async function place(under: DatabaseUnderTest): Promise<Place> {
  const database = await under.bare()
  const schema = `${new URL(database.url).pathname.slice(1)}-own`
  onTestFinished(async () => {
    await database.query(`DROP DATABASE IF EXISTS \`${schema}\``)
    await database.drop()
  })
  return { database, schema }
}

async function opened(
  { database, schema }: Place,
  target: Parameters<typeof Kalends.open>[0] = database.url,
) {
  const kalends = await Kalends.open(target, { schema, tablePrefix: 'k_', retention: false })
  onTestFinished(() => kalends.stop({ grace: 0 }))
  return kalends
}

for (const under of databases.filter(({ kind }) => kind !== 'sqlite'))
  describe(under.kind, () => {
    it('schedules and jobs run, and the application database has no tables', async () => {
      const at = await place(under)
      const { database, schema } = at
      const kalends = await opened(at)
      kalends.handle(mail, () => 'sent')
      await kalends.start()
      await kalends.schedules.create({ id: 'daily', task: mail, timer: 'daily' })
      const job = await ended(kalends, await kalends.schedules.runNow('daily'))
      expect(job).toMatchObject({ state: 'success', result: 'sent' })
      expect(await kalends.doctor()).toEqual([])
      expect(await database.query('SHOW TABLES')).toEqual([])
      const rows = await database.query(`SELECT id FROM \`${schema}\`.k_periodic_task`)
      expect(rows).toEqual([{ id: 'daily' }])
    })

    it("a job is part of the application's drizzle transaction on a pool", async () => {
      const at = await place(under)
      const { database, schema } = at
      await database.query('CREATE TABLE orders (id INT PRIMARY KEY) ENGINE=InnoDB')
      const pool = mysql.createPool(database.url)
      onTestFinished(() => pool.end())
      const db = drizzle({ client: pool })
      const kalends = await opened(at, db)
      const failed = db.transaction(async (tx) => {
        await tx.execute('INSERT INTO orders VALUES (1)')
        await kalends.jobs.submit(mail, {}, { tx })
        throw new Error('rolled back')
      })
      await expect(failed).rejects.toThrow('rolled back')
      expect((await kalends.jobs.list()).total).toBe(0)
      await db.transaction(async (tx) => {
        await tx.execute('INSERT INTO orders VALUES (2)')
        await kalends.jobs.submit(mail, { to: 'x' }, { tx })
      })
      const { job } = tables({ prefix: 'k_', schema })
      expect(await db.select({ task: job.task, args: job.args }).from(job)).toEqual([
        { task: 'mail', args: { to: 'x' } },
      ])
    })

    it('the printed statements create the tables in the schema, on a connection to the application database', async () => {
      const at = await place(under)
      const { database, schema } = at
      const statements = await Kalends.migrationStatements(database.url, { schema })
      const connection = await mysql.createConnection(database.url)
      onTestFinished(() => connection.end())
      for (const statement of statements) await connection.query(statement)
      expect(await database.query('SHOW TABLES')).toEqual([])
      const kalends = await Kalends.open(database.url, { schema, migrate: false })
      onTestFinished(() => kalends.stop({ grace: 0 }))
      expect(await kalends.doctor()).toEqual([])
    })

    it('a user without the required rights gets an error that names them', async () => {
      const at = await place(under)
      const { database, schema } = at
      const app = new URL(database.url).pathname.slice(1)
      const user = `u${app.replaceAll(/\W/g, '').slice(-20)}`
      onTestFinished(async () => void (await database.query(`DROP USER IF EXISTS ${user}`)))
      await database.query(`CREATE USER ${user} IDENTIFIED BY 'p'`)
      await database.query(`GRANT ALL ON \`${app}\`.* TO ${user}`)
      const url = new URL(database.url)
      url.username = user
      url.password = 'p'
      await expect(Kalends.open(url.href, { schema })).rejects.toMatchObject({
        code: 'KALENDS_SCHEMA',
        message: expect.stringContaining(`GRANT ALL ON \`${schema}\``),
      })
    })

    it('without migrate, a missing schema is not created, and the error names it', async () => {
      const at = await place(under)
      const { database, schema } = at
      await expect(Kalends.open(database.url, { schema, migrate: false })).rejects.toMatchObject({
        code: 'KALENDS_SCHEMA',
        message: expect.stringContaining(schema),
      })
      const found = await database.query(
        'SELECT COUNT(*) AS found FROM information_schema.schemata WHERE schema_name = ?',
        [schema],
      )
      expect(Number(found[0]?.['found'])).toBe(0)
      expect(await Kalends.migrate(database.url, { schema })).toEqual(['0000_first'])
      expect(await Kalends.migrationStatements(database.url, { schema })).toEqual([])
      expect(await Kalends.doctor(database.url, { schema })).toEqual([])
    })
  })

test('the option `schema` is rejected on SQLite, and so is a name that contains a backtick', async () => {
  await expect(Kalends.open('sqlite::memory:', { schema: 'kalends' })).rejects.toThrow(
    /schema: a SQLite file has only one.*sqlite:\.\/kalends\.db/,
  )
  await expect(Kalends.open('mysql://root@localhost/app', { schema: 'a`b' })).rejects.toThrow(/^schema: /)
})
