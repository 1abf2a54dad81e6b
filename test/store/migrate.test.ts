import { describe, expect, it, onTestFinished } from 'vitest'
import { InvalidInputError, SchemaError, StoreUnavailableError } from '../../src/errors.ts'
import { Kalends, task } from '../../src/index.ts'
import { VERSION } from '../../src/generated/version.ts'
import type { Database } from '../../src/store/database.ts'
import { migrate, migrationsFor } from '../../src/store/migrate.ts'
import { MysqlDatabase } from '../../src/store/mysql/database.ts'
import { migrateDatabase } from '../../src/store/open.ts'
import { openStore } from '../support/open-store.ts'
import { SqliteDatabase } from '../../src/store/sqlite/database.ts'
import { LEASE_MS, movableTimers } from '../kalends/movable-timers.ts'
import { ended, gate, scene } from '../kalends/scene.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import { newJob, onEachStore, settings } from './conformance.ts'
import { write } from './writes.ts'

async function tableNames(database: Pick<TestDatabase, 'kind' | 'query'>): Promise<string[]> {
  const rows = await database.query(
    database.kind === 'sqlite'
      ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
      : 'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name',
  )
  return rows.map((row) => String(row['name']))
}

const OURS = [
  'attempt',
  'declared_set',
  'job',
  'job_log',
  'kalends_migration',
  'periodic_task',
  'schedule_freeze',
  'task_queue',
  'worker',
]

