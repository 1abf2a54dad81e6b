import { messageOf, StoreUnavailableError } from '../../errors.ts'
import { Fitting, PART_MS } from '../../event-loop.ts'
import { Halving, isOfARow } from '../../model/halves.ts'
import { newJobId, occurrenceId } from '../../model/occurrence.ts'
import { type PlannedRun, planUnsubmittable, withRuns } from '../../model/plan.ts'
import { SetAside } from '../../model/set-aside.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import type {
  Decide,
  Mark,
  StartLimits,
  Submission,
  SubmitOptions,
  SubmitResult,
} from '../scheduling-store.ts'
import { updateFromBatch } from './batch.ts'
import { lockRows, updateRows } from './by-key.ts'
import { NO_RETRY, UNMARKED } from './conditions.ts'
import { Contention } from './contention.ts'
import type { Context, TablesContext } from './context.ts'
import { freezesFor } from './freezes.ts'
import { plannableColumns, type PlannableRow, plannedFrom, toPlannable } from './rows.ts'
import {
  foldSkips,
  idOf,
  insertScheduleJobs,
  jobsBefore,
  type Planned,
  plannedJobs,
  replaceOpen,
  startPlanned,
  yieldRetries,
} from './schedule-jobs.ts'
import { placeholders } from './tables.ts'

/** How to submit marked schedules. */
interface How {
  readonly decide: Decide
  /** null: no job starts in this transaction. */
  readonly startLimits: StartLimits | null
  /** Whether to check that the jobs do not exist yet, instead of relying on the unique keys. */
  readonly careful: boolean
}

/** How long a row that failed is submitted alone. The first success ends this. */
const BACK_OFF = { firstMs: 600_000, longestMs: 3_600_000, most: 1000, now: () => performance.now() }
const NOTHING: SubmitResult = { submissions: [], started: [], locked: [], left: [], failed: [] }
/** Schedules per transaction, if the event loop waits for it. */
const BATCH = { first: 64, most: 500, ms: PART_MS }
/** The most jobs per transaction, but all of one schedule: catching up may need many for each. */
const MOST_JOBS = 500
/** The most slots that one transaction plans, but all of one schedule: after a long absence, many were missed. */
const MOST_SLOTS = 10_000

function together(results: readonly SubmitResult[]): SubmitResult {
  return {
    submissions: results.flatMap((result) => result.submissions),
    started: results.flatMap((result) => result.started),
    locked: results.flatMap((result) => result.locked),
    left: results.flatMap((result) => result.left),
    failed: results.flatMap((result) => result.failed),
  }
}

async function each<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) results.push(await work(item))
  return results
}

/** Plans marked schedules and writes the result, in one transaction. */
export class Submitting {
  readonly #context: TablesContext
  readonly #failed = new SetAside(BACK_OFF)
  readonly #contention: Contention
  readonly #halving = new Halving()
  readonly #batch = new Fitting(BATCH)

  constructor(context: TablesContext) {
    this.#context = context
    this.#contention = new Contention(context.dialect)
  }

  /** The most schedules of the next transaction. */
  mostAtOnce(): number {
    const { database, dialect } = this.#context
    return dialect.writesInParallel ? database.mostAtOnce() : this.#batch.rows()
  }

