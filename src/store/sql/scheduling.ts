import { StoreUnavailableError } from '../../errors.ts'
import { Halving, isOfARow } from '../../model/halves.ts'
import type { SetAside } from '../../model/set-aside.ts'
import type { Database, Sql } from '../database.ts'
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
import { groupBy } from './group-by.ts'
import { scheduleColumns, type ScheduleRow, toPlannable, toSchedule } from './rows.ts'
import { Submitting } from './submitting.ts'
import { exceptFor, placeholders, type Tables } from './tables.ts'

/** A schedule that is due, and the database's clock. */
interface DueRow {
  readonly id: string
  readonly clock: string
}

/** What the sweep has to see to. */
interface Found {
  readonly kind: 'stale mark' | 'orphan' | 'far mark' | 'blocked job' | 'endless schedule'
  readonly id: string
  /** As it was when the mark was found. */
  readonly worker: string | null
  readonly marked: string | null
}

export class SqlScheduling implements SchedulingStore {
  readonly #database: Database
  readonly #tables: Tables
  readonly #submitting: Submitting
  readonly #marking = new Halving()

  constructor(database: Database, tables: Tables) {
    this.#database = database
    this.#tables = tables
    this.#submitting = new Submitting(database, tables)
  }

  get submitsInParallel(): boolean {
    return this.#database.dialect.writesInParallel
  }

  mostAtOnce(): number {
    return this.#database.mostAtOnce?.() ?? Number.POSITIVE_INFINITY
  }

