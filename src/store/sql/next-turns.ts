/** Whose turn is next: groups take turns, and so do the tasks of a group whose first jobs have equal priority. */
import type { Turn } from '../database.ts'
import { type ClaimOptions, isTask } from '../executing-store.ts'
import { groupBy } from '../group-by.ts'
import type { Context } from './context.ts'
import { inForce } from './freezes.ts'

/** Maximum number of selections in one statement; SQLite allows 500. */
export const MAX_TURNS = 250

export interface FreezeRow {
  readonly in_group: string | null
  readonly claim_task: string | null
  readonly of_schedule: string | null
  readonly until: string
}

interface NextTurns {
  /** Names of tasks or of queues, as in `claim_task`. */
  readonly names: readonly string[]
  readonly limit: number
  /** Whether to find all turns of a group before those of the next one. */
  readonly isWhole?: boolean
  /** The group that had the last turn. */
  readonly afterGroup: string
  readonly lastTasks: ClaimOptions['lastTasks']
}

/**
 * The active freezes, and the next turns, beginning with the group after the one that had the last turn: unless
 * `isWhole`, one of each group, then a second one of each group, and so on. The scan stops when it has found enough, so
 * it never reads long queues, or many queues, to the end.
 */
export async function findTurns(
  { rows, tables, dialect }: Context,
  { names, limit, isWhole = false, afterGroup, lastTasks = new Map() }: NextTurns,
): Promise<{ readonly turns: Turn[]; readonly freezes: FreezeRow[]; readonly hasMore: boolean }> {
  const tasks = names.length
  // At least one group is read completely: within a group the rank decides, but the scan is in the order of task names.
  const most = Math.min(limit * tasks, MAX_TURNS) + tasks
  const parts = (['>', '>='] as const).map(
    (from) =>
      `SELECT in_group, claim_task, claim_rank, '${from}' AS part, NULL AS of_schedule, NULL AS until
       FROM ${dialect.turns(tables.job, tables.claimIndex, { from, tasks, limit: most })} AS turns`,
  )
  const freezes = `SELECT group_ AS in_group, task AS claim_task, 0 AS claim_rank, 'freeze' AS part,
      schedule_id AS of_schedule, ${dialect.instant('until')} AS until
    FROM ${tables.freeze}
    WHERE ${inForce(dialect)}`
  const found = await rows<(Turn & { part: '>' | '>=' }) | (FreezeRow & { part: 'freeze' })>(
    dialect.union([...parts, freezes]),
    [afterGroup, ...names, '', ...names],
  )
  const turns = found.filter((row) => row.part !== 'freeze')
  const behind = complete(
    turns.filter(({ part }) => part === '>'),
    most,
  )
  const front = complete(
    turns.filter(({ part }) => part === '>='),
    most,
  )
  const known = new Set(behind.turns.map(named))
  const groups = groupBy(
    [...behind.turns, ...front.turns.filter((turn) => !known.has(named(turn)))],
    (turn) => turn.in_group,
  )
  const lists = [...groups].map(([group, of]) => rankedTasks(of, lastTasks.get(group) ?? ''))
  const next = (isWhole ? wholeWithin(lists, limit) : alternating(lists)).slice(0, limit)
  return {
    turns: next,
    freezes: found.filter((row) => row.part === 'freeze'),
    hasMore: lists.flat().length > next.length || behind.isCut || front.isCut,
  }
}

/** The same turns, beginning after those of the group that had the last one. */
export function after<Of extends Turn>(turns: readonly Of[], group: string): readonly Of[] {
  const last = turns.findLastIndex((turn) => turn.in_group === group)
  return [...turns.slice(last + 1), ...turns.slice(0, last + 1)]
}

/** If the scan has stopped at its limit, the tasks of the last group may be incomplete. */
function complete<Of extends Turn>(turns: readonly Of[], most: number) {
  const last = turns.at(-1)
  const isCut = turns.length === most
  return { isCut, turns: isCut ? turns.filter(({ in_group: group }) => group !== last?.in_group) : turns }
}

/** By the rank of the first job; among equal ranks, first the tasks after the one that had the last turn. */
function rankedTasks<Of extends Turn>(turns: readonly Of[], last: string): Of[] {
  const place = ({ claim_task: task }: Turn) => Number(task <= last)
  return turns.toSorted(
    (a, b) => a.claim_rank - b.claim_rank || place(a) - place(b) || (a.claim_task < b.claim_task ? -1 : 1),
  )
}

/** The first of each list, then the second of each list, and so on. */
function alternating<Of>(lists: readonly (readonly Of[])[]): Of[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, index) =>
    lists.flatMap((list) => list.slice(index, index + 1)),
  ).flat()
}

/** The first list, and those after it that fit into the limit with all lists before them. */
function wholeWithin<Of>(lists: readonly (readonly Of[])[], limit: number): Of[] {
  let length = 0
  return lists
    .filter((list, index) => {
      length += list.length
      return index === 0 || length <= limit
    })
    .flat()
}

export const named = ({ in_group, claim_task }: Turn) => JSON.stringify([in_group, claim_task])

/**
 * The order in which the turns get the capacity: one place for each group, again and again; within a group, for one
 * task after another.
 */
export function placesOf<Of extends Turn>(turns: readonly Of[], capacity: number): Of[] {
  const groups = [...groupBy(turns, (turn) => turn.in_group).values()]
  const places: Of[] = []
  for (let round = 0; groups.length > 0 && places.length < capacity; round += 1)
    places.push(...groups.slice(0, capacity - places.length).flatMap((of) => of[round % of.length] ?? []))
  return places
}

/** The rows of the turns in the order of their places; the rows of each turn keep their order. */
export function inPlaces<Row extends { readonly group_: string; readonly task: string }>(
  rows: readonly Row[],
  places: readonly Turn[],
): Row[] {
  // In `claim_task`, an external queue has a single name for all of its tasks.
  const isOfTasks = places.every((turn) => isTask(turn.claim_task))
  const key = (group: string, task: string) => JSON.stringify([group, isOfTasks ? task : ''])
  const rowsOf = groupBy(rows, ({ group_: group, task }) => key(group, task))
  const next = new Map<string, number>()
  return places.flatMap((place) => {
    const of = key(place.in_group, place.claim_task)
    const index = next.get(of) ?? 0
    next.set(of, index + 1)
    return rowsOf.get(of)?.[index] ?? []
  })
}
