/**
 * Three nodes that all accept writes. A lock applies only on its own node, so guarantees between two workers must rely
 * on what the nodes certify: unique keys, and writes to the same row.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import type { Decide, Mark } from '../../src/store/scheduling-store.ts'
import { migrateDatabase, openStores } from '../../src/store/open.ts'
import { openStore } from '../support/open-store.ts'
import type { Store } from '../../src/store/store.ts'
import { expectNoFault } from '../support/fault.ts'
import type { Row } from '../support/databases.ts'
import { occurrenceProblems, occurrenceRows, scheduleEnds, sqlInstant } from '../support/occurrences.ts'
import { findGalera, type GaleraCluster, type GaleraNode, startGalera } from '../support/servers-galera.ts'
import { findHaproxy, startHaproxy } from '../support/haproxy.ts'
import { orNotTested } from '../support/not-tested.ts'
import { wantedDatabases } from '../support/servers.ts'
import { killWorkers, until, WorkerProcess } from '../support/worker-process.ts'
import { write } from './writes.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const TIMES = 40
const LEASE_MS = 4000
/** The test files that check a store on one or several servers. For locks on one server, see locks.test.ts. */
const CONFORMANCE = ['declared', 'executing', 'jobs', 'migrate', 'policies', 'retention', 'scheduling']
  .concat('schedules', 'settling', 'workers')
  .map((name) => `test/store/${name}.test.ts`)

const testRun = inject('testRun')
const programs = wantedDatabases(process.env).includes('mariadb')
  ? orNotTested(
      testRun,
      'Galera',
      testRun.missing.find(({ kind }) => kind === 'mariadb')?.missing ?? (await findGalera()),
    )
  : null

const haproxy = programs === null ? null : orNotTested(testRun, 'HAProxy', await findHaproxy())

