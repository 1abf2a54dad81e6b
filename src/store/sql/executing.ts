import { Halving, isOfARow } from '../../model/halves.ts'
import { type ClaimedJob, type Fence, fenceOf } from '../../model/job.ts'
import type { SetAside } from '../../model/set-aside.ts'
import type { RunPolicy } from '../../model/task.ts'
import type { Turn } from '../database.ts'
import type { EndedAttempt, ExecutingStore, NewLogLine, SettleResult } from '../executing-store.ts'
import { toText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import { lockRows, updateRows } from './by-key.ts'
import { orphan } from './conditions.ts'
import { confirmByWrite } from './confirm.ts'
import type { Context, TablesContext } from './context.ts'
import { jobColumns, type JobRow, policyOf } from './rows.ts'
import { settleAll } from './settling.ts'
import { startableColumns, type StartableRow, startAttempts } from './start-attempts.ts'
import { exceptFor } from './tables.ts'

/** Selections of one statement; SQLite takes 500. */
const MOST_TURNS = 250

export class SqlExecuting implements ExecutingStore {
  readonly #context: TablesContext
  readonly #promoting = new Halving()
  readonly #claiming = new Halving()

  constructor(context: TablesContext) {
    this.#context = context
  }

  async promoteDue(limit: number, setAside?: SetAside): Promise<number> {
    const { dialect, tables } = this.#context
    const { now } = dialect
    const except = exceptFor(setAside?.ids() ?? [])
    let ids: readonly string[] = []
    const promote = (tx: Context, some: readonly string[]) =>
      updateRows(tx, tables.job, { run_at: 'NULL' }, some, { where: `due_at <= ${now}` })
    try {
      const promoted = await this.#context.transaction(async (tx) => {
        // The index on due_at filters and orders, so only the rows that are promoted are locked.
        const due = await tx.rows<{ id: string }>(
          `SELECT id
           FROM ${dialect.found(tables.job, { index: tables.dueIndex })}
           WHERE due_at <= ${now} ${except.text}
           ORDER BY due_at
           LIMIT ${integerLiteral(limit)} ${dialect.locked('skip')}`,
          except.params,
        )
        ids = due.map((row) => row.id)
        return await promote(tx, ids)
      })
      if (promoted > 0) this.#promoting.reset()
      return promoted
    } catch (error) {
      if (!isOfARow(error) || ids.length === 0) throw error
      const promoted = await this.#promoting.run(ids, {
        work: (some) => this.#context.transaction((tx) => promote(tx, some)),
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
    taskLimits: ReadonlyMap<string, number> = new Map(),
    setAside?: SetAside,
  ): Promise<ClaimedJob[]> {
    const names = [...tasks.keys()]
    if (names.length === 0 || limit <= 0) return []
    const except = setAside?.ids() ?? []
    // One more turn for each job that is set aside: it may be the only one of its group.
    const turns = await this.#turns(names, Math.min(limit + except.length, MOST_TURNS), afterGroup)
    if (turns.length === 0) return []
    let found: readonly StartableRow[] = []
    try {
      const claimed = await this.#context.transaction(async (tx) => {
        const rows = await lockTurns(tx, turns, { limit, taskLimits, except })
        found = withinTaskLimits(rows, taskLimits).slice(0, limit)
        return await startAttempts(tx, worker, found, tasks)
      })
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
    return this.#context.transaction(async (tx) => {
      const rows = await lockRows<StartableRow>(tx, {
        table: tx.tables.job,
        columns: startableColumns(tx.dialect),
        ids: jobs.map(({ id }) => id),
        where: 'claim_task IS NOT NULL',
      })
      return await startAttempts(tx, worker, rows, tasks)
    })
  }

  settle(attempts: readonly EndedAttempt[]): Promise<SettleResult> {
    if (attempts.length === 0) return Promise.resolve({ settled: [], lost: [], locked: [] })
    // A job that was put back manually since the next one was looked for has the turn.
    return this.#context.transactionOnKeys((tx) => settleAll(tx, attempts))
  }

  stopRequests(worker: string): Promise<Fence[]> {
    return this.#context.rows<Fence>(
      `SELECT id, worker, claim FROM ${this.#context.tables.job}
       WHERE held_by = ? AND stop_requested IS NOT NULL`,
      [worker],
    )
  }

  async saveProgress(fence: Fence, progress: string): Promise<void> {
    await this.#context.run(
      `UPDATE ${this.#context.tables.job} SET progress = ?
       WHERE id = ? AND worker = ? AND claim = ? AND state = 'running'`,
      [progress, fence.id, fence.worker, fence.claim],
    )
  }

  async appendLogs(lines: readonly NewLogLine[]): Promise<void> {
    if (lines.length === 0) return
    await this.#context.run(
      `INSERT INTO ${this.#context.tables.log} (job_id, at, level, message)
       VALUES ${lines.map(() => '(?, ?, ?, ?)').join(', ')}`,
      lines.flatMap((line) => [line.jobId, toText(line.at), line.level, line.message]),
    )
  }

  async held(worker: string): Promise<EndedAttempt[]> {
    const rows = await this.#context.transaction(async (tx) => {
      await confirmByWrite(tx, worker)
      return await tx.rows<JobRow>(
        `SELECT ${jobColumns(tx.dialect)} FROM ${tx.tables.job} WHERE held_by = ?`,
        [worker],
      )
    })
    return rows.map((row) => ({
      fence: { id: row.id, worker, claim: row.claim },
      end: { kind: 'released' },
      policy: policyOf(row),
    }))
  }

  async orphans(limit: number, except: readonly string[] = []): Promise<EndedAttempt[]> {
    const { tables, dialect } = this.#context
    const others = exceptFor(except)
    const rows = await this.#context.rows<JobRow & { worker: string }>(
      `SELECT ${jobColumns(dialect)} FROM ${tables.job}
       WHERE ${orphan(tables)} ${others.text}
       LIMIT ${integerLiteral(limit)}`,
      others.params,
    )
    return rows.map((row) => ({
      fence: fenceOf(row),
      end: {
        kind: 'lost',
        error: `The worker ${row.worker} was lost during attempt ${String(row.attempt)}`,
      },
      policy: policyOf(row),
    }))
  }

  /**
   * Whose turn it is: those of the groups after the one that had the last turn, then from the first group again. The
   * scan ends when there are enough, so neither a long queue nor many queues are read to the end.
   */
  async #turns(tasks: readonly string[], limit: number, afterGroup: string): Promise<Turn[]> {
    const { tables, dialect } = this.#context
    // As many more as there are tasks, so that the last group is read to its end: in a group the rank decides, but the
    // scan goes by the name of the task.
    const of = { tasks: tasks.length, limit: limit + tasks.length }
    const parts = (['>', '>='] as const).map(
      (from) =>
        `SELECT claim_group, claim_task, claim_rank, '${from}' AS part
         FROM ${dialect.turns(tables.job, tables.claimIndex, { from, ...of })} AS turns`,
    )
    const found = await this.#context.rows<Turn & { part: '>' | '>=' }>(dialect.union(parts), [
      afterGroup,
      ...tasks,
      '',
      ...tasks,
    ])
    const after = found.filter(({ part }) => part === '>')
    const known = new Set(after.map(named))
    const others = found.filter((turn) => turn.part === '>=' && !known.has(named(turn)))
    return [inOrder(after), inOrder(others)].flat().slice(0, limit)
  }
}

