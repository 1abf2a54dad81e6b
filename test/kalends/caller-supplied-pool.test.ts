/** Databases that the application lends: pools of mysql2 and drizzle. They stay the application's. */
import { drizzle } from 'drizzle-orm/mysql2'
import mysqlCallbacks from 'mysql2'
import mysql from 'mysql2/promise'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Kalends, task } from '../../src/index.ts'
import { databases, type DatabaseUnderTest, type TestDatabase } from '../support/databases.ts'
import { ended, signal } from './scene.ts'

const tick = task('tick')

/** A database of the test's own. */
async function lend(bare: DatabaseUnderTest['bare']): Promise<TestDatabase> {
  const database = await bare()
  onTestFinished(() => database.drop())
  return database
}

/** Works on the database through a lent pool: a schedule and a job, to their ends. */
async function work(kalends: Kalends): Promise<Date> {
  kalends.handle(tick, ({ slot, log, progress }) => {
    log.info('größer 😀')
    progress(1)
    return { slot, text: 'größer 😀' }
  })
  await kalends.start()
  const submitted = signal(kalends, 'submitted', ({ jobs }) => jobs.length > 0)
  await kalends.schedules.create({ id: 's', task: tick, timer: '*:*:*', args: { name: 'größer 😀' } })
  const [id = ''] = (await submitted).jobs
  const job = await ended(kalends, id)
  expect(job).toMatchObject({ state: 'success', args: { name: 'größer 😀' }, progress: 1 })
  expect(job.result).toEqual({ slot: job.slot?.toISOString(), text: 'größer 😀' })
  expect((await kalends.jobs.logs(id)).map(({ message }) => message)).toEqual(['größer 😀'])
  expect(Math.abs(Date.now() - job.submitted.getTime())).toBeLessThan(600_000)
  return job.submitted
}

for (const { kind, bare } of databases.filter((database) => database.kind !== 'sqlite')) {
  describe(kind, () => {
    it('a promise pool works, and is not closed by stop', async () => {
      const { url } = await lend(bare)
      const pool = mysql.createPool({ uri: url })
      onTestFinished(() => pool.end())
      const kalends = await Kalends.open(pool, { pollInterval: 50 })
      await work(kalends)
      await kalends.stop()
      expect(await pool.query('SELECT 1 AS one')).toMatchObject([[{ one: 1 }], expect.anything()])
    })

    it('a callback pool works, and is not closed by stop', async () => {
      const { url } = await lend(bare)
      const pool = mysqlCallbacks.createPool({ uri: url })
      onTestFinished(() => pool.promise().end())
      const kalends = await Kalends.open(pool, { pollInterval: 50 })
      await work(kalends)
      await kalends.stop()
      expect(await pool.promise().query('SELECT 1 AS one')).toMatchObject([[{ one: 1 }], expect.anything()])
    })

    it('a drizzle database works, on a promise pool and on a callback pool, and is not closed by stop', async () => {
      const { url } = await lend(bare)
      const promises = mysql.createPool({ uri: url })
      const callbacks = mysqlCallbacks.createPool({ uri: url })
      onTestFinished(async () => {
        await promises.end()
        await callbacks.promise().end()
      })
      for (const [client, tablePrefix] of [
        [promises, 'a_'],
        [callbacks, 'b_'],
      ] as const) {
        const database = drizzle({ client })
        const kalends = await Kalends.open(database, { pollInterval: 50, tablePrefix })
        await work(kalends)
        await kalends.stop()
        await database.execute('SELECT 1')
      }
    })

    it('a pool of one connection is enough', async () => {
      const { url } = await lend(bare)
      const pool = mysql.createPool({ uri: url, connectionLimit: 1 })
      onTestFinished(() => pool.end())
      await using kalends = await Kalends.open(pool, { pollInterval: 50 })
      await work(kalends)
    })

    it('instants are the same for every zone, cast option and row format of the pool', async () => {
      const { url } = await lend(bare)
      const pool = mysql.createPool({
        uri: url,
        timezone: '+13:00',
        dateStrings: false,
        rowsAsArray: true,
        supportBigNumbers: true,
        bigNumberStrings: true,
        decimalNumbers: true,
        namedPlaceholders: true,
        typeCast: () => 'nonsense',
      })
      pool.pool.on('connection', (connection) => {
        connection.query("SET time_zone = '-11:00', sql_mode = ''")
      })
      onTestFinished(() => pool.end())
      await using kalends = await Kalends.open(pool, { pollInterval: 50 })
      await work(kalends)
      await using own = await Kalends.open(url)
      expect(await own.schedules.get('s')).toMatchObject({ task: 'tick' })
      const { items } = await own.jobs.list()
      expect(await Promise.all(items.map(({ id }) => kalends.jobs.get(id)))).toMatchObject(
        items.map(({ id, slot, submitted }) => ({ id, slot, submitted })),
      )
    })

    it('two instances on one pool do not affect each other', async () => {
      const { url } = await lend(bare)
      const pool = mysql.createPool({ uri: url, connectionLimit: 4 })
      onTestFinished(() => pool.end())
      const one = await Kalends.open(pool, { pollInterval: 50, worker: 'one' })
      const other = await Kalends.open(pool, { pollInterval: 50, worker: 'other', tablePrefix: 'other_' })
      await Promise.all([work(one), work(other)])
      await one.stop()
      expect((await other.jobs.list()).total).toBeGreaterThan(0)
      await other.stop()
    })
  })
}

it('any other value is rejected with what is expected', async () => {
  const wrong: object = { $client: {} }
  // What an application in JavaScript may lend.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  await expect(Kalends.open(wrong as never)).rejects.toMatchObject({
    field: 'database',
    code: 'INVALID_INPUT',
  })
})
