/** Runs each fault of a target once, alone: it must have its effect, and everything must be restored afterwards. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import mysql, { type RowDataPacket } from 'mysql2/promise'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { databaseNow, msOf } from '../../bench/chaos/dates.ts'
import type { FaultReport, Ground, Journal, Target } from '../../bench/chaos/fault.ts'
import { WorkerFleet } from '../../bench/chaos/fleet.ts'
import { randomOf } from '../../bench/chaos/random.ts'
import { openTarget } from '../../bench/chaos/targets/open.ts'
import { SqliteProcess } from '../../bench/chaos/targets/sqlite-process.ts'
import { Kalends } from '../../src/index.ts'
import { errorNumber } from '../../src/store/mysql/errors.ts'
import { notTested } from '../support/not-tested.ts'
import { until } from '../support/worker-process.ts'
import { isAvailable } from './available.ts'

/** The night when the clocks go back in Berlin. */
const NIGHT = new Date('2026-10-25T00:30:00Z')
const LONGEST_PAUSE_MS = 300
const CANARIES = 20
const WORKER_RECOVERS_MS = 30_000

/** The checks to make during a fault and on its report. */
export interface Expectation {
  /** Called before the fault. The returned function is called during the fault. */
  readonly prepare?: (scene: Scene) => Promise<() => Promise<void>>
  readonly during?: (scene: Scene) => Promise<void>
  readonly reports?: RegExp
}

export interface Scene {
  readonly target: Target
  readonly worker: WorkerFleet
  readonly journal: Parameters<Journal['write']>[0][]
}

export async function eachFault(
  kind: Target['kind'],
  openWithinMs: number,
  expectations: Readonly<Record<string, Expectation>>,
): Promise<void> {
  const isHere = await isAvailable(kind)
  describe.skipIf(!isHere)(`on ${kind}`, () => {
    let scene: Scene

    beforeAll(async () => {
      const folder = await mkdtemp(join(tmpdir(), 'kalends-chaos-'))
      // One worker, and a second way to connect, which differs from the worker's on some targets.
      const target = await openTarget(kind, { beginAt: NIGHT, workers: 2, folder })
      await Kalends.migrate(target.ways[0]?.url ?? '')
      const worker = await WorkerFleet.start({
        target,
        size: 1,
        leaseMs: 4000,
        pollIntervalMs: 1000,
        folder,
        queue: null,
        execArgv: [],
        environment: {},
        say: () => {},
      })
      scene = { target, worker, journal: [] }
      for (let number = 0; number < CANARIES; number += 1) {
        await target.query(
          "INSERT INTO periodic_task (id, task, timer, overlap, catch_up) VALUES (?, 'tick', '*:*:*', 'allow', 2)",
          [`canary-${number}`],
        )
      }
      // A job that waits for a long time, needed by faults that lock a job.
      await target.query(
        "INSERT INTO job (task, args, run_at) VALUES ('tick', '{}', '2100-01-01 00:00:00.000')",
      )
      return async () => {
        await worker.stop()
        await target.close()
        await rm(folder, { recursive: true })
      }
    }, openWithinMs)

    it('starts in the configured night, and has exactly the expected faults', async () => {
      if (scene.target.leftOut.clock === undefined) {
        const now = await databaseNow(scene.target, scene.target.query)
        expect(now - NIGHT.getTime()).toBeGreaterThanOrEqual(0)
        expect(now - NIGHT.getTime()).toBeLessThan(openWithinMs)
      }
      expect(scene.target.faults.map(({ name }) => name).toSorted()).toEqual(
        Object.keys(expectations)
          .filter((name) => whyLeftOut(scene, name) === undefined)
          .toSorted(),
      )
      await workerRuns(scene)
    })

    it.for(Object.entries(expectations))(
      '%s',
      // A timeout does not count as an OccurrenceFault: if a server does not recover, Kalends is not at fault.
      { timeout: 120_000 },
      async ([name, { prepare, during, reports }], { skip }) => {
        const why = whyLeftOut(scene, name)
        if (why !== undefined) {
          notTested(inject('testRun'), `Chaos on ${kind}: ${name}`, why)
          skip(why)
        }
        const fault = scene.target.faults.find((one) => one.name === name)
        if (fault === undefined) throw new Error(`unknown fault '${name}'`)
        const prepared = await prepare?.(scene)
        let seen = false
        const pause = async (ms: number) => {
          if (!seen) {
            seen = true
            await during?.(scene)
            await prepared?.()
          }
          await delay(Math.min(ms, LONGEST_PAUSE_MS))
        }
        const ground: Ground = {
          target: scene.target,
          fleet: scene.worker,
          journal: { write: (entry) => scene.journal.push(entry) },
          leaseMs: 4000,
          pollIntervalMs: 1000,
          pause,
        }
        const report: FaultReport = await fault.run(ground, randomOf(5))
        expect(report.trouble).toBeUndefined()
        expect(report.hit).not.toBe('')
        if (during !== undefined || prepare !== undefined) expect(seen).toBe(true)
        if (reports !== undefined) expect(report.detail).toMatch(reports)
        await workerRuns(scene)
        expect(await scene.target.deadlocks()).toBe(kind === 'sqlite' ? null : 0)
      },
    )
  })
}

