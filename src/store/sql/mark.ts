/**
 * Marks due schedules. A mark is a lease for the worker that is about to submit the schedule.
 *
 * Only the rows to be marked are locked: they are found with SKIP LOCKED through the index on wake_at, which both
 * filters and orders. For a marked row, wake_at is the end of the mark, so rows marked by other workers are not even
 * read.
 */
import { StoreUnavailableError } from '../../errors.ts'
import { Fitting } from '../../event-loop.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import { integerLiteral } from '../literals.ts'
import type { Mark, SchedulingStore } from '../scheduling-store.ts'
import { lockRows, updateLocked } from './by-key.ts'
import { and, type Condition, NOTHING, exceptFor } from './conditions.ts'
import type { Context, TablesContext } from './context.ts'
import { furthest } from './inspection.ts'
import { Isolation } from './isolate.ts'
import { BATCH, submit } from './submit.ts'
import { clearStaleMarks, sweep } from './take-over.ts'

interface DueRow {
  readonly id: string
  readonly wake_at: string
  readonly clock: string
}

export function schedulingStore(context: TablesContext): SchedulingStore {
  const { dialect, tables } = context
  const submitting = { isolation: new Isolation(dialect), batch: new Fitting(BATCH) }
  return {
    submitsInParallel: dialect.writesInParallel,

    mostAtOnce: () => (dialect.writesInParallel ? context.database.mostAtOnce() : submitting.batch.rows()),

    async look(tasks) {
      const { now, turns } = dialect
      const { schedule, job, freeze, claimIndex } = tables
      const first = { from: '>=', tasks: tasks.length, limit: 1 } as const
      const claimable =
        tasks.length === 0
          ? '0'
          : `CASE WHEN EXISTS (SELECT 1 FROM ${turns(job, claimIndex, first)} AS turns) THEN 1 ELSE 0 END`
      const [row] = await context.rows<{
        clock: string
        wake_at: string | null
        due_at: string | null
        claimable: number
        freezes: number
        first_end: string | null
        last_end: string | null
      }>(
        `SELECT ${now} AS clock,
           (SELECT MIN(wake_at) FROM ${schedule}) AS wake_at,
           (SELECT MIN(due_at) FROM ${job}) AS due_at,
           ${claimable} AS claimable,
           (SELECT COUNT(*) FROM ${freeze}) AS freezes,
           (SELECT MIN(until) FROM ${freeze}) AS first_end,
           (SELECT MAX(until) FROM ${freeze}) AS last_end`,
        tasks.length === 0 ? [] : ['', ...tasks],
      )
      if (row === undefined) throw new StoreUnavailableError('The database returned no row for a poll')
      return {
        now: fromStored(row.clock),
        wakeAt: instantOfLook(row.wake_at, row.clock),
        dueAt: instantOfLook(row.due_at, row.clock),
        claimable: row.claimable !== 0,
        freezes: JSON.stringify([row.freezes, row.first_end, row.last_end]),
      }
    },

    markDue: (...of) => markDue(context, of),

    submit: (...of) => submit(context, submitting, of),

    clearStaleMarks: (worker, leaseMs) => clearStaleMarks(context, worker, leaseMs),

    sweep: (worker, leaseMs, extent) => sweep(context, worker, leaseMs, extent),

    furthest: (most) => furthest(context, most),
  }
}

function markDue(
  context: TablesContext,
  [worker, limit, leaseMs, behind = [], onRefused]: Parameters<SchedulingStore['markDue']>,
): Promise<Mark[]> {
  const { dialect, tables } = context
  const isolation = context.isolations.of('mark')
  const columns = ['id', 'wake_at', `${dialect.now} AS clock`]
  const from = beginning(behind)
  const except = exceptFor([...isolation.leftOut(), ...context.isolations.of('plan').leftOut()])
  return isolation.find<DueRow, Mark>({
    onRefused,
    together: (report) =>
      context.transaction(async (tx) => {
        const due = await tx.select<DueRow>(
          columns,
          `FROM ${dialect.found(tables.schedule, { index: tables.wakeIndex })}
           WHERE wake_at <= ${dialect.now} ${from.text} ${except.text}
           ORDER BY wake_at
           LIMIT ${integerLiteral(limit)} ${dialect.locked('skip')}`,
          [...from.params, ...except.params],
        )
        report(due)
        return await mark(tx, worker, leaseMs, due)
      }),
    some: (schedules) =>
      context.transaction(async (tx) => {
        const due = await lockRows<DueRow>(tx, {
          table: tables.schedule,
          columns,
          ids: schedules.map(({ id }) => id),
          where: `wake_at <= ${dialect.now}`,
        })
        return await mark(tx, worker, leaseMs, due)
      }),
  })
}

/** Marks schedules whose rows this transaction has locked. */
async function mark(tx: Context, worker: string, leaseMs: number, due: readonly DueRow[]): Promise<Mark[]> {
  const [first] = due
  if (first === undefined) return []
  const marked = fromStored(first.clock)
  const ids = due.map((row) => row.id)
  await updateLocked(tx, tx.tables.schedule, { worker: '?', marked: '?', mark_ends: '?' }, ids, {
    params: [worker, first.clock, toText(new Date(marked.getTime() + leaseMs))],
    where: and('+wake_at <= ?', first.clock),
  })
  return due.map(({ id, wake_at: wakeAt }) => ({ id, marked, wakeAt }))
}

/**
 * The position from which the index is read. [Servers remove the entries of marked schedules about once a second. Until
 * then, each search that begins at the front passes over all of them.]
 */
function beginning(behind: readonly Mark[]): Condition {
  const [first, last] = [behind[0], behind.at(-1)]
  if (first?.wakeAt === undefined || last?.wakeAt === undefined) return NOTHING
  return first.wakeAt === last.wakeAt
    ? and('wake_at = ? AND id > ?', last.wakeAt, last.id)
    : and('wake_at >= ?', last.wakeAt)
}

/**
 * Text that is not an instant, such as 0000-00-00, is compared with the current time as text, as in the database. If it
 * is earlier, the row counts as due, because the rows after it would otherwise never be processed.
 */
function instantOfLook(text: string | null, clock: string): Date | null {
  return fromText(text) ?? (text !== null && text <= clock ? new Date(0) : null)
}
