/** Jobs and schedules in the application's transaction are committed or rolled back with it. */
import { drizzle } from 'drizzle-orm/mysql2'
import mysqlCallbacks from 'mysql2'
import mysql from 'mysql2/promise'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  ConflictError,
  type Kalends,
  LimitError,
  NotFoundError,
  type Schedule,
  task,
  type Transaction,
  VersionError,
} from '../../src/index.ts'
import { scene } from '../kalends/scene.ts'
import { databases, eachDatabase, type TestDatabase } from '../support/databases.ts'
import { inTransaction, openSqlite, type SqliteTestConnection } from '../support/sqlite.ts'

const mail = task('mail')

/** Runs the work in a transaction of the application. Commits, or rolls back if the work throws. */
type InTransaction = (work: (tx: Transaction) => Promise<void>) => Promise<void>

/** Checks the requirements of a transaction. transaction-writes.test.ts compares each write in each kind of transaction. */
async function proves(database: TestDatabase, kalends: Kalends, inTransaction: InTransaction): Promise<void> {
  const { jobs } = kalends
  await database.query('CREATE TABLE orders (id INT PRIMARY KEY)')

  // Jobs are committed with the transaction.
  const ugly = `it's "quoted" \\ 😀 größer ? ?? :to %s`
  let id = ''
  await inTransaction(async (tx) => {
    id = await jobs.submit(mail, { ugly }, { tx, subject: ugly, id: 'mine' })
    expect(await jobs.get(id)).toBeNull()
    await jobs.submitMany([{ task: mail }, { task: mail, args: { ugly } }], { tx })
  })
  expect(await jobs.get(id)).toMatchObject({ args: { ugly }, subject: ugly, state: 'waiting' })
  expect((await jobs.list()).total).toBe(3)

  // Jobs are rolled back with the transaction.
  const thrown = new Error('the application changes its mind')
  await expect(
    inTransaction(async (tx) => {
      await jobs.submit(mail, {}, { tx, id: 'never' })
      throw thrown
    }),
  ).rejects.toThrow(thrown.message)
  expect(await jobs.get('never')).toBeNull()

  // A duplicate is a conflict. The transaction continues without the new jobs, even if they need several statements.
  const large = 'x'.repeat(250_000)
  await inTransaction(async (tx) => {
    const again = jobs.submit(mail, {}, { tx, id: 'mine' })
    await expect(again).rejects.toThrow(ConflictError)
    await expect(again).rejects.toThrow("A job with the id 'mine' already exists")
    const many = ['a', 'b', 'c', 'mine'].map((each) => ({ task: mail, id: each, args: { large } }))
    await expect(jobs.submitMany(many, { tx })).rejects.toThrow(ConflictError)
    await jobs.submitMany(many.slice(0, 1), { tx })
  })
  expect((await jobs.list()).items.map((job) => job.id)).not.toContain('b')
  expect((await jobs.list()).total).toBe(4)
  await provesSchedules(kalends, inTransaction, ugly)

  // Query builders wrap the error of a missing table.
  await database.query('DROP TABLE job')
  await inTransaction(async (tx) => {
    await expect(jobs.submit(mail, {}, { tx })).rejects.toThrow(/^The table 'job' does not exist: restore/)
  })
}

