/**
 * Reads the non-final jobs of schedules before the schedules are planned, and cancels or fails the jobs that the plans
 * replace.
 *
 * The rows of the schedules must be locked. Jobs are found through the index on (open_key, open_turn), then locked by
 * key, because locks through another index could deadlock with those of a claim.
 */
import { StoreUnavailableError } from '../../errors.ts'
import { NO_OPEN_JOBS, type OpenJobs } from '../../model/planning.ts'
import { groupBy } from '../group-by.ts'
import { placeholders } from '../literals.ts'
import { RowsChangedError } from '../rows-changed.ts'
import { lockRows, updateLocked, updateRows } from './by-key.ts'
import { and, both, type Condition, OPEN } from './conditions.ts'
import type { AnyContext, Context, WriteContext } from './context.ts'
import { plannableColumns, type PlannableRow } from './rows.ts'
import { type SettlingRow, settlingColumns } from './job-outcomes.ts'
import { byUid, writeOutcomes } from './outcomes.ts'
import type { Tables } from './tables.ts'

/** A statement has a limited number of parameters. */
const AT_ONCE = 500

interface OpenJob {
  readonly id: string
  /** The `uid` of the schedule. */
  readonly schedule: string
  readonly state: 'waiting' | 'blocked' | 'running' | 'external'
  readonly attempt: number
}

export interface JobsBefore {
  readonly jobs: readonly OpenJob[]
  readonly open: OpenJobs
  readonly latestRun: number
  /** Whether there are freezes that end after the schedule's next run. */
  readonly hasFreezes: boolean
}

/**
 * The non-final jobs of the schedules. This includes jobs that were submitted under another overlap policy and
 * that the unique key does not cover. Jobs that may be replaced or give way are locked, so that no worker claims
 * them in the meantime.
 *
 * @returns the jobs by the `uid` of their schedule, without schedules whose jobs another transaction has locked
 */
