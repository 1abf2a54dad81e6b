/**
 * A claim locks the rows that it starts or claims ahead and, once a second, rows that it must not claim ahead, because
 * they have no retries left. It finds them through the index on (ready, group_, claim_task, claim_rank) and the key,
 * and locks them in index order with SKIP LOCKED. Other workers therefore claim the rows that follow, and a row that
 * another transaction has locked delays no claim. `ready` is the first column of the index, so that the entry of a
 * claimed job moves away from the entries of claimable jobs. The other columns of the index never change.
 */
import { isFrozenBy } from '../../model/freeze.ts'
import type { ClaimedJob } from '../../model/job.ts'
import type { Lend, Turn } from '../database.ts'
import {
  claimedAs,
  type ClaimOptions,
  type ExecutingStore,
  isTask,
  type PlacedTurn,
} from '../executing-store.ts'
import { groupBy } from '../group-by.ts'
import { integerLiteral } from '../literals.ts'
import { lockRows, updateLocked } from './by-key.ts'
import { and, exceptFor } from './conditions.ts'
import type { Context, TablesContext } from './context.ts'
import type { Isolation } from './isolate.ts'
import { after, findTurns, type FreezeRow, inPlaces, MAX_TURNS, named, placesOf } from './next-turns.ts'
import { policyOf, startableColumns, type StartableRow } from './rows.ts'
import { handOverAttempts, startAttempts } from './start.ts'

/** Maximum number of jobs that one transaction holds because of a freeze, so that it stays short. */
const HELD_AT_ONCE = 500
const MAX_ROUNDS = 20

export function claim(
  context: TablesContext,
  [worker, tasks, limit, afterGroup, options = {}]: Parameters<ExecutingStore['claim']>,
): Promise<ClaimedJob[]> {
  const { ahead = 0, cursor } = options
  const which = { ...options, names: [...tasks.keys()], limit: limit + ahead, afterGroup }
  return claimTurns(context, context.isolations.of('claim'), which, (tx, rows, before) => {
    const hasRetries = (row: StartableRow) => {
      const { retries } = policyOf(row, tasks.get(row.task))
      return retries === 'unlimited' || row.attempt < retries
    }
    const first = rows.filter((row, index) => before + index < limit || hasRetries(row))
    if (cursor !== undefined && first.length < rows.length) cursor.hasLeftOut = true
    return startAttempts(tx, worker, first, tasks)
  })
}

export function handOver(
  context: TablesContext,
  [worker, queue, limit, afterGroup, submit, onRefused, onLeftBehind]: Parameters<ExecutingStore['handOver']>,
): Promise<ClaimedJob[]> {
  const which = { names: [claimedAs(queue.name)], limit, afterGroup, ...(onRefused && { onRefused }) }
  return claimTurns(context, context.isolations.of('handOver'), which, async (tx, rows, _before, lend) => {
    const jobs = await handOverAttempts(tx, worker, rows, queue)
    // The hand-over is written first: even if the callback ends the transaction, its writes are never stored without
    // the hand-over.
    if (jobs.length > 0)
      await lend((connection, signal) => submit(jobs, connection, signal), queue.deadlineMs, onLeftBehind)
    return jobs
  })
}

interface Claims extends Omit<ClaimOptions, 'ahead'> {
  /** Names of tasks or of queues, as in `claim_task`. */
  readonly names: readonly string[]
  readonly limit: number
  readonly afterGroup: string
}

/** @param before  the number of rows that earlier transactions of this claim have started */
type Begin = (tx: Context, rows: readonly StartableRow[], before: number, lend: Lend) => Promise<ClaimedJob[]>

