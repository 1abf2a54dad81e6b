import type { Job } from '../../model/job.ts'
import type { JobState } from '../../model/states.ts'
import type { OpenJob } from '../../model/manual-runs.ts'
import { isJobId, type Owner, shownId, storedIds } from '../../model/owner.ts'
import { type Schedule, stateOf, type StoredSchedule } from '../../model/schedule.ts'
import { scopeCondition } from './conditions.ts'
import type { AnyContext } from './context.ts'
import { placeholders } from '../literals.ts'
import { keyOf, type Tables } from './tables.ts'

/**
 * The stored ids for the names that an owner uses. Names for which the owner has no row are left out; for `ANY_OWNER`,
 * the names are the ids, and are not looked up.
 *
 * The rows are found through the owner's index, so that neither the result nor its timing depends on other owners'
 * rows.
 */
export async function findOwn(
  context: AnyContext,
  table: 'schedule' | 'job',
  owner: Owner,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const scope = scopeCondition(owner)
  // Names that cannot be job ids are left out, because a server would ignore a trailing blank.
  const possible = table === 'job' ? names.filter(isJobId) : names
  if (scope.text === '') return new Map(possible.map((name) => [name, name]))
  if (possible.length === 0) return new Map()
  const candidates = possible.flatMap((name) => storedIds(owner, name))
  const { tables, dialect } = context
  const index = ownerIndex(tables, table, owner)
  const rows = await context.select<{ id: string }>(
    ['id'],
    `FROM ${dialect.found(tables[table], { index })}
     WHERE id IN (${placeholders(candidates, keyOf(tables, dialect, tables[table]))})${scope.text} ${context.current}`,
    [...candidates, ...scope.params],
  )
  const there = new Set(rows.map(({ id }) => id))
  return new Map(
    possible.flatMap((name) => {
      const stored = storedIds(owner, name).find((id) => there.has(id))
      return stored === undefined ? [] : [[name, stored]]
    }),
  )
}

export async function findOwnId(
  context: AnyContext,
  table: 'schedule' | 'job',
  owner: Owner,
  name: string,
): Promise<string | null> {
  return (await findOwn(context, table, owner, [name])).get(name) ?? null
}

const GENERATED = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** The stored id of a row; if the row no longer exists, the more likely of the two possible ids. */
export async function storedId(
  context: AnyContext,
  table: 'schedule' | 'job',
  owner: Owner,
  name: string,
): Promise<string> {
  const [chosen = name, generated = name] = storedIds(owner, name)
  const found = await findOwnId(context, table, owner, name)
  return found ?? (GENERATED.test(name) ? generated : chosen)
}

export function ownerIndex(tables: Tables, table: 'schedule' | 'job', { submitter }: Owner): string {
  if (table === 'schedule')
    return submitter === null ? tables.scheduleGroupIndex : tables.scheduleSubmitterIndex
  return submitter === null ? tables.jobGroupIndex : tables.jobSubmitterIndex
}

/** The schedule with its status, and with ids as its owner sees them. */
export function shownSchedule<Row extends StoredSchedule>(
  owner: Owner,
  schedule: Row,
): Omit<Row, 'uid' | 'idle'> & Schedule {
  const { uid: _, idle: __, ...rest } = schedule
  const { id, lastJobId } = rest
  return {
    ...rest,
    ...stateOf(schedule),
    id: shownId(owner, id),
    lastJobId: lastJobId && shownId(owner, lastJobId),
  }
}

export function shownJob<Row extends Job>(owner: Owner, job: Row): Row {
  const { id, scheduleId } = job
  return { ...job, id: shownId(owner, id), scheduleId: scheduleId && shownId(owner, scheduleId) }
}

/**
 * The first open job of a schedule. A schedule that was moved to another owner may still have a job of the previous
 * owner, and the id of that job must not be revealed.
 */
export async function findOpenJob(
  context: AnyContext,
  owner: Owner,
  scheduleUid: string,
): Promise<OpenJob | null> {
  const scope = scopeCondition(owner)
  const isOwn = `CASE WHEN 1 = 1${scope.text} THEN 1 ELSE 0 END`
  const [open] = await context.select<{ id: string; state: JobState; number: number; is_own: number }>(
    ['id', 'state', 'COUNT(*) OVER () AS number', `${isOwn} AS is_own`],
    `FROM ${context.tables.job}
     WHERE open_key = ${context.dialect.jobId}
     ORDER BY id
     LIMIT 1`,
    [...scope.params, scheduleUid],
  )
  if (open === undefined) return null
  const { id, state, number } = open
  return { id: open.is_own === 1 ? shownId(owner, id) : null, state, number }
}