  async look(tasks: readonly string[]): Promise<Look> {
    const { schedule, job, claimIndex } = this.#tables
    const { now, turns } = this.#database.dialect
    // Two ends of indexes, and the first turn there is: it does not grow with the jobs that others are to run.
    const first = { from: '>=', tasks: tasks.length, limit: 1 } as const
    const claimable =
      tasks.length === 0 ? '0' : `EXISTS (SELECT 1 FROM ${turns(job, claimIndex, first)} AS turns)`
    const [row] = await this.#database.rows<{
      clock: string
      wake_at: string | null
      due_at: string | null
      claimable: number
    }>(
      `SELECT ${now} AS clock, (SELECT MIN(wake_at) FROM ${schedule}) AS wake_at, (SELECT MIN(due_at) FROM ${job}) AS due_at, ${claimable} AS claimable`,
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
    const { schedule, wakeIndex } = this.#tables
    const { now, skipLocked, byIndex, byKey, andFindable } = this.#database.dialect
    const except = exceptFor(setAside?.ids() ?? [])
    let found: readonly DueRow[] = []
    const mark = async (sql: Sql, due: readonly DueRow[]): Promise<Mark[]> => {
      const [first] = due
      if (first === undefined) return []
      const marked = fromStored(first.clock)
      const ids = due.map((row) => row.id)
      await sql.run(
        `UPDATE ${schedule} ${byKey} SET worker = ?, marked = ?, mark_ends = ? WHERE id IN (${placeholders(ids)})`,
        [worker, first.clock, toText(new Date(marked.getTime() + leaseMs)), ...ids],
      )
      return ids.map((id) => ({ id, marked }))
    }
    const select = (where: string, order: string) =>
      `SELECT id, ${now} AS clock FROM ${schedule} ${where} ORDER BY ${order}`
    try {
      const marks = await this.#database.transaction(async (sql) => {
        // wake_at alone filters and orders, so only the rows that are marked get locked; rows that others hold
        // are passed over. With the mark inside wake_at, rows marked by others are not even walked over.
        found = await sql.rows<DueRow>(
          `${select(`${byIndex(wakeIndex)} WHERE wake_at <= ${now} ${andFindable} ${except.text}`, 'wake_at')} LIMIT ${integerLiteral(limit)} ${skipLocked}`,
          except.params,
        )
        return await mark(sql, found)
      })
      if (marks.length > 0) this.#marking.reset()
      return marks
    } catch (error) {
      if (!isOfARow(error) || found.length === 0) throw error
      const marks = await this.#marking.run(found, {
        work: (some) =>
          this.#database.transaction(async (sql) => {
            const due = await sql.rows<DueRow>(
              `${select(`${byKey} WHERE id IN (${placeholders(some)}) AND wake_at <= ${now}`, 'id')} ${skipLocked}`,
              some.map(({ id }) => id),
            )
            return await mark(sql, due)
          }),
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
    const { text, params } = this.#stale(worker, leaseMs)
    return this.#endMarks(await this.#database.rows<Found>(text, params))
  }

  async sweep(worker: string, leaseMs: number, extent: SweepExtent): Promise<Swept> {
    const stale = this.#stale(worker, leaseMs)
    const parts = [stale.text, this.#orphan(), ...(extent === 'everything' ? this.#broken(leaseMs) : [])]
    // All are looked for at once, and mended one by one, each under the condition that it is still so.
    const found = groupBy(
      await this.#database.rows<Found>(this.#database.dialect.union(parts), stale.params),
      (row) => row.kind,
    )
    const of = (kind: Found['kind']) => found.get(kind) ?? []
    await this.#endMarks(of('stale mark'))
    const healed: string[] = []
    const tooFar = of('far mark')
    if ((await this.#endMarks(tooFar)) > 0)
      healed.push(`marks that would have ended too late: ${tooFar.map((row) => row.id).join(', ')}`)
    for (const { id } of of('blocked job'))
      if (await this.#unblock(id)) healed.push(`the job ${id} was blocked by nothing`)
    for (const { id } of of('endless schedule'))
      if (await this.#planAgain(id))
        healed.push(`the schedule ${id} waited for the end of a run whose job was deleted`)
    return { healed, orphans: of('orphan').length > 0 }
  }

  #stale(worker: string, leaseMs: number): { readonly text: string; readonly params: readonly string[] } {
    const { schedule, worker: workers } = this.#tables
    const { now, nowPlus, instant } = this.#database.dialect
    // The name with the slash before the incarnation, which has none: 'web' is not 'web/eu'.
    const name = worker.slice(0, worker.lastIndexOf('/') + 1)
    // In characters, as the database counts.
    const length = Array.from(name).length
    // Marks end within the lease, so they are all in this range of the index. Read first, then ended by key and
    // fence: a mark that somebody made meanwhile stays.
    return {
      text: `SELECT 'stale mark' AS kind, id, worker, ${instant('marked')} AS marked FROM ${schedule} WHERE wake_at BETWEEN ${now} AND ${nowPlus(2 * leaseMs)} AND worker IS NOT NULL AND worker <> ? AND ((SUBSTR(worker, 1, ${integerLiteral(length)}) = ? AND INSTR(SUBSTR(worker, ${integerLiteral(length + 1)}), '/') = 0) OR worker NOT IN (SELECT id FROM ${workers}))`,
      params: [worker, name],
    }
  }

  /** Only whether there is one; by the index on held_by, of the few jobs that run. */
  #orphan(): string {
    const { job, worker } = this.#tables
    return `SELECT 'orphan' AS kind, id, NULL AS worker, NULL AS marked FROM ${job} WHERE held_by >= '' AND held_by NOT IN (SELECT id FROM ${worker}) LIMIT 1`
  }

  #broken(leaseMs: number): string[] {
    const { schedule, job } = this.#tables
    const { nowPlus, instant } = this.#database.dialect
    return [
      // A mark that a hand edit or a clock has moved far ahead would hold the row for as long.
      `SELECT 'far mark' AS kind, id, worker, ${instant('marked')} AS marked FROM ${schedule} WHERE worker IS NOT NULL AND wake_at > ${nowPlus(2 * leaseMs)}`,
      // A blocked job whose turn nobody is left to announce: deleted by hand, or cut off by a crash.
      `SELECT 'blocked job' AS kind, MIN(id) AS id, NULL AS worker, NULL AS marked FROM ${job} AS b WHERE state = 'blocked' AND NOT EXISTS (SELECT 1 FROM ${job} AS a WHERE a.state IN ('waiting', 'running') AND a.periodic_task_id = b.periodic_task_id) GROUP BY periodic_task_id LIMIT 1000`,
      // Its job was deleted by hand, so that no end of it will come: planned from now, or on with a slot that it still has.
      `SELECT 'endless schedule' AS kind, id, NULL AS worker, NULL AS marked FROM ${schedule} AS s WHERE idle = 'running' AND NOT EXISTS (SELECT 1 FROM ${job} AS a WHERE a.state IN ('waiting', 'blocked', 'running') AND a.periodic_task_id = s.id)`,
    ]
  }

  /** @returns whether it was still blocked, with nothing before it */
  #unblock(id: string): Promise<boolean> {
    const { schedule, job } = this.#tables
    return this.#database.transaction(async (sql) => {
      const [row] = await sql.rows<{ schedule: string }>(
        `SELECT periodic_task_id AS schedule FROM ${job} WHERE id = ? AND state = 'blocked'`,
        [id],
      )
      if (row === undefined) return false
      await sql.rows(`SELECT id FROM ${schedule} WHERE id = ? ${this.#database.dialect.forUpdate}`, [
        row.schedule,
      ])
      const active = await sql.rows(
        `SELECT id FROM ${job} WHERE state IN ('waiting', 'running') AND periodic_task_id = ?`,
        [row.schedule],
      )
      if (active.length > 0) return false
      return (
        (await sql.run(`UPDATE ${job} SET state = 'waiting' WHERE id = ? AND state = 'blocked'`, [id])) > 0
      )
    })
  }

  /** @returns whether it still waited for the end of a run, and there was none */
  async #planAgain(id: string): Promise<boolean> {
    const { schedule, job } = this.#tables
    return (
      (await this.#database.run(
        `UPDATE ${schedule} SET idle = NULL WHERE id = ? AND idle = 'running' AND NOT EXISTS (SELECT 1 FROM ${job} AS a WHERE a.state IN ('waiting', 'blocked', 'running') AND a.periodic_task_id = ${schedule}.id)`,
        [id],
      )) > 0
    )
  }

  async #endMarks(marks: readonly Found[]): Promise<number> {
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
}

/**
 * What is no instant, such as 0000-00-00, stands before or after now all the same, as the database compares. Before: it
 * is due, or nobody would look at what comes behind it.
 */
function instantOfLook(text: string | null, clock: string): Date | null {
  return fromText(text) ?? (text !== null && text <= clock ? new Date(0) : null)
}
