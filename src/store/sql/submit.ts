/**
 * Submits marked schedules: plans them, inserts their jobs, and advances them, in one transaction.
 *
 * Locks schedules first, by key, in key order and with SKIP LOCKED, and then only those jobs that a plan may replace.
 * Open jobs of a schedule are found through the index on (open_key, open_turn), and the newest run through the index on
 * (periodic_task_uid, slot). Both indexes are unique, so no race can create a second job for a slot, or a second exclusive job
 * that runs or waits.
 */
import { isA, messageOf, StoreUnavailableError } from '../../errors.ts'
import { VERSION } from '../../generated/version.ts'
import { type Fitting, PART_MS } from '../../event-loop.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import type { ClaimedJob } from '../../model/job.ts'
import { planUnsubmittable, UnreadableTimerError } from '../../model/plan.ts'
import type { Plan } from '../../model/planning.ts'
import { groupBy } from '../group-by.ts'
import { placeholders } from '../literals.ts'
import type {
  Decide,
  Mark,
  SchedulingStore,
  StartLimits,
  Submission,
  SubmitResult,
} from '../scheduling-store.ts'
import { lockRows, updateFromBatch, updateRows } from './by-key.ts'
import { startAttempts } from './start.ts'
import { NO_RETRY, UNMARKED } from './conditions.ts'
import type { Context, TablesContext } from './context.ts'
import { freezesFor } from './freezes.ts'
import type { Isolation } from './isolate.ts'
import { jobsBefore, replaceOpen, yieldRetries } from './open-jobs.ts'
import {
  plannableColumns,
  type PlannableRow,
  PLANNED,
  plannedFrom,
  startableColumns,
  type StartableRow,
  toPlannable,
} from './rows.ts'
import {
  foldSkips,
  idOf,
  insertScheduleJobs,
  type Planned,
  plannedJobs,
  withoutDecided,
} from './schedule-jobs.ts'

interface How {
  readonly decide: Decide
  /** Null if no job may start in this transaction. */
  readonly startLimits: StartLimits | null
  /** Whether to check that the jobs do not exist yet, instead of relying on the unique keys. */
  readonly careful: boolean
}

const NOTHING: SubmitResult = { submissions: [], started: [], locked: [], left: [], refused: [] }
/** The number of schedules per transaction if transactions block the event loop. */
export const BATCH = { first: 64, most: 500, ms: PART_MS }
/**
 * A transaction that has planned this many jobs or slots plans no more schedules. Its last schedule may exceed the
 * limit.
 */
const MAX_JOBS = 500
const MAX_SLOTS = 10_000

export interface Submitting {
  readonly isolation: Isolation
  readonly batch: Fitting
}

export async function submit(
  context: TablesContext,
  { isolation, batch }: Submitting,
  [worker, marks, decide, startLimits = null]: Parameters<SchedulingStore['submit']>,
): Promise<SubmitResult> {
  const { isContended } = context.dialect
  const write = async (some: readonly Mark[], how: How) => {
    let unreadable: readonly Unreadable[] = []
    const result = await context.transaction(async (tx) => {
      const began = performance.now()
      const submitted = await submitAll(tx, worker, some, how)
      unreadable = submitted.unreadable
      // The duration decides how many schedules are submitted in the next transaction.
      if (!how.careful) batch.took(some.length - submitted.left.length, performance.now() - began)
      return submitted
    })
    for (const { row, error } of unreadable)
      context.isolations.of('plan').leaveOut({ id: row.id }, new Error(judged(error.message)))
    return result
  }
  // Only the first transaction may start jobs, because two transactions together could exceed the limits.
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
        // Blocked by another transaction, so the slot stays due.
        if (isContended(error)) return { ...NOTHING, locked: [mark] }
        throw error
      }
    },
    wrote: ({ submissions }) => submissions.length > 0,
    isOfARow: (error) => !isA(error, StoreUnavailableError) || isContended(error),
  })
  const skipped: SubmitResult[] = []
  // Errors are caught here, because jobs that have started must always be reported.
  for (const { item, error } of refused)
    skipped.push(
      await skip(write, item, decide, error).catch((again: unknown) => {
        if (isA(again, StoreUnavailableError)) return { ...NOTHING, locked: [item] }
        return { ...NOTHING, refused: [{ item, error: again }] }
      }),
    )
  return together([...results, { ...NOTHING, locked: left }, ...skipped])
}

