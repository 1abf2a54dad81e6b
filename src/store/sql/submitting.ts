import { Halving, isOfARow } from '../../model/halves.ts'
import { newJobId, occurrenceId } from '../../model/occurrence.ts'
import { type PlannedRun, planFault, withRuns } from '../../model/plan.ts'
import { SetAside } from '../../model/set-aside.ts'
import { messageOf, StoreUnavailableError } from '../../errors.ts'
import type { Database, Sql } from '../database.ts'
import { fromStored, fromText, toText } from '../instant.ts'
import type {
  Decide,
  Mark,
  StartLimits,
  Submission,
  SubmitOptions,
  SubmitResult,
} from '../scheduling-store.ts'
import { batchTable } from './batch.ts'
import { plannableColumns, type PlannableRow, plannedFrom, toPlannable } from './rows.ts'
import { idOf, NO_JOBS, type Planned, SubmittedJobs } from './submitted-jobs.ts'
import { placeholders, type Tables } from './tables.ts'

/** How marked schedules are submitted. */
interface How {
  readonly decide: Decide
  readonly where: 'here' | 'external'
  /** null: no job starts in this transaction. */
  readonly startLimits: StartLimits | null
  /** Trust no key: look whether the jobs are there already, however they came there. */
  readonly careful: boolean
}

const NO_OTHERS: ReadonlyMap<string, string> = new Map()
/** How long a row that failed is submitted by itself; the first success ends this. */
const BACK_OFF = { firstMs: 600_000, longestMs: 3_600_000, most: 1000, now: () => performance.now() }
const NOTHING: SubmitResult = { submissions: [], started: [], locked: [], failed: [] }

function together(results: readonly SubmitResult[]): SubmitResult {
  return {
    submissions: results.flatMap((result) => result.submissions),
    started: results.flatMap((result) => result.started),
    locked: results.flatMap((result) => result.locked),
    failed: results.flatMap((result) => result.failed),
  }
}

/** One after the other. */
async function each<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) results.push(await work(item))
  return results
}

/** Plans marked schedules and writes what comes of them, in one transaction. */
export class Submitting {
  readonly #database: Database
  readonly #tables: Tables
  readonly #jobs: SubmittedJobs
  readonly #failed = new SetAside(BACK_OFF)
  readonly #halving = new Halving()

  constructor(database: Database, tables: Tables) {
    this.#database = database
    this.#tables = tables
    this.#jobs = new SubmittedJobs(database, tables)
  }

  async submit(
    worker: string,
    marks: readonly Mark[],
    decide: Decide,
    { where = 'here', startLimits = null }: SubmitOptions = {},
  ): Promise<SubmitResult> {
    const how = { decide, where, startLimits: null, careful: false }
    const alone = (mark: Mark) => this.#submitAlone(worker, mark, decide, where)
    const fault = (mark: Mark, error: unknown) => this.#fault(worker, mark, decide, where, error)
    const aloneOrFault = (mark: Mark) =>
      alone(mark).catch((error: unknown) => {
        if (error instanceof StoreUnavailableError) throw error
        return fault(mark, error)
      })
    const suspects = marks.filter(({ id }) => this.#failed.has(id))
    // The limits apply to one transaction: two could together start more jobs.
    let first = where === 'here' ? startLimits : null
    const others = marks.filter((mark) => !suspects.includes(mark))
    const results = await this.#halving.run<Mark, SubmitResult>(others, {
      work: async (some) => {
        const all = { ...how, startLimits: first }
        first = null
        try {
          return await this.#database.transaction((sql) => this.#submitAll(sql, worker, some, all))
        } catch (error) {
          if (some.length === 1 || !this.#database.dialect.isContended(error)) throw error
          // A lock wait takes seconds. By themselves, only those that are locked wait again.
          return together(await each(some, aloneOrFault))
        }
      },
      alone,
      wrote: ({ submissions }) => submissions.length > 0,
      refused: fault,
      isOfAnItem: (error) => isOfARow(error) || this.#database.dialect.isContended(error),
    })
    // Those that failed before come last, and by themselves. Jobs that have started must be reported in any case.
    const last = await each(suspects, (mark) =>
      aloneOrFault(mark).catch((error: unknown) => {
        if (error instanceof StoreUnavailableError) return { ...NOTHING, locked: [mark] }
        throw error
      }),
    )
    return together([...results, ...last])
  }