async function provesSchedules(kalends: Kalends, inTransaction: InTransaction, ugly: string): Promise<void> {
  const { jobs, schedules } = kalends
  const starts = new Date('2031-02-03T04:05:06.789Z')
  const input = {
    task: mail,
    timer: 'daily',
    args: { ugly, deep: [{ a: 'x' }] },
    summary: ugly,
    starts,
  } as const
  const seen: Schedule[] = []
  await inTransaction(async (tx) => {
    const created = await schedules.create({ ...input, id: 'a' }, { tx })
    expect(await schedules.get('a')).toBeNull()
    // Later calls in the transaction see its writes.
    const again = await schedules.create({ ...input, id: 'a', ifExists: 'same' }, { tx })
    expect(again).toEqual(created)
    await expect(schedules.create({ ...input, id: 'a' }, { tx })).rejects.toThrow(ConflictError)
    expect((await schedules.put('a', created, { tx })).result).toBe('unchanged')
    const { result, schedule } = await schedules.put('a', { ...input, catchUp: 3 }, { tx })
    expect([result, schedule.catchUp]).toEqual(['changed', 3])
    expect(await schedules.pause('a', { tx })).toMatchObject({ status: 'paused' })
    await expect(schedules.pause('a', { tx })).rejects.toThrow(
      'only an active, retrying or frozen schedule can be paused',
    )
    const ifVersion = schedules.versionOf(created)
    await expect(schedules.update('a', { priority: 9 }, { tx, ifVersion })).rejects.toThrow(VersionError)
    await schedules.resume('a', { tx })
    await schedules.runNow('a', { tx, args: { once: ugly } })
    seen.push(await schedules.update('a', { priority: 9, overlap: 'allow' }, { tx }))
  })
  // The driver's conversions do not affect the values: its zone for dates, its character set, and its parsing of JSON.
  const stored = await schedules.get('a')
  expect(seen).toEqual([stored])
  expect(stored).toMatchObject({ ...input, task: 'mail', priority: 9, catchUp: 3, status: 'active' })
  const [run] = await schedules.history('a')
  expect(run).toMatchObject({ state: 'waiting', reason: 'run-now', args: { once: ugly } })

  const thrown = new Error('the application changes its mind')
  await expect(
    inTransaction(async (tx) => {
      await schedules.put('b', input, { tx })
      await schedules.update('a', { summary: 'never' }, { tx })
      await schedules.runNow('a', { tx })
      await schedules.delete('a', { tx })
      await expect(schedules.pause('a', { tx })).rejects.toThrow(NotFoundError)
      throw thrown
    }),
  ).rejects.toThrow(thrown.message)
  expect(await schedules.get('b')).toBeNull()
  expect(await schedules.get('a')).toEqual(stored)
  expect(await schedules.history('a')).toHaveLength(1)

  // Each of several concurrent calls is written completely or not at all.
  await inTransaction(async (tx) => {
    const calls = await Promise.allSettled([
      schedules.create({ ...input, id: 'p1' }, { tx }),
      schedules.create({ ...input, id: 'a' }, { tx }),
      jobs.submit(mail, {}, { tx, id: 'p2' }),
      schedules.put('a', input, { tx, ifVersion: 'another' }),
      schedules.create({ ...input, id: 'p3' }, { tx }),
      jobs.submitMany([{ task: mail, id: 'p4' }], { tx }),
      schedules.update('nobody', { summary: 'x' }, { tx }),
    ])
    expect(calls.map(({ status }) => status === 'fulfilled')).toEqual([
      true,
      false,
      true,
      false,
      true,
      true,
      false,
    ])
  })
  for (const id of ['p1', 'p3']) expect(await schedules.delete(id)).toMatchObject({ id, summary: ugly })
  for (const id of ['p2', 'p4']) expect(await jobs.get(id)).toMatchObject({ id, state: 'waiting' })

  // The writes of the transaction count towards an owner's limits, and the owner finds the new rows by id.
  const ann = kalends.scope({ submitter: 'ann', tasks: [mail], limits: { schedules: 2, openJobs: 1 } })
  await inTransaction(async (tx) => {
    expect(await ann.schedules.create({ ...input, id: 'a' }, { tx })).toMatchObject({
      id: 'a',
      submitter: 'ann',
    })
    await ann.schedules.put('b', input, { tx })
    await expect(ann.schedules.create(input, { tx })).rejects.toThrow(LimitError)
    await ann.schedules.runNow('b', { tx })
    await expect(ann.jobs.submit(mail, {}, { tx })).rejects.toThrow(LimitError)
    expect(await ann.schedules.delete('a', { tx })).toMatchObject({ id: 'a', summary: ugly })
  })
  expect((await ann.schedules.list()).items.map(({ id }) => id)).toEqual(['b'])
  expect(await schedules.get('a')).toEqual(stored)
}

async function connected(url: string, options: mysql.ConnectionOptions = {}): Promise<mysql.Connection> {
  const connection = await mysql.createConnection({ uri: url, ...options })
  onTestFinished(() => connection.end())
  return connection
}

/** A second connection to the file, as an application would open it. */
function opened(database: TestDatabase): SqliteTestConnection {
  const connection = openSqlite(database.url.replace('sqlite:', ''))
  onTestFinished(() => void connection.close())
  return connection
}

function begun(connection: SqliteTestConnection, tx: Transaction): InTransaction {
  return async (work) => {
    connection.exec('BEGIN IMMEDIATE')
    try {
      await work(tx)
      connection.exec('COMMIT')
    } catch (error) {
      connection.exec('ROLLBACK')
      throw error
    }
  }
}

