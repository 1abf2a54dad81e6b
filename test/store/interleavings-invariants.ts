/**
 * The invariants of the design: the allowed differences between two snapshots of the tables, and the required final
 * state.
 */
import { inspect } from 'node:util'
import type { TestDatabase } from '../support/databases.ts'
import { type Clock } from './interleavings-actors.ts'
import { FIRST_SLOT, LEASE_MS, MAYBE_UNSTARTED, type Program } from './interleavings-scene.ts'
import { fenceText } from '../../src/model/job.ts'
import { fromText, toText } from '../../src/model/instant.ts'

type Row = Readonly<Record<string, unknown>>

/** The committed state of the tables. */
export interface Picture {
  readonly schedules: ReadonlyMap<string, Row>
  readonly jobs: ReadonlyMap<string, Row>
  readonly workers: ReadonlySet<string>
  /** The claims whose attempts are stored, by job. */
  readonly attempts: ReadonlyMap<string, ReadonlySet<number>>
}

export async function look(database: TestDatabase): Promise<Picture> {
  const schedules = await database.query('SELECT * FROM periodic_task')
  const jobs = await database.query('SELECT * FROM job')
  const workers = await database.query('SELECT id FROM worker')
  const attempts = new Map<string, Set<number>>()
  for (const row of await database.query('SELECT job_id, claim FROM attempt')) {
    const claims = attempts.get(text(row, 'job_id')) ?? new Set()
    attempts.set(text(row, 'job_id'), claims.add(Number(row['claim'])))
  }
  return {
    schedules: new Map(schedules.map((row) => [text(row, 'id'), row])),
    jobs: new Map(jobs.map((row) => [text(row, 'id'), row])),
    workers: new Set(workers.map((row) => text(row, 'id'))),
    attempts,
  }
}

/** While the test clock stands still, each new slot is a millisecond later, so slots may be early by this much. */
const GROWTH_MS = 10
const FINAL = ['success', 'failed', 'cancelled', 'skipped']
/** Columns that only people write. */
const SETTINGS = [
  'enabled',
  'task',
  'timer',
  'args',
  'overlap',
  'priority',
  'summary',
  'catch_up',
  'starts',
  'ends',
  'jitter',
  'max_runs',
  'created',
]
/** Columns in which a submission stores its decision. */
const DECIDED = ['nextrun', 'last_slot', 'planned_from', 'planned_nextrun', 'idle']

function text(row: Row | undefined, column: string): string {
  const value = row?.[column] ?? ''
  return typeof value === 'string' || typeof value === 'number' ? String(value) : inspect(value)
}

const differ = (before: Row, after: Row, columns: readonly string[]) =>
  columns.filter((column) => before[column] !== after[column])

/** Violations of rules that hold in every state. */
export function wrongNow({ schedules, jobs, attempts }: Picture, clock: Clock): string[] {
  const wrong: string[] = []
  const slots = new Map<string, number>()
  const active = new Map<string, number>()
  const latestSlot = toText(new Date(clock.now.getTime() + GROWTH_MS))
  for (const job of jobs.values()) {
    const schedule = text(job, 'periodic_task_uid')
    const occurrence = `${schedule} ${text(job, 'slot')}`
    slots.set(occurrence, (slots.get(occurrence) ?? 0) + 1)
    wrong.push(...wrongAttempts(job, attempts.get(text(job, 'id')) ?? new Set()))
    if (text(job, 'slot') > latestSlot) wrong.push(`${occurrence} is early`)
    if (['waiting', 'running'].includes(text(job, 'state')) && Number(job['exclusive']) === 1)
      active.set(schedule, (active.get(schedule) ?? 0) + 1)
  }
  for (const [occurrence, count] of slots) if (count > 1) wrong.push(`${occurrence} exists ${count} times`)
  for (const [schedule, count] of active) if (count > 1) wrong.push(`${count} jobs of ${schedule} are active`)
  const latest = toText(new Date(clock.now.getTime() + LEASE_MS))
  for (const [id, row] of schedules)
    if (row['worker'] !== null && text(row, 'mark_ends') > latest)
      wrong.push(`${id} is marked until ${text(row, 'mark_ends')}`)
  return wrong
}

