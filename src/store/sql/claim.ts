/**
 * Claims jobs: finds turns, locks jobs and starts them.
 *
 * A claim locks the rows that it starts or claims ahead, and once a second those that it may not claim ahead, through
 * the index on (ready, group_, claim_task, claim_rank) and the key, in index order and with SKIP LOCKED. So other
 * workers claim the following rows, and a row that another transaction has locked delays no claim. `ready` comes first,
 * so that the entry of a claimed job moves away from the entries of claimable jobs. The other columns of the index
 * never change.
 */
import { isFrozenBy } from '../../model/freeze.ts'
import type { ClaimedJob } from '../../model/job.ts'
import type { Lend, Turn } from '../database.ts'
import { type ClaimCursor, claimedAs, type ExecutingStore, type PlacedTurn } from '../executing-store.ts'
import { groupBy } from '../group-by.ts'
import type { OnRefused } from '../refusal.ts'
import { lockRows, updateRows } from './by-key.ts'
import type { Context, TablesContext } from './context.ts'
import type { Isolation } from './isolate.ts'
import { policyOf, startableColumns, type StartableRow } from './rows.ts'
import { handOverAttempts, startAttempts } from './start.ts'
import {
  findTurns,
  type FreezeRow,
  type LeftOutRows,
  lockTurns,
  named,
  placed,
  withinTaskLimits,
} from './turns.ts'

/** Maximum number of selections in one statement; SQLite allows 500. */
const MAX_TURNS = 250
/**
 * How many jobs one transaction holds because of a freeze, and how often a claim does this. Both are limited because
 * other claims wait for it.
 */
const HELD_AT_ONCE = 500
const MAX_ROUNDS = 20