describe.skipIf(programs === null)('Galera', () => {
  let cluster: GaleraCluster
  const name = `kalends_${randomBytes(6).toString('hex')}`
  const node = (index: number): GaleraNode => {
    const found = cluster.nodes[index]
    if (found === undefined) throw new Error(`node ${index} not found`)
    return found
  }
  /** Queries the first node that responds. The result includes everything committed before the query. */
  const query = async (sql: string, params: readonly unknown[] = []): Promise<Row[]> =>
    await until(`a response to ${sql}`, async () => {
      for (const { url } of cluster.nodes) {
        const rows = await ask(`${url}/${name}`, sql, params).catch(rethrowLasting)
        if (rows !== null) return rows
      }
      return null
    })

  beforeAll(async () => {
    if (programs === null) return
    cluster = await startGalera(programs)
    await ask(node(0).url, `CREATE DATABASE ${name} CHARACTER SET utf8mb4`)
  }, 180_000)
  afterEach(killWorkers)
  afterAll(() => cluster?.stop(), 120_000)

  it('three concurrent migrations on three nodes all succeed, and the tables are complete', async () => {
    const applied = await Promise.all(cluster.nodes.map(({ url }) => migrateDatabase(`${url}/${name}`)))
    expect(applied.flat()).not.toEqual([])
    for (const { url } of cluster.nodes) {
      const store = await openStore(`${url}/${name}`, { migrate: false })
      expect(await store.inspection.schemaDrift()).toEqual({
        pending: [],
        missing: [],
        engines: [],
        version: null,
      })
      await store.close()
    }
  })

  it.skipIf(haproxy === null)(
    'a store opens behind HAProxy, whose connections reach all nodes, and reports that locks are not proved',
    async () => {
      if (haproxy === null) return
      const hosts = cluster.nodes.map(({ url }) => new URL(url).host)
      const balancer = await startHaproxy(haproxy, hosts, 'each')
      try {
        const url = `mysql://root@127.0.0.1:${balancer.server.port}/${name}`
        const nodes = new Set<unknown>()
        // A check of the balancer may take a busy node out of turn for a moment.
        while (nodes.size < 3) nodes.add((await ask(url, 'SELECT @@port AS port')).at(0)?.['port'])
        const logged: string[] = []
        const note = (_: object, message: string) => void logged.push(message)
        const logger = { debug: note, info: note, warn: note, error: note }
        await (await openStores(url, { logger })).close()
        expect(logged).toEqual([expect.stringContaining('a lock applies to only one of them')])
      } finally {
        await balancer.stop()
      }
    },
  )

  it('a store on a Galera node passes the conformance tests', { timeout: 300_000 }, async () => {
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', ...CONFORMANCE]
    const { stdout } = await run(process.execPath, vitest, {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
      env: {
        ...withoutVitest(process.env),
        CI: '',
        KALENDS_TEST_SUITE: '',
        KALENDS_TEST_DATABASES: 'mariadb',
        KALENDS_TEST_MARIADB_URL: node(0).url,
      },
    })
    const report: { numPassedTests: number; numFailedTests: number } = JSON.parse(stdout)
    expect(report.numFailedTests).toBe(0)
    expect(report.numPassedTests).toBeGreaterThan(100)
  })

  describe('two stores on two nodes', () => {
    let one: Store
    let other: Store
    beforeAll(async () => {
      one = await openStore(`${node(0).url}/${name}`)
      other = await openStore(`${node(1).url}/${name}`)
      return async () => {
        await one.close()
        await other.close()
      }
    })
    afterEach(async () => {
      for (const table of ['periodic_task', 'job', 'worker']) await query(`DELETE FROM ${table}`)
    })

    it('a store reads what another store has committed, even while its own node is behind', async () => {
      const url = `${node(1).url}/${name}`
      const admin = await createConnection({ uri: url })
      // This node applies no changes from the others until it is unlocked.
      await admin.query('FLUSH TABLES WITH READ LOCK')
      try {
        await one.workers.register({ id: 'w/1', name: 'w', host: 'h', pid: 1, tasks: [] })
        let answered = false
        const reading = other.workers.list().finally(() => {
          answered = true
        })
        // The read must wait; otherwise, it would return without the row.
        await until('the read waits or has returned', async () => {
          if (answered) return true
          const [rows] = await admin.query<RowDataPacket[]>(
            "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT id, name, host%'",
          )
          return rows.length > 0
        })
        await admin.query('UNLOCK TABLES')
        expect((await reading).workers.map(({ id }) => id)).toEqual(['w/1'])
      } finally {
        admin.destroy()
      }
    })

    it('each occurrence is submitted once, even if both stores marked it at the same time', async () => {
      const ids = Array.from({ length: TIMES }, (_, index) => `s${index}`)
      for (const id of ids) await due(id, 'skip')
      const submit = async (store: Store, worker: string) => {
        const marks = await store.scheduling.markDue(worker, 1000, 60_000)
        return (await store.scheduling.submit(worker, marks, queueOne)).submissions
      }
      const submitted = await Promise.all([submit(one, 'a/1'), submit(other, 'b/1')])
      // One store may have marked everything, but together they have submitted each schedule exactly once.
      expect(submitted.flatMap((some) => some.map(({ id }) => id)).toSorted()).toEqual(ids.toSorted())
      expect(await count('SELECT COUNT(*) AS n FROM job')).toBe(TIMES)
    })

    it('no job is claimed twice', async () => {
      for (let time = 0; time < TIMES; time += 1)
        await query(`INSERT INTO job (id, task) VALUES ('j${time}', 'task')`)
      const tasks = new Map([['task', DEFAULT_POLICY]])
      const claims = await Promise.all([
        one.executing.claim('a/1', tasks, TIMES, ''),
        other.executing.claim('b/1', tasks, TIMES, ''),
      ])
      const claimed = claims.flatMap((some) => some.map(({ id }) => id))
      expect(new Set(claimed).size).toBe(claimed.length)
      expect(await count("SELECT COUNT(*) AS n FROM job WHERE state = 'running'")).toBe(claimed.length)
    })

    it.each(['success', 'cancel'] as const)(
      'a job that is submitted behind one that ends on another node (%s) does not stay blocked',
      async (how) => {
        for (let time = 0; time < TIMES; time += 1) {
          const id = `s${time}`
          await due(id, 'queue-one')
          await query(
            `INSERT INTO job (id, periodic_task_id, periodic_task_uid, slot, task) SELECT 'a${time}', id, uid, UTC_TIMESTAMP(3) - INTERVAL 1 HOUR, 'task' FROM periodic_task WHERE id = '${id}'`,
          )
          if (how === 'success')
            await other.executing.claim('b/1', new Map([['task', DEFAULT_POLICY]]), 1, '')
          const marks: Mark[] = await one.scheduling.markDue('a/1', 10, 60_000)
          await Promise.all([
            one.scheduling.submit('a/1', marks, queueOne),
            how === 'cancel'
              ? write(other).cancel(`a${time}`)
              : write(other).settle([
                  {
                    fence: { id: `a${time}`, worker: 'b/1', claim: 1 },
                    end: { kind: 'success', result: null },
                    policy: DEFAULT_POLICY,
                  },
                ]),
          ])
          const states = await query(`SELECT state FROM job WHERE periodic_task_id = '${id}' ORDER BY slot`)
          expect(states.map(({ state }) => state)).toEqual([
            how === 'cancel' ? 'cancelled' : 'success',
            'waiting',
          ])
          await query(`UPDATE job SET state = 'cancelled' WHERE periodic_task_id = '${id}'`)
          await query(`DELETE FROM periodic_task WHERE id = '${id}'`)
        }
      },
    )

    it('on a cluster, a transaction handles at most 100 schedules', () => {
      expect(one.scheduling.mostAtOnce()).toBe(100)
    })
  })

  it('each slot is decided exactly once, even if one node dies and returns and another is cut off', {
    timeout: 300_000,
  }, async () => {
    const [a, b, c] = [node(0), node(1), node(2)]
    const url = (...nodes: readonly GaleraNode[]) =>
      `mysql://root@${nodes.map((each) => new URL(each.url).host).join(',')}/${name}`
    const settings = { leaseMs: LEASE_MS, concurrency: 50, tasks: { tick: 'return' }, quiet: true } as const
    const workers = await Promise.all([
      WorkerProcess.start({ ...settings, url: url(a, b, c), worker: 'wa' }),
      WorkerProcess.start({ ...settings, url: url(b, c, a), worker: 'wb' }),
      WorkerProcess.start({ ...settings, url: url(c, a, b), worker: 'wc' }),
    ])
    const from = Math.ceil(Date.now() / 1000 + 3) * 1000
    for (let index = 0; index < 30; index += 1)
      await query(
        `INSERT INTO periodic_task (id, task, timer, created, starts, catch_up, overlap) VALUES ('t${index}', 'tick', '*:*:*', ?, ?, 1000, 'allow')`,
        [sqlInstant(from - 1000), sqlInstant(from)],
      )
    const moves = async () => {
      const before = await count("SELECT COUNT(*) AS n FROM job WHERE state = 'success'")
      await until(
        'jobs have run',
        async () => (await count("SELECT COUNT(*) AS n FROM job WHERE state = 'success'")) > before + 90,
      )
    }
    await moves()
    await b.kill()
    await moves()
    await b.start()
    await moves()
    await c.isolate(true)
    await moves()
    await c.isolate(false)
    await c.ready()
    await moves()
    const stopped = Date.now()
    await query('UPDATE periodic_task SET enabled = 0')
    await until(
      'all jobs are final and no mark remains',
      async () =>
        (await count(
          "SELECT (SELECT COUNT(*) FROM job WHERE state IN ('waiting', 'blocked', 'running')) + (SELECT COUNT(*) FROM periodic_task WHERE worker IS NOT NULL) AS n",
        )) === 0,
      60_000,
    )
    await Promise.all(workers.map((worker) => worker.stop()))
    const seen = { kind: 'mariadb', url: a.url, query, drop: async () => {} } as const
    const rows = await occurrenceRows(seen)
    const problems = occurrenceProblems(await scheduleEnds(seen), rows, {
      from,
      until: stopped - LEASE_MS - 4000,
      stepMs: 1000,
    })
    expectNoFault(problems)
    expect(workers.map((worker) => worker.exitCode)).toEqual([0, 0, 0])
  })

  async function due(id: string, overlap: string): Promise<void> {
    await query(
      `INSERT INTO periodic_task (id, task, timer, overlap, nextrun) VALUES ('${id}', 'task', 'minutely', '${overlap}', UTC_TIMESTAMP(3) - INTERVAL 1 SECOND)`,
    )
  }

  async function count(sql: string): Promise<number> {
    const [row] = await query(sql)
    return Number(row?.['n'])
  }
})

