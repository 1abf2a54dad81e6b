import type { ClaimedJob } from '../../model/job.ts'
import { occurrenceId } from '../../model/occurrence.ts'
import { NO_OPEN_JOBS, type OpenJobs, type Plan } from '../../model/plan.ts'
import type { Database, Sql } from '../database.ts'
import { toText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import type { StartLimits } from '../scheduling-store.ts'
import { batchTable } from './batch.ts'
import { startableColumns, type StartableRow, startAttempts } from './start-attempts.ts'
import { groupBy } from './group-by.ts'
import { type PlannableRow } from './rows.ts'
import { placeholders, type Tables } from './tables.ts'

/** What the next run of a planned schedule is written from. */
export interface Planned {
  readonly row: PlannableRow
  readonly plan: Plan
  /** Jobs of it that have not ended, before the plan. */
  readonly open: OpenJobs
  /** The number of its newest run, before the plan; 0: it had none. */
  readonly latestRun: number
  /** By the id of an occurrence, the one that it gets because another row has that id already. */
  readonly otherIds: ReadonlyMap<string, string>
}

/** The id of the job of a planned slot. */
export function idOf({ row, otherIds }: Planned, { slot }: { readonly slot: Date }): string {
  const id = occurrenceId(row.id, slot)
  return otherIds.get(id) ?? id
}

export interface OpenJob {
  readonly id: string
  readonly schedule: string
  readonly state: keyof OpenJobs
}

/** The jobs of a schedule before it is planned. */
export interface JobsBefore {
  /** Those that are not final. */
  readonly jobs: readonly OpenJob[]
  readonly open: OpenJobs
  readonly latestRun: number
}

export const NO_JOBS: JobsBefore = { jobs: [], open: NO_OPEN_JOBS, latestRun: 0 }

/** The jobs of schedules that are being submitted: those that are there, and those that come. */
export class SubmittedJobs {
  readonly #database: Database
  readonly #tables: Tables

  constructor(database: Database, tables: Tables) {
    this.#database = database
    this.#tables = tables
  }

  /**
   * The jobs of the schedules that are not final, whether or not the unique key holds them: the policy may have
   * been another when they were submitted. Where they are to give way they are locked, or one of them could be
   * claimed meanwhile. And the number of the latest run of each.
   */
  async before(sql: Sql, rows: readonly PlannableRow[]): Promise<ReadonlyMap<string, JobsBefore>> {
    if (rows.length === 0) return new Map()
    const { job, stateIndex } = this.#tables
    const { dialect } = this.#database
    const { forUpdate, byIndex, byKey } = dialect
    const ids = rows.map((row) => row.id)
    const found = await sql.rows<OpenJob | { id: null; schedule: string; number: number | null }>(
      `SELECT id, periodic_task_id AS schedule, state, NULL AS number FROM ${job} ${byIndex(stateIndex)} WHERE state IN ('waiting', 'blocked', 'running') AND periodic_task_id IN (${placeholders(ids)}) UNION ALL SELECT NULL, s.id, NULL, ${latestRun(job)} FROM ${this.#tables.schedule} AS s ${byKey} WHERE s.id IN (${placeholders(ids)})`,
      [...ids, ...ids],
    )
    const open = found.flatMap((one) => (one.id === null ? [] : [one]))
    const replacing = new Set(rows.filter((row) => row.overlap === 'replace').map((row) => row.id))
    const giveWay = open.filter((one) => replacing.has(one.schedule))
    // By their keys, which were found first: locks taken through another index would meet those of a claim.
    const locked =
      giveWay.length === 0
        ? []
        : await sql.rows<OpenJob>(
            `SELECT id, periodic_task_id AS schedule, state FROM ${job} ${byKey} WHERE id IN (${placeholders(giveWay)}) AND state IN ('waiting', 'blocked', 'running') ORDER BY id ${forUpdate}`,
            giveWay.map((one) => one.id),
          )
    const jobs = groupBy(
      [...open.filter((one) => !replacing.has(one.schedule)), ...locked],
      (one) => one.schedule,
    )
    return new Map(
      found.flatMap((one) => {
        if (one.id !== null) return []
        const of = jobs.get(one.schedule) ?? []
        return [[one.schedule, { jobs: of, open: countStates(of), latestRun: one.number ?? 0 }]]
      }),
    )
  }

  /** For a job that replaces them: those that wait are cancelled, those that run are asked to stop. */
  async giveWay(sql: Sql, jobs: readonly OpenJob[]): Promise<void> {
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
  async foldSkips(sql: Sql, planned: readonly Planned[]): Promise<readonly Planned[]> {
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
    const { table, params } = batchTable(
      dialect,
      { id: 'id', slot: 'instant', count: 'integer', finished: 'instant' },
      batch,
    )
    const assignments = {
      slot: 'b.slot',
      // The largest count stays: it must keep no schedule from going on.
      missed: `CASE WHEN t.missed + b.count > ${integerLiteral(MOST_MISSED)} THEN ${integerLiteral(MOST_MISSED)} ELSE t.missed + b.count END`,
      submitted: 'b.finished',
      finished: 'b.finished',
    }
    await sql.run(dialect.updateFromBatch(this.#tables.job, table, assignments), params)
    const isFolded = new Map(folded.map(({ candidate, skip }) => [candidate, skip]))
    return planned.map((one) => {
      const skip = isFolded.get(one)
      return skip === undefined
        ? one
        : { ...one, plan: { ...one.plan, skips: one.plan.skips.filter((other) => other !== skip) } }
    })
  }

  async insert(sql: Sql, planned: readonly Planned[], where: 'here' | 'external'): Promise<void> {
    const { schedule, job } = this.#tables
    const { dialect } = this.#database
    const batch = planned.flatMap((one) => {
      const { row, plan, open, latestRun } = one
      return [
        ...plan.skips.map((skip) => ({
          id: idOf(one, skip),
          schedule: row.id,
          slot: toText(skip.slot),
          missed: skip.count,
          number: null,
          state: 'skipped',
          reason: skip.reason,
          error: skip.error,
          finished: row.clock,
        })),
        ...(where === 'external' ? [] : plan.runs).map((run, index) => ({
          id: idOf(one, run),
          schedule: row.id,
          slot: toText(run.slot),
          missed: run.missed,
          number: nextNumber(Math.max(row.run_count + goingOn(open, plan), latestRun) + index),
          state: run.state,
          reason: null,
          error: null,
          finished: null,
        })),
      ]
    })
    if (batch.length === 0) return
    // One parameter for the whole batch, and args copied inside the database: neither grows with the other
    // into the server's packet limit.
    const { table, params } = batchTable(
      dialect,
      {
        id: 'id',
        schedule: 'id',
        slot: 'instant',
        missed: 'integer',
        number: 'integer',
        state: 'text',
        reason: 'text',
        error: 'long text',
        finished: 'instant',
      },
      batch,
    )
    await sql.run(
      `INSERT INTO ${job} (id, periodic_task_id, slot, missed, run, task, group_, args, subject, submitter, priority, state, exclusive, reason, error, finished, submitted, timeout, max_retries, retry_delay, retry_backoff)
       SELECT b.id, s.id, b.slot, b.missed, b.number, s.task, s.group_, CASE WHEN b.state = 'skipped' THEN '{}' ELSE s.args END, s.subject, s.submitter, s.priority, b.state, CASE WHEN s.overlap = 'allow' THEN 0 ELSE 1 END, b.reason, b.error, b.finished, ${dialect.now}, s.timeout, s.max_retries, s.retry_delay, s.retry_backoff
       FROM ${table} AS b ${dialect.straightJoin} ${schedule} AS s ${dialect.byKey} ON s.id = b.schedule ORDER BY s.id, b.slot`,
      params,
    )
  }

  /** Starts the jobs that were just inserted, if all of them are within the worker's limits. */
  async start(
    sql: Sql,
    worker: string,
    planned: readonly Planned[],
    limits: StartLimits,
  ): Promise<ClaimedJob[]> {
    const { dialect } = this.#database
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
    const rows = await sql.rows<StartableRow>(
      `SELECT ${startableColumns(dialect)} FROM ${this.#tables.job} ${dialect.byKey} WHERE id IN (${placeholders(runs)})`,
      runs.map((run) => run.id),
    )
    return startAttempts(sql, dialect, this.#tables, worker, rows, limits.tasks)
  }
}

/** What the column holds. */
const MOST_MISSED = 2_147_483_647

/** The number of the run after this one; the largest stays. */
export function nextNumber(number: number): number {
  return Math.min(number + 1, Number.MAX_SAFE_INTEGER)
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
 * Selects the number of the newest run of the schedule `s`, so that the next has one of its own: those that were
 * cancelled or replaced have had a number too, but are counted nowhere. One probe of the key of occurrences.
 */
export function latestRun(job: string): string {
  return `(SELECT j.run FROM ${job} AS j WHERE j.periodic_task_id = s.id AND j.run IS NOT NULL ORDER BY j.slot DESC LIMIT 1)`
}
