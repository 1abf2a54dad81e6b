/**
 * Submits marked schedules: plans them, inserts their jobs, and advances them, in one transaction.
 *
 * Locks schedules first, by key, in key order and with SKIP LOCKED, and then only those jobs that a plan may replace.
 * Open jobs of a schedule are found through the index on (open_key, open_turn), and the newest run through the index on
 * (schedule, slot). Both are unique, so no race can create a second job for a slot, or a second job that runs or waits.
 */
import { isA, messageOf, StoreUnavailableError } from '../../errors.ts'
import { type Fitting, PART_MS } from '../../event-loop.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import type { ClaimedJob } from '../../model/job.ts'
import { nextRunNumber } from '../../model/manual-runs.ts'
import { newJobId, occurrenceId } from '../../model/occurrence.ts'
import { planUnsubmittable, withRuns } from '../../model/plan.ts'
import { NO_OPEN_JOBS, type OpenJobs, type Plan, type PlannedRun } from '../../model/planning.ts'
import { integerLiteral, placeholders } from '../literals.ts'
import type {
  Decide,
  Mark,
  SchedulingStore,
  StartLimits,
  Submission,
  SubmitResult,
} from '../scheduling-store.ts'
import { batchTable, lockRows, updateFromBatch, updateRows } from './by-key.ts'
import { startAttempts } from './claim.ts'
import { type Condition, NO_RETRY, OPEN, UNMARKED } from './conditions.ts'
import type { Context, TablesContext } from './context.ts'
import { queueOfSchedule } from './external.ts'
import { freezesFor } from './freezes.ts'
import { groupBy } from '../group-by.ts'
import type { Isolation } from './isolate.ts'
import {
  plannableColumns,
  type PlannableRow,
  plannedFrom,
  startableColumns,
  type StartableRow,
  toPlannable,
} from './rows.ts'
import { endJobs, endingColumns, type EndingRow } from './settle.ts'
import { type Tables } from './tables.ts'

/** Options for submitting marked schedules. */
interface How {
  readonly decide: Decide
  /** Null if no job starts in this transaction. */
  readonly startLimits: StartLimits | null
  /** Whether to check that the jobs do not exist yet, instead of relying on the unique keys. */
  readonly careful: boolean
}

const NOTHING: SubmitResult = { submissions: [], started: [], locked: [], left: [], refused: [] }
/** The number of schedules per transaction if transactions block the event loop. */
export const BATCH = { first: 64, most: 500, ms: PART_MS }
/**
 * Once a transaction has this many jobs, it plans no more schedules. The last schedule may exceed the number, because
 * catching up may need many jobs.
 */
const MAX_JOBS = 500
/**
 * Once a transaction has planned this many slots, it plans no more schedules. The last schedule may exceed the number,
 * after a long absence.
 */
const MAX_SLOTS = 10_000

/** What submissions remember. */
export interface Submitting {
  readonly isolation: Isolation
  readonly batch: Fitting
}

/** Maximum number of schedules in the next transaction. */
export function mostAtOnce({ database, dialect }: TablesContext, { batch }: Submitting): number {
  return dialect.writesInParallel ? database.mostAtOnce() : batch.rows()
}

/** Plans marked schedules and writes the result, in one transaction. */
export async function submit(
  context: TablesContext,
  { isolation, batch }: Submitting,
  [worker, marks, decide, { startLimits = null } = {}]: Parameters<SchedulingStore['submit']>,
): Promise<SubmitResult> {
  const { isContended } = context.dialect
  const write = (some: readonly Mark[], how: How) =>
    context.transaction(async (tx) => {
      const began = performance.now()
      const result = await submitAll(tx, worker, some, how)
      // The duration decides how many schedules are submitted in the next transaction.
      if (!how.careful) batch.took(some.length - result.left.length, performance.now() - began)
      return result
    })
  // The limits are for one transaction, because two together could start more jobs.
  let limits = startLimits
  const { results, left, refused } = await isolation.write<Mark, SubmitResult>(marks, {
    write: (some) => {
      const how = { decide, startLimits: limits, careful: false }
      limits = null
      return write(some, how)
    },
    alone: async (mark) => {
      try {
        return await write([mark], { decide, startLimits: null, careful: true })
      } catch (error) {
        // Another transaction was in the way, so the slot stays due.
        if (isContended(error)) return { ...NOTHING, locked: [mark] }
        throw error
      }
    },
    wrote: ({ submissions }) => submissions.length > 0,
    isOfARow: (error) => !isA(error, StoreUnavailableError) || isContended(error),
  })
  const skipped: SubmitResult[] = []
  // Started jobs must always be reported.
  for (const { item, error } of refused)
    skipped.push(
      await skip(write, item, decide, error).catch((again: unknown) => {
        if (isA(again, StoreUnavailableError)) return { ...NOTHING, locked: [item] }
        return { ...NOTHING, refused: [{ item, error: again }] }
      }),
    )
  return together([...results, { ...NOTHING, locked: left }, ...skipped])
}

