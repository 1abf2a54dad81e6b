/** What an application lends may be set up as it likes: nothing of it changes what Kalends writes or reads. */
import { createPool as createCallbackPool } from 'mysql2'
import {
  type Connection,
  createConnection,
  createPool,
  type Pool,
  type PoolOptions,
  type RowDataPacket,
} from 'mysql2/promise'
import { describe, expect, it } from 'vitest'
import { MysqlDatabase } from '../../src/store/mysql/database.ts'
import {
  borrowing,
  OWN_SESSION,
  SESSION_CLOCK,
  SESSION_STATE,
  SESSION_VARIABLES,
  type SessionState,
} from '../../src/store/mysql/session-variables.ts'
import type { DatabaseTarget } from '../../src/store/database.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { LIST_BOUNDS } from '../../src/store/list-store.ts'
import {
  after,
  clock,
  ids,
  instant,
  job,
  LEASE_MS,
  MINUTE,
  newJob,
  onEachStore,
  planned,
  policies,
  schedule,
  settings,
  submitDue,
  WORKER,
} from './conformance.ts'
import { write } from './writes.ts'

const ODD = 'naïve 😀 Ελλάς \' " \\ \\\\ ? % `'

/** For each variable of the table, a value that will not do. */
const UNFIT: Readonly<Record<string, string>> = {
  autocommit: '0',
  completion_type: "'CHAIN'",
  sql_mode: "''",
  character_set_results: 'latin1',
  collation_connection: 'cp1251_general_ci',
  sql_select_limit: '1',
  sql_safe_updates: '1',
  sql_big_selects: '0, SESSION max_join_size = 1',
  sql_auto_is_null: '1',
  max_sort_length: '64',
  unique_checks: '0',
  check_constraint_checks: '0',
  tx_read_only: '1',
  transaction_read_only: '1',
}

const SESSIONS: readonly [name: string, setup: readonly string[], options?: PoolOptions][] = [
  ['time zone +05:30', ["SET time_zone = '+05:30'"]],
  ['time zone -11:00', ["SET time_zone = '-11:00'"]],
  ['latin1', ['SET NAMES latin1']],
  ['another collation', ['SET NAMES utf8mb4 COLLATE utf8mb4_general_ci']],
  ['the driver’s latin1', [], { charset: 'latin1_swedish_ci' }],
  ['results in ascii', ['SET character_set_results = ascii']],
  ['no sql_mode', ["SET sql_mode = ''"]],
  ['ANSI', ["SET sql_mode = 'ANSI,STRICT_ALL_TABLES'"]],
  ['ANSI_QUOTES', ["SET sql_mode = 'ANSI_QUOTES'"]],
  ['NO_BACKSLASH_ESCAPES', ["SET sql_mode = 'NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES'"]],
  ['PIPES_AS_CONCAT', ["SET sql_mode = 'PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE,IGNORE_SPACE'"]],
  ['TRADITIONAL', ["SET sql_mode = 'TRADITIONAL'"]],
  ['a clock that stands still', ['SET timestamp = 1700000000.123456']],
  [
    'statistics of an hour',
    ['SET @kalends = 0 /*!80000 , SESSION information_schema_stats_expiry = 3600 */'],
  ],
  ['no autocommit', ['SET autocommit = 0']],
  ['SERIALIZABLE', ['SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE']],
  ['changed rows instead of found rows', [], { flags: ['-FOUND_ROWS'] }],
  [
    'odd driver options',
    [],
    {
      timezone: '-07:00',
      dateStrings: true,
      rowsAsArray: true,
      nestTables: '_',
      supportBigNumbers: true,
      bigNumberStrings: true,
      decimalNumbers: true,
      namedPlaceholders: true,
      typeCast: () => 'nonsense',
    },
  ],
  ['a driver without casts', [], { typeCast: false, timezone: 'local' }],
  ['the driver’s cp1251', [], { charset: 'cp1251_general_ci' }],
  ['the driver’s gbk', [], { charset: 'gbk_chinese_ci' }],
  ['the driver’s sjis', [], { charset: 'sjis_japanese_ci' }],
  ...Object.entries(UNFIT).map(([name, value]): [string, string[]] => [
    `${name} = ${value}`,
    [`SET SESSION ${name} = ${value}`],
  ]),
  [
    'everything at once',
    ["SET time_zone = '+05:30', sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES', autocommit = 0", 'SET NAMES latin1'],
    { timezone: '+09:00', flags: ['-FOUND_ROWS'], rowsAsArray: true },
  ],
]