onEachStore((under) => {
  it('an empty database gets the tables', async () => {
    expect(await tableNames(under)).toEqual(OURS)
  })

  it('a second migration does nothing', async () => {
    expect(await migrateDatabase(under.url)).toEqual([])
  })

  it('the printed statements create the same tables when another client runs them', async () => {
    const database = await under.bare()
    const options = { tablePrefix: 'own_' }
    const statements = await Kalends.migrationStatements(database.url, options)
    expect(await tableNames(database)).toEqual([])
    expect(statements.join('\n')).not.toMatch(/[{}]prefix|\{exact\}|\?/)
    for (const statement of statements) await database.query(statement)
    const store = await openStore(database.url, { ...options, migrate: false })
    under.afterwards(() => store.close())
    expect(await store.inspection.schemaDrift()).toMatchObject({ pending: [], missing: [], engines: [] })
    expect(await Kalends.migrationStatements(database.url, options)).toEqual([])
  })

  it('six stores can be opened at once on an empty database', async () => {
    const database = await under.bare()
    const stores = await Promise.all(Array.from({ length: 6 }, () => openStore(database.url)))
    try {
      await Promise.all(stores.map((store, index) => write(store).create(`s${index}`, settings())))
      expect(await stores[0]?.schedules.count(10)).toBe(6)
    } finally {
      await Promise.all(stores.map((store) => store.close()))
    }
  })

  it.each(['job', 'worker'])(
    "an application's table %s is rejected, the error names it, and nothing changes",
    async (name) => {
      const database = await under.bare()
      await database.query(`CREATE TABLE ${name} (mine INTEGER)`)
      await expect(openStore(database.url)).rejects.toThrow(SchemaError)
      await expect(openStore(database.url)).rejects.toThrow(`'${name}'`)
      await expect(openStore(database.url)).rejects.toThrow('tablePrefix')
      expect(await tableNames(database)).toEqual([name])
    },
  )

  it('with the longest prefix, all names of tables, indexes and constraints fit within the limits', async () => {
    const database = await under.bare()
    const tablePrefix = 'p'.repeat(32)
    const store = await openStore(database.url, { tablePrefix })
    await store.close()
    expect(await tableNames(database)).toEqual(OURS.map((name) => tablePrefix + name))
  })

  it('two prefixes can coexist with each other and with the tables of the application', async () => {
    const database = await under.bare()
    await database.query('CREATE TABLE job (mine INTEGER)')
    const first = await openStore(database.url, { tablePrefix: 'a_' })
    const second = await openStore(database.url, { tablePrefix: 'b_' })
    try {
      await first.jobs.submit([newJob('only in a')])
      expect(await first.jobs.get('only in a')).toMatchObject({ state: 'waiting' })
      expect(await second.jobs.get('only in a')).toBeNull()
      expect(await tableNames(database)).toEqual(
        ['a_', 'b_'].flatMap((prefix) => OURS.map((name) => prefix + name)).concat('job'),
      )
    } finally {
      await first.close()
      await second.close()
    }
  })

  it('a migration that was applied but only partly recorded is completed', async () => {
    const database = await under.bare()
    await migrateDatabase(database.url)
    await database.query("DELETE FROM kalends_migration WHERE name >= '0000_first/3'")
    expect(await migrateDatabase(database.url)).toEqual(['0000_first'])
    expect(await migrateDatabase(database.url)).toEqual([])
  })

  it('a table that was dropped since is named, with what to do', async () => {
    const database = await under.fresh()
    const store = await openStore(database.url)
    under.afterwards(() => store.close())
    await database.query('DROP TABLE job')
    const missing = new SchemaError(
      "The table 'job' does not exist: restore it from a backup; or, if no table of Kalends is left, run 'kalends migrate'",
    )
    await expect(store.jobs.get('j')).rejects.toThrow(missing)
    await expect(store.jobs.submit([newJob('j')])).rejects.toThrow(missing)
    await expect(store.executing.promoteDue(10)).rejects.toThrow(missing)
  })

  it('an interrupted migration is continued', async () => {
    const database = await under.bare()
    await migrateDatabase(database.url)
    // Undoes two of the last steps, and deletes the records of these and of other steps.
    await database.query('DROP TABLE worker')
    const index =
      under.kind === 'sqlite' ? 'periodic_task_declared_by' : 'periodic_task_declared_by ON periodic_task'
    await database.query(`DROP INDEX ${index}`)
    const from = under.kind === 'sqlite' ? '0000_first/10' : '0000_first/3'
    await database.query('DELETE FROM kalends_migration WHERE LENGTH(name) > LENGTH(?) OR name >= ?', [
      from,
      from,
    ])
    expect(await migrateDatabase(database.url)).toEqual(['0000_first'])
    expect(await tableNames(database)).toEqual(OURS)
    const store = await openStore(database.url, { migrate: false })
    expect(await store.executing.promoteDue(1)).toBe(0)
    await store.close()
  })

  it('with `migrate: false`, an empty database is rejected and stays empty, and the error says how to fix it', async () => {
    const database = await under.bare()
    const opening = openStore(database.url, { migrate: false })
    await expect(opening).rejects.toThrow(SchemaError)
    await expect(opening).rejects.toThrow("run 'kalends migrate', or open with migrate: true")
    expect(await tableNames(database)).toEqual([])
  })

  it('with `migrate: false`, a migrated database is used unchanged', async () => {
    const store = await under.another({ migrate: false })
    expect(await store.schedules.get('none')).toBeNull()
  })
})

/** The migration of a future version, unknown to older versions. */
const NEXT = {
  tag: '0001_next',
  statements: ['ALTER TABLE `{prefix}job` ADD `next` int'],
  lowestVersion: '99.2.0',
}

type Connectable = Pick<TestDatabase, 'kind' | 'url'>

async function connect({ kind, url }: Connectable): Promise<Database> {
  return kind === 'sqlite'
    ? await SqliteDatabase.open(url.slice('sqlite:'.length))
    : new MysqlDatabase(url, 1)
}

/** Simulates an upgrade: applies the migrations of this version and of the next one. */
async function upgrade(to: Connectable): Promise<string[]> {
  const database = await connect(to)
  try {
    return await migrate(database, '', () => {}, [...migrationsFor(database), NEXT])
  } finally {
    await database.close()
  }
}

