/** Environment failures: calls throw a StoreUnavailableError, the worker retries, and its health reports them. */
import { rename, rm, writeFile } from 'node:fs/promises'
import type { PoolConnection } from 'mysql2/promise'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Health, Kalends, StoreUnavailableError, task } from '../../src/index.ts'
import { Connections } from '../../src/store/mysql/connections.ts'
import { MysqlDatabase } from '../../src/store/mysql/database.ts'
import { openStore } from '../support/open-store.ts'
import { SqliteDatabase } from '../../src/store/sqlite/database.ts'
import { type DatabaseUnderTest, databases, eachDatabase, type TestDatabase } from '../support/databases.ts'
import { ended, gate, scene, signal, until } from '../kalends/scene.ts'

const tick = task('tick')

async function own(fresh: DatabaseUnderTest['fresh']): Promise<TestDatabase> {
  const database = await fresh()
  onTestFinished(() => database.drop())
  return database
}

/** Waits until the health reports a failing loop with this text, and returns that health. */
const failing = (kalends: Kalends, text: string): Promise<Health> =>
  until(async () => {
    const health = kalends.health()
    const told = health.reasons.filter(({ code }) => code === 'failing')
    return told.some((reason) => reason.text.includes(text)) ? health : null
  })

const wellAgain = (kalends: Kalends): Promise<true> => until(async () => (kalends.health().ok ? true : null))

describe.runIf(databases.some(({ kind }) => kind === 'sqlite'))('the file of a SQLite database', () => {
  const sqlite = databases.find(({ kind }) => kind === 'sqlite')
  const file = async () => {
    if (sqlite === undefined) throw new Error('SQLite is not tested')
    const database = await own(sqlite.fresh)
    return { ...database, path: database.url.slice('sqlite:'.length) }
  }
  const elsewhere = async (path: string) => {
    for (const part of ['', '-wal', '-shm']) await rename(path + part, `${path}.moved${part}`)
  }
  const back = async (path: string) => {
    for (const part of ['', '-wal', '-shm']) await rename(`${path}.moved${part}`, path + part)
  }

  it('is not used after it is moved, until it is moved back', async () => {
    const { url, path } = await file()
    const store = await openStore(url)
    onTestFinished(() => store.close())
    await elsewhere(path)
    const read = store.scheduling.look([])
    await expect(read).rejects.toThrow(StoreUnavailableError)
    await expect(read).rejects.toThrow(`'${path}' was deleted or moved`)
    await expect(store.workers.heartbeat('w/1')).rejects.toThrow(StoreUnavailableError)
    await back(path)
    expect(await store.workers.heartbeat('w/1')).toBe('gone')
  })

  it('is not used after it is replaced by another file', async () => {
    const { url, path } = await file()
    const store = await openStore(url)
    onTestFinished(() => store.close())
    await elsewhere(path)
    await writeFile(path, '')
    await expect(store.scheduling.look([])).rejects.toThrow(`'${path}' was replaced by another file`)
  })

  it.each(['deleted', 'replaced'])(
    'is not used after its -wal file is %s, until the original is back',
    async (how) => {
      const { url, path } = await file()
      const store = await openStore(url)
      onTestFinished(() => store.close())
      await store.scheduling.look([])
      await rename(`${path}-wal`, `${path}-kept`)
      if (how === 'replaced') await writeFile(`${path}-wal`, '')
      const beating = store.workers.heartbeat('w/1')
      await expect(beating).rejects.toThrow(StoreUnavailableError)
      await expect(beating).rejects.toThrow(`'${path}-wal' was deleted or replaced`)
      await rename(`${path}-kept`, `${path}-wal`)
      expect(await store.workers.heartbeat('w/1')).toBe('gone')
    },
  )

  it('is not changed by a transaction during which it is moved', async () => {
    const { url, path, query } = await file()
    const store = await openStore(url)
    await store.close()
    const database = await SqliteDatabase.open(path)
    onTestFinished(() => database.close())
    const writing = database.transaction(async (sql) => {
      await sql.run("INSERT INTO job (task) VALUES ('tick')")
      await elsewhere(path)
    })
    await expect(writing).rejects.toThrow(StoreUnavailableError)
    await back(path)
    expect(await query('SELECT COUNT(*) AS n FROM job')).toEqual([{ n: 0 }])
  })

  it('a file opened with a relative path is still used after the working directory changes', async () => {
    const { path } = await file()
    const before = process.cwd()
    onTestFinished(() => process.chdir(before))
    const slash = path.lastIndexOf('/')
    process.chdir(path.slice(0, slash))
    const store = await openStore(`sqlite:./${path.slice(slash + 1)}`)
    onTestFinished(() => store.close())
    process.chdir('/')
    expect((await store.scheduling.look([])).claimable).toBe(false)
  })

  it("if the file is deleted, the worker's health reports this, and calls are rejected", async () => {
    const { url, path } = await file()
    const kalends = await Kalends.open(url, { pollInterval: 50, lease: 30_000, retention: false })
    onTestFinished(() => kalends.stop({ grace: 0 }))
    kalends.handle(tick, () => null)
    await kalends.start()
    await wellAgain(kalends)
    for (const part of ['', '-wal', '-shm']) await rm(path + part)
    await expect(kalends.jobs.submit('tick')).rejects.toThrow(StoreUnavailableError)
    const health = await failing(kalends, 'was deleted or moved')
    expect(health.ok).toBe(false)
    await until(async () =>
      kalends.health().reasons.some(({ subject }) => subject === 'lease') ? true : null,
    )
    await until(async () => (kalends.health().worker === null ? true : null))
  })
})

