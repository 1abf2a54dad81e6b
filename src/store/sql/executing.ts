import { Halving, isOfARow } from '../../model/halves.ts'
import { type ClaimedJob, type Fence, fenceOf } from '../../model/job.ts'
import type { SetAside } from '../../model/set-aside.ts'
import type { RunPolicy } from '../../model/task.ts'
import type { Database, Sql } from '../database.ts'
import type { Attempt, ExecutingStore, LogLine, SettleResult } from '../executing-store.ts'
import { toText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import { startableColumns, type StartableRow, startAttempts } from './start-attempts.ts'
import { jobColumns, type JobRow, policyOf } from './rows.ts'
import { againOnDuplicate } from './schedules.ts'
import { settleAll } from './settling.ts'
import { exceptFor, placeholders, type Tables } from './tables.ts'

/** A group and a task of which something can be claimed, with the rank of its first job. */
interface Turn {
  readonly claim_group: string
  readonly claim_task: string
  readonly claim_rank: number
}

/** Selections of one statement; SQLite takes 500. */
const MOST_TURNS = 250

export class SqlExecuting implements ExecutingStore {
  readonly #database: Database
  readonly #tables: Tables
  readonly #promoting = new Halving()
  readonly #claiming = new Halving()

  constructor(database: Database, tables: Tables) {
    this.#database = database
    this.#tables = tables
  }

  async promoteDue(limit: number, setAside?: SetAside): Promise<number> {
    const { job, dueIndex } = this.#tables
    const { now, skipLocked, byIndex, byKey, andFindable } = this.#database.dialect
    const except = exceptFor(setAside?.ids() ?? [])
    let ids: readonly string[] = []
    const promote = (sql: Sql, some: readonly string[]) =>
      sql.run(
        `UPDATE ${job} ${byKey} SET run_at = NULL WHERE id IN (${placeholders(some)}) AND due_at <= ${now}`,
        some,
      )
    try {
      const promoted = await this.#database.transaction(async (sql) => {
        const due = await sql.rows<{ id: string }>(
          `SELECT id FROM ${job} ${byIndex(dueIndex)} WHERE due_at <= ${now} ${andFindable} ${except.text} ORDER BY due_at LIMIT ${integerLiteral(limit)} ${skipLocked}`,
          except.params,
        )
        ids = due.map((row) => row.id)
        return ids.length === 0 ? 0 : await promote(sql, ids)
      })
      if (promoted > 0) this.#promoting.reset()
      return promoted
    } catch (error) {
      if (!isOfARow(error) || ids.length === 0) throw error
      const promoted = await this.#promoting.run(ids, {
        work: (some) => this.#database.transaction((sql) => promote(sql, some)),
        wrote: (count) => count > 0,
        refused: (id, refusal) => {
          setAside?.add(id, refusal)
          return 0
        },
        isOfAnItem: isOfARow,
      })
      return promoted.reduce((sum, count) => sum + count, 0)
    }
  }

  async claim(
    worker: string,
    tasks: ReadonlyMap<string, RunPolicy>,
    limit: number,
    afterGroup: string,
    rooms: ReadonlyMap<string, number> = new Map(),
    setAside?: SetAside,
  ): Promise<ClaimedJob[]> {
    const { job, claimIndex } = this.#tables
    const { dialect } = this.#database
    const names = [...tasks.keys()]
    if (names.length === 0 || limit <= 0) return []
    const except = exceptFor(setAside?.ids() ?? [])
    // One more turn for each job that is set aside: it may be the only one of its group.
    const turns = Math.min(limit + except.params.length, MOST_TURNS)
    const chosen = await this.#turns(names, turns, afterGroup)
    if (chosen.length === 0) return []
    const share = Math.ceil(limit / chosen.length)
    let found: readonly StartableRow[] = []
    const claimFound = async (sql: Sql) => {
      // The index holds filter and order of each part, so exactly the rows that are claimed get locked.
      const part = (turn: Turn) =>
        `SELECT ${startableColumns(dialect)} FROM ${job} ${dialect.byIndex(claimIndex)} WHERE claim_group = ? AND claim_task = ? ${dialect.andFindable} ${except.text} ORDER BY claim_group, claim_task, claim_rank, id LIMIT ${integerLiteral(Math.min(share, rooms.get(turn.claim_task) ?? share))} ${dialect.skipLocked}`
      const rows = await sql.rows<StartableRow>(
        dialect.union(chosen.map(part)),
        chosen.flatMap((turn) => [turn.claim_group, turn.claim_task, ...except.params]),
      )
      found = withinRooms(rows, rooms).slice(0, limit)
      return startAttempts(sql, dialect, this.#tables, worker, found, tasks)
    }
    try {
      const claimed = await this.#database.transaction(claimFound)
      if (claimed.length > 0) this.#claiming.reset()
      return claimed
    } catch (error) {
      if (!isOfARow(error) || found.length === 0) throw error
      const claimed = await this.#claiming.run(found, {
        work: (some) => this.#claimThese(worker, tasks, some),
        wrote: (jobs) => jobs.length > 0,
        refused: (row, refusal) => {
          setAside?.add(row.id, refusal)
          return []
        },
        isOfAnItem: isOfARow,
      })
      return claimed.flat()
    }
  }

  /** Those of the jobs that still can be claimed. */
  #claimThese(
    worker: string,
    tasks: ReadonlyMap<string, RunPolicy>,
    jobs: readonly StartableRow[],
  ): Promise<ClaimedJob[]> {
    const { dialect } = this.#database
    return this.#database.transaction(async (sql) => {
      const rows = await sql.rows<StartableRow>(
        `SELECT ${startableColumns(dialect)} FROM ${this.#tables.job} ${dialect.byKey} WHERE id IN (${placeholders(jobs)}) AND claim_task IS NOT NULL ORDER BY id ${dialect.skipLocked}`,
        jobs.map(({ id }) => id),
      )
      return startAttempts(sql, dialect, this.#tables, worker, rows, tasks)
    })
  }

  settle(attempts: readonly Attempt[]): Promise<SettleResult> {
    if (attempts.length === 0) return Promise.resolve({ settled: [], lost: [], locked: [] })
    // Where a job was put back by hand since others were looked for, no other has its turn.
    return againOnDuplicate(this.#database, () =>
      this.#database.transaction((sql) => settleAll(sql, this.#database.dialect, this.#tables, attempts)),
    )
  }

  stopRequests(worker: string): Promise<Fence[]> {
    return this.#database.rows<Fence>(
      `SELECT id, worker, claim FROM ${this.#tables.job} WHERE held_by = ? AND stop_requested IS NOT NULL`,
      [worker],
    )
  }

  async saveProgress(fence: Fence, progress: string): Promise<void> {
    await this.#database.run(
      `UPDATE ${this.#tables.job} SET progress = ? WHERE id = ? AND worker = ? AND claim = ? AND state = 'running'`,
      [progress, fence.id, fence.worker, fence.claim],
    )
  }

  async appendLogs(lines: readonly LogLine[]): Promise<void> {
    if (lines.length === 0) return
    await this.#database.run(
      `INSERT INTO ${this.#tables.log} (job_id, at, level, message) VALUES ${lines.map(() => '(?, ?, ?, ?)').join(', ')}`,
      lines.flatMap((line) => [line.jobId, toText(line.at), line.level, line.message]),
    )
  }

  async held(worker: string): Promise<Attempt[]> {
    const rows = await this.#database.rows<JobRow>(
      `SELECT ${jobColumns(this.#database.dialect)} FROM ${this.#tables.job} WHERE held_by = ?`,
      [worker],
    )
    return rows.map((row) => ({
      fence: { id: row.id, worker, claim: row.claim },
      ending: { kind: 'released' },
      policy: policyOf(row),
    }))
  }

  async orphans(limit: number, except: readonly string[] = []): Promise<Attempt[]> {
    const { job, worker } = this.#tables
    const others = exceptFor(except)
    // From the few running jobs by the index on held_by; what is running is never much.
    const rows = await this.#database.rows<JobRow & { worker: string }>(
      `SELECT ${jobColumns(this.#database.dialect)} FROM ${job} WHERE held_by >= '' AND held_by NOT IN (SELECT id FROM ${worker}) ${others.text} LIMIT ${integerLiteral(limit)}`,
      others.params,
    )
    return rows.map((row) => ({
      fence: fenceOf(row),
      ending: {
        kind: 'lost',
        error: `The worker ${row.worker} was lost during attempt ${String(row.attempt)}`,
      },
      policy: policyOf(row),
    }))
  }

  /**
   * Whose turn it is: those of the groups after the one that had the last turn, then from the first group again. A
   * loose index scan that ends when there are enough, so neither a long queue nor many of them are walked over.
   */
  async #turns(tasks: readonly string[], limit: number, afterGroup: string): Promise<Turn[]> {
    const { job, claimIndex } = this.#tables
    const { dialect } = this.#database
    // As many more, so that the last group is seen whole: in it the rank decides, the scan goes by the task's name.
    const of = { tasks: tasks.length, limit: limit + tasks.length }
    const parts = (['>', '>='] as const).map(
      (from) =>
        `SELECT claim_group, claim_task, claim_rank, '${from}' AS part FROM ${dialect.turns(job, claimIndex, { from, ...of })} AS turns`,
    )
    const found = await this.#database.rows<Turn & { part: '>' | '>=' }>(dialect.union(parts), [
      afterGroup,
      ...tasks,
      '',
      ...tasks,
    ])
    const after = found.filter(({ part }) => part === '>')
    const named = ({ claim_group, claim_task }: Turn) => JSON.stringify([claim_group, claim_task])
    const known = new Set(after.map(named))
    const others = found.filter((turn) => turn.part === '>=' && !known.has(named(turn)))
    return [inOrder(after), inOrder(others)].flat().slice(0, limit)
  }
}

/** Groups by name, and within one the first of its jobs first. */
function inOrder<Of extends Turn>(turns: readonly Of[]): Of[] {
  return turns.toSorted(
    (a, b) =>
      (a.claim_group < b.claim_group ? -1 : Number(a.claim_group > b.claim_group)) ||
      a.claim_rank - b.claim_rank,
  )
}

/** Of each task no more than there is room for, first those that were found first. */
function withinRooms<Row extends JobRow>(rows: readonly Row[], rooms: ReadonlyMap<string, number>): Row[] {
  const left = new Map(rooms)
  return rows.filter((row) => {
    const room = left.get(row.task)
    if (room === undefined) return true
    left.set(row.task, room - 1)
    return room > 0
  })
}
