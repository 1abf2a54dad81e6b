/** Settings of the server, the URL or the process never change the values that Kalends writes or reads. */
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { expect, it } from 'vitest'
import { OWN_SESSION } from '../../src/store/mysql/session-variables.ts'
import { openStore } from '../support/open-store.ts'
import type { Store } from '../../src/store/store.ts'
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

/** Each required session variable, with a default that a server may have, and the value that Kalends sets. */
const VARIABLES: readonly [name: string, theirs: string, ours: string | number, on?: 'mysql' | 'mariadb'][] =
  [
    ['autocommit', '0', 1],
    ['completion_type', "'CHAIN'", 'NO_CHAIN'],
    ['sql_mode', "''", 'STRICT_TRANS_TABLES'],
    ['character_set_results', 'latin1', 'utf8mb4'],
    ['collation_connection', 'cp1251_general_ci', 'utf8mb4_bin'],
    ['sql_select_limit', '1', '18446744073709551615'],
    ['sql_safe_updates', '1', 0],
    ['sql_big_selects', '0', 1],
    ['sql_auto_is_null', '1', 0],
    ['max_sort_length', '64', 1024],
    ['unique_checks', '0', 1],
    ['check_constraint_checks', '0', 1, 'mariadb'],
    ['tx_read_only', '1', 0, 'mariadb'],
    ['transaction_read_only', '1', 0, 'mysql'],
    ['information_schema_stats_expiry', '3600', 0, 'mysql'],
  ]

/** Options of the driver that change returned values. */
const OPTIONS = [
  'timezone=-07:00',
  'dateStrings=true',
  'rowsAsArray=true',
  'nestTables=_',
  'supportBigNumbers=true',
  'bigNumberStrings=true',
  'decimalNumbers=true',
  'namedPlaceholders=true',
  'typeCast=false',
  'flags=-FOUND_ROWS',
]

onEachStore((under) => {
  const server = under.kind !== 'sqlite'

  /** Checks the life cycle of a schedule and a job in one store, as seen by another store. */
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
      Math.abs(((await under.store.schedules.get(ODD))?.createdAt.getTime() ?? 0) - now.getTime()),
    ).toBeLessThan(600_000)
    expect(await store.schedules.update(ODD, { subject: ODD })).toMatchObject({ subject: ODD })
    const put = await write(store).put(ODD, settings({ subject: ODD, args, task: ODD }))
    expect(put.result).toBe('unchanged')
    const slot = after(now, -1500)
    await planned(under, 's', slot)
    await store.workers.register({ id: WORKER, name: 'w', host: ODD, pid: 1, tasks: [ODD] })
    expect((await store.workers.list()).workers).toMatchObject([
      { id: WORKER, host: ODD, pid: 1, tasks: [ODD] },
    ])
    for (let beat = 0; beat < 5; beat += 1) expect(await store.workers.heartbeat(WORKER)).toBe('written')
    expect((await store.scheduling.look([])).wakeAt).toEqual(new Date(0))
    const marks = await store.scheduling.markDue(WORKER, 10, LEASE_MS)
    expect(ids(marks).toSorted()).toEqual([ODD, 's'].toSorted())
    const { submissions } = await store.scheduling.submit(WORKER, marks, submitDue)
    expect(submissions).toHaveLength(2)
    expect(instant((await schedule(under, 's'))['nextrun'])).toEqual(after(slot, MINUTE))
    expect((await store.schedules.get('s'))?.nextRunAt).toEqual(after(slot, MINUTE))
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
    expect((await store.lists.scheduleCounts({ submitter: ODD })).counts).toEqual({})
    // Values that are too long are rejected, not truncated.
    if (server) await expect(store.jobs.submit([newJob('x'.repeat(255))])).rejects.toThrow()
    expect(await store.schedules.delete(ODD)).toMatchObject({ id: ODD })
  }

  it.skipIf(!server)(
    "Kalends configures its sessions, regardless of the server's settings [L56]",
    async () => {
      const connection = await createConnection({
        uri: under.url,
        supportBigNumbers: true,
        bigNumberStrings: false,
      })
      under.afterwards(() => connection.end())
      const variables = VARIABLES.filter(([, , , on]) => on === undefined || on === under.kind)
      for (const [name, theirs] of variables) await connection.query(`SET SESSION ${name} = ${theirs}`)
      await connection.query(OWN_SESSION)
      const [[values]] = await connection.query<RowDataPacket[]>(
        `SELECT ${variables.map(([name]) => `@@SESSION.${name} AS ${name}`).join(', ')}`,
      )
      expect(values).toEqual(Object.fromEntries(variables.map(([name, , ours]) => [name, ours])))
    },
  )

  it.skipIf(!server).each(OPTIONS)('the driver option %s in the URL is rejected', async (option) => {
    await expect(openStore(`${under.url}?${option}`)).rejects.toThrow('is not supported')
  })

  it.skipIf(!server)('the character set of the database has no effect', async () => {
    const database = await under.bare()
    await database.query('ALTER DATABASE CHARACTER SET latin1')
    const store = await openStore(database.url)
    under.afterwards(() => store.close())
    await planned(database, 's', new Date('2026-11-21T01:02:03.456Z'), { timer: 'ünï|😀' })
    expect(instant((await schedule(database, 's'))['wake_at'])).toEqual(new Date('2026-11-21T01:02:03.456Z'))
    await job(database, 'j', { group_: 'ü😀' })
    expect((await store.executing.claim(WORKER, policies('task'), 1, ''))[0]).toMatchObject({ group: 'ü😀' })
  })

  it.each(['America/St_Johns', 'Asia/Kolkata', 'Pacific/Kiritimati', 'Europe/Berlin'])(
    'a process in %s reads and writes the same instants [L21]',
    async (zone) => {
      const before = process.env['TZ']
      under.afterwards(async () => {
        if (before === undefined) delete process.env['TZ']
        else process.env['TZ'] = before
      })
      process.env['TZ'] = zone
      expect(new Date().getTimezoneOffset()).not.toBe(0)
      // In Berlin, the first instant is in the repeated hour, and the second one is just after the skipped hour.
      const slot = new Date('2026-10-25T00:30:00.123Z')
      const next = new Date('2027-03-28T01:30:00.456Z')
      await planned(under, 's', slot)
      const store = await under.another()
      expect((await store.schedules.get('s'))?.nextRunAt).toEqual(slot)
      const marks = await store.scheduling.markDue(WORKER, 1, LEASE_MS)
      await store.scheduling.submit(WORKER, marks, (row, now, active) => ({
        ...submitDue(row, now, active),
        nextRunAt: next,
      }))
      expect(await schedule(under, 's')).toMatchObject({
        nextrun: '2027-03-28 01:30:00.456',
        last_slot: '2026-10-25 00:30:00.123',
      })
      expect((await store.lists.jobs({ limit: 1 })).items[0]?.slot).toEqual(slot)
      await under.query('DELETE FROM job')
      await under.query('DELETE FROM periodic_task')
      await roundTrip(store)
    },
  )
})