describe.runIf(databases.some(({ kind }) => kind === 'sqlite'))('a full disk, on SQLite', () => {
  it('is not treated as an error in the row being written', async () => {
    const database = await SqliteDatabase.open(':memory:')
    onTestFinished(() => database.close())
    await database.run('CREATE TABLE filler (content TEXT)')
    await database.rows('PRAGMA max_page_count = 10')
    const fill = () => database.run('INSERT INTO filler VALUES (?)', ['x'.repeat(100_000)])
    for (let time = 0; time < 8; time += 1) {
      await expect(fill()).rejects.toThrow(StoreUnavailableError)
      await expect(fill()).rejects.toThrow('full')
    }
    await database.rows('PRAGMA max_page_count = 1000')
    expect(await fill()).toBe(1)
  })
})

/** Imitates a server that rejects statements or refuses connections. */
function faultyServer(): {
  readonly fail: (error: object | null, statements?: RegExp) => void
  readonly refuse: (error: object | null) => void
} {
  // oxlint-disable-next-line typescript/unbound-method -- called with Reflect.apply
  const { take } = Connections.prototype
  const seen = new WeakSet<PoolConnection>()
  let failure: { readonly error: object; readonly statements: RegExp } | null = null
  let refusal: object | null = null
  const taking = vi.spyOn(Connections.prototype, 'take').mockImplementation(async function (
    this: Connections,
  ) {
    if (refusal !== null) throw Object.assign(new Error('refused'), refusal)
    const connection = await Reflect.apply(take, this, [])
    if (seen.has(connection)) return connection
    seen.add(connection)
    const query = connection.query.bind(connection)
    const failing = (statement: string | { readonly sql: string }, ...rest: unknown[]) => {
      const text = typeof statement === 'string' ? statement : statement.sql
      if (failure?.statements.test(text) === true)
        return Promise.reject(Object.assign(new Error('the disk is full'), failure.error))
      return Reflect.apply(query, connection, [statement, ...rest])
    }
    Reflect.set(connection, 'query', failing)
    return connection
  })
  onTestFinished(() => taking.mockRestore())
  return {
    fail: (error, statements = /^(INSERT|UPDATE)/) => {
      failure = error === null ? null : { error, statements }
    },
    refuse: (error) => {
      refusal = error
    },
  }
}

/** Disk-full errors of MariaDB and MySQL. */
const FULL: readonly [text: string, errno: number][] = [
  ['Error writing file \'./binlog.000001\' (Errcode: 28 "No space left on device")', 3],
  ["Disk is full writing './app/job.ibd' (OS errno 28 - No space left on device)", 20],
  ['Disk full (/tmp/#sql1-7); waiting for someone to free some space...', 1021],
  ['Error writing file \'/tmp/MLfd=12\' (Errcode: 28 "No space left on device")', 1026],
  ['Got error 28 "No space left on device" from storage engine InnoDB', 1030],
  ["The table 'job' is full", 1114],
  ['Got error 28 "No space left on device" during COMMIT', 1180],
  ['Temporary file write failure.', 1878],
]

