/** Chooses the index that serves a list, and the conditions that remain as a filter. */
import { type Owner, prefixOf, storedIds } from '../../model/owner.ts'
import type { Dialect } from '../database.ts'
import { toText } from '../../model/instant.ts'
import type { JobConditions, ScheduleConditions } from '../list-store.ts'
import { and, both, type Condition, NOTHING } from './conditions.ts'
import type { Context } from './context.ts'
import type { IndexRange } from './selection.ts'
import type { Tables } from './tables.ts'

/** A condition on one column, and the index that contains this column and then the key. */
interface Choice {
  readonly index: string | null
  readonly condition: Condition
  readonly order?: readonly string[]
}

/** Empty without a value. */
const equal = (column: string, index: string, value: string | null | undefined): Choice[] =>
  typeof value === 'string' ? [{ index, condition: and(`${column} = ?`, value) }] : []

/** Whether an expression contains a text; case-insensitive. */
const contains = ({ position }: Dialect, text: string) => `${position(`LOWER(${text})`, 'LOWER(?)')} > 0`

export function scheduleRange(
  { tables, dialect }: Context,
  owner: Owner,
  conditions: ScheduleConditions,
  page: { readonly order?: 'id' | 'nextRunAt' | undefined; readonly after?: string | undefined } = {},
): IndexRange {
  const { status, text } = conditions
  const isCommon = status === 'active'
  const isScoped = prefixOf(owner) !== ''
  // The owner comes first, so that a result never depends on rows of others. Then the most selective conditions.
  const choices = [
    ...equal('submitter', tables.scheduleSubmitterIndex, owner.submitter),
    ...equal('group_', tables.scheduleGroupIndex, owner.group),
    ...equal('submitter', tables.scheduleSubmitterIndex, conditions.submitter),
    ...equal('group_', tables.scheduleGroupIndex, conditions.group),
    ...equal('status', tables.scheduleStatusIndex, isCommon ? undefined : status),
    ...equal('task', tables.scheduleTaskIndex, conditions.task),
    ...equal('declared_by', tables.declaredByIndex, conditions.declaredBy),
    ...equal('status', tables.scheduleStatusIndex, isCommon ? status : undefined),
  ]
  const searched = ['summary', 'subject', 'task'].map((column) =>
    contains(dialect, `COALESCE(${column}, '')`),
  )
  const search: Condition =
    text === undefined
      ? NOTHING
      : and(
          `(${[contains(dialect, "REPLACE(id, ?, '')"), ...searched].join(' OR ')})`,
          // The owner does not see the prefix, so it is not searched.
          prefixOf(owner),
          text,
          text,
          text,
          text,
        )
  // Written as a range; otherwise SQLite would not use the index.
  const wakes = and("wake_at >= '1970-01-01 00:00:00'")
  if (page.order === 'nextRunAt' && !isScoped) {
    return {
      table: tables.schedule,
      index: tables.wakeIndex,
      where: wakes,
      from: NOTHING,
      // The key (on SQLite, the order of insertion) breaks ties.
      order: ['wake_at'],
      filter: both(...choices.map(({ condition }) => condition), search),
    }
  }
  const [first, ...others] = choices
  if (page.order === 'nextRunAt') {
    return {
      table: tables.schedule,
      index: first?.index ?? null,
      // Reads and sorts all schedules of the owner: the index on wake_at would also read those of others.
      where: both(first?.condition ?? NOTHING, wakes),
      from: NOTHING,
      order: ['wake_at', 'id'],
      filter: both(...others.map(({ condition }) => condition), search),
    }
  }
  return {
    table: tables.schedule,
    index: first?.index ?? null,
    where: first?.condition ?? NOTHING,
    from: page.after === undefined ? NOTHING : and('id > ?', page.after),
    order: ['id'],
    filter: both(...others.map(({ condition }) => condition), search),
  }
}

const NEWEST_FIRST = ['id DESC']

export function jobRange(
  { tables, dialect }: Context,
  owner: Owner,
  conditions: JobConditions,
  page: { readonly before?: string | undefined } = {},
): IndexRange {
  const search = (column: string, value: string | undefined): Condition =>
    value === undefined ? NOTHING : and(contains(dialect, `COALESCE(${column}, '')`), value)
  const { id, state, scheduleId: schedule, finishedFrom, finishedTo } = conditions
  const isCommon = state === 'success' || state === 'skipped'
  const isOpen = state === 'waiting' || state === 'blocked' || state === 'running'
  // The owner comes first, so that a result never depends on rows of others. Then the most selective conditions.
  const choices: Choice[] = [
    // There are few of these, even if the owner or the schedule has a long history.
    ...(schedule !== undefined && isOpen
      ? [
          {
            index: tables.stateIndex,
            condition: and('state = ? AND periodic_task_id = ?', state, schedule),
          },
        ]
      : []),
    ...equal('submitter', tables.jobSubmitterIndex, owner.submitter),
    ...equal('group_', tables.jobGroupIndex, owner.group),
    ...(id === undefined ? [] : [{ index: null, condition: beginsWith(storedIds(owner, id)) }]),
    ...equal('periodic_task_id', tables.occurrenceIndex, isOpen ? undefined : schedule).map((choice) => ({
      ...choice,
      // Ids of occurrences start with their slot.
      order: ['slot DESC'],
    })),
    ...equal('held_by', tables.heldIndex, conditions.worker),
    ...finishedChoice(tables, finishedFrom, finishedTo),
    ...equal('submitter', tables.jobSubmitterIndex, conditions.submitter),
    ...equal('group_', tables.jobGroupIndex, conditions.group),
    ...equal(
      'state',
      tables.jobStateIndex,
      isCommon || (isOpen && schedule !== undefined) ? undefined : state,
    ),
    ...equal('task', tables.jobTaskIndex, conditions.task),
    ...equal('state', tables.jobStateIndex, isCommon ? state : undefined),
  ]
  const [first, ...others] = choices
  return {
    table: tables.job,
    index: first?.index ?? null,
    where: first?.condition ?? NOTHING,
    from: page.before === undefined ? NOTHING : and('id < ?', page.before),
    order: first?.order ?? NEWEST_FIRST,
    filter: both(
      ...others.map(({ condition }) => condition),
      search('error', conditions.error),
      search('args', conditions.args),
    ),
  }
}

function beginsWith(starts: readonly string[]): Condition {
  return and(
    `(${starts.map(() => 'id >= ? AND id <= ?').join(' OR ')})`,
    ...starts.flatMap((start) => [start, `${start}\u{10ffff}`]),
  )
}

function finishedChoice(tables: Tables, from: Date | undefined, to: Date | undefined): Choice[] {
  if (from === undefined && to === undefined) return []
  const condition = both(
    from === undefined ? and('finished IS NOT NULL') : and('finished >= ?', toText(from)),
    to === undefined ? NOTHING : and('finished < ?', toText(to)),
  )
  return [{ index: tables.finishedIndex, condition, order: ['finished DESC', 'id DESC'] }]
}