/** Submits a job, which is blocked if another job of the schedule is not final. */
const queueOne: Decide = (schedule, now, open) => {
  const slot = schedule.nextRunAt ?? now
  const active = open.waiting + open.blocked + open.running > 0
  return {
    runs: [{ slot, missed: 0, state: active ? 'blocked' : 'waiting' }],
    skips: [],
    replaces: false,
    yields: false,
    frozenUntil: null,
    nextRunAt: new Date(slot.getTime() + 60_000),
    isByHand: false,
    idle: null,
    lastSlot: slot,
    lastError: null,
  }
}

async function ask(url: string, sql: string, params: readonly unknown[] = []): Promise<Row[]> {
  const connection = await createConnection({
    uri: url,
    dateStrings: true,
    timezone: 'Z',
    connectTimeout: 3000,
  })
  try {
    await connection.query('SET SESSION wsrep_sync_wait = 15')
    const [rows] = await connection.query<RowDataPacket[]>({ sql, values: [...params], timeout: 10_000 })
    return Array.isArray(rows) ? rows : []
  } finally {
    connection.destroy()
  }
}

/**
 * Rethrows an error unless its cause is temporary: a node that was down or cut off, or transactions that conflicted.
 */
function rethrowLasting(error: unknown): null {
  const number = error instanceof Error && 'errno' in error ? Number(error.errno) : 0
  if (number >= 1000 && ![1047, 1180, 1205, 1213, 2013, 1053].includes(number)) throw error
  return null
}

/** The environment without Vitest's variables, so that the inner run does not act as a worker of this run. */
function withoutVitest(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([key]) => !/^(VITEST|NODE_OPTIONS)/.test(key)),
  )
}
