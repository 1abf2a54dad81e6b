/**
 * No slot is lost, decided twice or run early, under load and while workers die. Four processes use one database, one
 * of them is killed every few seconds, and a checker examines the rows at the end.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import {
  occurrenceProblems,
  occurrenceRows,
  scheduleEnds,
  sqlInstant,
  tally,
} from '../support/occurrences.ts'
import { expectNoFault } from '../support/fault.ts'
import { killWorkers, until, WorkerProcess } from '../support/worker-process.ts'

const SECONDS = Number(process.env['KALENDS_TEST_SECONDS'] ?? 30)
/**
 * The load is well below the capacity of two cores that also run other tests, because the test checks correctness, not
 * speed.
 */
const SCHEDULES = Number(process.env['KALENDS_TEST_SCHEDULES'] ?? 200)
const WORKERS = 4
const LEASE_MS = 4000
const KILL_EVERY_MS = 3500

afterEach(killWorkers)

eachDatabase(({ kind, fresh }) => {
  it(`each slot of ${SCHEDULES} schedules is decided exactly once while workers die [S3, L1, L7]`, {
    timeout: (SECONDS + 120) * 1000,
  }, async () => {
    const database = await fresh()
    let started = 0
    const start = (name = `w${(started += 1)}`) =>
      WorkerProcess.start({
        url: database.url,
        worker: name,
        leaseMs: LEASE_MS,
        concurrency: 200,
        tasks: { tick: 'return' },
        quiet: true,
      })
    const workers = [await start()]
    while (workers.length < WORKERS) workers.push(await start())

    const from = Math.ceil(Date.now() / 1000 + 5) * 1000
    await insertSchedules(database, from)
    await pause(from - Date.now())
    const all = [...workers]
    const end = performance.now() + SECONDS * 1000
    let kills = 0
    while (performance.now() + KILL_EVERY_MS + 1500 < end) {
      await pause(KILL_EVERY_MS)
      const index = await chooseVictim(database, workers, kills)
      const victim = workers[index]
      if (victim === undefined) continue
      await victim.kill()
      kills += 1
      // Every other replacement starts under the name of the dead worker.
      const replacement = await start(kills % 2 === 0 ? nameOf(victim) : undefined)
      workers[index] = replacement
      all.push(replacement)
    }
    await pause(Math.max(0, end - performance.now()))
    const stopped = Date.now()

    await until('the schedules are disabled', () => disable(database))
    await until('all jobs are final and no mark remains', () => isDrained(database), 60_000)
    await until(
      'the lost workers are evicted',
      async () => (await ids(database, 'worker')).length === WORKERS,
    )
    await Promise.all(workers.map((worker) => worker.stop()))

    const rows = await occurrenceRows(database)
    const numbers = tally(rows)
    const lost = all.flatMap((worker) => worker.told('workerLost')).length
    const errors = all.flatMap((worker) => worker.told('error'))
    console.log(
      `${kind}: ${numbers.runs} runs in ${SECONDS} s = ${(numbers.runs / SECONDS).toFixed(0)}/s; skipped ${JSON.stringify(numbers.skipped)}; ` +
        `submitted after p50 ${numbers.latenessP50} ms, p99 ${numbers.latenessP99} ms; started after p50 ${numbers.startP50} ms, p99 ${numbers.startP99} ms; ` +
        `${kills} kills, ${lost} workers evicted, ${numbers.retried} runs taken over; ${errors.length} errors ${errors
          .slice(0, 3)
          .map((error) => `${error.where}: ${error.message}`)
          .join('; ')}`,
    )
    const problems = occurrenceProblems(await scheduleEnds(database), rows, {
      from,
      until: stopped - LEASE_MS - 4000,
      stepMs: 1000,
    })
    expectNoFault(problems)
    const left = rows.filter(({ schedule, state }) => runsEverySlot(schedule) && state !== 'success')
    expect(left.slice(0, 20)).toEqual([])
    expect(await ids(database, 'worker')).toEqual([])
    // Some kills must hit busy workers, or the test would not detect a broken takeover.
    if (kills > 3) expect(lost + numbers.retried).toBeGreaterThan(0)
    await database.drop()
  })
})

/** Chooses, in turn, a worker that has just claimed a job, one that has just marked a schedule, or any worker. */
async function chooseVictim(
  database: TestDatabase,
  workers: readonly WorkerProcess[],
  turn: number,
): Promise<number> {
  const busy = [
    "SELECT worker FROM job WHERE state = 'running' LIMIT 1",
    'SELECT worker FROM periodic_task WHERE worker IS NOT NULL LIMIT 1',
  ][turn % 3]
  const anybody = Math.floor(Math.random() * workers.length)
  if (busy === undefined) return anybody
  const deadline = performance.now() + 1500
  while (performance.now() < deadline) {
    const [row] = await database.query(busy)
    const index = workers.findIndex((worker) => worker.id === row?.['worker'])
    if (index >= 0) return index
    await pause(1)
  }
  return anybody
}

function nameOf(worker: WorkerProcess): string {
  return worker.id.slice(0, worker.id.lastIndexOf('/'))
}

/**
 * Half of the schedules allow overlap and make up all slots that they miss, so each of their slots must become a run.
 * The other half have the defaults, and their skipped slots must be recorded.
 */
function runsEverySlot(schedule: string): boolean {
  return Number(schedule.slice(1)) % 2 === 0
}

async function insertSchedules(database: TestDatabase, from: number): Promise<void> {
  const values = Array.from({ length: SCHEDULES }, (_, index) => {
    const id = `s${String(index).padStart(4, '0')}`
    const policies = runsEverySlot(id) ? "'allow', 1000" : "'skip', 1"
    return `('${id}', 'tick', '*:*:*', '${sqlInstant(from)}', ${policies})`
  })
  await database.query(
    `INSERT INTO periodic_task (id, task, timer, nextrun, overlap, catch_up) VALUES ${values.join(', ')}`,
  )
}

/** Returns false after a deadlock or a lock wait timeout, after which an administrator would also retry. */
async function disable(database: TestDatabase): Promise<boolean> {
  try {
    await database.query('UPDATE periodic_task SET enabled = 0')
    return true
  } catch (error) {
    if (error instanceof Error && 'errno' in error && [1205, 1213].includes(Number(error.errno))) return false
    throw error
  }
}

async function isDrained(database: TestDatabase): Promise<boolean> {
  const [row] = await database.query(
    "SELECT (SELECT COUNT(*) FROM job WHERE state IN ('waiting', 'blocked', 'running')) AS jobs, (SELECT COUNT(*) FROM periodic_task WHERE wake_at IS NOT NULL) AS schedules",
  )
  return Number(row?.['jobs']) === 0 && Number(row?.['schedules']) === 0
}

async function ids(database: TestDatabase, table: 'worker'): Promise<string[]> {
  return (await database.query(`SELECT id FROM ${table}`)).map((row) => String(row['id']))
}