const MIGRATED: ReadonlySet<string> = new Set([
  'another collation',
  'no sql_mode',
  'ANSI_QUOTES',
  'NO_BACKSLASH_ESCAPES',
  'odd driver options',
  'the driver’s sjis',
  'everything at once',
])

async function state(connection: Connection, statement = SESSION_STATE): Promise<SessionState> {
  const [[row]] = await connection.query<RowDataPacket[]>(statement)
  return row ?? {}
}

const borrowed = async (connection: Connection) =>
  borrowing(await state(connection), await state(connection, SESSION_CLOCK), null)

onEachStore((under) => {
  const server = under.kind !== 'sqlite'

  const pool = (setup: readonly string[], options: PoolOptions = {}): Pool => {
    const lent = createPool({ uri: under.url, connectionLimit: 2, ...options })
    lent.pool.on('connection', (connection) => {
      for (const statement of setup) connection.query(statement, () => {})
    })
    under.afterwards(() => lent.end())
    return lent
  }

  /** A life of a schedule and of a job, through one store, seen through the other. */
  const roundTrip = async (store: Store) => {
    const now = await clock(under)
    expect(Math.abs((await clock({ store })).getTime() - now.getTime())).toBeLessThan(600_000)
    const args = JSON.stringify({ text: ODD })
    await write(store).create(ODD, settings({ subject: ODD, args, task: ODD, group: '', summary: null }))
    expect(await store.schedules.get(ODD)).toMatchObject({
      subject: ODD,
      args: { text: ODD },
      summary: null,
      group: '',
    })
    expect(await under.store.schedules.get(ODD)).toMatchObject({ subject: ODD, args: { text: ODD } })
    expect(
      Math.abs(((await under.store.schedules.get(ODD))?.created.getTime() ?? 0) - now.getTime()),
    ).toBeLessThan(600_000)
    expect(await store.schedules.update(ODD, { subject: ODD })).toMatchObject({ subject: ODD })
    const put = await write(store).put(ODD, settings({ subject: ODD, args, task: ODD }))
    expect(put.result).toBe('unchanged')
    const slot = after(now, -1500)
    await planned(under, 's', slot)
    await store.workers.register({ id: WORKER, name: 'w', host: ODD, pid: 1, tasks: [ODD] })
    expect(await store.workers.list()).toMatchObject([{ id: WORKER, host: ODD, pid: 1, tasks: [ODD] }])
    for (let beat = 0; beat < 5; beat += 1) expect(await store.workers.heartbeat(WORKER)).toBe(true)
    expect((await store.scheduling.look([])).wakeAt).toEqual(new Date(0))
    const marks = await store.scheduling.markDue(WORKER, 10, LEASE_MS)
    expect(ids(marks).toSorted()).toEqual([ODD, 's'].toSorted())
    const { submissions } = await store.scheduling.submit(WORKER, marks, submitDue)
    expect(submissions).toHaveLength(2)
    expect(instant((await schedule(under, 's'))['nextrun'])).toEqual(after(slot, MINUTE))
    expect((await store.schedules.get('s'))?.nextRun).toEqual(after(slot, MINUTE))
    const runAt = after(now, 3_600_123)
    await store.jobs.submit([newJob('later', { runAt })])
    expect((await store.jobs.get('later'))?.runAt).toEqual(runAt)
    expect((await under.store.scheduling.look([])).dueAt).toEqual(runAt)
    expect(await store.executing.promoteDue(10)).toBe(0)
    const jobs = await store.executing.claim(WORKER, policies(ODD, 'task'), 10, '')
    expect(jobs).toHaveLength(2)
    const claimed = jobs.find((found) => found.task === ODD)
    expect(claimed).toMatchObject({ argsText: args, subject: ODD, attempt: 1 })
    await store.executing.appendLogs([{ jobId: 'x', at: now, level: 'info', message: ODD }])
    expect(await under.query('SELECT message FROM job_log')).toEqual([{ message: ODD }])
    const { settled } = await write(store).settle(
      jobs.map(({ id, claim, policy }) => ({
        fence: { id, worker: WORKER, claim },
        end: { kind: 'success', result: args },
        policy,
      })),
    )
    expect(settled).toHaveLength(2)
    expect((await under.store.jobs.get(claimed?.id ?? ''))?.result).toEqual({ text: ODD })
    expect((await store.jobs.get(claimed?.id ?? ''))?.result).toEqual({ text: ODD })
    expect((await store.lists.scheduleCounts({ submitter: ODD }, LIST_BOUNDS)).counts).toEqual({})
    // What is too long is refused, not cut off.
    if (server) await expect(store.jobs.submit([newJob('x'.repeat(191))])).rejects.toThrow()
    expect(await store.schedules.delete(ODD)).toMatchObject({ id: ODD })
  }

  describe.skipIf(!server).each(SESSIONS)('a caller-supplied pool with %s', (name, setup, options) => {
    it('changes nothing', async () => {
      await roundTrip(await openStore(pool(setup, options)))
    })

    // Each statement of a migration is prepared like any other; these could change what the DDL means.
    it.runIf(MIGRATED.has(name))('migrates', async () => {
      const database = await under.bare()
      await database.query('ALTER DATABASE CHARACTER SET latin1')
      const lent = pool(setup, { uri: database.url, ...options })
      const store = await openStore(lent)
      await planned(database, 's', new Date('2026-11-21T01:02:03.456Z'), { timer: 'ünï|😀' })
      expect(instant((await schedule(database, 's'))['wake_at'])).toEqual(
        new Date('2026-11-21T01:02:03.456Z'),
      )
      await job(database, 'j', { group_: 'ü😀' })
      expect((await store.executing.claim(WORKER, policies('task'), 1, ''))[0]).toMatchObject({
        group: 'ü😀',
      })
    })

    it('is restored', async () => {
      const lent = pool(setup, { ...options, connectionLimit: 1 })
      const state = async () => {
        const [rows] = await lent.query({
          sql: "SELECT CONCAT_WS('|', @@time_zone, @@sql_mode, @@autocommit, COALESCE(@@character_set_results, ''), @@character_set_client, @@collation_connection, @@completion_type, @@sql_select_limit, @@sql_safe_updates, @@sql_big_selects, @@sql_auto_is_null, @@max_sort_length, @@unique_checks, @@max_join_size, IF(@@timestamp < 1700000001, @@timestamp, 'it goes on') /*M! , @@check_constraint_checks, @@tx_read_only */ /*!80000 , @@transaction_read_only, @@information_schema_stats_expiry */) AS state LIMIT 1",
          rowsAsArray: true,
          typeCast: true,
        })
        return JSON.stringify(rows)
      }
      const before = await state()
      const store = await openStore(lent)
      await write(store).create('s', settings())
      await write(store).runNow('s')
      await write(store)
        .runNow('s')
        .catch(() => {})
      await store.lists.changeTokens()
      await store.close()
      expect(await state()).toBe(before)
    })
  })

  it('each variable that Kalends depends on is tested with a value that does not work', () => {
    expect(Object.keys(UNFIT)).toEqual(SESSION_VARIABLES.map(({ name }) => name))
    for (const { name, accepts } of SESSION_VARIABLES)
      expect([name, accepts(UNFIT[name]?.replaceAll("'", '').split(',')[0] ?? '')]).toEqual([name, false])
  })

  it
    .skipIf(!server)
    .each(
      SESSION_VARIABLES.filter(({ on }) => on === undefined || on === under.kind).map(({ name }) => name),
    )('work in a caller-supplied session does not see its %s', async (name) => {
    const lent = pool([`SET SESSION ${name} = ${UNFIT[name]}`], { connectionLimit: 1 })
    const question = `SELECT CAST(@@SESSION.${name} AS CHAR) AS value LIMIT 1`
    const [[theirs]] = await lent.query<RowDataPacket[]>({ sql: question, typeCast: true })
    const [ours] = await new MysqlDatabase(lent, { isCallerSupplied: true }).rows<{ value: string | null }>(
      question,
    )
    expect(ours?.value).not.toBe(theirs?.['value'])
  })

  it.skipIf(!server)('a session with the default settings costs no extra statement', async () => {
    const connection = await createConnection({ uri: under.url })
    under.afterwards(() => connection.end())
    expect(await borrowed(connection)).toMatchObject({ before: null, after: null })
  })

  it.skipIf(!server)('a session of Kalends is configured, whatever the server sets', async () => {
    const connection = await createConnection({ uri: under.url })
    under.afterwards(() => connection.end())
    const names = Object.keys(await state(connection))
    for (const name of Object.keys(UNFIT).filter((name) => names.includes(name))) {
      await connection.query(`SET SESSION ${name} = ${UNFIT[name]}`)
      expect((await borrowed(connection)).before).toContain(`${name} = `)
    }
    await connection.query(OWN_SESSION)
    expect(await borrowed(connection)).toMatchObject({ before: null, after: null })
    const own = MysqlDatabase.open(under.url, 1)
    under.afterwards(() => own.close())
    expect(await own.rows('SELECT @@sql_mode AS mode')).toEqual([{ mode: 'STRICT_TRANS_TABLES' }])
  })

  describe.skipIf(!server)('a caller-supplied pool', () => {
    it('can be a pool with callbacks, or a drizzle database on one; it stays open', async () => {
      const callbacks = createCallbackPool({ uri: under.url, connectionLimit: 2 })
      const promises = pool([])
      under.afterwards(() => callbacks.promise().end())
      const targets: DatabaseTarget[] = [callbacks, { $client: callbacks }, { $client: promises }, promises]
      for (const [index, target] of targets.entries()) {
        const store = await openStore(target)
        await write(store).create(`s${index}`, settings())
        await store.close()
      }
      const [rows] = await promises.query('SELECT COUNT(*) AS n FROM periodic_task')
      expect(rows).toEqual([{ n: 4 }])
    })
  })

  it.each(['America/St_Johns', 'Asia/Kolkata', 'Pacific/Kiritimati', 'Europe/Berlin'])(
    'a process in %s reads and writes the same instants',
    async (zone) => {
      const before = process.env['TZ']
      under.afterwards(async () => {
        if (before === undefined) delete process.env['TZ']
        else process.env['TZ'] = before
      })
      process.env['TZ'] = zone
      expect(new Date().getTimezoneOffset()).not.toBe(0)
      // In Berlin that is the hour that comes twice; the later instant is in the hour that is left out.
      const slot = new Date('2026-10-25T00:30:00.123Z')
      const next = new Date('2027-03-28T01:30:00.456Z')
      await planned(under, 's', slot)
      const store = await under.another()
      expect((await store.schedules.get('s'))?.nextRun).toEqual(slot)
      const marks = await store.scheduling.markDue(WORKER, 1, LEASE_MS)
      await store.scheduling.submit(WORKER, marks, (row, now, active) => ({
        ...submitDue(row, now, active),
        nextRun: next,
      }))
      expect(await schedule(under, 's')).toMatchObject({
        nextrun: '2027-03-28 01:30:00.456',
        last_slot: '2026-10-25 00:30:00.123',
      })
      expect((await store.lists.jobs({ ...LIST_BOUNDS, limit: 1, offset: 0 })).items[0]?.slot).toEqual(slot)
      await under.query('DELETE FROM job')
      await under.query('DELETE FROM periodic_task')
      await roundTrip(store)
    },
  )
})
