/** Chooses the index that serves a list, and the conditions that remain as a filter. */
import { type Owner, prefixOf, storedIds } from '../../../model/owner.ts'
import { FINAL_STATES } from '../../../model/states.ts'
import { toText } from '../../../model/instant.ts'
import type { JobConditions, ScheduleConditions, ScheduleQuery } from '../../list-store.ts'
import { and, both, type Condition, FINAL, NOTHING, scopeCondition } from '../conditions.ts'
import type { Dialect } from '../../database.ts'
import type { Context } from '../context.ts'
import { ownerIndex } from '../own-ids.ts'
import type { Range } from './scan.ts'

/** A condition, an index on its column followed by the key, and the order of that index. */
type Choice = Pick<Range, 'index' | 'where' | 'order' | 'anyOf'>

const BY_KEY = ['id']

/** Empty without a condition. */
const choice = (where: Condition, index: string | null, order = BY_KEY): Choice[] =>
  where.text === '' ? [] : [{ index, where, order }]

const equal = (column: string, index: string, value: string | null | undefined, order = BY_KEY): Choice[] =>
  choice(typeof value === 'string' ? and(`${column} = ?`, value) : NOTHING, index, order)

const contains = ({ position }: Dialect, text: string) => `${position(`LOWER(${text})`, 'LOWER(?)')} > 0`

/** The first choice selects the index; the others become filters. */
function rangeOf([first, ...others]: readonly Choice[], searches: readonly Condition[]) {
  const all = { index: null, where: NOTHING, order: BY_KEY }
  return { ...(first ?? all), filter: both(...others.map(({ where }) => where), ...searches) }
}

export function scheduleRange(
  { tables, dialect }: Context,
  owner: Owner,
  conditions: ScheduleConditions,
  by: ScheduleQuery['order'] = 'id',
): Range {
  const { status, text } = conditions
  const isCommon = status === 'active'
  const scope = scopeCondition(owner)
  const order = by === 'nextRunAt' ? ['wake_at', 'id'] : BY_KEY
  // The owner comes first, so that a result never depends on other owners' rows. The most selective conditions follow.
  const choices: Choice[] = [
    // To order by the next run, all schedules of the owner are sorted: a scan of the index on wake_at would also read
    // other owners' rows.
    ...choice(scope, ownerIndex(tables, 'schedule', owner), order),
    ...(by === 'nextRunAt' ? [{ index: tables.wakeIndex, where: NOTHING, order }] : []),
    ...equal('submitter', tables.scheduleSubmitterIndex, conditions.submitter),
    ...equal('group_', tables.scheduleGroupIndex, conditions.group),
    ...equal('status', tables.scheduleStatusIndex, isCommon ? undefined : status),
    ...equal('task', tables.scheduleTaskIndex, conditions.task),
    ...equal('declared_by', tables.declaredByIndex, conditions.declaredBy),
    ...equal('status', tables.scheduleStatusIndex, isCommon ? status : undefined),
  ]
  const searched = [
    // The owner's prefix of the id is not searched, because the owner does not see it.
    contains(dialect, "REPLACE(id, ?, '')"),
    ...['summary', 'subject', 'task'].map((column) => contains(dialect, `COALESCE(${column}, '')`)),
  ]
  const search =
    text === undefined ? [] : [and(`(${searched.join(' OR ')})`, prefixOf(owner), text, text, text, text)]
  return { table: tables.schedule, direction: 'ASC', ...rangeOf(choices, search) }
}

const ANY_FINAL = FINAL_STATES.map((state) => and('state = ?', state))

const search = (dialect: Dialect, column: string, value: string | undefined): Condition =>
  value === undefined ? NOTHING : and(contains(dialect, `COALESCE(${column}, '')`), value)

export function jobRange({ tables, dialect }: Context, owner: Owner, conditions: JobConditions): Range {
  const { id, state, worker, scheduleId: schedule, finishedFrom, finishedTo } = conditions
  const isCommon = state === 'success' || state === 'skipped'
  const hasFew = state === 'running' || state === 'external'
  const ofState = state === undefined ? NOTHING : and('state = ?', state)
  const scope = scopeCondition(owner)
  const ended = both(
    finishedFrom === undefined ? NOTHING : and('finished >= ?', toText(finishedFrom)),
    finishedTo === undefined ? NOTHING : and('finished < ?', toText(finishedTo)),
  )
  // A row that was manually reopened may still have its finish time.
  const ofFinal = ended.text === '' || state !== undefined ? ended : both(ended, and(FINAL))
  const byState = (where: Condition, anyOf?: Range['anyOf']): Choice[] =>
    choice(where, tables.jobStateIndex, ['finished', 'id']).map((one) => ({ ...one, anyOf }))
  // The owner comes first, so that a result never depends on other owners' rows. The most selective conditions follow.
  const choices: Choice[] = [
    ...choice(scope, ownerIndex(tables, 'job', owner)),
    ...choice(id === undefined ? NOTHING : beginsWith(storedIds(owner, id), dialect), null),
    ...(hasFew && schedule !== undefined ? byState(ofState) : []),
    // In the order of the slots, because the ids of occurrences start with the slot.
    ...equal('periodic_task_id', tables.jobScheduleIndex, schedule),
    ...(worker === undefined ? [] : byState(and("state = 'running' AND worker = ?", worker))),
    ...(ended.text === ''
      ? []
      : byState(both(ofState, ofFinal), state === undefined ? ANY_FINAL : undefined)),
    ...equal('submitter', tables.jobSubmitterIndex, conditions.submitter),
    ...equal('group_', tables.jobGroupIndex, conditions.group),
    ...(isCommon ? [] : byState(ofState)),
    ...equal('task', tables.jobTaskIndex, conditions.task),
    ...(isCommon ? byState(ofState) : []),
  ]
  const searches = [search(dialect, 'error', conditions.error), search(dialect, 'args', conditions.args)]
  return { table: tables.job, direction: 'DESC', ...rangeOf(choices, searches) }
}

/** Job ids are ASCII, and DEL is the last ASCII character. */
function beginsWith(starts: readonly string[], { jobId }: Context['dialect']): Condition {
  // Servers pad strings with blanks when they compare them, so a trailing blank has no effect, and no id ends with a
  // blank.
  const conditions = starts.map(
    (start) => `id ${start.endsWith(' ') ? '>' : '>='} ${jobId} AND id <= ${jobId}`,
  )
  return and(
    `(${conditions.join(' OR ')})`,
    ...starts.flatMap((start) => [start.replace(/ +$/, ''), `${start}\u007f`]),
  )
}