eachDatabase(({ kind, fresh }) => {
  describe.skipIf(kind === 'sqlite')('a full disk', () => {
    it.each(FULL)('%s (%i) is reported by health, and nothing is lost', async (message, errno) => {
      const { url } = await own(fresh)
      const { fail } = faultyServer()
      const kalends = await Kalends.open(url, { pollInterval: 50, lease: 30_000, retention: false })
      onTestFinished(() => kalends.stop({ grace: 0 }))
      const running = gate()
      const release = gate()
      kalends.handle(tick, async () => {
        running.open()
        await release.promise
        return 'the result'
      })
      await kalends.start()
      const id = await kalends.jobs.submit(tick, {})
      await running.promise
      // The heartbeat needs no space, so only writes to jobs fail.
      fail({ errno, message }, /\bjob\b.*\bSET\b/s)
      release.open()
      const health = await failing(kalends, message)
      expect(health).toMatchObject({ ok: false, live: true, unwritten: 1 })
      fail(null)
      expect(await ended(kalends, id)).toMatchObject({ state: 'success', result: 'the result', attempt: 1 })
      await wellAgain(kalends)
    })

    it.each([
      ['Got error 139 from storage engine', 1030],
      ['Duplicate entry', 1062],
    ])('%s (%i) is not treated as a full disk', async (message, errno) => {
      const { url } = await own(fresh)
      const { fail } = faultyServer()
      const database = new MysqlDatabase(url, 1)
      onTestFinished(() => database.close())
      fail({ errno, message })
      const writing = database.run('INSERT INTO filler VALUES (1)')
      await expect(writing).rejects.not.toThrow(StoreUnavailableError)
    })
  })

  it.skipIf(kind === 'sqlite').each([
    ['Cannot execute statement: BINLOG_FORMAT = STATEMENT', 1665, 'set binlog_format = ROW or MIXED'],
    ['Too many connections', 1040, 'raise max_connections on the server, or set a smaller `connections`'],
    ['User app already has more than …', 1203, 'raise this limit of the database user, or set a smaller'],
  ])('%s (%i) says what to do', async (message, errno, fix) => {
    const { url } = await own(fresh)
    const { fail } = faultyServer()
    fail({ errno, message })
    const database = new MysqlDatabase(url, 1)
    onTestFinished(() => database.close())
    const writing = database.run('INSERT INTO filler VALUES (1)')
    await expect(writing).rejects.toThrow(StoreUnavailableError)
    await expect(writing).rejects.toThrow(`${message}; ${fix}`)
  })

  it.skipIf(kind === 'sqlite')(
    'if the server refuses connections, calls throw a StoreUnavailableError, and no outcome of a run is lost',
    async () => {
      const { url } = await own(fresh)
      const { refuse } = faultyServer()
      const kalends = await Kalends.open(url, { pollInterval: 50, lease: 60_000, retention: false })
      onTestFinished(() => kalends.stop({ grace: 0 }))
      const running = gate()
      const release = gate()
      kalends.handle(tick, async () => {
        running.open()
        await release.promise
        return 'the result'
      })
      await kalends.start()
      const id = await kalends.jobs.submit(tick, {})
      await running.promise
      refuse({ message: 'Access denied for user', errno: 1045 })
      release.open()
      await failing(kalends, 'Access denied')
      await expect(kalends.jobs.get(id)).rejects.toThrow(StoreUnavailableError)
      refuse(null)
      expect(await ended(kalends, id)).toMatchObject({ state: 'success', result: 'the result' })
    },
  )

  it('a healthy worker reports no failure', async () => {
    const { open } = await scene({ fresh })
    const kalends = await open()
    kalends.handle(tick, () => null)
    const settled = signal(kalends, 'settled')
    await kalends.start()
    await kalends.jobs.submit(tick, {})
    await settled
    expect(kalends.health()).toMatchObject({ ok: true, reasons: [] })
  })
})
