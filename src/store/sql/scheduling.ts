import { occurrenceId } from '../../model/occurrence.ts'
import {
  NO_OPEN_JOBS,
  type OpenJobs,
  type Plan,
  type PlannedRun,
  planFault,
  withRuns,
} from '../../model/plan.ts'
import { StoreUnavailableError } from '../../errors.ts'
import type { Database, Dialect, Sql } from '../database.ts'
import { fromStored, fromText, toText } from '../instant.ts'
import type {
  Decide,
  Look,
  Mark,
  MarkedSchedule,
  SchedulingStore,
  Submission,
  SubmitResult,
} from '../scheduling-store.ts'
import { groupBy } from './group-by.ts'
import {
  plannableColumns,
  type PlannableRow,
  plannedFrom,
  scheduleColumns,
  type ScheduleRow,
  toPlannable,
  toSchedule,
} from './rows.ts'
import { placeholders, type Tables } from './tables.ts'

/** What the next run of a planned schedule is written from. */
interface Planned {
  readonly row: PlannableRow
  readonly plan: Plan
  /** Jobs of it that have not ended, before the plan. */
  readonly open: OpenJobs
}

/** How marked schedules are submitted. */
interface Submitting {
  readonly decide: Decide
  readonly where: 'here' | 'elsewhere'
  /** Trust no key: look whether the jobs are there already, however they came there. */
  readonly careful: boolean
}

interface OpenJob {
  readonly id: string
  readonly schedule: string
  readonly state: keyof OpenJobs
}

interface OpenOfSchedule {
  readonly jobs: readonly OpenJob[]
  readonly counts: OpenJobs
}

export class SqlScheduling implements SchedulingStore {
  readonly #database: Database
  readonly #tables: Tables

  constructor(database: Database, tables: Tables) {
    this.#database = database
    this.#tables = tables
  }