export function claim(
  context: TablesContext,
  isolation: Isolation,
  [worker, tasks, limit, afterGroup, options = {}]: Parameters<ExecutingStore['claim']>,
): Promise<ClaimedJob[]> {
  const { taskLimits = new Map<string, number>(), onRefused, ahead = 0, cursor } = options
  const which = { names: [...tasks.keys()], limit: limit + ahead, afterGroup, taskLimits, cursor }
  return claimTurns(context, isolation, { ...which, onRefused }, (tx, rows, before) => {
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
  isolation: Isolation,
  [worker, queue, limit, afterGroup, submit, onRefused]: Parameters<ExecutingStore['handOver']>,
): Promise<ClaimedJob[]> {
  const names = [claimedAs(queue.name)]
  const which = {
    names,
    limit,
    afterGroup,
    taskLimits: new Map<string, number>(),
    cursor: undefined,
    onRefused,
  }
  return claimTurns(context, isolation, which, async (tx, rows, _before, lend) => {
    const jobs = await handOverAttempts(tx, worker, rows, queue)
    // This is written first, so that if the callback ends the transaction, its writes are never stored without this
    // one.
    if (jobs.length > 0)
      await lend((connection, signal) => submit(jobs, connection, signal), queue.deadlineMs)
    return jobs
  })
}

/** Which jobs are claimed. */
interface Claims {
  /** Names of tasks or of queues, as in `claim_task`. */
  readonly names: readonly string[]
  readonly limit: number
  readonly afterGroup: string
  readonly taskLimits: ReadonlyMap<string, number>
  readonly cursor: ClaimCursor | undefined
  readonly onRefused: OnRefused | undefined
}

/**
 * Decides what happens to the locked rows.
 *
 * @param before  the number of rows that earlier transactions of this claim have started
 */
type Begin = (tx: Context, rows: readonly StartableRow[], before: number, lend: Lend) => Promise<ClaimedJob[]>

async function claimTurns(
  context: TablesContext,
  isolation: Isolation,
  { names, limit, afterGroup, taskLimits, cursor, onRefused }: Claims,
  begin: Begin,
): Promise<ClaimedJob[]> {
  const { dialect, tables } = context
  if (names.length === 0 || limit <= 0) return []
  let lastGroup = afterGroup
  const seen = new Set<string>()
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const except = isolation.leftOut()
    // Allow one more turn for each group with left-out jobs, because the group may have no other jobs.
    const most = Math.min(limit + new Set(except.map(({ group_: group }) => group)).size, MAX_TURNS)
    const same = (cursor?.turns ?? []).filter((turn) => names.includes(turn.claim_task))
    if (cursor !== undefined) Object.assign(cursor, { turns: [], hasLeftOut: false })
    const { turns, freezes } =
      same.length > 0 ? { turns: same, freezes: [] } : await findTurns(context, names, most, lastGroup)
    const isNew = turns.some((turn) => !seen.has(named(turn)))
    for (const turn of turns) seen.add(named(turn))
    if (turns.length === 0) return []
    let isHeld = false
    let next: PlacedTurn[] = []
    let before = 0
    const free = async (tx: Context, rows: readonly StartableRow[]) => {
      const found = await withoutFrozen(tx, rows, freezes)
      isHeld ||= found.length < rows.length
      return found
    }
    const claimed = await isolation.find<StartableRow, ClaimedJob>({
      onRefused,
      together: async (report) => {
        const jobs = await context.lendingTransaction(async (tx, lend) => {
          const columns = startableColumns(dialect)
          const rows = await lockTurns<StartableRow>(tx, turns, { columns, limit, taskLimits, except })
          const found = withinTaskLimits(await free(tx, rows), taskLimits).slice(0, limit)
          report(found)
          next = found.length === limit && turns.length < most ? placed(turns, found) : []
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
    if (isHeld) await context.transaction((tx) => hold(tx, turns, freezes, except))
    else if (except.length > 0 && turns.length === most && isNew)
      lastGroup = turns.at(-1)?.in_group ?? lastGroup
    else return []
  }
  return []
}

/** Holds the next jobs of these turns to which a freeze applies. */
async function hold(
  tx: Context,
  turns: readonly Turn[],
  freezes: readonly FreezeRow[],
  except: LeftOutRows,
): Promise<void> {
  const columns = 'id, task, group_ AS in_group, periodic_task_id AS schedule'
  const of = { columns, limit: HELD_AT_ONCE, taskLimits: new Map<string, number>(), except }
  const rows = await lockTurns<FreezableRow>(tx, turns, of)
  await holdFrozen(tx, rows, freezes)
}

/** Holds the jobs to which a freeze applies until it ends. @returns the others */
async function withoutFrozen(
  tx: Context,
  rows: readonly StartableRow[],
  freezes: readonly FreezeRow[],
): Promise<readonly StartableRow[]> {
  if (freezes.length === 0) return rows
  const of = rows.map((row) => {
    const { id, task, group_: group, periodic_task_id: schedule } = row
    return { id, task, in_group: group, schedule }
  })
  const held = await holdFrozen(tx, of, freezes)
  return rows.filter(({ id }) => !held.has(id))
}

/** The columns of a job that decide whether a freeze applies to it. */
interface FreezableRow {
  readonly id: string
  readonly task: string
  readonly in_group: string
  readonly schedule: string | null
}

/** @returns the ids of the held jobs */
async function holdFrozen(
  tx: Context,
  rows: readonly FreezableRow[],
  freezes: readonly FreezeRow[],
): Promise<ReadonlySet<string>> {
  const until = ({ task, in_group: group, schedule: scheduleId }: FreezableRow) =>
    freezes
      .filter((freeze) =>
        isFrozenBy(
          { scheduleId: freeze.of_schedule, task: freeze.claim_task, group: freeze.in_group },
          { scheduleId, task, group },
        ),
      )
      .reduce<string | null>((last, { until: end }) => (last === null || end > last ? end : last), null)
  const held = new Set<string>()
  for (const [end, frozen] of groupBy(rows, until)) {
    if (end === null) continue
    const ids = frozen.map(({ id }) => id)
    await updateRows(tx, tx.tables.job, { frozen_until: '?' }, ids, { params: [end] })
    for (const id of ids) held.add(id)
  }
  return held
}