eachDatabase(({ kind, fresh, bare }) => {
  const own = async () => {
    const database = await bare()
    onTestFinished(() => database.drop())
    return database
  }

  /** A migrated database, for tests that leave the tables as they were, so that other tests can reuse it. */
  const migrated = async () => {
    const database = await fresh()
    onTestFinished(() => database.drop())
    return database
  }

  it('an error in work that runs exclusively is reported even if the connection has been lost', async () => {
    const database = await connect(await own())
    onTestFinished(() => database.close())
    const work = database.exclusively('work', async (sql) => {
      // The server answers with an error, because the statement ends its own connection.
      if (kind !== 'sqlite') await sql.run('KILL CONNECTION_ID()').catch(() => {})
      throw new RangeError('the work failed')
    })
    await expect(work).rejects.toThrow('the work failed')
    expect(await database.exclusively('work', (sql) => sql.rows('SELECT 1 AS one'))).toEqual([{ one: 1 }])
  })

  describe('tables that need a later version', () => {
    it('tables that need a later version are rejected by `open`, with and without `migrate`, and by `migrate()`; the error names the version [L57]', async () => {
      const database = await own()
      await migrateDatabase(database.url)
      expect(await upgrade(database)).toEqual(['0001_next'])
      for (const open of [
        () => openStore(database.url),
        () => openStore(database.url, { migrate: false }),
        () => migrateDatabase(database.url),
      ]) {
        const refused = await open().catch((error: unknown) => error)
        expect(refused).toBeInstanceOf(SchemaError)
        expect(String(refused)).toContain(`need Kalends 99.2.0 or later, and this is ${VERSION}`)
      }
      expect(await Kalends.doctor(database.url)).toMatchObject([
        { code: 'schema', subjects: ['version'], problem: expect.stringContaining('99.2.0') },
      ])
    })

    it('the required version is recorded before the first statement that changes the tables', async () => {
      const database = await own()
      await migrateDatabase(database.url)
      // Makes the first statement of the migration fail, as if the process had ended before it.
      await database.query('ALTER TABLE job RENAME TO hidden')
      await expect(upgrade(database)).rejects.toThrow()
      await database.query('ALTER TABLE hidden RENAME TO job')
      // On SQLite, nothing has changed, because the migration is a single transaction.
      if (kind === 'sqlite') await (await openStore(database.url)).close()
      else await expect(openStore(database.url)).rejects.toThrow('99.2.0')
    })

    it('if the tables need a later version, a running worker takes on no more work: its run completes, no job starts, and health names the version [L57]', async () => {
      const on = await scene({ fresh: bare })
      const { beat, beatUntil } = movableTimers(on)
      const { database } = on
      const kalends = await on.open({ lease: LEASE_MS })
      const running = gate()
      const release = gate()
      kalends.handle(task('hold'), async () => {
        running.open()
        await release.promise
        return 'the result'
      })
      kalends.handle(task('tick'), () => null)
      await kalends.start()
      const held = await kalends.jobs.submit('hold')
      await running.promise
      await upgrade(database)
      await beatUntil(async () =>
        kalends.health().reasons.some(({ text }) => text.includes('need Kalends 99.2.0')) ? true : null,
      )
      expect(kalends.health()).toMatchObject({ ok: false, worker: null, running: 1 })
      await database.query("INSERT INTO job (id, task) VALUES ('after', 'tick')")
      await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('s', 'tick', '*:*:*')")
      // The heartbeats continue for longer than the lease, so no other worker takes over the run.
      const seen = new Set<unknown>()
      while (seen.size <= 6) {
        await beat()
        const [row] = await database.query('SELECT heartbeat FROM worker')
        seen.add(row?.['heartbeat'])
      }
      release.open()
      expect(await ended(kalends, held)).toMatchObject({ state: 'success', result: 'the result', attempt: 1 })
      expect(await database.query("SELECT state FROM job WHERE task = 'tick'")).toEqual([
        { state: 'waiting' },
      ])
      // Once the tables no longer need the later version, the worker continues.
      await database.query("DELETE FROM kalends_migration WHERE name LIKE '0001_next%'")
      await beatUntil(async () => kalends.health().worker)
      expect(await ended(kalends, 'after')).toMatchObject({ state: 'success' })
    })
  })

  it.skipIf(kind === 'sqlite').each(kind === 'mariadb' ? ['Aria', 'MyISAM'] : ['MyISAM'])(
    'a table with the engine %s, which has no transactions, is rejected, and the error says how to fix it [L55]',
    async (engine) => {
      const database = await migrated()
      await database.query(`ALTER TABLE job_log ENGINE=${engine}`)
      for (const migrate of [true, false]) {
        const refused = await openStore(database.url, { migrate }).catch((error: unknown) => error)
        expect(refused).toBeInstanceOf(SchemaError)
        expect(String(refused)).toContain(`'job_log' is ${engine}`)
        expect(String(refused)).toContain('ALTER TABLE `job_log` ENGINE=InnoDB')
      }
      expect(await Kalends.doctor(database.url)).toMatchObject([
        { code: 'schema', subjects: ['table job_log'], problem: expect.stringContaining(engine) },
      ])
      await database.query('ALTER TABLE job_log ENGINE=InnoDB')
      await (await openStore(database.url)).close()
    },
  )

  it.skipIf(kind === 'sqlite')('a view with the name of a table is reported as a view', async () => {
    const database = await migrated()
    await database.query('RENAME TABLE job_log TO moved')
    await database.query('CREATE VIEW job_log AS SELECT * FROM moved')
    const refused = await openStore(database.url).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(SchemaError)
    expect(String(refused)).toContain("'job_log' is a view")
    expect(String(refused)).not.toContain('ENGINE')
    const findings = await Kalends.doctor(database.url)
    expect(findings).toContainEqual(
      expect.objectContaining({ subjects: ['table job_log'], problem: expect.stringContaining('is a view') }),
    )
    expect(JSON.stringify(findings)).not.toContain('ENGINE')
    await database.query('DROP VIEW job_log')
    await database.query('RENAME TABLE moved TO job_log')
    await (await openStore(database.url)).close()
  })

  it
    .skipIf(kind === 'sqlite')
    .each([
      'CHARACTER SET latin1',
      'CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
      'CHARACTER SET utf8mb3',
    ])('the default %s of a database has no effect', async (charset) => {
    const database = await bare()
    try {
      await database.query(`ALTER DATABASE ${charset}`)
      const store = await openStore(database.url)
      const subject = 'naïve 😀 Ελλάς "\' \\ ?'
      await write(store).create('Ünïcode 😀', settings({ subject, task: 'Task' }))
      await write(store).create('ünïcode 😀', settings({ subject, task: 'task' }))
      expect(await store.schedules.get('Ünïcode 😀')).toMatchObject({ subject, task: 'Task' })
      const listed = await store.lists.schedules({ task: 'task', limit: 10 })
      expect(listed.items.map((item) => item.id)).toEqual(['ünïcode 😀'])
      await store.close()
    } finally {
      await database.drop()
    }
  })
})