/** Why the target lacks the fault on this machine; undefined if it must have the fault. */
function whyLeftOut({ target }: Scene, fault: string): string | undefined {
  return Object.entries(target.leftOut).find(([part]) => fault.startsWith(`${part}.`))?.[1]
}

/** Waits until the worker runs a slot that becomes due after this call and is later than all slots it has run. */
async function workerRuns({ target }: Scene): Promise<void> {
  const lastRunAt = async () => {
    const [row] = await target.query(
      "SELECT MAX(slot) AS slot FROM job WHERE periodic_task_id LIKE 'canary%' AND state = 'success'",
    )
    return msOf(row?.['slot']) ?? 0
  }
  const from = Math.max(await databaseNow(target, target.query), await lastRunAt())
  await until('the worker runs due slots', async () => (await lastRunAt()) > from, WORKER_RECOVERS_MS)
}

/** The URLs with which a worker connects to each host. */
function hostUrls({ target }: Scene, way = 0): string[] {
  const [, user = '', hosts = '', name = ''] =
    /^(mysql:\/\/[^@]*@)([^/]*)(\/[^?]*)/.exec(target.ways[way]?.url ?? '') ?? []
  return hosts.split(',').map((host) => `${user}${host}${name}`)
}

/** Runs a statement on each host as the workers' user. @returns 'done', 'silence', 'cut' or an error number or code */
export async function told(
  scene: Scene,
  statement: string,
  { withinMs = 1500, way = 0 } = {},
): Promise<(string | number)[]> {
  return await Promise.all(
    hostUrls(scene, way).map(async (uri) => {
      const connection = await mysql
        .createConnection({ uri, connectTimeout: withinMs })
        .catch((error: unknown) => outcomeOf(error))
      if (typeof connection !== 'object') return connection
      connection.on('error', () => {})
      try {
        await connection.query({ sql: statement, timeout: withinMs })
        return 'done'
      } catch (error) {
        return outcomeOf(error)
      } finally {
        connection.destroy()
      }
    }),
  )
}

function outcomeOf(error: unknown): string | number {
  const number = errorNumber(error)
  if (number !== null && number > 0) return number
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  return /TIMEOUT|ETIMEDOUT/.test(code) ? 'silence' : /^(ECONN|EPIPE|PROTOCOL_)/.test(code) ? 'cut' : code
}

export const WRITE = "UPDATE periodic_task SET summary = 'written' WHERE id = 'canary-0'"
export const READ = 'SELECT 1'

export function one(outcome: string | number, statement = READ): Expectation {
  return {
    during: async (scene) => {
      // A cluster takes a few seconds to detect that a node is isolated.
      await until(`'${statement}' ends with ${outcome} somewhere`, async () =>
        (await told(scene, statement)).includes(outcome),
      )
    },
  }
}

export function all(outcome: string | number, statement = READ, way = 0): Expectation {
  return {
    during: async (scene) => {
      const outcomes = await told(scene, statement, { way })
      expect(outcomes).toEqual(outcomes.map(() => outcome))
    },
  }
}

/** Opens connections as the workers' user before the fault. */
async function connectedBefore(scene: Scene): Promise<mysql.Connection[]> {
  return await Promise.all(
    hostUrls(scene).map(async (uri) => {
      const connection = await mysql.createConnection(uri)
      connection.on('error', () => {})
      await connection.query(READ)
      return connection
    }),
  )
}

const strand: Expectation = {
  async prepare(scene) {
    const connections = await connectedBefore(scene)
    return async () => {
      for (const connection of connections) {
        await expect(connection.query({ sql: READ, timeout: 300 })).rejects.toThrow(/timeout/i)
        connection.destroy()
      }
      expect(new Set(await told(scene, READ))).toEqual(new Set(['done']))
    }
  },
}

const slow: Expectation = {
  async prepare(scene) {
    const connections = await connectedBefore(scene)
    return async () => {
      for (const connection of connections) {
        const from = performance.now()
        await connection.query(READ)
        // Both directions.
        expect(performance.now() - from).toBeGreaterThan(40)
        connection.destroy()
      }
    }
  },
}

export const onNetworks: Readonly<Record<string, Expectation>> = {
  'network.cut': all('cut'),
  'network.half-open': all('silence'),
  'network.strand': strand,
  'network.slow': slow,
  'network.cut-all': all('cut'),
  'network.half-open-all': all('silence'),
  'network.strand-all': strand,
  'network.slow-all': slow,
}