/** Each claim of a job is running, has succeeded, is stored as an attempt, or was released before it started. */
function wrongAttempts(job: Row, stored: ReadonlySet<number>): string[] {
  const claims = Number(job['claim'])
  const isInJob = job['state'] === 'running' || job['state'] === 'success'
  const expected = Array.from({ length: isInJob ? claims - 1 : claims }, (_, index) => index + 1)
  const found = [...stored].toSorted((one, other) => one - other)
  const id = text(job, 'id')
  const started = expected.filter(
    (claim) => stored.has(claim) || !MAYBE_UNSTARTED.has(fenceText({ id, worker: 'g/1', claim })),
  )
  if (found.join() === started.join()) return []
  return [
    `${text(job, 'id')}, ${text(job, 'state')} in claim ${claims}: the stored attempts are [${found.join()}]`,
  ]
}

/** Violations in the changes of one actor. */
export function wrongChange(by: Program, before: Picture, after: Picture, clock: Clock): string[] {
  const wrong: string[] = []
  const now = toText(clock.now)
  for (const [id, old] of before.schedules) {
    const row = after.schedules.get(id)
    if (row === undefined) {
      if (by.worker !== null) wrong.push(`${by.name} has deleted ${id}`)
      continue
    }
    if (text(row, 'last_slot') < text(old, 'last_slot')) wrong.push(`the slots of ${id} decrease`)
    if (by.worker === null) continue
    const settings = differ(old, row, SETTINGS)
    if (settings.length > 0) wrong.push(`${by.name} has changed ${settings.join()} of ${id}`)
    if (id === 'later' && differ(old, row, Object.keys(row)).length > 0) wrong.push(`${id} was not due`)
    wrong.push(...wrongMark(by, by.worker, old, row, before, now))
  }
  for (const [id, old] of before.jobs) {
    const row = after.jobs.get(id)
    if (row === undefined) {
      if (by.worker !== null) wrong.push(`${by.name} has deleted the job ${id}`)
      continue
    }
    if (by.worker !== null) wrong.push(...wrongEnd(by, by.worker, old, row, before))
  }
  for (const [id, row] of after.jobs) {
    if (before.jobs.has(id) || by.worker === null) continue
    const lastSlot = text(before.schedules.get(text(row, 'periodic_task_id')), 'last_slot')
    if (text(row, 'slot') <= lastSlot)
      wrong.push(`${by.name} has decided ${text(row, 'slot')} after ${lastSlot}`)
  }
  return wrong
}

/** Only due schedules are marked. A mark is cleared only by its worker, or when that worker is dead. */
function wrongMark(by: Program, worker: string, old: Row, row: Row, before: Picture, now: string): string[] {
  const id = text(row, 'id')
  const owner = old['worker']
  const isMarked = row['worker'] === worker && differ(old, row, ['worker', 'marked']).length > 0
  if (isMarked) {
    if (old['wake_at'] === null || text(old, 'wake_at') > now)
      return [`${by.name} has marked ${id}, which was not due`]
    return differ(old, row, DECIDED).length > 0
      ? [`${by.name} has decided about ${id} before it was marked`]
      : []
  }
  if (owner !== row['worker'] && owner !== worker && before.workers.has(String(owner)))
    return [`${by.name} has ended the mark of ${String(owner)} on ${id}`]
  const decided = differ(old, row, DECIDED)
  // The next run is planned when the current run ends, or later by the sweep.
  if (decided.length === 0 || owner === worker || old['idle'] === 'awaiting-finish') return []
  return [`${by.name} has decided ${decided.join()} of ${id}, which ${String(owner)} had marked`]
}

/** A run is ended only by its worker, or when that worker is dead; final jobs do not change. */
function wrongEnd(by: Program, worker: string, old: Row, row: Row, before: Picture): string[] {
  const id = text(row, 'id')
  const claims = Number(row['claim']) - Number(old['claim'])
  if (claims !== Number(row['state'] === 'running' && old['state'] !== 'running'))
    return [`${by.name} has changed the claim of ${id} from ${text(old, 'claim')} to ${text(row, 'claim')}`]
  const changed = differ(old, row, ['state', 'worker', 'attempt', 'result', 'finished'])
  if (changed.length === 0) return []
  const state = text(old, 'state')
  // Consecutive skips share a row.
  if (FINAL.includes(state) && state !== 'skipped')
    return [`${by.name} has changed ${changed.join()} of ${id}, which was ${state}`]
  if (state === 'running' && old['worker'] !== worker && before.workers.has(text(old, 'worker')))
    return [`${by.name} has changed ${changed.join()} of ${id}, which ${text(old, 'worker')} runs`]
  if (
    state === 'running' &&
    old['worker'] !== worker &&
    FINAL.includes(text(row, 'state')) &&
    row['result'] !== null
  )
    return [`${by.name} has finished ${id}, which ${text(old, 'worker')} ran`]
  if (
    row['state'] === 'running' &&
    (row['worker'] !== worker || Number(row['attempt']) !== Number(old['attempt']) + 1)
  )
    return [`${by.name} has claimed attempt ${text(row, 'attempt')} of ${id} for ${text(row, 'worker')}`]
  return []
}

