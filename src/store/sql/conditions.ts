/** Named conditions and assignments for statements. Unqualified columns are those of the innermost query's table. */
import type { Owner } from '../../model/owner.ts'
import type { Dialect, SqlValue } from '../database.ts'
import { integerLiteral, placeholders } from '../literals.ts'
import type { Tables } from './tables.ts'

/** SQL text with its values; as a condition, it is appended to a WHERE: ` AND …`. */
export interface Condition {
  readonly text: string
  readonly params: readonly SqlValue[]
}

export const NOTHING: Condition = { text: '', params: [] }

export const and = (text: string, ...params: readonly SqlValue[]): Condition => ({
  text: ` AND ${text}`,
  params,
})

export function both(...conditions: readonly Condition[]): Condition {
  return {
    text: conditions.map(({ text }) => text).join(''),
    params: conditions.flatMap(({ params }) => params),
  }
}

/** Leaves out the rows with these ids. @param one  as in `placeholders` */
export function exceptFor(rows: readonly { readonly id: string }[], one = '?'): Condition {
  if (rows.length === 0) return NOTHING
  return and(`id NOT IN (${placeholders(rows, one)})`, ...rows.map(({ id }) => id))
}

/**
 * Selects the rows of an owner. This condition is part of every statement of a scoped store, so that no id gives access
 * to other rows.
 */
export function scopeCondition({ group, submitter }: Owner): Condition {
  return both(
    group === null ? NOTHING : and('group_ = ?', group),
    submitter === null ? NOTHING : and('submitter = ?', submitter),
  )
}

/** For job: not final. */
export const OPEN = "state IN ('waiting', 'blocked', 'running', 'external')"
/** For job: final. */
export const FINAL = "state IN ('success', 'failed', 'cancelled', 'skipped')"

/** For job: an external queue has the job and will report its outcome. */
export const IN_QUEUE = "held_by BETWEEN ' ' AND ' ~'"

/** For job, served by the index on the state: running, but the job's worker is not registered. */
export const orphan = ({ worker }: Tables): string =>
  `state = 'running' AND worker IS NOT NULL AND worker NOT IN (SELECT id FROM ${worker})`

/** For job: the external queue should have reported the job's outcome by now. */
export const unreported = ({ now }: Pick<Dialect, 'now'>): string =>
  `held_by BETWEEN ' ' AND CONCAT(' ', ${now})`

/** For job AS b: blocked, although no other job of its schedule blocks it. Served by the index on the state. */
export const blockedByNothing = ({ job }: Tables): string =>
  `b.state = 'blocked' AND NOT EXISTS (
    SELECT 1 FROM ${job} AS a WHERE a.open_key = b.open_key AND a.state <> 'blocked'
  )`

/** For periodic_task with the given alias: the schedule is waiting for a run to finish, but has no open job. */
export const waitsForNothing = ({ job }: Tables, schedule: string): string =>
  `${schedule}.idle = 'awaiting-finish' AND NOT EXISTS (
    SELECT 1 FROM ${job} AS a WHERE a.open_key = ${schedule}.uid
  )`

/** For job AS a: the last attempt failed, and the job is being retried. */
export const RETRYING = "((a.state = 'waiting' AND a.attempt > 0) OR (a.state = 'running' AND a.attempt > 1))"

/** For periodic_task with the given alias: the status is `retrying`, but no job is being retried. */
export const retriesNothing = ({ job }: Tables, schedule: string): string =>
  `${schedule}.status = 'retrying' AND NOT EXISTS (
    SELECT 1 FROM ${job} AS a WHERE ${RETRYING} AND a.open_key = ${schedule}.uid
  )`

/**
 * Counters stop at this value, so that a large number that was written manually does not prevent other jobs from
 * starting.
 */
export const LARGEST_COUNT = 2_147_483_647
export const nextOf = (column: string): string =>
  `CASE WHEN ${column} >= ${integerLiteral(LARGEST_COUNT)} THEN ${column} ELSE ${column} + 1 END`

/** Assignments to periodic_task when no job is being retried. */
export const NO_RETRY = { retry_at: 'NULL', retry: 'NULL', retry_limit: 'NULL' } as const

/** Assignments to periodic_task that end a mark. */
export const UNMARKED = { worker: 'NULL', marked: 'NULL', mark_ends: 'NULL' } as const