describe('a database that cannot be opened', () => {
  it('is unavailable if the server does not respond', async () => {
    await expect(openStore('mysql://root@127.0.0.1:1/app')).rejects.toThrow(StoreUnavailableError)
  })

  it('is unavailable if its file cannot be created', async () => {
    await expect(openStore('sqlite:/does/not/exist/app.db')).rejects.toThrow(StoreUnavailableError)
  })

  it.each([
    'postgres://root:s3cret@localhost/app',
    'mysql://root:s3cret@localhost',
    'mysql://root:s3cret@localhost:99999999/app',
    'mysql://root:s3cret/@:x@[localhost/app',
    'root:s3cret@localhost/app',
    'postgres://localhost/app?user=root&password=s3cret',
    'sqlite:',
    '',
  ])('%s is rejected, and the password is not shown', async (url) => {
    const error = await openStore(url).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(InvalidInputError)
    expect(JSON.stringify([String(error), error])).not.toContain('s3cret')
  })

  it.each(['a-b', 'a`b', 'x'.repeat(33)])('the table prefix %s is rejected', async (tablePrefix) => {
    await expect(openStore('sqlite::memory:', { tablePrefix })).rejects.toThrow(InvalidInputError)
    await expect(migrateDatabase('sqlite::memory:', { tablePrefix })).rejects.toThrow(InvalidInputError)
  })

  it('is rejected if it is not a URL, a pool or a drizzle database', async () => {
    // @ts-expect-error not a target
    await expect(openStore({})).rejects.toThrow(InvalidInputError)
    // @ts-expect-error not a target
    await expect(openStore(null)).rejects.toThrow(InvalidInputError)
  })
})