export const onServerProcesses: Readonly<Record<string, Expectation>> = {
  'server.kill': one('cut'),
  'server.restart': { reports: /^stopped in \d+ ms and started again in \d+ ms$/ },
  'server.stand-still': one('silence'),
}

const lockedRows = (table: string): Expectation => ({
  reports: new RegExp(`^a transaction held [1-9]\\d* rows of ${table} `),
})

export const onServers: Readonly<Record<string, Expectation>> = {
  'server.read-only': one(1290, WRITE),
  'server.full': one(1040),
  'server.kill-connections': {
    async prepare(scene) {
      const connections = await connectedBefore(scene)
      return async () => {
        for (const connection of connections) await expect(connection.query(READ)).rejects.toThrow()
      }
    },
  },
  'server.kill-queries': {
    async prepare(scene) {
      const connections = await connectedBefore(scene)
      const sleeps = connections.map((connection) =>
        connection.query<RowDataPacket[]>('SELECT SLEEP(20) AS slept').then(
          ([rows]) => rows[0]?.['slept'],
          (error: unknown) => errorNumber(error),
        ),
      )
      return async () => {
        // After KILL QUERY, the statement returns 1 or fails with error 1317.
        for (const slept of await Promise.all(sleeps)) expect([1, 1317]).toContain(slept)
        for (const connection of connections) connection.destroy()
      }
    },
  },
}

export const onLocks: Readonly<Record<string, Expectation>> = {
  'locks.schedules': lockedRows('periodic_task'),
  'locks.jobs': lockedRows('job'),
  'locks.workers': lockedRows('worker'),
  // If there is no such row, a row of another table is locked.
  ...Object.fromEntries(
    ['schedule', 'waiting', 'running', 'log', 'attempt', 'worker'].map((what) => [
      `locks.row-${what}`,
      { reports: /^a transaction held one row of \w+ / },
    ]),
  ),
  ...Object.fromEntries(
    ['schedule', 'running', 'worker'].map((what) => [
      `locks.killed-${what}`,
      { reports: /^kill -9; a transaction held one row of \w+ / },
    ]),
  ),
  'locks.deadlocks': { reports: /: [1-9] deadlocks, [1-9] of them in these transactions$/ },
  'locks.long-read': { reports: /^a read of all \d+ jobs stayed open/ },
}

/** Faults for a worker that uses its application's pool. */
export const onApplications: Readonly<Record<string, Expectation>> = {
  'application.leak': {
    reports: /^the application left transactions open that had locked \S+ and \S+ for \d+ ms$/,
  },
  'application.session': { reports: /^the application changed the database and autocommit/ },
  'application.exhaust': { reports: /^the application used all connections/ },
}

export const onTables: Readonly<Record<string, Expectation>> = {
  'locks.tables': {
    during: async ({ target }) => {
      // Statements that use a locked table wait, so this statement uses no table.
      expect(await target.query('SHOW OPEN TABLES WHERE In_use > 0')).not.toEqual([])
    },
  },
  'locks.ddl': { reports: /^(ANALYZE|ALTER|OPTIMIZE) TABLE .* took \d+ ms$/ },
}

export const onDisks: Readonly<Record<string, Expectation>> = {
  'disk.full': { reports: /^full for \d+ ms \([1-9]\d* MB taken\).*; a write: (?!succeeded)./ },
}

const clockIsAt: Expectation = {
  during: async ({ target, journal }) => {
    const moved = journal.findLast((entry) => entry.kind === 'clock')
    const now = await databaseNow(target, target.query)
    expect(Math.abs(now - Date.now() - (moved?.offsetMs ?? Number.NaN))).toBeLessThan(500)
  },
}

export const onClocks: Readonly<Record<string, Expectation>> = {
  'clock.forth': clockIsAt,
  'clock.back': clockIsAt,
  'clock.hours-back': clockIsAt,
  // This fault runs last, because it causes an hour of missed slots.
  'clock.hour-forth': clockIsAt,
}

export const onFiles: Readonly<Record<string, Expectation>> = {
  'sqlite.kill-in-write': { reports: /^kill -9 while it held the write lock$/ },
  'sqlite.write-lock': {
    during: async ({ target }) => {
      const other = await SqliteProcess.open((target.ways[0]?.url ?? '').slice('sqlite:'.length), {})
      await other.rows('PRAGMA busy_timeout = 0')
      await expect(other.rows('BEGIN IMMEDIATE')).rejects.toThrow(/locked/)
      await other.close()
    },
  },
  'sqlite.long-read': { reports: /^a read of \d+ jobs stayed open/ },
  'sqlite.checkpoint': { reports: /^wal_checkpoint\(\w+\): \{"busy":[01],"log":\d+,"checkpointed":\d+\}$/ },
  'sqlite.backup': { reports: /^a copy with [1-9]\d* jobs, made in \d+ ms$/ },
}
