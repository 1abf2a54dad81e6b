/** Workers go on when another server takes the place of the one that they work on. */
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { Kalends } from '../../src/index.ts'
import type { Row } from '../support/databases.ts'
import { findHaproxy, startHaproxy } from '../support/haproxy.ts'
import { orNotTested } from '../support/not-tested.ts'
import { occurrenceFaults, occurrenceRows, scheduleEnds, sqlInstant } from '../support/occurrences.ts'
import { startGroup } from '../support/servers-group.ts'
import { findMysql, mysqlPlan } from '../support/servers-mysql.ts'
import { KeptFolder, RestartableServer } from '../support/servers-restartable.ts'
import { wantedDatabases } from '../support/servers.ts'
import { killWorkers, until, WorkerProcess } from '../support/worker-process.ts'

const SCHEDULES = 10
const LEASE_MS = 4000
const PROMOTION_MS = 60_000

const testRun = inject('testRun')
const program = wantedDatabases(process.env).includes('mysql')
  ? orNotTested(testRun, 'the promotion of a MySQL replica', await findMysql(process.env))
  : null
const proxies = program === null ? null : orNotTested(testRun, 'HAProxy', await findHaproxy())

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await killWorkers()
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
}, 120_000)

describe.skipIf(program === null || proxies === null)('behind HAProxy', () => {
  it('workers of a replication group lose and double nothing when its primary is killed and switched over', {
    timeout: 300_000,
  }, async () => {
    if (program === null || proxies === null) return
    const group = await startGroup(program)
    cleanups.push(() => group.stop())
    const haproxy = await startHaproxy(
      proxies,
      group.members.map(({ url }) => new URL(url).host),
    )
    cleanups.push(() => haproxy.stop())
    const [primary] = await group.primaries()
    await primary?.query('CREATE DATABASE app CHARACTER SET utf8mb4')
    // Before its first checks it takes every member for one to send to.
    const server = (at: string) => ask(at, 'SELECT @@GLOBAL.server_uuid AS id')
    await until('HAProxy sends everyone to the primary', async () => {
      const found = await Promise.all(
        group.members.map(() => server(`mysql://root@${haproxy.host}`).catch(() => [])),
      )
      const wanted = await server(primary?.url ?? '')
      return found.every(([row]) => row?.['id'] === wanted[0]?.['id'])
    })
    const url = `mysql://root@${haproxy.host}/app?group=${group.name}`
    const run = await Run.start(url, `mysql://root@${haproxy.host}/app`)
    await run.moves()
    await primary?.kill()
    await run.moves()
    await group.heal()
    const [second] = await group.primaries()
    const next = group.members.find((member) => member !== second)
    const [row] = await server(next?.url ?? '')
    await second?.query(`SELECT group_replication_set_as_primary('${String(row?.['id'])}')`, PROMOTION_MS)
    await run.moves()
    expect(await run.end()).toEqual([])
    expect(run.repeated()).toEqual([])
  })
})

describe.skipIf(program === null)('a replica that is promoted', () => {
  it('semi-synchronous: lacks nothing, and nothing is doubled', { timeout: 240_000 }, async () => {
    const { source, replica, url } = await sourceAndReplica(true)
    const run = await Run.start(url, `${replica.url}/app`)
    await run.moves()
    await source.kill()
    await replica.promote()
    await run.moves()
    expect(await run.end()).toEqual([])
    expect(run.repeated()).toEqual([])
  })

  it('asynchronous: what it had not received is decided again, once, and nothing else is repeated', {
    timeout: 240_000,
  }, async () => {
    const { source, replica, url } = await sourceAndReplica(false)
    const run = await Run.start(url, `${replica.url}/app`)
    await run.moves()
    await replica.query('STOP REPLICA IO_THREAD')
    const behindSince = performance.now()
    await run.handles()
    await source.kill()
    await replica.promote()
    await run.moves()
    expect(await run.end()).toEqual([])
    const repeated = run.repeated()
    expect(repeated.length).toBeGreaterThan(0)
    // An attempt that was begun before is in the replica, unless it was on its way.
    expect(repeated.filter(({ at }) => at < behindSince - LEASE_MS)).toEqual([])
  })
})

/** Three workers, with schedules that go off each second. */
class Run {
  readonly #workers: readonly WorkerProcess[]
  readonly #url: string
  readonly #from: number

  private constructor(workers: readonly WorkerProcess[], url: string, from: number) {
    this.#workers = workers
    this.#url = url
    this.#from = from
  }

  /** @param asked  where the rows are looked at, in the end */
  static async start(url: string, asked: string): Promise<Run> {
    await Kalends.migrate(url)
    const settings = { url, leaseMs: LEASE_MS, concurrency: 50, tasks: { tick: 'return' } } as const
    const workers = await Promise.all(
      ['wa', 'wb', 'wc'].map((worker) => WorkerProcess.start({ ...settings, worker })),
    )
    const from = Math.ceil(Date.now() / 1000 + 3) * 1000
    const run = new Run(workers, asked, from)
    for (let index = 0; index < SCHEDULES; index += 1)
      await ask(
        firstHost(url),
        `INSERT INTO periodic_task (id, task, timer, created, starts, catch_up, overlap) VALUES ('t${index}', 'tick', '*:*:*', '${sqlInstant(from - 1000)}', '${sqlInstant(from)}', 1000, 'allow')`,
      )
    return run
  }

  /** Until slots that are later than now have been run. */
  async moves(): Promise<void> {
    const now = Date.now()
    await this.#handled((slot) => slot > now, 3 * SCHEDULES)
  }