  async look(tasks: readonly string[]): Promise<Look> {
    const { schedule, job, claimIndex } = this.#tables
    const { now, turns } = this.#database.dialect
    // Two ends of indexes, and the groups with claimable jobs as a loose index scan: it does not grow with the
    // jobs that others are to run.
    const claimable =
      tasks.length === 0
        ? '0'
        : `EXISTS (SELECT 1 FROM ${turns(job, claimIndex)} AS turns WHERE claim_task IN (${placeholders(tasks)}))`
    const [row] = await this.#database.rows<{
      clock: string
      wake_at: string | null
      due_at: string | null
      claimable: number
    }>(
      `SELECT ${now} AS clock, (SELECT MIN(wake_at) FROM ${schedule}) AS wake_at, (SELECT MIN(due_at) FROM ${job}) AS due_at, ${claimable} AS claimable`,
      tasks,
    )
    if (row === undefined) throw new StoreUnavailableError('The database answered a look with no row')
    return {
      now: fromStored(row.clock),
      wakeAt: fromText(row.wake_at),
      dueAt: fromText(row.due_at),
      claimable: row.claimable !== 0,
    }
  }

  markDue(worker: string, limit: number, leaseMs: number): Promise<Mark[]> {
    const { schedule, wakeIndex } = this.#tables
    const { now, skipLocked, byIndex, byKey } = this.#database.dialect
    return this.#database.transaction(async (sql) => {
      // wake_at alone filters and orders, so only the rows that are marked get locked; rows that others hold
      // are passed over. With the mark inside wake_at, rows marked by others are not even walked over.
      const due = await sql.rows<{ id: string; clock: string }>(
        `SELECT id, ${now} AS clock FROM ${schedule} ${byIndex(wakeIndex)} WHERE wake_at <= ${now} ORDER BY wake_at LIMIT ${limit} ${skipLocked}`,
      )
      const [first] = due
      if (first === undefined) return []
      const marked = fromStored(first.clock)
      const ids = due.map((row) => row.id)
      await sql.run(
        `UPDATE ${schedule} ${byKey} SET worker = ?, marked = ?, mark_ends = ? WHERE id IN (${placeholders(ids)})`,
        [worker, first.clock, toText(new Date(marked.getTime() + leaseMs)), ...ids],
      )
      return ids.map((id) => ({ id, marked }))
    })
  }

  async submit(
    worker: string,
    marks: readonly Mark[],
    decide: Decide,
    where: 'here' | 'elsewhere' = 'here',
  ): Promise<SubmitResult> {
    if (marks.length === 0) return { submissions: [], locked: [], failed: [] }
    const how = { decide, where, careful: false }
    try {
      return await this.#database.transaction((sql) => this.#submitAll(sql, worker, marks, how))
    } catch (error) {
      if (error instanceof StoreUnavailableError && !this.#database.dialect.isContended(error)) throw error
      // One bad row must not keep the others: row by row.
      const results: SubmitResult[] = []
      for (const mark of marks) results.push(await this.#submitOne(worker, mark, { ...how, careful: true }))
      return {
        submissions: results.flatMap((result) => result.submissions),
        locked: results.flatMap((result) => result.locked),
        failed: results.flatMap((result) => result.failed),
      }
    }
  }

  async readMarked(worker: string, marks: readonly Mark[]): Promise<MarkedSchedule[]> {
    if (marks.length === 0) return []
    const rows = await this.#database.rows<ScheduleRow>(
      `SELECT ${scheduleColumns(this.#database.dialect)} FROM ${this.#tables.schedule} WHERE worker = ? AND id IN (${placeholders(marks)}) ORDER BY id`,
      [worker, ...marks.map((mark) => mark.id)],
    )
    return rows.map((row) => ({
      plannable: toPlannable(row),
      schedule: toSchedule(row),
      now: fromStored(row.clock),
    }))
  }

  async clearStaleMarks(worker: string, leaseMs: number): Promise<number> {
    const { schedule, worker: workers } = this.#tables
    const { now, instant } = this.#database.dialect
    // The name with the slash before the incarnation, which has none: 'web' is not 'web/eu'.
    const name = worker.slice(0, worker.lastIndexOf('/') + 1)
    // In characters, as the database counts.
    const length = Array.from(name).length
    // Marks end within the lease, so they are all in this range of the index. Read first, then ended by key and
    // fence: a mark that somebody made meanwhile stays.
    const stale = await this.#database.rows<{ id: string; worker: string; marked: string | null }>(
      `SELECT id, worker, ${instant('marked')} AS marked FROM ${schedule} WHERE wake_at BETWEEN ${now} AND ? AND worker IS NOT NULL AND worker <> ? AND ((SUBSTR(worker, 1, ${length}) = ? AND INSTR(SUBSTR(worker, ${length + 1}), '/') = 0) OR worker NOT IN (SELECT id FROM ${workers}))`,
      [toText(new Date((await this.#now()).getTime() + 2 * leaseMs)), worker, name],
    )
    return this.#endMarks(stale)
  }

  async sweep(leaseMs: number): Promise<string[]> {
    const { schedule, job } = this.#tables
    const { instant } = this.#database.dialect
    const healed: string[] = []
    // A mark that a hand edit or a clock has moved far ahead would hold the row for as long.
    const tooFar = await this.#database.rows<{ id: string; worker: string; marked: string | null }>(
      `SELECT id, worker, ${instant('marked')} AS marked FROM ${schedule} WHERE worker IS NOT NULL AND wake_at > ?`,
      [toText(new Date((await this.#now()).getTime() + 2 * leaseMs))],
    )
    if (tooFar.length > 0 && (await this.#endMarks(tooFar)) > 0)
      healed.push(`marks that would have ended too late: ${tooFar.map((row) => row.id).join(', ')}`)
    // A blocked job whose turn nobody is left to announce: deleted by hand, or cut off by a crash.
    const blocked = await this.#database.rows<{ id: string }>(
      `SELECT MIN(id) AS id FROM ${job} AS b WHERE state = 'blocked' AND NOT EXISTS (SELECT 1 FROM ${job} AS a WHERE a.state IN ('waiting', 'running') AND a.periodic_task_id = b.periodic_task_id) GROUP BY periodic_task_id LIMIT 1000`,
    )
    for (const { id } of blocked) {
      const promoted = await this.#database.transaction(async (sql) => {
        const [row] = await sql.rows<{ schedule: string }>(
          `SELECT periodic_task_id AS schedule FROM ${job} WHERE id = ? AND state = 'blocked'`,
          [id],
        )
        if (row === undefined) return 0
        await sql.rows(`SELECT id FROM ${schedule} WHERE id = ? ${this.#database.dialect.forUpdate}`, [
          row.schedule,
        ])
        const active = await sql.rows(
          `SELECT id FROM ${job} WHERE state IN ('waiting', 'running') AND periodic_task_id = ?`,
          [row.schedule],
        )
        return active.length > 0
          ? 0
          : sql.run(`UPDATE ${job} SET state = 'waiting' WHERE id = ? AND state = 'blocked'`, [id])
      })
      if (promoted > 0) healed.push(`the job ${id} was blocked by nothing`)
    }
    // Its job was deleted by hand, so that no end of it will come: planned from now.
    const idle = await this.#database.rows<{ id: string }>(
      `SELECT id FROM ${schedule} AS s WHERE idle = 'running' AND NOT EXISTS (SELECT 1 FROM ${job} AS a WHERE a.state IN ('waiting', 'blocked', 'running') AND a.periodic_task_id = s.id)`,
    )
    for (const { id } of idle) {
      const replanned = await this.#database.run(
        `UPDATE ${schedule} SET planned_from = NULL WHERE id = ? AND idle = 'running' AND NOT EXISTS (SELECT 1 FROM ${job} AS a WHERE a.state IN ('waiting', 'blocked', 'running') AND a.periodic_task_id = ${schedule}.id)`,
        [id],
      )
      if (replanned > 0) healed.push(`the schedule ${id} waited for the end of a run that there is not`)
    }
    return healed
  }

  async #now(): Promise<Date> {
    const [row] = await this.#database.rows<{ clock: string }>(
      `SELECT ${this.#database.dialect.now} AS clock`,
    )
    return fromStored(row?.clock ?? '')
  }

  async #endMarks(marks: readonly { id: string; worker: string; marked: string | null }[]): Promise<number> {
    if (marks.length === 0) return 0
    const { byKey, instant, skipLocked } = this.#database.dialect
    const fences = new Map(marks.map((mark) => [mark.id, mark]))
    return this.#database.transaction(async (sql) => {
      // A row that somebody holds is passed over: its mark ends by itself.
      const rows = await sql.rows<{ id: string; worker: string | null; marked: string | null }>(
        `SELECT id, worker, ${instant('marked')} AS marked FROM ${this.#tables.schedule} ${byKey} WHERE id IN (${placeholders(marks)}) ORDER BY id ${skipLocked}`,
        marks.map((mark) => mark.id),
      )
      const same = rows.filter(
        (row) => row.worker === fences.get(row.id)?.worker && row.marked === fences.get(row.id)?.marked,
      )
      if (same.length === 0) return 0
      return sql.run(
        `UPDATE ${this.#tables.schedule} ${byKey} SET worker = NULL, marked = NULL, mark_ends = NULL WHERE id IN (${placeholders(same)})`,
        same.map((row) => row.id),
      )
    })
  }

  /** A row by itself: what cannot be submitted for a lasting reason is skipped as a fault. */
  async #submitOne(worker: string, mark: Mark, how: Submitting): Promise<SubmitResult> {
    const submitOne = (decide: Decide) =>
      this.#database.transaction((sql) => this.#submitAll(sql, worker, [mark], { ...how, decide }))
    try {
      return await submitOne(how.decide)
    } catch (error) {
      // Somebody else is in the way: no reason to give the slot up.
      if (this.#database.dialect.isContended(error)) return { submissions: [], locked: [mark], failed: [] }
      if (error instanceof StoreUnavailableError) throw error
      const reason = error instanceof Error ? error.message : String(error)
      try {
        const result = await submitOne((schedule, now, open) => {
          const plan = how.decide(schedule, now, open)
          return plan === null || plan === 'again' ? plan : planFault(plan, reason)
        })
        return { ...result, failed: [{ id: mark.id, error }] }
      } catch (again) {
        if (again instanceof StoreUnavailableError) throw again
        return { submissions: [], locked: [], failed: [{ id: mark.id, error: again }] }
      }
    }
  }

  async #submitAll(
    sql: Sql,
    worker: string,
    marks: readonly Mark[],
    { decide, where, careful }: Submitting,
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
    const open = await this.#open(sql, owned)
    const planned: Planned[] = []
    const notDue: PlannableRow[] = []
    const again: string[] = []
    for (const row of owned) {
      const counts = open.get(row.id)?.counts ?? NO_OPEN_JOBS
      const plan = decide(toPlannable(row), fromStored(row.clock), counts)
      if (plan === null) notDue.push(row)
      else if (plan === 'again') again.push(row.id)
      else
        planned.push({
          row,
          plan: careful ? await this.#withoutDecided(sql, row.id, plan) : plan,
          open: counts,
        })
    }
    await this.#giveWay(
      sql,
      planned.flatMap(({ row, plan }) => (plan.replaces ? (open.get(row.id)?.jobs ?? []) : [])),
    )
    await this.#insertJobs(sql, careful ? planned : await this.#foldSkips(sql, planned), where)
    await this.#advance(sql, planned)
    await this.#unmark(sql, notDue)
    if (again.length > 0) {
      await sql.run(
        `UPDATE ${schedule} ${byKey} SET worker = NULL, marked = NULL, mark_ends = NULL WHERE id IN (${placeholders(again)})`,
        again,
      )
    }
    return {
      submissions: planned.map(({ row, plan }) => ({
        id: row.id,
        task: row.task,
        timer: row.timer,
        plan,
        jobs: plan.runs.map((run) => occurrenceId(row.id, run.slot)),
      })) satisfies Submission[],
      locked: await this.#locked(sql, marks, rows),
      failed: [],
    }
  }

  /**
   * The jobs of the schedules that are not final, whether or not the unique key holds them: the policy may have
   * been another when they were submitted. Where they are to give way they are locked, or one of them could be
   * claimed meanwhile.
   */
  async #open(sql: Sql, rows: readonly PlannableRow[]): Promise<ReadonlyMap<string, OpenOfSchedule>> {
    const open = new Map<string, OpenOfSchedule>()
    if (rows.length === 0) return open
    const { forUpdate, byIndex, byKey } = this.#database.dialect
    const found = await sql.rows<OpenJob>(
      `SELECT id, periodic_task_id AS schedule, state FROM ${this.#tables.job} ${byIndex(this.#tables.stateIndex)} WHERE state IN ('waiting', 'blocked', 'running') AND periodic_task_id IN (${placeholders(rows)})`,
      rows.map((row) => row.id),
    )
    const replacing = new Set(rows.filter((row) => row.overlap === 'replace').map((row) => row.id))
    const giveWay = found.filter((job) => replacing.has(job.schedule))
    // By their keys, which were found first: locks taken through another index would meet those of a claim.
    const locked =
      giveWay.length === 0
        ? []
        : await sql.rows<OpenJob>(
            `SELECT id, periodic_task_id AS schedule, state FROM ${this.#tables.job} ${byKey} WHERE id IN (${placeholders(giveWay)}) AND state IN ('waiting', 'blocked', 'running') ORDER BY id ${forUpdate}`,
            giveWay.map((job) => job.id),
          )
    const jobs = [...found.filter((job) => !replacing.has(job.schedule)), ...locked]
    for (const [id, of] of groupBy(jobs, (job) => job.schedule))
      open.set(id, { jobs: of, counts: countStates(of) })
    return open
  }

  /** For a job that replaces them: those that wait are cancelled, those that run are asked to stop. */
  async #giveWay(sql: Sql, jobs: readonly OpenJob[]): Promise<void> {
    if (jobs.length === 0) return
    const { now, byKey } = this.#database.dialect
    const running = jobs.filter((job) => job.state === 'running').map((job) => job.id)
    const others = jobs.filter((job) => job.state !== 'running').map((job) => job.id)
    const update = (assignments: string, ids: readonly string[]) =>
      sql.run(
        `UPDATE ${this.#tables.job} ${byKey} SET ${assignments} WHERE id IN (${placeholders(ids)})`,
        ids,
      )
    if (others.length > 0) await update(`state = 'cancelled', reason = 'replaced', finished = ${now}`, others)
    if (running.length > 0) await update(`stop_requested = COALESCE(stop_requested, ${now})`, running)
  }

  /**
   * A skip that follows another for the same reason is counted in that row, so that a run that takes long leaves
   * one row of history and not one for each slot.
   *
   * @returns the plans without the skips that were folded
   */
  async #foldSkips(sql: Sql, planned: readonly Planned[]): Promise<readonly Planned[]> {
    const candidates = planned.filter(({ row, plan }) => plan.skips.length > 0 && row.last_slot !== null)
    if (candidates.length === 0) return planned
    const { dialect } = this.#database
    const found = await sql.rows<{ id: string; schedule: string; reason: string }>(
      `SELECT id, periodic_task_id AS schedule, reason FROM ${this.#tables.job} WHERE state = 'skipped' AND error IS NULL AND (${candidates.map(() => '(periodic_task_id = ? AND slot = ?)').join(' OR ')})`,
      candidates.flatMap(({ row }) => [row.id, row.last_slot]),
    )
    const before = new Map(found.map((skip) => [skip.schedule, skip]))
    const folded = candidates.flatMap((candidate) => {
      const { runs, skips } = candidate.plan
      const [skip] = skips
      const into = before.get(candidate.row.id)
      if (skip === undefined || skip.error !== null || into?.reason !== skip.reason) return []
      // A run in between, and it follows that one.
      return runs.some(({ slot }) => slot < skip.slot) ? [] : [{ candidate, skip, into }]
    })
    if (folded.length === 0) return planned
    const batch = folded.map(({ candidate, skip, into }) => ({
      id: into.id,
      slot: toText(skip.slot),
      count: skip.count,
      finished: candidate.row.clock,
    }))
    const table = dialect.batch({ id: 'id', slot: 'instant', count: 'integer', finished: 'instant' })
    const assignments = {
      slot: 'b.slot',
      missed: 't.missed + b.count',
      submitted: 'b.finished',
      finished: 'b.finished',
    }
    await sql.run(dialect.updateFromBatch(this.#tables.job, table, assignments), [JSON.stringify(batch)])
    const isFolded = new Map(folded.map(({ candidate, skip }) => [candidate, skip]))
    return planned.map((one) => {
      const skip = isFolded.get(one)
      return skip === undefined
        ? one
        : { ...one, plan: { ...one.plan, skips: one.plan.skips.filter((other) => other !== skip) } }
    })
  }

  /** Leaves out what stands in the job table already, although the schedule says otherwise. */
  async #withoutDecided(sql: Sql, id: string, plan: Plan): Promise<Plan> {
    const decided = new Set<string>()
    for (const { slot } of [...plan.runs, ...plan.skips]) {
      const found = await sql.rows(
        `SELECT id FROM ${this.#tables.job} WHERE (periodic_task_id = ? AND slot = ?) OR id = ?`,
        [id, toText(slot), occurrenceId(id, slot)],
      )
      if (found.length > 0) decided.add(toText(slot))
    }
    const isNew = ({ slot }: { slot: Date }) => !decided.has(toText(slot))
    // The first of those that are left has before it what the first of all had.
    const [first] = plan.runs
    const runs = plan.runs
      .filter(isNew)
      .map((run, index): PlannedRun => (index === 0 && first ? { ...run, state: first.state } : run))
    return { ...withRuns(plan, runs), skips: plan.skips.filter(isNew) }
  }

  async #insertJobs(sql: Sql, planned: readonly Planned[], where: 'here' | 'elsewhere'): Promise<void> {
    const { schedule, job } = this.#tables
    const { dialect } = this.#database
    const running = where === 'elsewhere' ? [] : planned.filter(({ plan }) => plan.runs.length > 0)
    const lastNumbers = await latestRunNumbers(
      sql,
      dialect,
      this.#tables,
      running.map(({ row }) => row.id),
    )
    const batch = planned.flatMap(({ row, plan, open }) => [
      ...plan.skips.map((skip) => ({
        id: occurrenceId(row.id, skip.slot),
        schedule: row.id,
        slot: toText(skip.slot),
        missed: skip.count,
        number: null,
        state: 'skipped',
        reason: skip.reason,
        error: skip.error,
        finished: row.clock,
      })),
      ...(where === 'elsewhere' ? [] : plan.runs).map((run, index) => ({
        id: occurrenceId(row.id, run.slot),
        schedule: row.id,
        slot: toText(run.slot),
        missed: run.missed,
        number: Math.max(row.run_count + goingOn(open, plan), lastNumbers.get(row.id) ?? 0) + index + 1,
        state: run.state,
        reason: null,
        error: null,
        finished: null,
      })),
    ])
    if (batch.length === 0) return
    // One parameter for the whole batch, and args copied inside the database: neither grows with the other
    // into the server's packet limit.
    const table = dialect.batch({
      id: 'id',
      schedule: 'id',
      slot: 'instant',
      missed: 'integer',
      number: 'integer',
      state: 'text',
      reason: 'text',
      error: 'long text',
      finished: 'instant',
    })
    await sql.run(
      `INSERT INTO ${job} (id, periodic_task_id, slot, missed, run, task, group_, args, subject, submitter, priority, state, exclusive, reason, error, finished, submitted, timeout, max_retries, retry_delay, retry_backoff)
       SELECT b.id, s.id, b.slot, b.missed, b.number, s.task, s.group_, CASE WHEN b.state = 'skipped' THEN '{}' ELSE s.args END, s.subject, s.submitter, s.priority, b.state, CASE WHEN s.overlap = 'allow' THEN 0 ELSE 1 END, b.reason, b.error, b.finished, ${dialect.now}, s.timeout, s.max_retries, s.retry_delay, s.retry_backoff
       FROM ${table} AS b ${dialect.straightJoin} ${schedule} AS s ${dialect.byKey} ON s.id = b.schedule ORDER BY s.id, b.slot`,
      [JSON.stringify(batch)],
    )
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
    const table = dialect.batch({
      id: 'id',
      nextrun: 'instant',
      idle: 'text',
      last_slot: 'instant',
      last_error: 'long text',
      planned_from: 'text',
    })
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
    await sql.run(dialect.updateFromBatch(this.#tables.schedule, table, assignments), [JSON.stringify(batch)])
  }

  /** Ends the marks of rows that turned out not to be due, and takes note of what they were found to be. */
  async #unmark(sql: Sql, rows: readonly PlannableRow[]): Promise<void> {
    if (rows.length === 0) return
    const { dialect } = this.#database
    // What was read, whatever it says: or an instant that is none would keep the row due for ever.
    const batch = rows.map((row) => ({ id: row.id, planned_from: `${row.definition}|${row.nextrun ?? ''}` }))
    const assignments = { planned_from: 'b.planned_from', worker: 'NULL', marked: 'NULL', mark_ends: 'NULL' }
    const table = dialect.batch({ id: 'id', planned_from: 'text' })
    await sql.run(dialect.updateFromBatch(this.#tables.schedule, table, assignments), [JSON.stringify(batch)])
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

/** Runs that may still count before the new ones do. */
function goingOn({ waiting, blocked, running }: OpenJobs, { replaces }: Plan): number {
  return replaces ? running : waiting + blocked + running
}

function countStates(jobs: readonly OpenJob[]): OpenJobs {
  const counts = { ...NO_OPEN_JOBS }
  for (const job of jobs) counts[job.state] += 1
  return counts
}

/**
 * The number of the newest run of each schedule, so that the next has one of its own: those that were cancelled or
 * replaced have had a number too, but are counted nowhere. One probe of the key of occurrences for each.
 */
export async function latestRunNumbers(
  sql: Sql,
  dialect: Dialect,
  { schedule, job }: Tables,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await sql.rows<{ id: string; number: number | null }>(
    `SELECT s.id AS id, (SELECT j.run FROM ${job} AS j WHERE j.periodic_task_id = s.id AND j.run IS NOT NULL ORDER BY j.slot DESC LIMIT 1) AS number FROM ${schedule} AS s ${dialect.byKey} WHERE s.id IN (${placeholders(ids)})`,
    ids,
  )
  return new Map(rows.map((row) => [row.id, row.number ?? 0]))
}