export async function jobsBefore(
  tx: Context,
  rows: readonly PlannableRow[],
): Promise<ReadonlyMap<string, JobsBefore>> {
  if (rows.length === 0) return new Map()
  const { dialect, tables } = tx
  const { job, schedule, freeze, openIndex } = tables
  const found = await tx.rows<
    OpenJob | { id: null; schedule: string; number: number | null; freezes: number }
  >(
    `SELECT id, open_key AS schedule, state, attempt, NULL AS number, NULL AS freezes
     FROM ${dialect.found(job, { index: openIndex })}
     WHERE open_key IN (${placeholders(rows, dialect.jobId)})
     UNION ALL
     SELECT NULL, s.uid, NULL, NULL, ${latestRun(tables)},
       (SELECT COUNT(*) FROM ${freeze} AS f WHERE ${dialect.instant('f.until')} > ${dialect.instant('s.nextrun')})
     FROM ${dialect.found(`${schedule} AS s`, 'key')}
     WHERE s.id IN (${placeholders(rows)})`,
    [...rows.map(({ uid }) => uid), ...rows.map(({ id }) => id)],
  )
  const open = found.flatMap((one) => (one.id === null ? [] : [one]))
  const replacing = new Set(
    rows.filter((row) => row.overlap === 'replace' || row.yields === 1).map((row) => row.uid),
  )
  const replaceable = open.filter((one) => replacing.has(one.schedule))
  const got = await lockRows<OpenJob>(tx, {
    table: job,
    columns: ['id', 'open_key AS schedule', 'state', 'attempt'],
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

/** The schedule's row must be locked, so that the numbers cannot change. */
export async function openJobs(
  { select, dialect, tables, locking }: AnyContext,
  scheduleUid: string,
): Promise<OpenJobs> {
  const { job, openIndex: index } = tables
  const open = await select<Pick<OpenJob, 'state' | 'attempt'>>(
    ['state', 'attempt'],
    `FROM ${dialect.found(job, { index })} WHERE open_key = ${dialect.jobId} ${locking}`,
    [scheduleUid],
  )
  return countStates(open)
}

/** The schedules for which at least one of these jobs is still open. */
async function stillOpen(tx: Context, jobs: readonly OpenJob[]): Promise<ReadonlySet<string>> {
  if (jobs.length === 0) return new Set()
  const rows = await tx.rows<{ schedule: string }>(
    `SELECT open_key AS schedule FROM ${tx.tables.job}
     WHERE ${OPEN} AND id IN (${placeholders(jobs, tx.dialect.jobId)})`,
    jobs.map(({ id }) => id),
  )
  return new Set(rows.map(({ schedule }) => schedule))
}

const hasStarted = ({ state }: OpenJob) => state === 'running' || state === 'external'

/** Cancels waiting and blocked jobs, and asks running jobs and jobs in an external queue to stop. */
export async function replaceOpen(tx: Context, jobs: readonly OpenJob[]): Promise<void> {
  const { now } = tx.dialect
  const started = jobs.filter(hasStarted)
  const others = jobs.filter((job) => !hasStarted(job)).map((job) => job.id)
  const cancelled = { state: "'cancelled'", reason: "'replaced'", finished: now, frozen_until: 'NULL' }
  await updateLocked(tx, tx.tables.job, cancelled, others, {
    where: and("+state IN ('waiting', 'blocked')"),
  })
  await updateRows(
    tx,
    tx.tables.job,
    { stop_requested: `COALESCE(stop_requested, ${now})` },
    started.map(({ id }) => id),
  )
}

const CANCELLABLE = "state IN ('waiting', 'blocked', 'running')"

function cancellable(of: AnyContext, uid: string, scope: Condition): Promise<{ id: string }[]> {
  const { dialect, tables, locking } = of
  return of.select(
    ['id'],
    `FROM ${dialect.found(tables.job, { index: tables.openIndex })}
     WHERE open_key = ${dialect.jobId} AND ${CANCELLABLE}${scope.text}
     ORDER BY id ${locking}`,
    [uid, ...scope.params],
  )
}

/**
 * Like `cancelOpen` for a paused schedule, but in transactions of its own, and without the jobs that the
 * database rejects.
 *
 * @throws StoreUnavailableError when other transactions have locked some of the jobs
 */
export async function cancelEach(
  context: WriteContext & Required<Pick<WriteContext, 'isolations'>>,
  schedule: Pick<PlannableRow, 'id' | 'uid'>,
  scope: Condition,
  why: string,
): Promise<void> {
  const { tables, dialect } = context
  const { left } = await context.isolations
    .of('cancel')
    .write(await cancellable(context, schedule.uid, scope), {
      write: (some) =>
        context.transaction(async (tx) => {
          const paused = await lockRows(tx, {
            table: tables.schedule,
            columns: ['id'],
            ids: [schedule.id],
            locked: 'wait',
            where: `enabled = 0 AND uid = ${dialect.jobId}`,
            params: [schedule.uid],
          })
          // The schedule may have been resumed, or deleted, in the meantime.
          if (paused.length === 0) return
          const these = and(`id IN (${placeholders(some, dialect.jobId)})`, ...some.map(({ id }) => id))
          await cancelOpen(tx, schedule, both(scope, these), why)
        }),
    })
  if (left.length > 0)
    throw new StoreUnavailableError(
      `The schedule is paused, but ${String(left.length)} of its jobs could not be cancelled, because other transactions have locked them; pause it again`,
    )
}

/**
 * Cancels the waiting and blocked jobs of a schedule whose row is locked. Running jobs continue, but do not run again.
 *
 * @param why  what ends the running jobs, for people
 */
export async function cancelOpen(
  tx: AnyContext,
  { id: schedule, uid }: Pick<PlannableRow, 'id' | 'uid'>,
  scope: Condition,
  why: string,
): Promise<void> {
  const { dialect, tables } = tx
  const found = await cancellable(tx, uid, scope)
  const columns = plannableColumns(dialect)
  const outcome = { state: 'cancelled', reason: 'paused', error: null, result: null } as const
  for (let start = 0; start < found.length; start += AT_ONCE) {
    const rows = await lockRows<SettlingRow>(tx, {
      table: tables.job,
      columns: settlingColumns(dialect),
      ids: found.slice(start, start + AT_ONCE).map(({ id }) => id),
      locked: 'wait',
      where: CANCELLABLE,
    })
    const running = rows.filter(({ state }) => state === 'running')
    const queued = rows.filter((row) => !running.includes(row))
    const of = await lockRows<PlannableRow>(tx, { table: tables.schedule, columns, ids: [schedule] })
    await updateRows(
      tx,
      tables.job,
      { no_retry: '?' },
      running.map(({ id }) => id),
      { params: [why] },
    )
    await writeOutcomes(
      tx,
      queued.map((row) => ({ row, outcome })),
      byUid(of),
      // No job takes its turn, because all of them are cancelled.
      { next: () => null, promoted: new Map() },
    )
  }
}

/** Fails the waiting jobs of these schedules; all of these jobs are waiting for a retry. */
export async function yieldRetries(
  tx: Context,
  rows: readonly PlannableRow[],
  before: ReadonlyMap<string, JobsBefore>,
): Promise<void> {
  const ids = rows.flatMap(({ uid }) =>
    (before.get(uid)?.jobs ?? []).flatMap(({ id, state }) => (state === 'waiting' ? [id] : [])),
  )
  const columns = settlingColumns(tx.dialect)
  const table = tx.tables.job
  const where = "state = 'waiting'"
  const jobs = await lockRows<SettlingRow>(tx, { table, columns, ids: ids.toSorted(), where })
  if (jobs.length < ids.length) throw new RowsChangedError(table, jobs.length, ids.length)
  const outcome = { state: 'failed', reason: 'yielded', error: null, result: null } as const
  await writeOutcomes(
    tx,
    jobs.map((row) => ({ row, outcome })),
    byUid(rows),
    // The plan has already decided the next run, and `last_error` is written again with the plan.
    { next: () => null },
  )
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
    WHERE j.periodic_task_uid = s.uid AND j.run IS NOT NULL
    ORDER BY j.slot DESC LIMIT 1)`
}