async function claimTurns(
  context: TablesContext,
  isolation: Isolation,
  { names, limit, afterGroup, taskLimits = new Map<string, number>(), lastTasks, cursor, onRefused }: Claims,
  begin: Begin,
): Promise<ClaimedJob[]> {
  const { dialect, tables } = context
  if (names.length === 0 || limit <= 0) return []
  let lastGroup = afterGroup
  /** Whether all jobs of the first turns were left out, so that the search goes through the groups one after another. */
  let isWhole = false
  const seen = new Set<string>()
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const except = isolation.leftOut()
    const most = isWhole ? MAX_TURNS : Math.min(limit + new Set(except.map(queueOf)).size, MAX_TURNS)
    const same = after(
      (cursor?.turns ?? []).filter((turn) => names.includes(turn.claim_task)),
      lastGroup,
    )
    if (cursor !== undefined) Object.assign(cursor, { turns: [], hasLeftOut: false })
    const { turns, freezes, hasMore } =
      same.length > 0
        ? { turns: same, freezes: [], hasMore: false }
        : await findTurns(context, { names, limit: most, isWhole, afterGroup: lastGroup, lastTasks })
    const isNew = turns.some((turn) => !seen.has(named(turn)))
    for (const turn of turns) seen.add(named(turn))
    if (turns.length === 0) return []
    let isHeld = false
    let next: PlacedTurn[] = []
    let before = 0
    const free = async (tx: Context, rows: readonly StartableRow[]) => {
      const held = await holdFrozen(tx, rows, freezes)
      isHeld ||= held.size > 0
      return rows.filter(({ id }) => !held.has(id))
    }
    const claimed = await isolation.find<StartableRow, ClaimedJob>({
      onRefused,
      together: async (report) => {
        const jobs = await context.lendingTransaction(async (tx, lend) => {
          const columns = startableColumns(dialect)
          const places = placesOf(turns, Math.max(limit, turns.length))
          const locked = await lockTurns<StartableRow>(tx, turns, { columns, places, taskLimits, except })
          const rows = turns.length === 1 ? locked : inPlaces(locked, places)
          const withinLimits = (some: readonly StartableRow[]) =>
            withinTaskLimits(some, taskLimits).slice(0, limit)
          // The database may reject the hold of a job.
          if (freezes.length > 0) report(withinLimits(rows))
          const found = withinLimits(await free(tx, rows))
          report(found)
          next = found.length === limit && !hasMore ? placed(turns, found) : []
          return await begin(tx, found, 0, lend)
        })
        if (cursor !== undefined) cursor.turns = next
        return jobs
      },
      some: async (jobs) => {
        const part = await context.lendingTransaction(async (tx, lend) => {
          const rows = await lockRows<StartableRow>(tx, {
            table: tables.job,
            columns: startableColumns(dialect),
            ids: jobs.map(({ id }) => id),
            where: 'ready = 1',
          })
          return await begin(tx, await free(tx, rows), before, lend)
        })
        before += part.length
        return part
      },
    })
    if (claimed.length > 0) return claimed
    // There may be other jobs after held jobs, and after turns whose jobs are all left out.
    if (isHeld) await hold(context, isolation, { turns, freezes, onRefused })
    else if (except.length === 0 || !hasMore || !isNew) return []
    else if (isWhole) lastGroup = turns.at(-1)?.in_group ?? lastGroup
    else {
      isWhole = true
      seen.clear()
    }
  }
  return []
}

type LeftOutRows = ReturnType<Isolation['leftOut']>

/** The left-out jobs of a queue may be its only jobs, so it may take a turn in vain. */
const queueOf = ({ group_: group, task }: LeftOutRows[number]) => JSON.stringify([group, task])

/**
 * Locks the next claimable jobs of each turn, up to the number of its places. They are found through the claim
 * index, so no other rows are locked.
 *
 * [Servers remove the entries of claimed jobs from the index about once a second. Until then, each claim that begins at
 * the front passes over all of them. This takes 0.55 µs per entry on MariaDB, so a claim of 200 jobs after 10,000
 * claimed ones took 5 ms.]
 */