  /** Until more slots have been run. */
  async handles(): Promise<void> {
    const now = Date.now()
    await this.#handled((slot) => slot > now, SCHEDULES)
  }

  /** @returns the faults of the rows that are there in the end */
  async end(): Promise<string[]> {
    const stopped = Date.now()
    const query = (sql: string) => ask(this.#url, sql)
    await query('UPDATE periodic_task SET enabled = 0')
    await until(
      'all jobs are final and no mark is left',
      async () => {
        const [row] = await query(
          "SELECT (SELECT COUNT(*) FROM job WHERE state IN ('waiting', 'blocked', 'running')) + (SELECT COUNT(*) FROM periodic_task WHERE worker IS NOT NULL) AS n",
        )
        return Number(row?.['n']) === 0
      },
      60_000,
    )
    await Promise.all(this.#workers.map((worker) => worker.stop()))
    const seen = { kind: 'mysql', url: this.#url, query, drop: async () => {} } as const
    return occurrenceFaults(await scheduleEnds(seen), await occurrenceRows(seen), {
      from: this.#from,
      until: stopped - LEASE_MS - 4000,
      stepMs: 1000,
    }).slice(0, 20)
  }

  /** Slots of which an attempt was begun twice, or that had two jobs, with the time of the first. */
  repeated(): { readonly what: string; readonly at: number }[] {
    const first = new Map<string, { readonly what: string; readonly at: number }>()
    const twice = new Map<string, { readonly what: string; readonly at: number }>()
    for (const report of this.#reports()) {
      const what = `${report.schedule} ${report.slot} attempt ${report.attempt}`
      const before = first.get(what)
      if (before === undefined) first.set(what, { what, at: report.at })
      else twice.set(what, before)
    }
    return [...twice.values()]
  }

  async #handled(counts: (slot: number) => boolean, times: number): Promise<void> {
    await until(
      `${times} runs`,
      async () => this.#reports().filter(({ slot }) => slot !== null && counts(slot)).length >= times,
      PROMOTION_MS,
    )
  }

  #reports() {
    return this.#workers
      .flatMap(({ reports }) => reports)
      .flatMap((report) => (report.event === 'handling' ? [report] : []))
      .toSorted((one, other) => one.at - other.at)
  }
}

class Server {
  readonly url: string
  readonly #server: RestartableServer

  constructor(server: RestartableServer) {
    this.#server = server
    this.url = `mysql://root@127.0.0.1:${server.port}`
  }

  get port(): number {
    return this.#server.port
  }

  kill(): Promise<void> {
    return this.#server.kill()
  }

  query(text: string): Promise<Row[]> {
    return ask(this.url, text)
  }

  /** As an operator does whose source is gone: all that was received is applied before it takes writes. */
  async promote(): Promise<void> {
    await this.query('STOP REPLICA IO_THREAD')
    const [received] = await this.query(
      "SELECT received_transaction_set AS transactions FROM performance_schema.replication_connection_status WHERE channel_name = ''",
    )
    const transactions = String(received?.['transactions']).replaceAll(/\s/g, '')
    await this.query(`SELECT WAIT_FOR_EXECUTED_GTID_SET('${transactions}', 20)`)
    await this.query('STOP REPLICA')
    await this.query('SET GLOBAL super_read_only = OFF')
    await this.query('SET GLOBAL read_only = OFF')
  }
}

async function sourceAndReplica(
  semiSynchronous: boolean,
): Promise<{ readonly source: Server; readonly replica: Server; readonly url: string }> {
  const waiting = [
    '--plugin-load-add=semisync_source.so',
    '--rpl-semi-sync-source-enabled=ON',
    // A COMMIT waits for the replica, however long that takes.
    '--rpl-semi-sync-source-timeout=4294967295',
  ]
  const source = await started(1, semiSynchronous ? waiting : [])
  const replica = await started(2, [
    '--super-read-only=ON',
    ...(semiSynchronous
      ? ['--plugin-load-add=semisync_replica.so', '--rpl-semi-sync-replica-enabled=ON']
      : []),
  ])
  await replica.query(
    `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = ${source.port}, SOURCE_USER = 'root', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1`,
  )
  await replica.query('START REPLICA')
  await source.query('CREATE DATABASE app CHARACTER SET utf8mb4')
  await until(
    'the replica has the database',
    async () => (await replica.query("SHOW DATABASES LIKE 'app'")).length > 0,
  )
  const hosts = [source, replica].map(({ url }) => new URL(url).host).join(',')
  return { source, replica, url: `mysql://root@${hosts}/app` }
}

async function started(id: number, options: readonly string[]): Promise<Server> {
  if (program === null) throw new Error('there is no MySQL')
  const plan = await mysqlPlan(program)
  const folder = await KeptFolder.keep(plan.folder)
  cleanups.push(() => folder.remove())
  const server = await RestartableServer.start(plan, folder, {
    options: [
      `--server-id=${id}`,
      '--gtid-mode=ON',
      '--enforce-gtid-consistency=ON',
      '--innodb-buffer-pool-size=64M',
      ...options,
    ],
  })
  cleanups.push(() => server.stop())
  return new Server(server)
}

/** Of several hosts, the one that takes writes at the begin. */
function firstHost(url: string): string {
  return url.replace(/^([^,]*),[^/]*/, '$1').replace(/\?.*/, '')
}

async function ask(url: string, sql: string): Promise<Row[]> {
  const connection = await createConnection({ uri: url, dateStrings: true, timezone: 'Z' })
  try {
    const [rows] = await connection.query<RowDataPacket[]>({ sql, timeout: 30_000 })
    return Array.isArray(rows) ? rows : []
  } finally {
    connection.destroy()
  }
}