/** Adds up the successful and failed runs that ended between two snapshots, by schedule. */
export function countEnded(
  before: Picture,
  after: Picture,
  into: Map<string, { runs: number; errors: number }>,
): void {
  for (const [id, row] of after.jobs) {
    const state = text(row, 'state')
    const old = before.jobs.get(id)
    if (
      (state !== 'success' && state !== 'failed') ||
      (old !== undefined && FINAL.includes(text(old, 'state')))
    )
      continue
    const schedule = text(row, 'periodic_task_id')
    const count = into.get(schedule) ?? { runs: 0, errors: 0 }
    into.set(schedule, { runs: count.runs + 1, errors: count.errors + Number(state === 'failed') })
  }
}

/**
 * Violations found once the remaining workers have done all the work.
 *
 * @param changed  schedules whose number of slots cannot be predicted
 */
export function wrongAtEnd(
  begin: Picture,
  end: Picture,
  clock: Clock,
  ended: ReadonlyMap<string, { runs: number; errors: number }>,
  changed: ReadonlySet<string>,
): string[] {
  const wrong: string[] = []
  for (const [id, job] of end.jobs) {
    if (!FINAL.includes(text(job, 'state'))) wrong.push(`the job ${id} is still ${text(job, 'state')}`)
    if (job['state'] !== 'success') continue
    const result: unknown = JSON.parse(text(job, 'result'))
    const expected = { worker: job['worker'], attempt: Number(job['attempt']) }
    if (JSON.stringify(result) !== JSON.stringify(expected))
      wrong.push(
        `the job ${id} ran as ${JSON.stringify(expected)}, but its result is from ${JSON.stringify(result)}`,
      )
  }
  for (const [id, row] of end.schedules) {
    if (row['worker'] !== null) wrong.push(`${id} is still marked by ${text(row, 'worker')}`)
    const isActive = Number(row['enabled']) === 1 && row['idle'] === null
    if (isActive && text(row, 'nextrun') <= toText(clock.now))
      wrong.push(`${id} has the next run ${text(row, 'nextrun')}`)
    if (row['retry_at'] !== null) wrong.push(`${id} is still being retried`)
    if (row['idle'] !== null) wrong.push(`${id} is idle: ${text(row, 'idle')}`)
    const base = begin.schedules.get(id)
    const counted = ended.get(id) ?? { runs: 0, errors: 0 }
    const counters = `${Number(row['run_count']) - Number(base?.['run_count'])} runs, ${Number(row['error_count']) - Number(base?.['error_count'])} errors`
    if (counters !== `${counted.runs} runs, ${counted.errors} errors`)
      wrong.push(`${id} has counted ${counters} instead of ${counted.runs} and ${counted.errors}`)
    if (row['timer'] === 'minutely' && !changed.has(id)) wrong.push(...wrongSlots(id, row, end, clock))
  }
  return wrong
}

/** Checks that every minute since the first slot is decided, either as a run or in the count of a skip. */
function wrongSlots(id: string, row: Row, end: Picture, clock: Clock): string[] {
  const lastSlot = fromText(text(row, 'last_slot'))?.getTime() ?? 0
  const wanted = Math.floor((clock.now.getTime() - FIRST_SLOT.getTime()) / 60_000) + 1
  const rows = [...end.jobs.values()].filter(
    (job) => job['periodic_task_id'] === id && text(job, 'slot') >= toText(FIRST_SLOT),
  )
  const decided = rows
    .map((job) => (job['state'] === 'skipped' ? Number(job['missed']) : 1))
    .reduce((sum, count) => sum + count, 0)
  if (decided === wanted && lastSlot === FIRST_SLOT.getTime() + (wanted - 1) * 60_000) return []
  const slots = rows.map(
    (job) => `${text(job, 'slot').slice(11, 19)} ${text(job, 'state')} ${text(job, 'missed')}`,
  )
  return [
    `${id} has decided ${decided} slots of ${wanted}: ${slots.join(', ')}; last ${text(row, 'last_slot')}`,
  ]
}