async function lockTurns<Row>(
  tx: Context,
  turns: readonly (Turn & Partial<PlacedTurn>)[],
  of: {
    readonly columns: readonly string[]
    readonly places: readonly Turn[]
    readonly taskLimits: ReadonlyMap<string, number>
    readonly except: LeftOutRows
  },
): Promise<Row[]> {
  const { dialect, tables } = tx
  const shares = groupBy(of.places, named)
  const most = (turn: Turn) =>
    Math.min(shares.get(named(turn))?.length ?? 0, of.taskLimits.get(turn.claim_task) ?? Infinity)
  const leftOut = groupBy(of.except, ({ group_: group }) => group)
  const exceptOf = ({ in_group: group, claim_task: name }: Turn) => {
    const ofGroup = leftOut.get(group) ?? []
    // In `claim_task`, an external queue has a single name for all of its tasks.
    return exceptFor(isTask(name) ? ofGroup.filter(({ task }) => task === name) : ofGroup, dialect.jobId)
  }
  const part = (turn: Turn & Partial<PlacedTurn>) =>
    `SELECT ${of.columns.join(', ')}
     FROM ${dialect.found(tables.job, { index: tables.claimIndex })}
     WHERE ready = 1 AND group_ = ? AND claim_task = ?
       ${turn.behind === undefined ? '' : `AND claim_rank = ? AND id > ${dialect.jobId}`} ${exceptOf(turn).text}
     ORDER BY ready, group_, claim_task, claim_rank, id
     LIMIT ${integerLiteral(most(turn))} ${dialect.locked('skip')}`
  return await tx.rows<Row>(
    dialect.union(turns.map(part)),
    turns.flatMap((turn) => [
      turn.in_group,
      turn.claim_task,
      ...(turn.behind === undefined ? [] : [turn.claim_rank, turn.behind]),
      ...exceptOf(turn).params,
    ]),
  )
}

/** Keeps the first jobs of each task, up to the limit of the task. */
function withinTaskLimits<Row extends { readonly task: string }>(
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

/** The turns, each with the position after its last job; empty if one of them had no job. */
function placed(turns: readonly Turn[], rows: readonly StartableRow[]): PlacedTurn[] {
  const last = new Map<string, PlacedTurn>()
  for (const { id, group_, task, priority } of rows) {
    const turn = { in_group: group_, claim_task: task, claim_rank: -priority, behind: id }
    last.set(named(turn), turn)
  }
  return last.size < turns.length ? [] : [...last.values()]
}

interface Held {
  readonly turns: readonly Turn[]
  readonly freezes: readonly FreezeRow[]
  readonly onRefused: ClaimOptions['onRefused']
}

/** Among the next jobs of these turns, holds those to which a freeze applies. */
async function hold(
  context: TablesContext,
  isolation: Isolation,
  { turns, freezes, onRefused }: Held,
): Promise<void> {
  const columns = ['id', 'task', 'group_', 'periodic_task_id']
  const except = isolation.leftOut()
  const places = placesOf(turns, HELD_AT_ONCE)
  const of = { columns, places, taskLimits: new Map<string, number>(), except }
  const holdAll = async (tx: Context, rows: readonly FreezableRow[]) => [
    ...(await holdFrozen(tx, rows, freezes)),
  ]
  await isolation.find<FreezableRow, string>({
    onRefused,
    together: (report) =>
      context.transaction(async (tx) => {
        const rows = await lockTurns<FreezableRow>(tx, turns, of)
        report(rows)
        return await holdAll(tx, rows)
      }),
    some: (jobs) =>
      context.transaction(async (tx) => {
        const ids = jobs.map(({ id }) => id)
        const { job } = tx.tables
        return await holdAll(tx, await lockRows(tx, { table: job, columns, ids, where: 'ready = 1' }))
      }),
  })
}

type FreezableRow = Pick<StartableRow, 'id' | 'task' | 'group_' | 'periodic_task_id'>

/** Holds jobs until the last freeze that applies to them ends. @returns the ids of the held jobs */
async function holdFrozen(
  tx: Context,
  rows: readonly FreezableRow[],
  freezes: readonly FreezeRow[],
): Promise<ReadonlySet<string>> {
  const until = ({ task, group_: group, periodic_task_id: scheduleId }: FreezableRow) =>
    freezes
      .filter((freeze) =>
        isFrozenBy(
          { scheduleId: freeze.of_schedule, task: freeze.claim_task, group: freeze.in_group },
          { scheduleId, task, group },
        ),
      )
      .reduce<string | null>((last, { until: end }) => (last === null || end > last ? end : last), null)
  const held = new Set<string>()
  if (freezes.length === 0) return held
  for (const [end, frozen] of groupBy(rows, until)) {
    if (end === null) continue
    const ids = frozen.map(({ id }) => id)
    await updateLocked(tx, tx.tables.job, { frozen_until: '?' }, ids, {
      params: [end],
      where: and('+ready = 1'),
    })
    for (const id of ids) held.add(id)
  }
  return held
}