/** Skips a slot that the database rejects, with the reason `unsubmittable`. */
async function skip(
  write: (marks: readonly Mark[], how: How) => Promise<SubmitResult>,
  mark: Mark,
  decide: Decide,
  error: unknown,
): Promise<SubmitResult> {
  const skipped: Decide = (...of) => {
    const plan = decide(...of)
    return plan === null ? null : planUnsubmittable(plan, messageOf(error))
  }
  const result = await write([mark], { decide: skipped, startLimits: null, careful: true })
  return { ...result, refused: [{ item: mark, error }] }
}

function together(results: readonly SubmitResult[]): SubmitResult {
  return {
    submissions: results.flatMap((result) => result.submissions),
    started: results.flatMap((result) => result.started),
    locked: results.flatMap((result) => result.locked),
    left: results.flatMap((result) => result.left),
    refused: results.flatMap((result) => result.refused),
  }
}

async function submitAll(
  tx: Context,
  worker: string,
  marks: readonly Mark[],
  { decide, startLimits, careful }: How,
): Promise<SubmitResult> {
  // Locks schedules first, in key order, and then jobs, which is the only order in which locks are taken. Rows that an
  // administrator's open transaction has locked are skipped; otherwise they would block the whole batch.
  const rows = await lockRows<PlannableRow>(tx, {
    table: tx.tables.schedule,
    columns: plannableColumns(tx.dialect),
    ids: marks.map((mark) => mark.id).toSorted(),
  })
  const markedAt = new Map(marks.map((mark) => [mark.id, mark.marked.getTime()]))
  const marked = rows.filter(
    (row) => row.worker === worker && fromText(row.marked)?.getTime() === markedAt.get(row.id),
  )
  const before = await jobsBefore(tx, marked)
  const freezesOf = await freezesFor(
    tx,
    marked.filter(({ id }) => before.get(id)?.hasFreezes === true),
  )
  const held = new Set<string>()
  const planned: Planned[] = []
  const notDue: PlannableRow[] = []
  const left = new Set<string>()
  let jobs = 0
  let slots = 0
  for (const row of marked) {
    if (jobs >= MAX_JOBS || slots >= MAX_SLOTS) {
      left.add(row.id)
      continue
    }
    const of = before.get(row.id)
    if (of === undefined) {
      held.add(row.id)
      continue
    }
    const { open, latestRun } = of
    const plannable = toPlannable(row)
    const plan = decide(plannable, fromStored(row.clock), open, freezesOf(plannable))
    if (plan === null) notDue.push(row)
    else {
      const one = { row, plan, open, latestRun, ids: new Map<number, string>() }
      planned.push(careful ? await withoutDecided(tx, one) : one)
      jobs += plan.runs.length
      slots += plan.runs.length + plan.skips.reduce((sum, { count }) => sum + count, 0)
    }
  }
  const replacing = planned.filter(({ plan }) => plan.replaces).map(({ row }) => row)
  await replaceOpen(
    tx,
    replacing.flatMap(({ id }) => before.get(id)?.jobs ?? []),
  )
  await yieldRetries(
    tx,
    planned.filter(({ plan }) => plan.yields).map(({ row }) => row),
    before,
  )
  const given = replacing.filter((row) => row.retry_at !== null).map(({ id }) => id)
  await updateRows(tx, tx.tables.schedule, NO_RETRY, given)
  await insertScheduleJobs(tx, plannedJobs(careful ? planned : await foldSkips(tx, planned)))
  const started = startLimits === null ? [] : await startPlanned(tx, worker, planned, startLimits)
  await advance(tx, planned)
  await noteNotDue(tx, notDue)
  return {
    submissions: planned.map((one) => ({
      id: one.row.id,
      task: one.row.task,
      timer: one.row.timer,
      plan: one.plan,
      jobs: one.plan.runs.map((run) => idOf(one, run)),
    })) satisfies Submission[],
    started,
    locked: [...(await stillLocked(tx, marks, rows)), ...marks.filter(({ id }) => held.has(id))],
    left: marks.filter(({ id }) => left.has(id)),
    refused: [],
  }
}

