/** Performs one run and writes its record to a folder. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import Libsql from 'libsql'
import { Kalends } from '../../src/index.ts'
import { brokenProcess, type Break } from './breaks.ts'
import { databaseNow } from './dates.ts'
import { comeToRest, disableAll } from './ending.ts'
import type { Fault, Ground, Target } from './fault.ts'
import { mostInTrouble, WorkerFleet } from './fleet.ts'
import { FileJournal } from './journal.ts'
import { playScript } from './playing.ts'
import { randomOf } from './random.ts'
import type { QueuePlace } from './member.ts'
import { saveFacts, saveQueue, saveRows } from './record-files.ts'
import { ALLOWANCE_MS } from './recovery.ts'
import { type Play, scriptOf } from './script.ts'
import { workload, writeSchedules } from './workload.ts'

export const LEASE_MS = 4000
export const POLL_INTERVAL_MS = 1000
/** Quiet period after each burst of faults: first the workers recover, and then some slots must be on time. */
const QUIET_MS = LEASE_MS + POLL_INTERVAL_MS + ALLOWANCE_MS + 1000
/** Time before the first fault, in which schedules are planned and processes warm up. */
const WARM_UP_MS = 4000

export interface RunOptions {
  readonly folder: string
  readonly seed: number
  readonly minutes: number
  /** The number of faults. */
  readonly faults: number
  readonly workers: number
  readonly schedules: number
  readonly broken: Break | null
  /** Where the application's own queue is; null or absent if it has none. */
  readonly queue?: QueuePlace | null
  /** Maximum time until all work has ended. The default is longer than all attempts of a job can take. */
  readonly restWithinMs?: number
  /** When it is aborted, faults end, and the results so far are checked. */
  readonly signal: AbortSignal
  readonly say: (text: string) => void
}

/** What the harness noticed itself, in addition to what the checker finds in the record. */
export interface RunEnd {
  readonly played: number
  /** Sentences that describe work that did not end and workers that are still registered. */
  readonly restless: readonly string[]
  /** How often worker processes ended without being asked to, for example because a handler called process.exit(). */
  readonly ownEnds: number
}

/** @param faults  all faults that the run may use */
export async function run(target: Target, faults: readonly Fault[], options: RunOptions): Promise<RunEnd> {
  const { folder, seed, signal, say, queue = null } = options
  mkdirSync(folder, { recursive: true })
  const journal = new FileJournal(folder)
  const random = randomOf(seed)
  saveFacts(folder, {
    target: target.name,
    seed,
    leaseMs: LEASE_MS,
    pollIntervalMs: POLL_INTERVAL_MS,
    deadlocks: null,
  })
  await migrate(target, options.broken)
  if (queue === 'same') await target.query(CREATE)
  if (queue === 'elsewhere') makeQueueFile(folder)
  const fleet = await WorkerFleet.start({
    target,
    size: options.workers,
    leaseMs: LEASE_MS,
    pollIntervalMs: POLL_INTERVAL_MS,
    folder,
    queue,
    say,
    ...(options.broken === null
      ? { execArgv: [], environment: {} }
      : brokenProcess(options.broken.mutations)),
  })
  try {
    const ground: Ground = {
      target,
      fleet,
      journal,
      leaseMs: LEASE_MS,
      pollIntervalMs: POLL_INTERVAL_MS,
      pause: (ms) => interruptible(ms, signal),
    }
    await tellClock(ground)
    const workers = fleet.members.map(({ name }) => name)
    await writeSchedules(
      target,
      journal,
      workload(options.schedules, random.fork('workload'), workers, queue !== null),
    )
    const begin = performance.now()
    await phase(ground, 'begin')
    await ground.pause(WARM_UP_MS)
    const totalMs = options.minutes * 60_000
    const script = scriptOf({
      seed,
      faults,
      count: options.faults,
      totalMs: totalMs - WARM_UP_MS - QUIET_MS,
      quietMs: QUIET_MS,
      mostInTrouble: mostInTrouble(options.workers),
    })
    writeScript(folder, script.plays)
    const played = await playScript(script, {
      ground,
      quietMs: QUIET_MS,
      mostInTrouble: mostInTrouble(options.workers),
      signal,
      passed: (play, entry) => say(line(play, entry, script.plays.length, performance.now() - begin)),
    })
    await ground.pause(totalMs - (performance.now() - begin) - QUIET_MS)
    await phase(ground, 'calm')
    await ground.pause(QUIET_MS)
    await phase(ground, 'end')
    const restless = await end(ground, fleet, options)
    return { played, restless, ownEnds: fleet.members.reduce((sum, { ownEnds }) => sum + ownEnds, 0) }
  } finally {
    await fleet.kill()
    journal.close()
  }
}

