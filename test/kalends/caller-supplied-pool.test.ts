/** Kalends opens its own connections with the options of the application's pool, which may be in a drizzle database. */
import { connect } from 'node:net'
import { drizzle } from 'drizzle-orm/mysql2'
import mysqlCallbacks from 'mysql2'
import mysql from 'mysql2/promise'
import { createPool as createOldestPool } from 'mysql2-3.0/promise'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Kalends, type KalendsOptions, StoreUnavailableError, task } from '../../src/index.ts'
import type { DatabaseTarget } from '../../src/store/database.ts'
import { databases, type DatabaseUnderTest, sessions, type TestDatabase } from '../support/databases.ts'
import { ended, signal } from './scene.ts'

const tick = task('tick')

/** Runs a schedule once, and checks its job and the log. */
async function work(kalends: Kalends): Promise<void> {
  kalends.handle(tick, ({ slot, log, progress }) => {
    log.info('größer 😀')
    progress(1)
    return { slot, text: 'größer 😀' }
  })
  await kalends.start()
  const submitted = signal(kalends, 'submitted', ({ runs }) => runs.length > 0)
  await kalends.schedules.create({
    id: 's',
    task: tick,
    timer: 'yearly',
    firstRun: 'now',
    args: { name: 'größer 😀' },
  })
  const [{ jobId: id } = { jobId: '' }] = (await submitted).runs
  const job = await ended(kalends, id)
  expect(job).toMatchObject({ state: 'success', args: { name: 'größer 😀' }, progress: 1 })
  expect(job.result).toEqual({ slot: job.slot?.toISOString(), text: 'größer 😀' })
  expect((await kalends.jobs.logs(id)).map(({ message }) => message)).toEqual(['größer 😀'])
  expect(Math.abs(Date.now() - job.submittedAt.getTime())).toBeLessThan(600_000)
}