  async submit(
    worker: string,
    marks: readonly Mark[],
    decide: Decide,
    { startLimits = null }: SubmitOptions = {},
  ): Promise<SubmitResult> {
    const how = { decide, startLimits: null, careful: false }
    const alone = (mark: Mark) => this.#submitAlone(worker, mark, decide)
    const unsubmittable = (mark: Mark, error: unknown) => this.#unsubmittable(worker, mark, decide, error)
    const aloneOrSkipped = (mark: Mark) =>
      alone(mark).catch((error: unknown) => {
        if (error instanceof StoreUnavailableError) throw error
        return unsubmittable(mark, error)
      })
    const suspects = marks.filter(({ id }) => this.#failed.has(id))
    // The limits are for one transaction: two together could start more jobs.
    let first = startLimits
    const others = marks.filter((mark) => !suspects.includes(mark))
    const results = await this.#halving.run<Mark, SubmitResult>(others, {
      work: async (some) => {
        const { results: done, left } = await this.#contention.run(some, (marked) => {
          const all = { ...how, startLimits: first }
          first = null
          return this.#context.transaction((tx) => this.#submitTogether(tx, worker, marked, all))
        })
        return together([...done, { ...NOTHING, locked: left }])
      },
      alone,
      wrote: ({ submissions }) => submissions.length > 0,
      refused: unsubmittable,
      isOfAnItem: (error) => isOfARow(error) || this.#context.dialect.isContended(error),
    })
    // Schedules that failed before come last, one by one. Jobs that have started must be reported in any case.
    const last = await each(suspects, (mark) =>
      aloneOrSkipped(mark).catch((error: unknown) => {
        if (error instanceof StoreUnavailableError) return { ...NOTHING, locked: [mark] }
        throw error
      }),
    )
    return together([...results, ...last])
  }

  /** How long it takes decides how many are submitted in the next transaction. */
  async #submitTogether(
    tx: Context,
    worker: string,
    marks: readonly Mark[],
    how: How,
  ): Promise<SubmitResult> {
    const started = performance.now()
    const result = await submitAll(tx, worker, marks, how)
    this.#batch.took(marks.length - result.left.length, performance.now() - started)
    return result
  }

  /** Submits one schedule on its own. @throws when the database rejects it */
  async #submitAlone(worker: string, mark: Mark, decide: Decide): Promise<SubmitResult> {
    try {
      const how = { decide, startLimits: null, careful: true }
      const { results, left } = await this.#contention.run([mark], (marked) =>
        this.#context.transaction((tx) => submitAll(tx, worker, marked, how)),
      )
      if (results.length > 0) this.#failed.forget(mark.id)
      return together([...results, { ...NOTHING, locked: left }])
    } catch (error) {
      // Another transaction was in the way: the slot stays due.
      if (this.#context.dialect.isContended(error)) return { ...NOTHING, locked: [mark] }
      throw error
    }
  }

  /** Skips a slot that the database permanently rejects, as unsubmittable. */
  async #unsubmittable(worker: string, mark: Mark, decide: Decide, error: unknown): Promise<SubmitResult> {
    this.#failed.add(mark.id, error)
    const skip: Decide = (...of) => {
      const plan = decide(...of)
      return plan === null ? null : planUnsubmittable(plan, messageOf(error))
    }
    try {
      const how = { decide: skip, startLimits: null, careful: true }
      const result = await this.#context.transaction((tx) => submitAll(tx, worker, [mark], how))
      return { ...result, failed: [{ id: mark.id, error }] }
    } catch (again) {
      if (again instanceof StoreUnavailableError) throw again
      return { ...NOTHING, failed: [{ id: mark.id, error: again }] }
    }
  }
}

async function submitAll(
  tx: Context,
  worker: string,
  marks: readonly Mark[],
  { decide, startLimits, careful }: How,
): Promise<SubmitResult> {
  // Locks schedules first, in key order, and jobs after them: the only order in which locks are taken. Rows that an
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
    if (jobs >= MOST_JOBS || slots >= MOST_SLOTS) {
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
    failed: [],
  }
}

/**
 * Leaves out the slots that already have a row in the job table, although the schedule does not know it. A run takes the
 * place of a skip that was written while the clock was ahead, because that slot is not missed after all. Only schedule
 * and slot decide: if another row has the id of an occurrence, the occurrence gets another id.
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
        // Uses the row as it was read under lock; the column itself would already include a later edit.
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

/** Ends the marks of rows that are not due after all, and records what they were planned from. */
async function noteNotDue(tx: Context, rows: readonly PlannableRow[]): Promise<void> {
  await updateFromBatch(
    tx,
    tx.tables.schedule,
    { id: 'schedule id', planned_from: 'text' },
    rows.map((row) => ({ id: row.id, planned_from: plannedFrom(row.definition, toPlannable(row)) })),
    { planned_from: 'b.planned_from', ...UNMARKED },
  )
}

/** The marks whose rows were locked; deleted rows are forgotten. */
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