/** Skips a slot that the database has rejected, with the reason `unsubmittable`. */
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
): Promise<SubmitResult & { readonly unreadable: readonly Unreadable[] }> {
  // Locks schedules first, in key order, and then jobs, as all transactions do. Rows that an administrator's open
  // transaction has locked are skipped; otherwise they would block the whole batch.
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
    marked.filter(({ uid }) => before.get(uid)?.hasFreezes === true),
  )
  const held = new Set<string>()
  const planned: Planned[] = []
  const notDue: PlannableRow[] = []
  const unreadable: Unreadable[] = []
  const left = new Set<string>()
  let jobs = 0
  let slots = 0
  for (const row of marked) {
    if (jobs >= MAX_JOBS || slots >= MAX_SLOTS) {
      left.add(row.id)
      continue
    }
    const of = before.get(row.uid)
    if (of === undefined) {
      held.add(row.id)
      continue
    }
    const { open, latestRun } = of
    const plannable = toPlannable(row)
    const plan = decidedOrError(() => decide(plannable, fromStored(row.clock), open, freezesOf(plannable)))
    if (plan instanceof UnreadableTimerError) unreadable.push({ row, error: plan })
    else if (plan === null) notDue.push(row)
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
    replacing.flatMap(({ uid }) => before.get(uid)?.jobs ?? []),
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
  await updateFromBatch(
    tx,
    tx.tables.schedule,
    { id: 'schedule id', ...MARK },
    unreadable.map(({ row: { id, worker: by, marked: at } }) => ({ id, worker: by, marked: at })),
    UNMARKED,
    isMarked(tx),
  )
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
    unreadable,
  }
}

/** A verdict about a timer names its judge, because another worker may have newer zone data or a newer version. */
const judged = (text: string) =>
  `${text} (read by Kalends ${VERSION} with the zone data ${process.versions['tz'] ?? 'of its Node.js'})`

/** A schedule that only other processes can plan. */
interface Unreadable {
  readonly row: PlannableRow
  readonly error: UnreadableTimerError
}

function decidedOrError(decided: () => Plan | null): Plan | UnreadableTimerError | null {
  try {
    return decided()
  } catch (error) {
    if (error instanceof UnreadableTimerError) return error
    throw error
  }
}

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
      ...PLANNED,
      frozen_until: 'instant',
      ...MARK,
    },
    planned.map((one) => {
      const { row, plan } = one
      const newest = plan.runs.at(-1)
      return {
        id: row.id,
        nextrun: plan.nextRunAt && toText(plan.nextRunAt),
        idle: plan.idle,
        last_slot: plan.lastSlot && toText(plan.lastSlot),
        last_error:
          plan.idle === 'invalid' && plan.lastError !== null ? judged(plan.lastError) : plan.lastError,
        last_run: newest === undefined ? null : row.clock,
        last_job: newest === undefined ? null : idOf(one, newest),
        ...plannedFrom(row.definition, plan),
        frozen_until: plan.frozenUntil && toText(plan.frozenUntil),
        worker: row.worker,
        marked: row.marked,
      }
    }),
    {
      nextrun: 'b.nextrun',
      idle: 'b.idle',
      last_slot: 'b.last_slot',
      last_error: 'b.last_error',
      last_run: 'COALESCE(b.last_run, t.last_run)',
      last_job: 'COALESCE(b.last_job, t.last_job)',
      ...FROM_BATCH,
      frozen_until: 'b.frozen_until',
      ...UNMARKED,
    },
    isMarked(tx),
  )
}

const FROM_BATCH = Object.fromEntries(Object.keys(PLANNED).map((column) => [column, `b.${column}`]))

/** The columns of the mark under which a schedule is submitted. */
const MARK = { worker: 'text', marked: 'instant' } as const
const isMarked = ({ dialect }: Context) => `t.worker = b.worker AND ${dialect.instant('t.marked')} = b.marked`

/** Ends the marks of rows that are not due, and records the state from which they were planned. */
async function noteNotDue(tx: Context, rows: readonly PlannableRow[]): Promise<void> {
  await updateFromBatch(
    tx,
    tx.tables.schedule,
    { id: 'schedule id', ...PLANNED, ...MARK },
    rows.map((row) => ({
      id: row.id,
      ...plannedFrom(row.definition, toPlannable(row)),
      worker: row.worker,
      marked: row.marked,
    })),
    { ...FROM_BATCH, ...UNMARKED },
    isMarked(tx),
  )
}

/** The marks whose rows other transactions had locked; marks of deleted rows are left out. */
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
  const rows = await tx.select<StartableRow>(
    startableColumns(tx.dialect),
    `FROM ${tx.dialect.found(tx.tables.job, 'key')}
     WHERE id IN (${placeholders(runs, tx.dialect.jobId)}) AND queue IS NULL AND +ready = 1`,
    runs.map((run) => run.id),
  )
  return await startAttempts(tx, worker, rows, limits.tasks)
}