async function end(
  { target, journal }: Ground,
  fleet: WorkerFleet,
  { folder, seed, say, restWithinMs, queue = null }: RunOptions,
): Promise<string[]> {
  say('Disabling all schedules and waiting until all work has ended')
  await disableAll(target)
  const restless = await comeToRest(target, journal, fleet.members.length, restWithinMs)
  await fleet.stop()
  const left = await target.query('SELECT id FROM worker')
  saveFacts(folder, {
    target: target.name,
    seed,
    leaseMs: LEASE_MS,
    pollIntervalMs: POLL_INTERVAL_MS,
    deadlocks: await target.deadlocks(),
  })
  await saveRows(folder, target)
  if (queue !== null) await saveQueue(folder, target, queue)
  return [
    ...restless,
    ...left.map(({ id }) => `the worker ${String(id)} was stopped but is still registered`),
  ]
}

/** The table of the application's own queue. */
const CREATE =
  "CREATE TABLE own_job (id VARCHAR(254) NOT NULL PRIMARY KEY, slot BIGINT, schedule VARCHAR(254), worker VARCHAR(255) NOT NULL, attempt INT NOT NULL, taken_by VARCHAR(64), state VARCHAR(8) NOT NULL DEFAULT 'new')"

function makeQueueFile(folder: string): void {
  const database = new Libsql(join(folder, 'queue.db'))
  database.exec('PRAGMA journal_mode = WAL')
  database.exec(CREATE)
  database.close()
}

/** Creates the tables, and changes them as a break requires. */
async function migrate(target: Target, broken: Break | null): Promise<void> {
  const [way] = target.ways
  if (way === undefined) throw new RangeError('the target has no connections for workers')
  await Kalends.migrate(way.url)
  for (const statement of broken?.sql ?? []) await target.query(statement)
}

async function tellClock({ target, journal }: Ground): Promise<void> {
  const before = Date.now()
  const now = await databaseNow(target, target.query)
  journal.write({ kind: 'clock', offsetMs: now - Math.round((before + Date.now()) / 2) })
}

async function phase({ target, journal }: Ground, name: 'begin' | 'calm' | 'end'): Promise<void> {
  journal.write({ kind: 'phase', phase: name, at: await databaseNow(target, target.query) })
}

/** Writes the seed's script in a readable form. */
function writeScript(folder: string, plays: readonly Play[]): void {
  const text = plays.map(({ fault, ...play }) => `${JSON.stringify({ ...play, fault: fault.name })}\n`)
  writeFileSync(join(folder, 'script.jsonl'), text.join(''))
}

function line(
  { number }: Play,
  {
    name,
    hit,
    detail,
    from,
    until,
    trouble,
    seen,
  }: Parameters<Parameters<typeof playScript>[1]['passed']>[1],
  of: number,
  sinceBeginMs: number,
): string {
  const time = `${Math.floor(sinceBeginMs / 60_000)}:${String(Math.floor(sinceBeginMs / 1000) % 60).padStart(2, '0')}`
  return `${time} ${number}/${of} ${name} ${hit}, ${((until - from) / 1000).toFixed(1)} s: ${detail}${seen === null ? '' : seen ? '; health() reported it' : '; health() did not report it'}${trouble === null ? '' : ` — TROUBLE: ${trouble}`}`
}

async function interruptible(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return
  // If the signal is aborted, the pause ends early without an error.
  await delay(ms, undefined, { signal }).catch(() => undefined)
}