/**
 * Leaves out the slots that already have a row in the job table, although the schedule's row does not show it. A run
 * replaces a skip that was written while the clock was ahead, because that slot was not missed after all. Only the
 * schedule and the slot matter: if another row has the id of an occurrence, the occurrence gets a different id.
 */
async function withoutDecided(tx: Context, planned: Planned): Promise<Planned> {
  const { row, plan, ids } = planned
  const decided = new Set<string>()
  const { job } = tx.tables
  for (const one of [...plan.runs, ...plan.skips]) {
    const id = occurrenceId(row.id, one.slot)
    const slot = toText(one.slot)
    const found = await tx.rows<{ id: string; own: number; early_skip: number }>(
      `SELECT id,
         CASE WHEN periodic_task_id = ? AND slot = ? THEN 1 ELSE 0 END AS own,
         CASE WHEN state = 'skipped' AND finished > ? THEN 1 ELSE 0 END AS early_skip
       FROM ${job}
       WHERE (periodic_task_id = ? AND slot = ?) OR id = ${tx.dialect.jobId}`,
      [row.id, slot, row.clock, row.id, slot, id],
    )
    const existing = found.find(({ own }) => own === 1)
    if (existing?.early_skip === 1 && 'state' in one)
      await tx.run(`DELETE FROM ${job} WHERE id = ${tx.dialect.jobId}`, [existing.id])
    else if (existing !== undefined) decided.add(slot)
    // Another row has this id.
    else if (found.length > 0) ids.set(one.slot.getTime(), newJobId(one.slot))
  }
  const isNew = ({ slot }: { slot: Date }) => !decided.has(toText(slot))
  // The first remaining run is blocked only if the first planned run was.
  const [first] = plan.runs
  const runs = plan.runs
    .filter(isNew)
    .map((run, index): PlannedRun => (index === 0 && first ? { ...run, state: first.state } : run))
  return { ...planned, plan: { ...withRuns(plan, runs), skips: plan.skips.filter(isNew) } }
}

/** Advances the schedules and ends their marks. */
async function advance(tx: Context, planned: readonly Planned[]): Promise<void> {
  await updateFromBatch(
    tx,
    tx.tables.schedule,
    {
      id: 'schedule id',
      nextrun: 'instant',
      idle: 'text',
      last_slot: 'instant',
      last_error: 'long text',
      last_run: 'instant',
      last_job: 'job id',
      planned_from: 'text',
      frozen_until: 'instant',
    },
    planned.map((one) => {
      const { row, plan } = one
      const newest = plan.runs.at(-1)
      return {
        id: row.id,
        nextrun: plan.nextRunAt && toText(plan.nextRunAt),
        idle: plan.idle,
        last_slot: plan.lastSlot && toText(plan.lastSlot),
        last_error: plan.lastError,
        last_run: newest === undefined ? null : row.clock,
        last_job: newest === undefined ? null : idOf(one, newest),
        // Uses the row as read under the lock; the column itself would include a later edit.
        planned_from: plannedFrom(row.definition, plan),
        frozen_until: plan.frozenUntil && toText(plan.frozenUntil),
      }
    }),
    {
      nextrun: 'b.nextrun',
      idle: 'b.idle',
      last_slot: 'b.last_slot',
      last_error: 'b.last_error',
      last_run: 'COALESCE(b.last_run, t.last_run)',
      last_job: 'COALESCE(b.last_job, t.last_job)',
      planned_from: 'b.planned_from',
      frozen_until: 'b.frozen_until',
      ...UNMARKED,
    },
  )
}

/** Ends the marks of rows that are not due, and records the state from which they were planned. */
async function noteNotDue(tx: Context, rows: readonly PlannableRow[]): Promise<void> {
  await updateFromBatch(
    tx,
    tx.tables.schedule,
    { id: 'schedule id', planned_from: 'text' },
    rows.map((row) => ({ id: row.id, planned_from: plannedFrom(row.definition, toPlannable(row)) })),
    { planned_from: 'b.planned_from', ...UNMARKED },
  )
}

