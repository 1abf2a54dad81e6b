/** A reused database contains nothing from earlier tests. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise'
import { describe, expect, inject, it } from 'vitest'
import { migrateDatabase, openToInspect } from '../../src/store/open.ts'
import { giveBack, takeMigrated } from './databases-pool.ts'
import { withDatabase } from './databases-run.ts'
import { eachDatabase, type Row, type TestDatabase } from './databases.ts'
import { until } from './worker-process.ts'

const FILLED = [
  'attempt',
  'declared_set',
  'job',
  'job_log',
  'periodic_task',
  'schedule_freeze',
  'task_queue',
  'worker',
]

type Written = Pick<TestDatabase, 'query'>

async function fill(database: Written): Promise<void> {
  await database.query(
    "INSERT INTO attempt (job_id, claim, attempt, worker, started, ended, outcome) VALUES ('j', 1, 1, 'w/1', '2026-01-01 00:00:00', '2026-01-01 00:00:01', 'lost')",
  )
  await database.query("INSERT INTO declared_set (name, hash, schedules) VALUES ('s', 'h', '{}')")
  await database.query("INSERT INTO job (id, task) VALUES ('j', 't')")
  await database.query("INSERT INTO job_log (job_id, message) VALUES ('j', 'm')")
  await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('p', 't', 'daily')")
  await database.query("INSERT INTO schedule_freeze (task, until) VALUES ('t', '2099-01-01 00:00:00')")
  await database.query("INSERT INTO worker (id, name, host, pid, tasks) VALUES ('w/1', 'w', 'h', 1, '[]')")
}

async function isEmpty(database: Written): Promise<boolean> {
  for (const table of FILLED) if ((await database.query(`SELECT * FROM ${table}`)).length > 0) return false
  return true
}

/** @returns whether the connection still works */
async function write(connection: Connection | null): Promise<boolean> {
  try {
    await connection?.query("INSERT INTO job (task) VALUES ('left')")
    return true
  } catch {
    return false
  }
}

/** Everything that a test could change, except the rows of Kalends, as reported by the server. */
async function schemaOf({ query }: Written): Promise<unknown> {
  const of = (table: string, columns: string, owner = 'table_schema') =>
    query(
      `SELECT ${columns} FROM information_schema.${table} WHERE ${owner} = DATABASE() ORDER BY ${columns}`,
    )
  return [
    await query('SELECT name, lowest FROM kalends_migration ORDER BY name'),
    await of('tables', 'table_name, table_type, engine, table_collation'),
    await of('columns', 'table_name, column_name, column_type, column_default, collation_name'),
    await of('statistics', 'table_name, index_name, seq_in_index, column_name'),
    await of('triggers', 'trigger_name', 'trigger_schema'),
    await of('routines', 'routine_name', 'routine_schema'),
    await of('schemata', 'default_character_set_name', 'schema_name'),
  ]
}

eachDatabase(({ fresh }) => {
  it("has Kalends' tables, as created by the migrations, without rows", async () => {
    const database = await fresh()
    expect(await migrateDatabase(database.url)).toEqual([])
    expect(await isEmpty(database)).toBe(true)
    const store = await openToInspect(database.url, {})
    expect(await store.inspection.schemaDrift()).toMatchObject({ pending: [], missing: [], engines: [] })
    await store.close()
    await database.drop()
  })
})

const run = inject('testRun')

