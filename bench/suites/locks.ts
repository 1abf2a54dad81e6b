/** One row of each table is locked for the length of three leases: how long do other workers go without a run? */
import { createConnection } from 'mysql2/promise'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { Child } from '../child.ts'
import type { BenchDatabase } from '../database.ts'
import { interleave } from '../rounds.ts'
import type { DatabaseName } from '../database.ts'
import { median } from '../statistics.ts'
import type { Bench, Findings, Suite } from '../suite.ts'
import type { Measure } from '../measure.ts'
import { eachAtMost, type Named } from '../target.ts'

const LEASE_MS = 10_000
const QUICK_LEASE_MS = 5000
const HEARTBEATS_PER_LEASE = 5
const LEASES = 3
const SCHEDULES = 10
const LEAD_S = 3
const startsSchema = z.array(z.number())

/** Selects one row of each table; `other` is the measured worker. */
const ROWS = {
  worker: "name = 'locked'",
  periodic_task: "id = 'other-0'",
  job: "task = 'other-hold' AND state = 'running'",
  job_log: '1 = 1',
  attempt: '1 = 1',
} as const

export const locksSuite: Suite = {
  name: 'locks',
  title: 'One row of each table is locked for three leases',
  run: async (bench) => {
    const leaseMs = bench.quick ? QUICK_LEASE_MS : LEASE_MS
    const work = 'time without a run on other workers'
    const subjects = (['MariaDB', 'MySQL'] as const).map((kind) => ({ name: `Kalends on ${kind}`, kind }))
    const notes = [
      `Two workers with a lease of ${leaseMs / 1000} s, each with ${SCHEDULES} schedules that run every second. An open transaction locks the row of one worker, a schedule and a running job of the other worker, a log line and an attempt. Each figure is the longest time between two consecutive runs of the other worker.`,
    ]
    const mysql = await bench.servers.get('MySQL')
    if ('missing' in mysql) {
      notes.push(`MySQL was not measured: ${mysql.missing}`)
      subjects.pop()
    }
    const results = await interleave(subjects, bench.quick ? 1 : bench.runs, async ({ name, kind }) => {
      bench.say(name)
      return await longestGapMs(bench, kind, leaseMs)
    })
    const measures = [...results].map(
      ([{ name }, values]): Measure => ({ work, subject: name, unit: 'ms', values }),
    )
    const most = (2 * leaseMs) / HEARTBEATS_PER_LEASE
    return {
      measures,
      notes,
      targets: [
        eachAtMost(
          `${work}, while rows are locked: at most two heartbeats (${most} ms)`,
          measures.map(({ subject, values }): Named => [subject, median(values)]),
          most,
          ' ms',
        ),
      ],
    } satisfies Findings
  },
}

async function longestGapMs(bench: Bench, kind: DatabaseName, leaseMs: number): Promise<number> {
  const database = await bench.servers.database(kind)
  const seconds = (LEASES * leaseMs) / 1000 + 2 * LEAD_S
  const workers = ['locked', 'other'].map(
    (name) =>
      new Child('programs/locks', { url: database.url, name, leaseMs, schedules: SCHEDULES, seconds }),
  )
  const admin = await createConnection({ uri: database.url })
  try {
    await Promise.all(workers.map((worker) => worker.ready()))
    await pause(LEAD_S * 1000)
    for (const worker of workers) worker.go()
    const began = Date.now()
    await pause(LEAD_S * 1000)
    await admin.query('START TRANSACTION')
    for (const [table, where] of Object.entries(ROWS)) await lockOne(database, admin, table, where)
    await pause(LEASES * leaseMs)
    await admin.query('ROLLBACK')
    const [, other] = await Promise.all(workers.map((worker) => worker.result(startsSchema)))
    const starts = [began, ...(other ?? []).toSorted((a, b) => a - b), began + seconds * 1000]
    return Math.max(...starts.slice(1).map((at, index) => at - (starts[index] ?? at)))
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()))
    await admin.end()
    await database.drop()
  }
}

/** Locks the row by its key, so that no other row is locked. */
async function lockOne(
  database: BenchDatabase,
  admin: Awaited<ReturnType<typeof createConnection>>,
  table: string,
  where: string,
): Promise<void> {
  const key = table === 'attempt' ? ['job_id', 'claim'] : ['id']
  const [row] = await database.query(`SELECT ${key.join(', ')} FROM ${table} WHERE ${where} LIMIT 1`)
  if (row === undefined) throw new Error(`No row of ${table} matches, so there is nothing to lock`)
  await admin.query(
    `SELECT 1 FROM ${table} WHERE ${key.map((column) => `${column} = ?`).join(' AND ')} FOR UPDATE`,
    key.map((column) => row[column]),
  )
}
