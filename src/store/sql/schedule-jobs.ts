/**
 * Inserts the jobs and skips of planned schedules, unless they already exist or are merged into the previous skip.
 *
 * The rows of the schedules must be locked. A unique index on (periodic_task_uid, slot) prevents a second job for a
 * slot; the unique index on (open_key, open_turn) prevents a second exclusive job that runs or waits.
 */
import { toText } from '../../model/instant.ts'
import { nextRunNumber } from '../../model/manual-runs.ts'
import { newJobId, occurrenceId } from '../../model/occurrence.ts'
import { withRuns } from '../../model/plan.ts'
import type { OpenJobs, Plan, PlannedRun } from '../../model/planning.ts'
import { JOB_SETTING_NAMES, settingOf } from '../../model/settings.ts'
import { integerLiteral } from '../literals.ts'
import { type BatchRow, batchTable, lockIds, updateFromBatch } from './by-key.ts'
import type { AnyContext, Context } from './context.ts'
import { queueOfSchedule } from './external.ts'
import type { PlannableRow } from './rows.ts'

export interface Planned {
  readonly row: PlannableRow
  readonly plan: Plan
  /** The schedule's open jobs before this plan. */
  readonly open: OpenJobs
  /** The number of the newest run before this plan, or 0 if there is none yet. */
  readonly latestRun: number
  /** The known ids of the schedule's jobs, by slot. */
  readonly ids: Map<number, string>
}

export function idOf({ row, ids }: Planned, { slot }: { readonly slot: Date }): string {
  const id = ids.get(slot.getTime()) ?? occurrenceId(row.uid, slot)
  ids.set(slot.getTime(), id)
  return id
}

const MAX_MISSED = 2_147_483_647

/**
 * Leaves out slots that already have a row in the job table, even if the schedule's row does not reflect this. A run
 * replaces a skip that was written while the clock was ahead, because that slot was not missed after all. Only the `uid`
 * of the schedule and the slot matter: if another row has the id of an occurrence, the occurrence gets a different id.
 */
export async function withoutDecided(tx: Context, planned: Planned): Promise<Planned> {
  const { row, plan, ids } = planned
  const { jobId } = tx.dialect
  const decided = new Set<string>()
  const { job } = tx.tables
  for (const one of [...plan.runs, ...plan.skips]) {
    const id = occurrenceId(row.uid, one.slot)
    const slot = toText(one.slot)
    const found = await tx.rows<{ id: string; own: number; early_skip: number }>(
      `SELECT id,
         CASE WHEN periodic_task_uid = ${jobId} AND slot = ? THEN 1 ELSE 0 END AS own,
         CASE WHEN state = 'skipped' AND finished > ? THEN 1 ELSE 0 END AS early_skip
       FROM ${job}
       WHERE (periodic_task_uid = ${jobId} AND slot = ?) OR id = ${jobId}`,
      [row.uid, slot, row.clock, row.uid, slot, id],
    )
    const existing = found.find(({ own }) => own === 1)
    if (existing?.early_skip === 1 && 'state' in one)
      await tx.run(`DELETE FROM ${job} WHERE id = ${jobId}`, [existing.id])
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

/**
 * Merges a skip into the previous skip if both have the same reason, so that a long-running job, for example, leaves
 * one skip in the history instead of one per slot.
 *
 * @returns the plans without the merged skips
 */
export async function foldSkips(tx: Context, planned: readonly Planned[]): Promise<readonly Planned[]> {
  const candidates = planned.filter(({ row, plan }) => plan.skips.length > 0 && row.last_slot !== null)
  if (candidates.length === 0) return planned
  const isOf = `(periodic_task_uid = ${tx.dialect.jobId} AND slot = ?)`
  const found = await tx.rows<{ id: string; uid: string; reason: string }>(
    `SELECT id, periodic_task_uid AS uid, reason
     FROM ${tx.tables.job}
     WHERE state = 'skipped' AND error IS NULL
       AND (${candidates.map(() => isOf).join(' OR ')})`,
    candidates.flatMap(({ row }) => [row.uid, row.last_slot]),
  )
  // A skip is merged only if no other transaction has locked the previous one, because the history must not delay a
  // schedule.
  const ids = found.map(({ id }) => id)
  const free = new Set(await lockIds(tx, tx.tables.job, ids))
  const before = new Map(found.filter(({ id }) => free.has(id)).map((skip) => [skip.uid, skip]))
  const folded = candidates.flatMap((candidate) => {
    const { runs, skips } = candidate.plan
    const [skip] = skips
    const into = before.get(candidate.row.uid)
    if (skip === undefined || skip.error !== null || into?.reason !== skip.reason) return []
    // The skip is not merged if there is a run in between.
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

export function plannedJobs(planned: readonly Planned[]) {
  return planned.flatMap((one) => {
    const { row, plan, open, latestRun: latest } = one
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

const SCHEDULE_JOB = {
  id: 'job id',
  schedule: 'schedule id',
  slot: 'instant',
  missed: 'integer',
  /** The number of the run; null for a skip. */
  number: 'integer',
  state: 'text',
  reason: 'text',
  error: 'long text',
  finished: 'instant',
  /** JSON text; null means the schedule's own args. */
  args: 'long text',
} as const

/** The columns that jobs copy from their schedule; args have a rule of their own. */
const COPIED = JOB_SETTING_NAMES.map((name) => settingOf(name).column).filter((column) => column !== 'args')

/**
 * Inserts jobs in the order of the index on (open_key, open_turn), in which outcomes are written, too. The rows of the
 * schedules must be locked. The batch is one parameter, and args are copied inside the database, so neither exceeds the
 * packet limit of a server.
 */
export async function insertScheduleJobs(
  tx: AnyContext,
  jobs: readonly BatchRow<typeof SCHEDULE_JOB>[],
): Promise<void> {
  if (jobs.length === 0) return
  const { dialect, tables } = tx
  const { table, params } = batchTable(dialect, SCHEDULE_JOB, jobs)
  await tx.run(
    `INSERT INTO ${tables.job} (
       id, periodic_task_id, periodic_task_uid, slot, missed, run, ${COPIED.join(', ')}, args,
       state, exclusive, queue, reason, error, finished, submitted
     )
     SELECT b.id, s.id, s.uid, b.slot, b.missed, b.number, ${COPIED.map((column) => `s.${column}`).join(', ')},
       CASE WHEN b.state = 'skipped' THEN '{}' ELSE COALESCE(b.args, s.args) END,
       b.state, CASE WHEN s.overlap = 'allow' THEN 0 ELSE 1 END,
       CASE WHEN b.state = 'skipped' THEN NULL ELSE ${queueOfSchedule(tables)} END,
       b.reason, b.error, b.finished, ${dialect.now}
     FROM ${dialect.joinedByKey(`${table} AS b`, tables.schedule, 's', 'b.schedule')}
     ORDER BY s.uid, b.slot`,
    params,
  )
}

/** The number of open runs that the plan keeps. They may finish, and be counted, before the new ones. */
function goingOn({ waiting, blocked, running }: OpenJobs, { replaces }: Plan): number {
  return replaces ? running : waiting + blocked + running
}