for (const { kind, url: serverUrl } of run.servers) {
  describe(kind, () => {
    // Pools that no other process uses.
    const newPool = () => ({ ...run, folder: mkdtempSync(join(run.folder, 'pool-')) })
    const shared = newPool()
    const take = async (pool = shared) => {
      const migrated = await takeMigrated(pool, kind, serverUrl)
      const url = withDatabase(serverUrl, migrated.name)
      const connection = await createConnection({ uri: url })
      connection.on('error', () => {})
      const query = async (sql: string): Promise<Row[]> => {
        const [rows] = await connection.query<RowDataPacket[]>(sql)
        return rows
      }
      const drop = () => giveBack(pool, kind, serverUrl, migrated)
      const [step] = await query('SELECT MAX(applied) AS made FROM kalends_migration')
      return { kind, url, query, drop, made: String(step?.['made']) }
    }

    it('is passed on in its original state, empty and with a new name', async () => {
      const before = await take()
      const schema = await schemaOf(before)
      await fill(before)
      await before.drop()

      const next = await take()

      expect(next.made).toBe(before.made)
      expect(next.url).not.toBe(before.url)
      expect(await isEmpty(next)).toBe(true)
      expect(await schemaOf(next)).toEqual(schema)
      await next.drop()
    })

    it('loses objects that a test has added', async () => {
      const before = await take()
      const schema = await schemaOf(before)
      await before.query('CREATE TABLE more (a INT)')
      await before.query('CREATE VIEW other AS SELECT id FROM job')
      await before.query('CREATE PROCEDURE more () SELECT 1')
      await before.query('ALTER DATABASE CHARACTER SET latin1')
      await before.drop()
      const next = await take()
      expect(await schemaOf(next)).toEqual(schema)
      await next.drop()
    })

    it.each([
      ['a column', 'ALTER TABLE job ADD COLUMN more INT'],
      ['a table', 'DROP TABLE declared_set'],
      ['a trigger', "CREATE TRIGGER t BEFORE INSERT ON job FOR EACH ROW SIGNAL SQLSTATE '45000'"],
      ['the recorded migrations', "DELETE FROM kalends_migration WHERE name = '0000_first/3'"],
    ])('is not passed on after a test has changed %s', async (_, change) => {
      const before = await take()
      const schema = await schemaOf(before)
      await before.query(change)
      await before.drop()
      await expect(createConnection(before.url)).rejects.toMatchObject({ code: 'ER_BAD_DB_ERROR' })

      const next = await take()

      expect(next.made).not.toBe(before.made)
      expect(await schemaOf(next)).toEqual(schema)
      await next.drop()
    })

    it('never belongs to two tests at the same time', async () => {
      const pool = newPool()
      for (const database of await Promise.all([take(pool), take(pool)])) await database.drop()
      const again = await Promise.all([take(pool), take(pool), take(pool)])
      expect(new Set(again.map(({ url }) => url)).size).toBe(3)
      await Promise.all(again.map((database) => database.drop()))
    })

    it('is not affected by processes that a test has left running', async () => {
      const before = await take()
      const left = { connecting: 0, writing: 0, isOver: false }
      // Imitates a worker that outlives its test and reconnects whenever it is disconnected.
      const worker = async () => {
        while (!left.isOver) {
          left.connecting += 1
          const connection = await createConnection(before.url).catch(() => null)
          connection?.on('error', () => {})
          for (let isConnected = connection !== null; isConnected && !left.isOver; ) {
            isConnected = await write(connection)
            left.writing += 1
          }
          connection?.destroy()
        }
      }
      const workers = Promise.all([worker(), worker(), worker(), worker()])
      await until('they write', async () => left.writing > 20)
      await before.drop()
      const next = await take()
      const triesBefore = left.connecting
      await until('they keep trying', async () => left.connecting > triesBefore + 8)
      expect(next.made).toBe(before.made)
      expect(await isEmpty(next)).toBe(true)
      await expect(createConnection(before.url)).rejects.toMatchObject({ code: 'ER_BAD_DB_ERROR' })
      left.isOver = true
      await workers
      await next.drop()
    })

    it('is not affected by a transaction that a test has left open', async () => {
      const before = await take()
      await before.query('START TRANSACTION')
      await before.query("INSERT INTO job (task) VALUES ('left')")
      await before.drop()

      const next = await take()

      expect(next.made).toBe(before.made)
      await expect(before.query('COMMIT')).rejects.toThrow()
      expect(await isEmpty(next)).toBe(true)
      await next.drop()
    })
  })
}