/** An object like a drizzle database on this connection. */
function drizzleOn(connection: SqliteTestConnection): Transaction {
  const prepare = (sql: string) => connection.prepare(sql)
  const database = {
    session: { client: connection },
    run: (sql: string) => prepare(sql).run(),
    all: (sql: string) => prepare(sql).all(),
  }
  return database
}

for (const under of databases.filter(({ kind }) => kind !== 'sqlite')) {
  describe(under.kind, () => {
    it('submits in a drizzle transaction on a caller-supplied pool [R13]', async () => {
      const { database } = await scene(under)
      const pool = mysql.createPool({ uri: database.url, connectionLimit: 3 })
      const db = drizzle({ client: pool })
      const { Kalends } = await import('../../src/index.ts')
      const kalends = await Kalends.open(db)
      onTestFinished(async () => {
        await kalends.stop()
        await pool.end()
      })
      await proves(database, kalends, (work) => db.transaction((tx) => work(tx)))
    })

    it.each([
      ['sql_mode', "'NO_BACKSLASH_ESCAPES'"],
      ['unique_checks', '0'],
      ['timestamp', '1700000000'],
      ...(under.kind === 'mariadb' ? [['check_constraint_checks', '0']] : []),
    ])(
      'rejects a connection whose session has %s = %s, and names the setting and the remedy [L56]',
      async (name, value) => {
        const { open, database } = await scene(under)
        const { jobs } = await open()
        for (const options of [{}, { rowsAsArray: true }, { nestTables: true }]) {
          const connection = await connected(database.url, options)
          await connection.query(`SET SESSION ${name} = ${value}`)
          await connection.beginTransaction()
          for (const tx of [connection, (sql: string) => connection.query(sql)]) {
            const submitting = jobs.submit(mail, {}, { tx })
            await expect(submitting).rejects.toMatchObject({ code: 'KALENDS_INVALID_INPUT', field: 'tx' })
            await expect(submitting).rejects.toThrow(`the session of the transaction has ${name} = `)
            await expect(submitting).rejects.toThrow(`SET SESSION ${name} = `)
          }
          await connection.commit()
        }
        expect(await database.query('SELECT id FROM job')).toEqual([])
      },
    )

    it('rejects a connection that has no open transaction or uses another database', async () => {
      const { open, database } = await scene(under)
      const { jobs } = await open()
      const connection = await connected(database.url)
      for (const tx of [
        connection,
        (sql: string) => connection.query(sql),
        drizzle({ client: connection }),
      ]) {
        const submitting = jobs.submit(mail, {}, { tx })
        await expect(submitting).rejects.toMatchObject({ code: 'KALENDS_INVALID_INPUT', field: 'tx' })
        await expect(submitting).rejects.toThrow('has no open transaction')
      }
      await connection.query('SET autocommit = 0')
      await jobs.submit(mail, {}, { tx: connection, id: 'without BEGIN' })
      expect(await jobs.get('without BEGIN')).toBeNull()
      await connection.commit()
      expect(await jobs.get('without BEGIN')).toMatchObject({ state: 'waiting' })
      await connection.query('USE information_schema')
      await connection.beginTransaction()
      await expect(jobs.submit(mail, {}, { tx: connection })).rejects.toThrow(
        /uses the database 'information_schema', but Kalends uses '\w+': run USE /,
      )
      expect((await jobs.list()).total).toBe(1)
    })

    it('finds rows that were committed after the snapshot of its transaction', async () => {
      const { open, database } = await scene(under)
      const kalends = await open()
      const ann = kalends.scope({ submitter: 'ann', tasks: [mail] }).schedules
      const input = { id: 'a', task: mail, timer: 'daily' } as const
      const connection = await connected(database.url)
      await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')
      await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT')
      await kalends.schedules.create(input)
      await ann.create(input)
      const tx = connection
      expect(await kalends.schedules.create({ ...input, ifExists: 'same' }, { tx })).toMatchObject({
        id: 'a',
      })
      expect(await ann.create({ ...input, ifExists: 'same' }, { tx })).toMatchObject({
        id: 'a',
        submitter: 'ann',
      })
      expect(await ann.put('a', { task: mail, timer: 'hourly' }, { tx })).toMatchObject({ result: 'changed' })
      await connection.commit()
      expect(await ann.get('a')).toMatchObject({ timer: 'hourly' })
    })

    it('rejects a pool, which is not a transaction', async () => {
      const { open, database } = await scene(under)
      const { jobs } = await open()
      const promises = mysql.createPool(database.url)
      const callbacks = mysqlCallbacks.createPool(database.url)
      onTestFinished(async () => {
        await promises.end()
        await callbacks.promise().end()
      })
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- plain JavaScript may pass this
      for (const tx of [promises, callbacks, drizzle({ client: promises })])
        await expect(jobs.submit(mail, {}, { tx })).rejects.toMatchObject({ field: 'tx' })
      expect((await jobs.list()).total).toBe(0)
    })
  })
}