/** The marks whose rows were locked; marks of deleted rows are forgotten. */
async function stillLocked(
  tx: Context,
  marks: readonly Mark[],
  rows: readonly PlannableRow[],
): Promise<Mark[]> {
  if (rows.length === marks.length) return []
  const seen = new Set(rows.map((row) => row.id))
  const missing = marks.filter((mark) => !seen.has(mark.id))
  const existing = await tx.rows<{ id: string }>(
    `SELECT id FROM ${tx.tables.schedule} WHERE id IN (${placeholders(missing)})`,
    missing.map((mark) => mark.id),
  )
  const exists = new Set(existing.map((row) => row.id))
  return missing.filter((mark) => exists.has(mark.id))
}

/** A statement has a limited number of parameters. */
const AT_ONCE = 500

/** A planned schedule, with everything needed to write its jobs. */
interface Planned {
  readonly row: PlannableRow
  readonly plan: Plan
  /** The schedule's open jobs before the plan. */
  readonly open: OpenJobs
  /** The number of the schedule's newest run before the plan, or 0 if there is none yet. */
  readonly latestRun: number
  /** The ids of the schedule's jobs that are known so far, by slot. */
  readonly ids: Map<number, string>
}

/** The id of the job for a planned slot. */
function idOf({ row, ids }: Planned, { slot }: { readonly slot: Date }): string {
  const id = ids.get(slot.getTime()) ?? occurrenceId(row.id, slot)
  ids.set(slot.getTime(), id)
  return id
}

interface OpenJob {
  readonly id: string
  readonly schedule: string
  readonly state: 'waiting' | 'blocked' | 'running' | 'external'
  readonly attempt: number
}

/** The jobs of a schedule before it is planned. */
interface JobsBefore {
  /** The jobs that are not final. */
  readonly jobs: readonly OpenJob[]
  readonly open: OpenJobs
  readonly latestRun: number
  /** Whether there are freezes that have not ended before the schedule's next run. */
  readonly hasFreezes: boolean
}

/**
 * The non-final jobs of the schedules, even if the unique key does not cover them, because they may have been submitted
 * under another policy. Jobs that may be replaced or give way are locked, so that no worker claims them in the
 * meantime.
 *
 * @returns the jobs by schedule, without schedules whose jobs another transaction has locked
 */
async function jobsBefore(
  tx: Context,
  rows: readonly PlannableRow[],
): Promise<ReadonlyMap<string, JobsBefore>> {
  if (rows.length === 0) return new Map()
  const { dialect, tables } = tx
  const { job, schedule, freeze, openIndex } = tables
  const ids = rows.map((row) => row.id)
  const found = await tx.rows<
    OpenJob | { id: null; schedule: string; number: number | null; freezes: number }
  >(
    `SELECT id, periodic_task_id AS schedule, state, attempt, NULL AS number, NULL AS freezes
     FROM ${dialect.found(job, { index: openIndex })}
     WHERE open_key IN (${placeholders(ids)})
     UNION ALL
     SELECT NULL, s.id, NULL, NULL, ${latestRun(tables)},
       (SELECT COUNT(*) FROM ${freeze} AS f WHERE ${dialect.instant('f.until')} > ${dialect.instant('s.nextrun')})
     FROM ${dialect.found(`${schedule} AS s`, 'key')}
     WHERE s.id IN (${placeholders(ids)})`,
    [...ids, ...ids],
  )
  const open = found.flatMap((one) => (one.id === null ? [] : [one]))
  const replacing = new Set(
    rows.filter((row) => row.overlap === 'replace' || row.yields === 1).map((row) => row.id),
  )
  // Locks by key, after the keys were found, because locks through another index could deadlock with those of a claim.
  const replaceable = open.filter((one) => replacing.has(one.schedule))
  const got = await lockRows<OpenJob>(tx, {
    table: job,
    columns: 'id, periodic_task_id AS schedule, state, attempt',
    ids: replaceable.map((one) => one.id),
    where: OPEN,
  })
  const gotIds = new Set(got.map(({ id }) => id))
  const held = await stillOpen(
    tx,
    replaceable.filter(({ id }) => !gotIds.has(id)),
  )
  const jobs = groupBy([...open.filter((one) => !replacing.has(one.schedule)), ...got], (one) => one.schedule)
  return new Map(
    found.flatMap((one) => {
      if (one.id !== null || held.has(one.schedule)) return []
      const of = jobs.get(one.schedule) ?? []
      const hasFreezes = one.freezes > 0
      return [[one.schedule, { jobs: of, open: countStates(of), latestRun: one.number ?? 0, hasFreezes }]]
    }),
  )
}

