/**
 * Finds rows that crashes and manual edits leave behind, and repairs each row if it has not changed in the meantime.
 *
 * Reads use the indexes on wake_at (marks), on the state (running and blocked jobs), and on held_by (jobs that wait for
 * the end of a freeze or for a report). Rows are locked by key, with SKIP LOCKED, so a row that another transaction has
 * locked is left to a later sweep.
 */
import { spanWords } from '../../duration.ts'
import { fromText } from '../../model/instant.ts'
import { DEFAULT_REPORT_MS, fenceOf } from '../../model/job.ts'
import { unreadableReason } from '../../model/plan.ts'
import type { AttemptEnd } from '../../model/settle.ts'
import type { UnsettledAttempt } from '../executing-store.ts'
import { integerLiteral, placeholders } from '../literals.ts'
import type { SweepExtent, Swept } from '../scheduling-store.ts'
import { idsOf, lockIds, lockRows, updateFromBatch, updateRows } from './by-key.ts'
import { HANDED_OVER } from './start.ts'
import {
  and,
  blockedByNothing,
  type Condition,
  NO_RETRY,
  orphan,
  retriesNothing,
  UNMARKED,
  unreported,
  waitsForNothing,
  exceptFor,
} from './conditions.ts'
import type { Context, TablesContext } from './context.ts'
import { heldForNothing, thaw } from './freezes.ts'
import { groupBy } from '../group-by.ts'
import type { Isolation } from './isolate.ts'
import { jobColumns, type JobRow, policyOf } from './rows.ts'
import { confirmReads } from './workers.ts'

interface Found {
  readonly kind:
    | 'stale mark'
    | 'orphan'
    | 'far mark'
    | 'blocked job'
    | 'waits for nothing'
    | 'retries nothing'
    | 'invalid timer'
    | 'held'
  /** The id of the row; the text of an invalid timer. */
  readonly id: string
  /** The mark at the time when the row was found. */
  readonly worker: string | null
  readonly marked: string | null
}

const NO_MARK = 'NULL AS worker, NULL AS marked'

export async function clearStaleMarks(
  context: TablesContext,
  worker: string,
  leaseMs: number,
): Promise<number> {
  const { text, params } = stale(context, worker, leaseMs)
  return (await endMarks(context, await context.rows<Found>(text, params))).length
}

export async function sweep(
  context: TablesContext,
  worker: string,
  leaseMs: number,
  extent: SweepExtent,
): Promise<Swept> {
  const { tables, isolations } = context
  const { text, params } = stale(context, worker, leaseMs)
  const anyOrphan = anyOrphans(context).map(
    (found) => `SELECT 'orphan' AS kind, id, ${NO_MARK} ${found} LIMIT 1`,
  )
  const except = exceptFor(isolations.of('unblock').leftOut(), context.dialect.jobId)
  const isWhole = extent === 'everything'
  const parts = [text, ...anyOrphan, ...(isWhole ? broken(context, leaseMs, except) : [])]
  const all = [...params, ...(isWhole ? except.params : [])]
  const found = groupBy(await context.rows<Found>(context.dialect.union(parts), all), (row) => row.kind)
  const of = (kind: Found['kind']) => found.get(kind) ?? []
  await endMarks(context, of('stale mark'))
  const repaired: string[] = []
  const tooFar = await endMarks(context, of('far mark'))
  if (tooFar.length > 0) repaired.push(`marks that would have ended too late: ${tooFar.join(', ')}`)
  await repairEach(isolations.of('unblock'), of('blocked job'), async (id) => {
    if (await unblock(context, id)) repaired.push(`the job ${id} was blocked by no other job`)
  })
  await repairEach(isolations.of('planAgain'), of('waits for nothing'), async (id) => {
    // The schedule is planned from now.
    if (await repairSchedule(context, id, waitsForNothing(tables, tables.schedule), { idle: 'NULL' }))
      repaired.push(`the schedule ${id} waited for a run whose job was deleted`)
  })
  await repairEach(isolations.of('endRetry'), of('retries nothing'), async (id) => {
    await repairSchedule(context, id, retriesNothing(tables, tables.schedule), NO_RETRY)
  })
  const readable = of('invalid timer').filter(({ id: text }) => unreadableReason(text) === null)
  for (const id of await planReadable(context, readable))
    repaired.push(`another worker could not read the timer of the schedule ${id}`)
  if (of('held').length > 0) await thaw(context)
  return { repaired, orphans: of('orphan').length > 0 }
}

/** If the repair of a row times out on a lock, or the database rejects it, the row is left to a later sweep. */
async function repairEach(
  isolation: Isolation,
  found: readonly Found[],
  repair: (id: string) => Promise<void>,
): Promise<void> {
  // A repair that is repeated, because a later one failed, finds nothing left to do.
  const write = async (some: readonly Found[]) => {
    for (const { id } of some) await repair(id)
  }
  await isolation.write(isolation.without(found), { write })
}