for (const under of databases.filter(({ kind }) => kind === 'sqlite')) {
  describe(under.kind, () => {
    it('submits on a connection of the driver [R13]', async () => {
      const { open, database } = await scene(under)
      const connection = opened(database)
      await proves(database, await open(), begun(connection, connection))
    })

    it('rejects a call whose function does not return the required rows, states what it must return, and writes nothing', async () => {
      const { open, database } = await scene(under)
      const { jobs, schedules } = await open()
      const connection = opened(database)
      await begun(
        connection,
        async () => undefined,
      )(async () => {
        for (const tx of [
          async (sql: string) => void connection.exec(sql),
          async (sql: string) => (sql.startsWith('SELECT') ? { changes: 0 } : connection.exec(sql)),
          async (sql: string) => (sql.startsWith('SELECT') ? [{ id: 1 }] : connection.exec(sql)),
        ]) {
          const creating = schedules.create({ id: 'x', task: mail, timer: 'daily' }, { tx })
          await expect(creating).rejects.toMatchObject({ code: 'KALENDS_INVALID_INPUT', field: 'tx' })
          await expect(creating).rejects.toThrow('the function must return')
          // Calls that need no rows still work.
          await jobs.submit(mail, {}, { tx })
        }
      })
      expect((await schedules.list()).total).toBe(0)
      expect((await jobs.list()).total).toBe(3)
    })

    it('rejects a call whose transaction ends before its write, and leaves no transaction open', async () => {
      const { open, database } = await scene(under)
      const { jobs, schedules } = await open()
      const connection = opened(database)
      const input = { task: mail, timer: 'daily' } as const
      await schedules.create({ ...input, id: 'there' })
      for (const tx of [connection, drizzleOn(connection)]) {
        const calls: Promise<unknown>[] = []
        // Imitates a transaction of a synchronous driver, which cannot wait for a call.
        connection.exec('BEGIN')
        calls.push(schedules.create({ ...input, id: 'new' }, { tx }))
        calls.push(schedules.create({ ...input, id: 'there' }, { tx }))
        calls.push(jobs.submit(mail, {}, { tx }))
        connection.exec('ROLLBACK')
        for (const call of calls) await expect(call).rejects.toThrow('has no open transaction')
        expect(inTransaction(connection)).toBe(false)
      }
      expect((await schedules.list()).total).toBe(1)
      expect((await jobs.list()).total).toBe(0)
    })

    it('rejects a connection without an open transaction', async () => {
      const { open, database } = await scene(under)
      const { jobs } = await open()
      await expect(jobs.submit(mail, {}, { tx: opened(database) })).rejects.toThrow('has no open transaction')
      expect((await jobs.list()).total).toBe(0)
    })
  })
}

eachDatabase((under) => {
  it.each([['a text'], [{}], [7], [null], [{ query: {} }], [{ execute: 'no' }]])(
    'rejects a value that cannot run statements, so that no job is lost silently: %j',
    async (tx) => {
      const { open } = await scene(under)
      const { jobs } = await open()
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- plain JavaScript may pass this
      const wrong = { tx: tx as never }
      await expect(jobs.submit(mail, {}, wrong)).rejects.toMatchObject({
        code: 'KALENDS_INVALID_INPUT',
        field: 'tx',
      })
      await expect(jobs.submitMany([], wrong)).rejects.toMatchObject({ field: 'tx' })
    },
  )

  it('rethrows other errors of the transaction unchanged', async () => {
    const { open } = await scene(under)
    const { jobs } = await open()
    const broken = new Error('the connection was lost')
    const tx = async () => {
      throw broken
    }
    await expect(jobs.submit(mail, {}, { tx })).rejects.toBe(broken)
  })
})
