import { occurrenceId } from '../../model/occurrence.ts'
import { NO_OPEN_JOBS, type OpenJobs, type Plan } from '../../model/plan.ts'
import type { Database, Dialect, Sql } from '../database.ts'
import { toText } from '../instant.ts'
import { batchTable } from './batch.ts'
import { groupBy } from './group-by.ts'
import { type PlannableRow } from './rows.ts'
import { placeholders, type Tables } from './tables.ts'

/** What the next run of a planned schedule is written from. */
export interface Planned {
  readonly row: PlannableRow
  readonly plan: Plan
  /** Jobs of it that have not ended, before the plan. */
  readonly open: OpenJobs
}

export interface OpenJob {
  readonly id: string
  readonly schedule: string
  readonly state: keyof OpenJobs
}

export interface OpenOfSchedule {
  readonly jobs: readonly OpenJob[]
  readonly counts: OpenJobs
}

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
   * claimed meanwhile.
   */
  async open(sql: Sql, rows: readonly PlannableRow[]): Promise<ReadonlyMap<string, OpenOfSchedule>> {
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
      missed: 't.missed + b.count',
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

  async insert(sql: Sql, planned: readonly Planned[], where: 'here' | 'elsewhere'): Promise<void> {
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