const named = ({ claim_group, claim_task }: Turn) => JSON.stringify([claim_group, claim_task])

/** Locks an equal share of claimable jobs of each turn, by the claim index, so that only rows that are read are locked. */
async function lockTurns(
  tx: Context,
  turns: readonly Turn[],
  of: {
    readonly limit: number
    readonly taskLimits: ReadonlyMap<string, number>
    readonly except: readonly string[]
  },
): Promise<StartableRow[]> {
  const { dialect, tables } = tx
  const except = exceptFor(of.except)
  const share = Math.ceil(of.limit / turns.length)
  const part = (turn: Turn) =>
    `SELECT ${startableColumns(dialect)}
     FROM ${dialect.found(tables.job, { index: tables.claimIndex })}
     WHERE claim_group = ? AND claim_task = ? ${except.text}
     ORDER BY claim_group, claim_task, claim_rank, id
     LIMIT ${integerLiteral(Math.min(share, of.taskLimits.get(turn.claim_task) ?? share))} ${dialect.locked('skip')}`
  return await tx.rows<StartableRow>(
    dialect.union(turns.map(part)),
    turns.flatMap((turn) => [turn.claim_group, turn.claim_task, ...except.params]),
  )
}

/** Groups by name, and within one the first of its jobs first. */
function inOrder<Of extends Turn>(turns: readonly Of[]): Of[] {
  return turns.toSorted(
    (a, b) =>
      (a.claim_group < b.claim_group ? -1 : Number(a.claim_group > b.claim_group)) ||
      a.claim_rank - b.claim_rank,
  )
}

/** No more jobs of a task than its limit, in the order in which they were found. */
function withinTaskLimits<Row extends JobRow>(
  rows: readonly Row[],
  taskLimits: ReadonlyMap<string, number>,
): Row[] {
  const left = new Map(taskLimits)
  return rows.filter((row) => {
    const free = left.get(row.task)
    if (free === undefined) return true
    left.set(row.task, free - 1)
    return free > 0
  })
}
