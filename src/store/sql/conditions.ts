/** Named conditions and assignments of statements. A condition reads the columns of the innermost table. */
import type { Owner } from '../../model/owner.ts'
import type { SqlValue } from '../database.ts'
import type { Tables } from './tables.ts'

/** A condition with its values, for the end of a WHERE: ` AND …`. */
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

/** The rows of an owner: part of every statement of a scoped store, so that no id reaches beyond it. */
export function scopeCondition({ group, submitter }: Owner): Condition {
  return both(
    group === null ? NOTHING : and('group_ = ?', group),
    submitter === null ? NOTHING : and('submitter = ?', submitter),
  )
}

/** On job: not final. Word for word as the partial indexes on SQLite have it. */
export const OPEN = "state IN ('waiting', 'blocked', 'running')"
/** On job: the jobs that block others of their schedule. */
export const ACTIVE = "state IN ('waiting', 'running')"
/** On job. */
export const FINAL = "state IN ('success', 'failed', 'cancelled', 'skipped')"

/** On job: it runs, and its worker is not registered. `held_by` is NULL unless a job runs, so its index is short. */
export const orphan = ({ worker }: Tables): string =>
  `held_by >= '' AND held_by NOT IN (SELECT id FROM ${worker})`

/** On job AS b: it is blocked, and no other job of its schedule blocks it. */
export const blockedByNothing = ({ job }: Tables): string =>
  `b.state = 'blocked' AND NOT EXISTS (
    SELECT 1 FROM ${job} AS a WHERE ${ACTIVE} AND a.periodic_task_id = b.periodic_task_id
  )`

/** On periodic_task, whose rows are called as given: it waits for the end of a run, and no job of it is open. */
export const waitsForNothing = ({ job }: Tables, schedule: string): string =>
  `${schedule}.idle = 'awaiting finish' AND NOT EXISTS (
    SELECT 1 FROM ${job} AS a WHERE ${OPEN} AND a.periodic_task_id = ${schedule}.id
  )`

/** On periodic_task: assignments that end a mark. */
export const UNMARKED = { worker: 'NULL', marked: 'NULL', mark_ends: 'NULL' } as const