/**
 * The number of a schedule's jobs that are not final. The schedule's row is locked, so the number cannot change.
 */
export async function openJobs(
  { select, rows, dialect, tables, locking }: Context,
  schedule: string,
): Promise<OpenJobs> {
  const { job, openIndex: index } = tables
  const open = await rows<Pick<OpenJob, 'state' | 'attempt'>>(
    `${select(['state', 'attempt'])} FROM ${dialect.found(job, { index })} WHERE open_key = ? ${locking}`,
    [schedule],
  )
  return countStates(open)
}

/** The schedules of those jobs that have not ended in the meantime. */
async function stillOpen(tx: Context, jobs: readonly OpenJob[]): Promise<ReadonlySet<string>> {
  if (jobs.length === 0) return new Set()
  const rows = await tx.rows<{ schedule: string }>(
    `SELECT periodic_task_id AS schedule FROM ${tx.tables.job}
     WHERE ${OPEN} AND id IN (${placeholders(jobs, tx.dialect.jobId)})`,
    jobs.map(({ id }) => id),
  )
  return new Set(rows.map(({ schedule }) => schedule))
}

const hasStarted = ({ state }: OpenJob) => state === 'running' || state === 'external'

/** Cancels waiting jobs, and asks running jobs and jobs in an external queue to stop. */
async function replaceOpen(tx: Context, jobs: readonly OpenJob[]): Promise<void> {
  const { now } = tx.dialect
  const started = jobs.filter(hasStarted)
  const others = jobs.filter((job) => !hasStarted(job)).map((job) => job.id)
  const cancelled = { state: "'cancelled'", reason: "'replaced'", finished: now, frozen_until: 'NULL' }
  await updateRows(tx, tx.tables.job, cancelled, others)
  await updateRows(
    tx,
    tx.tables.job,
    { stop_requested: `COALESCE(stop_requested, ${now})` },
    started.map(({ id }) => id),
  )
}

/**
 * Cancels the waiting and blocked jobs of a schedule whose row is locked.
 *
 * @param scope  limits this to the owner's jobs
 */
export async function cancelQueued(tx: Context, schedule: string, scope: Condition): Promise<void> {
  const { dialect, tables } = tx
  const queued = "state IN ('waiting', 'blocked')"
  const found = await tx.rows<{ id: string }>(
    `SELECT id FROM ${dialect.found(tables.job, { index: tables.openIndex })}
     WHERE open_key = ? AND ${queued}${scope.text}
     ORDER BY id`,
    [schedule, ...scope.params],
  )
  const columns = plannableColumns(dialect)
  const outcome = { state: 'cancelled', reason: null, error: null, result: null } as const
  for (let start = 0; start < found.length; start += AT_ONCE) {
    const rows = await lockRows<EndingRow>(tx, {
      table: tables.job,
      columns: endingColumns(dialect),
      ids: found.slice(start, start + AT_ONCE).map(({ id }) => id),
      locked: 'wait',
      where: queued,
    })
    const of = await lockRows<PlannableRow>(tx, { table: tables.schedule, columns, ids: [schedule] })
    await endJobs(
      tx,
      rows.map((row) => ({ row, outcome })),
      new Map(of.map((row) => [row.id, row])),
      () => null,
    )
  }
}

/** Fails the jobs of these schedules, which all wait for a retry. */
async function yieldRetries(
  tx: Context,
  rows: readonly PlannableRow[],
  before: ReadonlyMap<string, JobsBefore>,
): Promise<void> {
  const ids = rows.flatMap(({ id: schedule }) =>
    (before.get(schedule)?.jobs ?? []).flatMap(({ id, state }) => (state === 'waiting' ? [id] : [])),
  )
  const columns = endingColumns(tx.dialect)
  const jobs = await lockRows<EndingRow>(tx, { table: tx.tables.job, columns, ids: ids.toSorted() })
  const outcome = { state: 'failed', reason: 'yielded', error: null, result: null } as const
  const schedules = new Map(rows.map((row) => [row.id, row]))
  await endJobs(
    tx,
    jobs.map((row) => ({ row, outcome })),
    schedules,
    // The plan has decided the next run.
    () => null,
  )
}