for (const { kind, bare, fresh } of databases.filter((database) => database.kind !== 'sqlite')) {
  describe(kind, () => {
    const database = async (make: DatabaseUnderTest['fresh'] = fresh): Promise<TestDatabase> => {
      const made = await make()
      onTestFinished(() => made.drop())
      return made
    }

    const pool = (url: string, options: mysql.PoolOptions = {}): mysql.Pool => {
      const made = mysql.createPool({ uri: url, ...options })
      onTestFinished(() => made.end())
      return made
    }

    const open = async (target: DatabaseTarget, options: KalendsOptions = {}): Promise<Kalends> => {
      const kalends = await Kalends.open(target, { pollInterval: 50, ...options })
      onTestFinished(() => kalends.stop({ grace: 0 }))
      return kalends
    }

    /** Creates a database user with the same name as the database. */
    const user = async ({ url, query }: TestDatabase, rest: string): Promise<mysql.PoolOptions> => {
      const name = new URL(url).pathname.slice(1)
      const account = `'${name}'@'127.0.0.1'`
      await query(`CREATE USER ${account} IDENTIFIED BY 'first' ${rest}`)
      onTestFinished(async () => void (await query(`DROP USER ${account}`)))
      await query(`GRANT ALL ON \`${name}\`.* TO ${account}`)
      return { user: name, password: 'first' }
    }

    it('a promise pool, a callback pool, and drizzle on each of them work, and the pools stay open after a stop', async () => {
      const { url } = await database(bare)
      const promises = pool(url)
      const callbacks = mysqlCallbacks.createPool({ uri: url })
      onTestFinished(() => callbacks.promise().end())
      const targets = [promises, callbacks, drizzle({ client: promises }), drizzle({ client: callbacks })]
      for (const [index, target] of targets.entries()) {
        const kalends = await open(target, { tablePrefix: `p${index}_` })
        await work(kalends)
        await kalends.stop()
      }
      expect(await promises.query('SELECT 1 AS one')).toMatchObject([[{ one: 1 }], expect.anything()])
      expect(await callbacks.promise().query('SELECT 1 AS one')).toMatchObject([
        [{ one: 1 }],
        expect.anything(),
      ])
    })

    it('a pool from the oldest supported version of the driver works', async () => {
      const { url } = await database()
      const oldest = createOldestPool({ uri: url })
      onTestFinished(() => oldest.end())
      await work(await open(oldest))
    })

    it('options and session settings of the pool do not affect the values that Kalends stores and reads [L21, L56]', async () => {
      const { url } = await database()
      const odd = pool(url, {
        timezone: '+13:00',
        dateStrings: false,
        rowsAsArray: true,
        nestTables: '_',
        charset: 'latin1_swedish_ci',
        flags: ['-FOUND_ROWS'],
        supportBigNumbers: true,
        bigNumberStrings: true,
        decimalNumbers: true,
        namedPlaceholders: true,
        typeCast: () => 'nonsense',
      })
      odd.pool.on('connection', (connection) => {
        connection.query("SET time_zone = '-11:00', sql_mode = '', autocommit = 0, sql_select_limit = 1")
      })
      const kalends = await open(odd)
      await work(kalends)
      const other = await open(url)
      expect(await other.schedules.get('s')).toMatchObject({ task: 'tick' })
      const { items } = await other.jobs.list()
      expect(await Promise.all(items.map(({ id }) => kalends.jobs.get(id)))).toMatchObject(
        items.map(({ id, slot, submittedAt }) => ({ id, slot, submittedAt })),
      )
    })

    it('state that the application leaves in its connections has no effect [S16, L77]', async () => {
      const [own, elsewhere] = [await database(), await database(bare)]
      const leaking = pool(own.url, { connectionLimit: 2 })
      const kalends = await open(leaking, { lease: '1h' })
      await kalends.schedules.create({ id: 'locked', task: tick, timer: 'yearly' })
      const [forgetful, moved] = [await leaking.getConnection(), await leaking.getConnection()]
      await forgetful.beginTransaction()
      await forgetful.query("SELECT id FROM periodic_task WHERE id = 'locked' FOR UPDATE")
      await moved.query(`SET autocommit = 0`)
      await moved.query(`USE ${new URL(elsewhere.url).pathname.slice(1)}`)
      forgetful.release()
      moved.release()
      await work(kalends)
      expect(await own.query('SELECT id FROM worker')).toHaveLength(1)
      expect(await elsewhere.query('SHOW TABLES')).toEqual([])
      expect(kalends.health()).toMatchObject({ ok: true, reasons: [] })
    })

    it('a pool works even if all its connections are in use', async () => {
      const { url } = await database()
      const exhausted = pool(url, { connectionLimit: 1, queueLimit: 1 })
      const held = await exhausted.getConnection()
      onTestFinished(() => held.release())
      await work(await open(exhausted))
    })

    it('two instances on one pool do not affect each other', async () => {
      const { url } = await database()
      const shared = pool(url, { connectionLimit: 4 })
      const one = await open(shared, { worker: 'one' })
      const other = await open(shared, { worker: 'other', tablePrefix: 'other_' })
      await Promise.all([work(one), work(other)])
      await one.stop()
      expect((await other.jobs.list()).total).toBeGreaterThan(0)
    })

    it.each([
      [undefined, 5],
      [3, 3],
    ])(
      'with `connections: %s`, all calls complete with at most %i open connections',
      async (connections, most) => {
        const own = await database()
        const given = pool(own.url)
        const kalends = await open(given, { connections })
        const busy = Array.from({ length: 40 }, (_, index) =>
          kalends.schedules.create({ id: `busy-${index}`, task: 'tick', timer: 'yearly' }),
        )
        const seen: number[] = []
        const watching = Promise.all(busy).then(() => work(kalends))
        const done = watching.then(() => true)
        while (!(await Promise.race([done, sessions(own).then((ids) => void seen.push(ids.length))])));
        expect(Math.max(...seen)).toBeGreaterThan(1)
        expect(Math.max(...seen)).toBeLessThanOrEqual(most)
      },
    )

    it('after the password in the pool is replaced, new connections use the new one', async () => {
      const own = await database()
      const credentials = await user(own, '')
      const given = pool(own.url, credentials)
      const kalends = await open(given)
      await kalends.jobs.list()
      await own.query(`ALTER USER '${credentials.user}'@'127.0.0.1' IDENTIFIED BY 'second'`)
      Reflect.set(Reflect.get(given.pool.config, 'connectionConfig'), 'password', 'second')
      for (const { id } of await sessions(own)) await own.query(`KILL ${id}`)
      await kalends.jobs.list().catch(() => {})
      await work(kalends)
    })

    it('if the pool has a function that returns a stream, Kalends calls it for each connection', async () => {
      const { url } = await database()
      let streams = 0
      const given = pool(url, {
        stream: () => {
          streams += 1
          return connect(Number(new URL(url).port), '127.0.0.1')
        },
      })
      await work(await open(given))
      expect(streams).toBeGreaterThan(1)
    })

    it.runIf(kind === 'mysql')("the application's authentication plugin is used", async () => {
      const own = await database()
      let used = 0
      const plugin = mysqlCallbacks.authPlugins.caching_sha2_password({})
      const given = pool(own.url, {
        ...(await user(own, '')),
        authPlugins: {
          caching_sha2_password: (metadata) => {
            used += 1
            return plugin(metadata)
          },
        },
      })
      await work(await open(given))
      expect(used).toBeGreaterThan(0)
    })

    it('if a connection limit of the server is exceeded, the error of open names the limit and the remedy', async () => {
      const own = await database()
      const given = pool(own.url, await user(own, 'WITH MAX_USER_CONNECTIONS 1'))
      const opening = Kalends.open(given)
      await expect(opening).rejects.toThrow(StoreUnavailableError)
      await expect(opening).rejects.toThrow(
        /max_user_connections.*; raise this limit of the database user, or set a smaller `connections`/,
      )
    })
  })
}

describe('rejects', () => {
  const at = { host: '127.0.0.1', port: 1 }
  const pool = (options: mysql.PoolOptions) => {
    const made = mysql.createPool({ ...at, ...options })
    onTestFinished(() => made.end())
    return made
  }

  it.each([
    ['a pool cluster', () => mysql.createPoolCluster(), 'connections and pool clusters are not supported'],
    ['drizzle on something else', () => ({ $client: {} }), 'or a drizzle database on one of these'],
    ['null', () => null, 'must be the URL of a database'],
    ['a pool without a database', () => pool({}), 'the pool does not name a database'],
    [
      'a pool on a single stream',
      () => pool({ database: 'app', stream: connect(1, '127.0.0.1').on('error', () => {}) }),
      'serves only one connection',
    ],
  ])('%s, and the error states what is required', async (_, target, text) => {
    // Plain JavaScript may pass these values.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const opening = Kalends.open(target() as never)
    await expect(opening).rejects.toMatchObject({ field: 'database', code: 'KALENDS_INVALID_INPUT' })
    await expect(opening).rejects.toThrow(text)
  })

  it.each([2, 0, 1.5, 1001])('connections: %d', async (connections) => {
    const opening = Kalends.open(pool({ database: 'app' }), { connections })
    await expect(opening).rejects.toMatchObject({ field: 'connections', code: 'KALENDS_INVALID_INPUT' })
  })
})