/** Marks of earlier incarnations of this worker, and of unregistered workers. */
function stale(context: Context, worker: string, leaseMs: number): Condition {
  const { schedule, worker: workers } = context.tables
  const { now, nowPlus, instant, position } = context.dialect
  // The name and the slash before the incarnation. An incarnation contains no slash, so 'web' does not match 'web/eu'.
  const name = worker.slice(0, worker.lastIndexOf('/') + 1)
  // The length is in characters, as the database counts them.
  const length = Array.from(name).length
  // A mark ends within its lease, so this range of the index on wake_at contains all unexpired marks except far marks
  // (see `broken`). The marks are read first and then ended by key and fence, so a mark made in the meantime stays.
  return {
    text: `SELECT 'stale mark' AS kind, id, worker, ${instant('marked')} AS marked
      FROM ${schedule}
      WHERE wake_at BETWEEN ${now} AND ${nowPlus(2 * leaseMs)}
        AND worker IS NOT NULL AND worker <> ?
        AND (
          (SUBSTR(worker, 1, ${integerLiteral(length)}) = ?
            AND ${position(`SUBSTR(worker, ${integerLiteral(length + 1)})`, "'/'")} = 0)
          OR worker NOT IN (SELECT id FROM ${workers})
        )`,
    params: [worker, name],
  }
}

/** Jobs of dead workers, and jobs whose queue did not report their outcome, each as `FROM … WHERE …`. */
function anyOrphans({ tables, dialect }: Context): [running: string, external: string] {
  const { job, jobStateIndex, heldIndex } = tables
  // The index is named because otherwise, with statistics and many running jobs, the servers and SQLite would read all
  // jobs.
  return [
    `FROM ${dialect.found(job, { index: jobStateIndex })} WHERE ${orphan(tables)}`,
    `FROM ${dialect.found(job, { index: heldIndex })} WHERE ${unreported(dialect)}`,
  ]
}

function broken(context: Context, leaseMs: number, except: Condition): string[] {
  const { tables, dialect } = context
  return [
    ...heldForNothing(context).map((found) => `SELECT 'held' AS kind, id, ${NO_MARK} ${found} LIMIT 1`),
    // A manual edit or a wrong clock can move the end of a mark far ahead; the mark would then hold the row until then.
    `SELECT 'far mark' AS kind, id, worker, ${dialect.instant('marked')} AS marked
     FROM ${tables.schedule}
     WHERE worker IS NOT NULL AND wake_at > ${dialect.nowPlus(2 * leaseMs)}`,
    // The job that blocked this one was deleted manually, or a worker crashed before unblocking it.
    `SELECT 'blocked job' AS kind, MIN(id) AS id, ${NO_MARK}
     FROM ${dialect.found(`${tables.job} AS b`, { index: tables.jobStateIndex })}
     WHERE ${blockedByNothing(tables)} ${except.text}
     GROUP BY COALESCE(periodic_task_uid, id)
     LIMIT 1000`,
    // The job was deleted manually, so it will never finish.
    `SELECT 'waits for nothing' AS kind, id, ${NO_MARK}
     FROM ${tables.schedule} AS s
     WHERE ${waitsForNothing(tables, 's')}`,
    // The job was cancelled, restarted or deleted manually, or replaced by a newer one.
    `SELECT 'retries nothing' AS kind, id, ${NO_MARK}
     FROM ${tables.schedule} AS s
     WHERE ${retriesNothing(tables, 's')}`,
    // The worker that judged the timer may have had older zone data, or an older version.
    `SELECT DISTINCT 'invalid timer' AS kind, timer AS id, ${NO_MARK}
     FROM ${tables.schedule}
     WHERE ${JUDGED_INVALID}
     LIMIT 1000`,
  ]
}

/** @returns whether the job was unblocked */
function unblock(context: TablesContext, id: string): Promise<boolean> {
  return context.transaction(async (tx) => {
    const { schedule, job } = tx.tables
    const { jobId } = tx.dialect
    const [row] = await tx.rows<{ schedule: string | null; uid: string | null }>(
      `SELECT s.id AS schedule, j.periodic_task_uid AS uid
       FROM ${job} AS j LEFT JOIN ${schedule} AS s ON s.uid = j.periodic_task_uid
       WHERE j.id = ${jobId} AND j.state = 'blocked'`,
      [id],
    )
    if (row === undefined) return false
    // A row that another transaction has locked is left to the next sweep. The schedule may also have been deleted.
    if (row.schedule !== null && (await lockIds(tx, schedule, [row.schedule])).length === 0) return false
    const isActive = `open_key = ${jobId} AND state <> 'blocked'`
    const active = row.uid === null ? [] : await tx.rows(`SELECT id FROM ${job} WHERE ${isActive}`, [row.uid])
    if (active.length > 0) return false
    const isBlocked = "state = 'blocked'"
    const blocked = await lockIds(tx, job, [id], isBlocked)
    return (await updateRows(tx, job, { state: "'waiting'" }, blocked, { where: and(isBlocked) })) > 0
  })
}