/**
 * Merges a skip into the previous skip if it has the same reason, so that a long run leaves one row in the history
 * instead of one per slot.
 *
 * @returns the plans without the merged skips
 */
async function foldSkips(tx: Context, planned: readonly Planned[]): Promise<readonly Planned[]> {
  const candidates = planned.filter(({ row, plan }) => plan.skips.length > 0 && row.last_slot !== null)
  if (candidates.length === 0) return planned
  const found = await tx.rows<{ id: string; schedule: string; reason: string }>(
    `SELECT id, periodic_task_id AS schedule, reason
     FROM ${tx.tables.job}
     WHERE state = 'skipped' AND error IS NULL
       AND (${candidates.map(() => '(periodic_task_id = ? AND slot = ?)').join(' OR ')})`,
    candidates.flatMap(({ row }) => [row.id, row.last_slot]),
  )
  // The skip is merged only if no other transaction has locked it, because the history must not delay a schedule.
  const free = await lockRows<{ id: string }>(tx, {
    table: tx.tables.job,
    columns: 'id',
    ids: found.map(({ id }) => id),
  })
  const freeIds = new Set(free.map(({ id }) => id))
  const before = new Map(found.filter(({ id }) => freeIds.has(id)).map((skip) => [skip.schedule, skip]))
  const folded = candidates.flatMap((candidate) => {
    const { runs, skips } = candidate.plan
    const [skip] = skips
    const into = before.get(candidate.row.id)
    if (skip === undefined || skip.error !== null || into?.reason !== skip.reason) return []
    // The skip is not merged, because there is a run in between.
    return runs.some(({ slot }) => slot < skip.slot) ? [] : [{ candidate, skip, into }]
  })
  if (folded.length === 0) return planned
  await updateFromBatch(
    tx,
    tx.tables.job,
    { id: 'job id', slot: 'instant', count: 'integer', finished: 'instant' },
    folded.map(({ candidate, skip, into }) => ({
      id: into.id,
      slot: toText(skip.slot),
      count: skip.count,
      finished: candidate.row.clock,
    })),
    {
      slot: 'b.slot',
      // The count stops at the largest value, and the schedule continues.
      missed: `CASE WHEN t.missed > ${integerLiteral(MAX_MISSED)} - b.count
        THEN ${integerLiteral(MAX_MISSED)} ELSE t.missed + b.count END`,
      submitted: 'b.finished',
      finished: 'b.finished',
    },
  )
  const isFolded = new Map(folded.map(({ candidate, skip }) => [candidate, skip]))
  return planned.map((one) => {
    const skip = isFolded.get(one)
    return skip === undefined
      ? one
      : { ...one, plan: { ...one.plan, skips: one.plan.skips.filter((other) => other !== skip) } }
  })
}

/** The jobs and skips of planned schedules. */
function plannedJobs(planned: readonly Planned[]): ScheduleJob[] {
  return planned.flatMap((one) => {
    const { row, plan, open, latestRun: latest } = one
    return [
      ...plan.skips.map((skip) => ({
        id: idOf(one, skip),
        schedule: row.id,
        slot: toText(skip.slot),
        missed: skip.count,
        number: null,
        state: 'skipped' as const,
        reason: skip.reason,
        error: skip.error,
        finished: row.clock,
        args: null,
      })),
      ...plan.runs.map((run, index) => ({
        id: idOf(one, run),
        schedule: row.id,
        slot: toText(run.slot),
        missed: run.missed,
        number: nextRunNumber(Math.max(row.run_count + goingOn(open, plan), latest) + index),
        state: run.state,
        reason: null,
        error: null,
        finished: null,
        args: null,
      })),
    ]
  })
}

/** A job to insert with the settings of its schedule. */
export interface ScheduleJob {
  readonly id: string
  readonly schedule: string
  readonly slot: string
  readonly missed: number
  /** The number of the run; null for a skip. */
  readonly number: number | null
  readonly state: 'skipped' | 'waiting' | 'blocked'
  readonly reason: string | null
  readonly error: string | null
  readonly finished: string | null
  /** JSON text; null means the schedule's own args. */
  readonly args: string | null
}