  /** A row by itself. @throws when it is refused */
  async #submitAlone(worker: string, mark: Mark, decide: Decide, where: How['where']): Promise<SubmitResult> {
    try {
      const how = { decide, where, startLimits: null, careful: true }
      const result = await this.#database.transaction((sql) => this.#submitAll(sql, worker, [mark], how))
      this.#failed.forget(mark.id)
      return result
    } catch (error) {
      // Somebody else is in the way: no reason to give the slot up.
      if (this.#database.dialect.isContended(error)) return { ...NOTHING, locked: [mark] }
      throw error
    }
  }

  /** What cannot be submitted for a lasting reason is skipped as a fault. */
  async #fault(
    worker: string,
    mark: Mark,
    decide: Decide,
    where: How['where'],
    error: unknown,
  ): Promise<SubmitResult> {
    this.#failed.add(mark.id, error)
    const skip: Decide = (schedule, now, open) => {
      const plan = decide(schedule, now, open)
      return plan === null || plan === 'again' ? plan : planFault(plan, messageOf(error))
    }
    try {
      const how = { decide: skip, where, startLimits: null, careful: true }
      const result = await this.#database.transaction((sql) => this.#submitAll(sql, worker, [mark], how))
      return { ...result, failed: [{ id: mark.id, error }] }
    } catch (again) {
      if (again instanceof StoreUnavailableError) throw again
      return { ...NOTHING, failed: [{ id: mark.id, error: again }] }
    }
  }

  async #submitAll(
    sql: Sql,
    worker: string,
    marks: readonly Mark[],
    { decide, where, startLimits, careful }: How,
  ): Promise<SubmitResult> {
    const { schedule } = this.#tables
    const { skipLocked, byKey } = this.#database.dialect
    const ids = marks.map((mark) => mark.id).toSorted()
    // Schedules first and in the order of their key, jobs after them: the one order of locks. A row that an
    // administrator's open transaction holds is passed over, or it would hold the whole batch.
    const rows = await sql.rows<PlannableRow>(
      `SELECT ${plannableColumns(this.#database.dialect)} FROM ${schedule} ${byKey} WHERE id IN (${placeholders(ids)}) ORDER BY id ${skipLocked}`,
      ids,
    )
    const markedAt = new Map(marks.map((mark) => [mark.id, mark.marked.getTime()]))
    const owned = rows.filter(
      (row) => row.worker === worker && fromText(row.marked)?.getTime() === markedAt.get(row.id),
    )
    const before = await this.#jobs.before(sql, owned)
    const planned: Planned[] = []
    const notDue: PlannableRow[] = []
    const again: string[] = []
    for (const row of owned) {
      const { open, latestRun } = before.get(row.id) ?? NO_JOBS
      const plan = decide(toPlannable(row), fromStored(row.clock), open)
      if (plan === null) notDue.push(row)
      else if (plan === 'again') again.push(row.id)
      else
        planned.push(
          careful
            ? await this.#withoutDecided(sql, { row, plan, open, latestRun, otherIds: NO_OTHERS })
            : { row, plan, open, latestRun, otherIds: NO_OTHERS },
        )
    }
    await this.#jobs.giveWay(
      sql,
      planned.flatMap(({ row, plan }) => (plan.replaces ? (before.get(row.id)?.jobs ?? []) : [])),
    )
    await this.#jobs.insert(sql, careful ? planned : await this.#jobs.foldSkips(sql, planned), where)
    const started = startLimits === null ? [] : await this.#jobs.start(sql, worker, planned, startLimits)
    await this.#advance(sql, planned)
    await this.#unmark(sql, notDue)
    if (again.length > 0) {
      await sql.run(
        `UPDATE ${schedule} ${byKey} SET worker = NULL, marked = NULL, mark_ends = NULL WHERE id IN (${placeholders(again)})`,
        again,
      )
    }
    return {
      submissions: planned.map((one) => ({
        id: one.row.id,
        task: one.row.task,
        timer: one.row.timer,
        plan: one.plan,
        jobs: one.plan.runs.map((run) => idOf(one, run)),
      })) satisfies Submission[],
      started,
      locked: await this.#locked(sql, marks, rows),
      failed: [],
    }
  }

  /**
   * Leaves out the slots that stand in the job table already, although the schedule says otherwise. Only schedule and
   * slot decide: where another row has the id of an occurrence, the occurrence gets another id.
   */
  async #withoutDecided(sql: Sql, planned: Planned): Promise<Planned> {
    const { row, plan } = planned
    const decided = new Set<string>()
    const otherIds = new Map<string, string>()
    for (const { slot } of [...plan.runs, ...plan.skips]) {
      const id = occurrenceId(row.id, slot)
      const found = await sql.rows<{ own: number }>(
        `SELECT CASE WHEN periodic_task_id = ? AND slot = ? THEN 1 ELSE 0 END AS own FROM ${this.#tables.job} WHERE (periodic_task_id = ? AND slot = ?) OR id = ?`,
        [row.id, toText(slot), row.id, toText(slot), id],
      )
      if (found.some(({ own }) => own === 1)) decided.add(toText(slot))
      else if (found.length > 0) otherIds.set(id, newJobId(slot))
    }
    const isNew = ({ slot }: { slot: Date }) => !decided.has(toText(slot))
    // The first of those that are left has before it what the first of all had.
    const [first] = plan.runs
    const runs = plan.runs
      .filter(isNew)
      .map((run, index): PlannedRun => (index === 0 && first ? { ...run, state: first.state } : run))
    return { ...planned, plan: { ...withRuns(plan, runs), skips: plan.skips.filter(isNew) }, otherIds }
  }

  /** Moves the schedules on and ends their marks. */
  async #advance(sql: Sql, planned: readonly Planned[]): Promise<void> {
    if (planned.length === 0) return
    const batch = planned.map(({ row, plan }) => ({
      id: row.id,
      nextrun: plan.nextRun && toText(plan.nextRun),
      idle: plan.idle,
      last_slot: plan.lastSlot && toText(plan.lastSlot),
      last_error: plan.lastError,
      // From what was read and verified under lock; the column itself would already hold a later edit.
      planned_from: plannedFrom(row.definition, plan.nextRun),
    }))
    const { dialect } = this.#database
    const { table, params } = batchTable(
      dialect,
      {
        id: 'id',
        nextrun: 'instant',
        idle: 'text',
        last_slot: 'instant',
        last_error: 'long text',
        planned_from: 'text',
      },
      batch,
    )
    const assignments = {
      nextrun: 'b.nextrun',
      idle: 'b.idle',
      last_slot: 'b.last_slot',
      last_error: 'b.last_error',
      planned_from: 'b.planned_from',
      worker: 'NULL',
      marked: 'NULL',
      mark_ends: 'NULL',
    }
    await sql.run(dialect.updateFromBatch(this.#tables.schedule, table, assignments), params)
  }

  /** Ends the marks of rows that turned out not to be due, and takes note of what they were found to be. */
  async #unmark(sql: Sql, rows: readonly PlannableRow[]): Promise<void> {
    if (rows.length === 0) return
    const { dialect } = this.#database
    // What was read, whatever it says: or an instant that is none would keep the row due for ever.
    const batch = rows.map((row) => ({ id: row.id, planned_from: `${row.definition}|${row.nextrun ?? ''}` }))
    const assignments = { planned_from: 'b.planned_from', worker: 'NULL', marked: 'NULL', mark_ends: 'NULL' }
    const { table, params } = batchTable(dialect, { id: 'id', planned_from: 'text' }, batch)
    await sql.run(dialect.updateFromBatch(this.#tables.schedule, table, assignments), params)
  }

  /** Marks whose row was passed over; a row that is gone is forgotten. */
  async #locked(sql: Sql, marks: readonly Mark[], rows: readonly PlannableRow[]): Promise<Mark[]> {
    if (rows.length === marks.length) return []
    const seen = new Set(rows.map((row) => row.id))
    const missing = marks.filter((mark) => !seen.has(mark.id))
    const there = await sql.rows<{ id: string }>(
      `SELECT id FROM ${this.#tables.schedule} WHERE id IN (${placeholders(missing)})`,
      missing.map((mark) => mark.id),
    )
    const alive = new Set(there.map((row) => row.id))
    return missing.filter((mark) => alive.has(mark.id))
  }
}