/** Updates a schedule if it is not locked and still meets the condition. @returns whether it was updated */
function repairSchedule(
  context: TablesContext,
  id: string,
  where: string,
  assignments: Readonly<Record<string, string>>,
): Promise<boolean> {
  return context.transaction(async (tx) => {
    const free = await lockIds(tx, tx.tables.schedule, [id])
    return (await updateRows(tx, tx.tables.schedule, assignments, free, { where: and(where) })) > 0
  })
}

const JUDGED_INVALID = "idle = 'invalid' AND enabled = 1"

/** @param timers  that another worker could not read @returns the schedules that will be planned from now */
async function planReadable(context: TablesContext, timers: readonly Found[]): Promise<string[]> {
  if (timers.length === 0) return []
  const texts = timers.map(({ id: text }) => text)
  const isolation = context.isolations.of('planAgain')
  const where = `${JUDGED_INVALID} AND timer IN (${placeholders(texts)})`
  const found = await context.rows<{ id: string }>(
    `SELECT id FROM ${context.tables.schedule} WHERE ${where} LIMIT 1000`,
    texts,
  )
  const { results } = await isolation.write(isolation.without(found), {
    write: (some) =>
      context.transaction(async (tx) => {
        const free = await lockIds(tx, tx.tables.schedule, idsOf(some), where, texts)
        const planned = { idle: 'NULL', last_error: 'NULL' }
        await updateRows(tx, tx.tables.schedule, planned, free, { where: and(where, ...texts) })
        return free
      }),
    wrote: ({ length }) => length > 0,
  })
  return results.flat()
}

/** @returns the schedules whose marks were ended */
async function endMarks(context: TablesContext, marks: readonly Found[]): Promise<string[]> {
  const isolation = context.isolations.of('endMark')
  const { results } = await isolation.write(isolation.without(marks), {
    write: (some) => context.transaction((tx) => endLocked(tx, some)),
    wrote: ({ length }) => length > 0,
  })
  return results.flat()
}

async function endLocked(tx: Context, marks: readonly Found[]): Promise<string[]> {
  const { schedule } = tx.tables
  const fences = new Map(marks.map((mark) => [mark.id, mark]))
  // Locked rows are skipped, because their marks expire anyway.
  const rows = await lockRows<{ id: string; worker: string | null; marked: string | null }>(tx, {
    table: schedule,
    columns: ['id', 'worker', `${tx.dialect.instant('marked')} AS marked`],
    ids: marks.map((mark) => mark.id),
  })
  const same = rows.filter(
    (row) => row.worker === fences.get(row.id)?.worker && row.marked === fences.get(row.id)?.marked,
  )
  // A mark that was written manually may have no valid time.
  const ended = same.map(({ id, marked }) => ({ id, marked: fromText(marked) && marked }))
  const where = `b.marked IS NULL OR ${tx.dialect.instant('t.marked')} = b.marked`
  await updateFromBatch(tx, schedule, { id: 'schedule id', marked: 'instant' }, ended, UNMARKED, where)
  return same.map(({ id }) => id)
}

export async function held(context: TablesContext, worker: string): Promise<UnsettledAttempt[]> {
  const rows = await context.transaction(async (tx) => {
    await confirmReads(tx)
    return await tx.rows<JobRow & { claim: number }>(
      `SELECT ${jobColumns(tx.dialect)}, claim
       FROM ${tx.dialect.found(tx.tables.job, { index: tx.tables.jobStateIndex })}
       WHERE state = 'running' AND worker = ?`,
      [worker],
    )
  })
  return rows.map((row) => ({
    fence: { id: row.id, worker, claim: row.claim },
    end: { kind: 'released' },
    policy: policyOf(row),
  }))
}

/** Without those whose outcomes the database has rejected. */
export async function orphans(context: TablesContext, limit: number): Promise<UnsettledAttempt[]> {
  const { rows, dialect, isolations } = context
  const others = exceptFor(isolations.of('takeOver').refused(), dialect.jobId)
  const parts = anyOrphans(context).map(
    (found) => `SELECT ${jobColumns(dialect)}, claim ${found} ${others.text} LIMIT ${integerLiteral(limit)}`,
  )
  const left = await rows<JobRow & { worker: string; claim: number }>(dialect.union(parts), [
    ...others.params,
    ...others.params,
  ])
  return left.map((row) => ({ fence: fenceOf(row), end: endOfOrphan(row), policy: policyOf(row) }))
}

function endOfOrphan({ state, reason, worker, attempt, queue, timeout }: JobRow): AttemptEnd {
  if (state === 'running')
    return { kind: 'lost', error: `The worker ${worker ?? ''} was lost during attempt ${String(attempt)}` }
  // The worker crashed after the hand-over, before it finished the job.
  if (reason === HANDED_OVER) return { kind: 'success', result: null }
  const span = spanWords(timeout ?? DEFAULT_REPORT_MS)
  return {
    kind: 'unreported',
    error: `The queue '${queue ?? ''}' did not report the outcome of this job within ${span} of the hand-over`,
  }
}
