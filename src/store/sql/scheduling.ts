import { StoreUnavailableError } from '../../errors.ts'
import { Halving, isOfARow } from '../../model/halves.ts'
import type { SetAside } from '../../model/set-aside.ts'
import { fromStored, fromText, toText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import type {
  Decide,
  Look,
  Mark,
  MarkedSchedule,
  SchedulingStore,
  SubmitOptions,
  SubmitResult,
  SweepExtent,
  Swept,
} from '../scheduling-store.ts'
import { lockRows, updateRows } from './by-key.ts'
import type { Context, TablesContext } from './context.ts'
import { scheduleColumns, type ScheduleRow, toPlannable, toSchedule } from './rows.ts'
import { Submitting } from './submitting.ts'
import { Sweeping } from './sweeping.ts'
import { exceptFor, placeholders } from './tables.ts'

/** A schedule that is due, and the database's clock. */
interface DueRow {
  readonly id: string
  readonly clock: string
}

export class SqlScheduling implements SchedulingStore {
  readonly #context: TablesContext
  readonly #submitting: Submitting
  readonly #sweeping: Sweeping
  readonly #marking = new Halving()

  constructor(context: TablesContext) {
    this.#context = context
    this.#submitting = new Submitting(context)
    this.#sweeping = new Sweeping(context)
  }

  get submitsInParallel(): boolean {
    return this.#context.dialect.writesInParallel
  }

  mostAtOnce(): number {
    return this.#context.database.mostAtOnce?.() ?? Number.POSITIVE_INFINITY
  }

  async look(tasks: readonly string[]): Promise<Look> {
    const { schedule, job, claimIndex } = this.#context.tables
    const { now, turns } = this.#context.dialect
    // Two ends of indexes and the first turn: the cost does not grow with the jobs that others are to run.
    const first = { from: '>=', tasks: tasks.length, limit: 1 } as const
    const claimable =
      tasks.length === 0
        ? '0'
        : `CASE WHEN EXISTS (SELECT 1 FROM ${turns(job, claimIndex, first)} AS turns) THEN 1 ELSE 0 END`
    const [row] = await this.#context.rows<{
      clock: string
      wake_at: string | null
      due_at: string | null
      claimable: number
    }>(
      `SELECT ${now} AS clock,
         (SELECT MIN(wake_at) FROM ${schedule}) AS wake_at,
         (SELECT MIN(due_at) FROM ${job}) AS due_at,
         ${claimable} AS claimable`,
      tasks.length === 0 ? [] : ['', ...tasks],
    )
    if (row === undefined) throw new StoreUnavailableError('The database answered a look with no row')
    return {
      now: fromStored(row.clock),
      wakeAt: instantOfLook(row.wake_at, row.clock),
      dueAt: instantOfLook(row.due_at, row.clock),
      claimable: row.claimable !== 0,
    }
  }

  async markDue(worker: string, limit: number, leaseMs: number, setAside?: SetAside): Promise<Mark[]> {
    const { dialect, tables } = this.#context
    const except = exceptFor(setAside?.ids() ?? [])
    let due: readonly DueRow[] = []
    try {
      const marks = await this.#context.transaction(async (tx) => {
        // The index on wake_at filters and orders, so only the rows that are marked are locked. wake_at contains the
        // end of a mark: rows that others have marked are not read.
        due = await tx.rows<DueRow>(
          `SELECT id, ${dialect.now} AS clock
           FROM ${dialect.found(tables.schedule, { index: tables.wakeIndex })}
           WHERE wake_at <= ${dialect.now} ${except.text}
           ORDER BY wake_at
           LIMIT ${integerLiteral(limit)} ${dialect.locked('skip')}`,
          except.params,
        )
        return await mark(tx, worker, leaseMs, due)
      })
      if (marks.length > 0) this.#marking.reset()
      return marks
    } catch (error) {
      if (!isOfARow(error) || due.length === 0) throw error
      const marks = await this.#marking.run(due, {
        work: (some) => this.#markThese(worker, leaseMs, some),
        wrote: (some) => some.length > 0,
        refused: ({ id }, refusal) => {
          setAside?.add(id, refusal)
          return []
        },
        isOfAnItem: isOfARow,
      })
      return marks.flat()
    }
  }

  /** Those of the schedules that are still due. */
  #markThese(worker: string, leaseMs: number, schedules: readonly DueRow[]): Promise<Mark[]> {
    return this.#context.transaction(async (tx) => {
      const { now } = tx.dialect
      const due = await lockRows<DueRow>(tx, {
        table: tx.tables.schedule,
        columns: `id, ${now} AS clock`,
        ids: schedules.map(({ id }) => id),
        where: `wake_at <= ${now}`,
      })
      return await mark(tx, worker, leaseMs, due)
    })
  }

  submit(
    worker: string,
    marks: readonly Mark[],
    decide: Decide,
    options?: SubmitOptions,
  ): Promise<SubmitResult> {
    return this.#submitting.submit(worker, marks, decide, options)
  }

  async readMarked(worker: string, marks: readonly Mark[]): Promise<MarkedSchedule[]> {
    if (marks.length === 0) return []
    const rows = await this.#context.rows<ScheduleRow>(
      `SELECT ${scheduleColumns(this.#context.dialect)}
       FROM ${this.#context.tables.schedule}
       WHERE worker = ? AND id IN (${placeholders(marks)})
       ORDER BY id`,
      [worker, ...marks.map((one) => one.id)],
    )
    return rows.map((row) => ({
      plannable: toPlannable(row),
      schedule: toSchedule(row),
      now: fromStored(row.clock),
    }))
  }

  clearStaleMarks(worker: string, leaseMs: number): Promise<number> {
    return this.#sweeping.clearStaleMarks(worker, leaseMs)
  }

  sweep(worker: string, leaseMs: number, extent: SweepExtent): Promise<Swept> {
    return this.#sweeping.sweep(worker, leaseMs, extent)
  }
}

/** Marks schedules whose rows are locked. */
async function mark(tx: Context, worker: string, leaseMs: number, due: readonly DueRow[]): Promise<Mark[]> {
  const [first] = due
  if (first === undefined) return []
  const marked = fromStored(first.clock)
  const ids = due.map((row) => row.id)
  await updateRows(tx, tx.tables.schedule, { worker: '?', marked: '?', mark_ends: '?' }, ids, {
    params: [worker, first.clock, toText(new Date(marked.getTime() + leaseMs))],
  })
  return ids.map((id) => ({ id, marked }))
}

/**
 * A text that is no instant, such as 0000-00-00, is before or after now, as the database compares. Before: the schedule
 * is due; otherwise the schedules behind it would never be looked at.
 */
function instantOfLook(text: string | null, clock: string): Date | null {
  return fromText(text) ?? (text !== null && text <= clock ? new Date(0) : null)
}
