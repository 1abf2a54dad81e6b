import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { PLAN_COLUMNS, SCHEDULE_COLUMNS, Values } from './columns.ts'
import {
  defaultsOf,
  OPTION_NAMES,
  SETTING_NAMES,
  type SettingName,
  type SettingValues,
  SETTINGS,
} from './settings.ts'
import type { ScheduleStatus } from './states.ts'

/** A row of `periodic_task`: when a task runs, and with which args. */
export interface Schedule extends SettingValues, Values<typeof SCHEDULE_COLUMNS> {
  readonly id: string
  readonly args: unknown
  readonly status: ScheduleStatus
  /** `finish`: the next slot is not known yet, because it is counted from the end of the current run. */
  readonly waitingFor: 'finish' | null
}

export interface StoredSchedule
  extends Omit<Schedule, 'status' | 'waitingFor'>,
    Pick<Values<typeof PLAN_COLUMNS>, 'uid' | 'idle'> {}

/** The settings of a schedule that people and code choose, in stored form. */
export interface ScheduleSettings extends SettingValues {
  /** JSON text. */
  readonly args: string
  readonly declaredBy: string | null
}

export const DEFAULT_SETTINGS: Omit<ScheduleSettings, 'task' | 'timer'> = {
  ...defaultsOf(OPTION_NAMES),
  args: SETTINGS.args.default,
  declaredBy: null,
}

const STORED = [...SETTING_NAMES, 'declaredBy' as const].toSorted()

/** Computes `status` in the same way as the column of that name, and `waitingFor`. */
export function stateOf(
  schedule: Pick<StoredSchedule, 'enabled' | 'idle' | 'retryAt' | 'frozenUntil'>,
): Pick<Schedule, 'status' | 'waitingFor'> {
  const { enabled, idle, retryAt, frozenUntil } = schedule
  if (!enabled) return { status: 'paused', waitingFor: null }
  const isPlanned = idle === null || idle === 'awaiting-finish'
  const status = isPlanned ? 'active' : idle
  const isRetried = retryAt !== null && (isPlanned || idle === 'done')
  return {
    status: frozenUntil !== null && isPlanned ? 'frozen' : isRetried ? 'retrying' : status,
    waitingFor: idle === 'awaiting-finish' ? 'finish' : null,
  }
}

/** Whether slots are submitted, or are held or skipped only temporarily. */
export function isGoingOn(status: ScheduleStatus): boolean {
  return status === 'active' || status === 'retrying' || status === 'frozen'
}

/** A hash of all settings of a schedule: 22 characters of base64url, different after each edit. */
export function settingsHash(schedule: Schedule): string {
  const values = STORED.map((property) => schedule[property])
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 22)
}

export function changedSettings(
  current: Pick<Schedule, SettingName | 'declaredBy'>,
  wanted: Partial<ScheduleSettings>,
): Partial<ScheduleSettings> {
  const { args, ...rest } = wanted
  const changed = Object.entries(rest).filter(
    ([key, value]) => !isDeepStrictEqual(Reflect.get(current, key), value),
  )
  const argsDiffer = args !== undefined && !isDeepStrictEqual(current.args, JSON.parse(args))
  return { ...Object.fromEntries(changed), ...(argsDiffer && { args }) }
}
