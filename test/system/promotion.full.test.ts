/**
 * The promotion of an asynchronous replica loses the writes that the replica has not received. Switchovers, HAProxy
 * and promotions without loss are part of the chaos runs on `replica` and `group`.
 */
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { Kalends } from '../../src/index.ts'
import type { Row } from '../support/databases.ts'
import { orNotTested } from '../support/not-tested.ts'
import { expectNoFault } from '../support/fault.ts'
import { occurrenceProblems, occurrenceRows, scheduleEnds, sqlInstant } from '../support/occurrences.ts'
import { findMysql } from '../support/servers-mysql.ts'
import { ReplicationPair } from '../support/servers-replica.ts'
import { wantedDatabases } from '../support/servers.ts'
import { killWorkers, until, WorkerProcess } from '../support/worker-process.ts'

const SCHEDULES = 10
const LEASE_MS = 4000
const PROMOTION_MS = 60_000

const program = wantedDatabases(process.env).includes('mysql')
  ? orNotTested(inject('testRun'), 'The promotion of a MySQL replica', await findMysql(process.env))
  : null

afterEach(killWorkers)

describe.skipIf(program === null)('after the promotion of an asynchronous replica', () => {
  it('slots whose writes the replica had not received are decided again exactly once, and nothing else is repeated', {
    timeout: 240_000,
  }, async ({ onTestFinished }) => {
    if (program === null) return
    const pair = await ReplicationPair.start(program, { semiSynchronous: false })
    onTestFinished(() => pair.stop(), 120_000)
    await pair.source.query('CREATE DATABASE app CHARACTER SET utf8mb4')
    await pair.heal()
    const hosts = pair.servers.map(({ url }) => new URL(url).host).join(',')
    const run = await Run.start(`mysql://root@${hosts}/app`, `${pair.replica.url}/app`)
    await run.moves()
    await pair.replica.query('STOP REPLICA IO_THREAD')
    const behindSince = performance.now()
    await run.handles()
    await pair.source.kill()
    await pair.promote()
    await run.moves()
    expectNoFault(await run.end())
    const repeated = run.repeated()
    expect(repeated.length).toBeGreaterThan(0)
    // The replica had received the writes of all earlier attempts, except those in transit.
    expectNoFault(repeated.filter(({ at }) => at < behindSince - LEASE_MS))
  })
})

/** Three workers, with schedules that fire every second. */
class Run {
  readonly #workers: readonly WorkerProcess[]
  readonly #url: string
  readonly #from: number

  private constructor(workers: readonly WorkerProcess[], url: string, from: number) {
    this.#workers = workers
    this.#url = url
    this.#from = from
  }

  /** @param asked  the URL from which the rows are read at the end */
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

  /** Waits until slots later than now have run, on average three per schedule. */
  async moves(): Promise<void> {
    const now = Date.now()
    await this.#handled((slot) => slot > now, 3 * SCHEDULES)
  }

  /** Waits until slots later than now have run, on average one per schedule. */
  async handles(): Promise<void> {
    const now = Date.now()
    await this.#handled((slot) => slot > now, SCHEDULES)
  }

  /** @returns the problems found in the final rows */
  async end(): Promise<string[]> {
    const stopped = Date.now()
    const query = (sql: string) => ask(this.#url, sql)
    await query('UPDATE periodic_task SET enabled = 0')
    await until(
      'all jobs are final and no mark remains',
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
    return occurrenceProblems(await scheduleEnds(seen), await occurrenceRows(seen), {
      from: this.#from,
      until: stopped - LEASE_MS - 4000,
      stepMs: 1000,
    }).slice(0, 20)
  }

  /** Attempts that started twice for the same slot, in one job or in two, with the time of the first start. */
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

/** The URL with only the first host, which accepts writes at the beginning. */
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
