import { ConflictError, InvalidInputError, VersionError } from '../errors.ts'
import { checkKeys } from '../keys.ts'
import { SCHEDULE_COLUMNS } from '../model/columns.ts'
import { oneOf } from '../model/input.ts'
import { newJobId } from '../model/occurrence.ts'
import { newId } from '../model/owner.ts'
import { planEdit } from '../model/plan.ts'
import { changedSettings, type Schedule } from '../model/schedule.ts'
import type { Check, PutResult } from '../store/schedule-store.ts'
import { type AnyScheduleInput, type CreateOptions, DECLARATION, newSchedule } from './settings.ts'
import { checkCount, type SchedulesContext, type WriteOptions, type WritePlace } from './writes.ts'

const CREATE = [...DECLARATION, 'ifExists']
/** The input of `put`, including everything that `get` returns; `put` ignores the state. */
const WITH_STATE = [...DECLARATION, ...Object.keys(SCHEDULE_COLUMNS), 'status', 'waitingFor']

export async function createOrFind(
  given: AnyScheduleInput & CreateOptions,
  { schedules, inTurn }: WritePlace,
  context: SchedulesContext,
): Promise<{ isNew: boolean; schedule: Schedule }> {
  checkKeys(given, CREATE, '', 'schedule')
  const { ifExists, ...input } = given
  const isSameFine = oneOf('ifExists', ifExists, ['error', 'same']) === 'same'
  const { id } = input
  if (isSameFine && id === undefined)
    throw new InvalidInputError('ifExists', 'requires an id, to find the same schedule again')
  const { owner, limits } = context.authority
  const stored = id === undefined ? newJobId(new Date()) : newId(owner, id)
  const timer = isSameFine && id !== undefined ? (await schedules.get(id))?.timer : undefined
  const created = await newSchedule(stored, input, context, schedules, timer)
  return await inTurn(async () => {
    // The owner may already have a row that has the same visible id, but a stored id without the prefix.
    const isHidden = id !== undefined && id !== stored
    const existing = isSameFine || isHidden ? await schedules.get(id ?? '') : null
    if (existing !== null && !isSameFine) throw inUse(existing.id)
    if (existing === null) await checkCount(limits, schedules)
    if (!isSameFine || id === undefined)
      return { isNew: true, schedule: await schedules.create(created, planEdit) }
    const { declaredBy: _, ...wanted } = created.settings
    const { result, schedule } = await schedules.put(
      id,
      () => created,
      (current) => {
        if (Object.keys(changedSettings(current, wanted)).length > 0) throw inUse(id, 'different ')
        return {}
      },
      planEdit,
    )
    return { isNew: result === 'created', schedule }
  })
}

export async function put(
  id: string,
  input: AnyScheduleInput,
  options: WriteOptions,
  check: Check<Schedule>,
  { schedules, inTurn }: WritePlace,
  context: SchedulesContext,
): Promise<PutResult> {
  checkKeys(input, WITH_STATE, '', 'schedule')
  if ('id' in input && input.id !== id)
    throw new InvalidInputError('id', `the id of the schedule '${id}' cannot be changed; leave it out`)
  const existing = await schedules.get(id)
  const created = await newSchedule(id, input, context, schedules, existing?.timer)
  // An existing schedule keeps these values: `enabled` belongs to users, and `declaredBy` to declared sets.
  const { enabled: _, declaredBy: __, ...wanted } = created.settings
  const { limits } = context.authority
  return await inTurn(async () => {
    // If the owner has limits, another call may have created the schedule while this call waited for its turn.
    const isNew = (limits === null ? existing : await schedules.get(id)) === null
    if (isNew) await checkCount(limits, schedules)
    return await schedules.put(
      id,
      () => {
        // There is no such version, or the schedule was deleted in the meantime: a new one would not have been counted.
        if ((options.ifVersion ?? null) !== null || !isNew) throw new VersionError(id)
        return created
      },
      (current) => {
        check(current)
        return changedSettings(current, wanted)
      },
      planEdit,
    )
  })
}

function inUse(id: string, which = ''): ConflictError {
  return new ConflictError(
    `A ${which}schedule with the id '${id}' already exists; use put or update to change it`,
  )
}