const SCHEDULE_JOB = {
  id: 'job id',
  schedule: 'schedule id',
  slot: 'instant',
  missed: 'integer',
  number: 'integer',
  state: 'text',
  reason: 'text',
  error: 'long text',
  finished: 'instant',
  args: 'long text',
} as const

/**
 * Inserts jobs of schedules whose rows are locked, in the order of the schedules' keys. The batch is one parameter, and
 * args are copied inside the database, so neither exceeds the packet limit of a server.
 */
export async function insertScheduleJobs(tx: Context, jobs: readonly ScheduleJob[]): Promise<void> {
  if (jobs.length === 0) return
  const { dialect, tables } = tx
  const { table, params } = batchTable(dialect, SCHEDULE_JOB, jobs)
  await tx.run(
    `INSERT INTO ${tables.job} (
       id, periodic_task_id, slot, missed, run, task, group_, args,
       subject, submitter, priority, state, exclusive, queue,
       reason, error, finished, submitted, timeout, max_retries, retry_delay, retry_backoff
     )
     SELECT b.id, s.id, b.slot, b.missed, b.number, s.task, s.group_,
       CASE WHEN b.state = 'skipped' THEN '{}' ELSE COALESCE(b.args, s.args) END,
       s.subject, s.submitter, s.priority, b.state, CASE WHEN s.overlap = 'allow' THEN 0 ELSE 1 END,
       CASE WHEN b.state = 'skipped' THEN NULL ELSE ${queueOfSchedule(tables)} END,
       b.reason, b.error, b.finished, ${dialect.now}, s.timeout, s.max_retries, s.retry_delay, s.retry_backoff
     FROM ${dialect.joinedByKey(`${table} AS b`, tables.schedule, 's', 'b.schedule')}
     ORDER BY s.id, b.slot`,
    params,
  )
}

/** Starts newly inserted jobs on this worker, if all of them are within its limits. */
async function startPlanned(
  tx: Context,
  worker: string,
  planned: readonly Planned[],
  limits: StartLimits,
): Promise<ClaimedJob[]> {
  const runs = planned.flatMap((one) => {
    const { task } = one.row
    return one.plan.runs
      .filter(({ state }) => state === 'waiting' && limits.tasks.has(task))
      .map((run) => ({ id: idOf(one, run), task }))
  })
  const fits = (of: readonly unknown[], limit = limits.limit) => of.length <= limit
  if (runs.length === 0 || !fits(runs)) return []
  for (const [task, of] of groupBy(runs, (run) => run.task))
    if (!fits(of, limits.taskLimits.get(task))) return []
  const rows = await tx.rows<StartableRow>(
    `SELECT ${startableColumns(tx.dialect)}
     FROM ${tx.dialect.found(tx.tables.job, 'key')}
     WHERE id IN (${placeholders(runs, tx.dialect.jobId)}) AND queue IS NULL`,
    runs.map((run) => run.id),
  )
  return await startAttempts(tx, worker, rows, limits.tasks)
}

/** The largest value that the column can hold. */
const MAX_MISSED = 2_147_483_647

/** The number of runs that may still be counted before the new ones. */
function goingOn({ waiting, blocked, running }: OpenJobs, { replaces }: Plan): number {
  return replaces ? running : waiting + blocked + running
}

function countStates(jobs: readonly Pick<OpenJob, 'state' | 'attempt'>[]): OpenJobs {
  const counts = { ...NO_OPEN_JOBS }
  for (const { state, attempt } of jobs) {
    counts[state === 'external' ? 'running' : state] += 1
    counts.retrying += Number(state === 'waiting' && attempt > 0)
  }
  return counts
}

/**
 * Expression: the number of the newest run of the schedule `s`; NULL if there is none. Cancelled and replaced runs also
 * have a number, but no counter includes them. The expression costs one probe of the index on occurrences.
 */
export function latestRun({ job }: Pick<Tables, 'job'>): string {
  return `(SELECT j.run FROM ${job} AS j
    WHERE j.periodic_task_id = s.id AND j.run IS NOT NULL
    ORDER BY j.slot DESC LIMIT 1)`
}
