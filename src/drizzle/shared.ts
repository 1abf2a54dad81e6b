/** The parts of the tables that are the same on every database: options, allowed values, and CHECKs of settings. */
import type { AttemptOutcome } from '../model/attempt.ts'
import type { JobState } from '../model/job.ts'
import type { Idle } from '../model/schedule.ts'
import { type Setting, SETTING_NAMES, type SettingName, settingOf, UNLIMITED } from '../model/settings.ts'

export interface TablesOptions {
  /** The `tablePrefix` of `Kalends.open`; default: none. */
  readonly prefix?: string | undefined
}

/** The maximum values of INT and of integers in JavaScript. */
export const INT = 2_147_483_647
export const LARGE = Number.MAX_SAFE_INTEGER

export const OPEN = ['waiting', 'blocked', 'running', 'external'] as const satisfies readonly JobState[]
export const STATES = [
  ...OPEN,
  'success',
  'failed',
  'cancelled',
  'skipped',
] as const satisfies readonly JobState[]

/**
 * The reasons of jobs that were skipped, cancelled or run manually, that failed, or whose outcome was never reported.
 */
// biome-ignore format: by state
export const REASONS = [
  'overlap', 'missed', 'frozen', 'max-runs', 'unsubmittable',
  'exhausted', 'permanent', 'lost', 'yielded', 'unreported',
  'replaced',
  'run-now',
  'handed-over',
] as const

export const IDLE = [
  'awaiting-finish',
  'done',
  'dead',
  'invalid',
  'retired',
] as const satisfies readonly Idle[]

/** Outcomes of attempts that did not succeed. */
export const OUTCOMES = [
  'failed',
  'timeout',
  'cancelled',
  'released',
  'snoozed',
  'lost',
] as const satisfies readonly AttemptOutcome[]

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** `status` of a schedule. */
export const STATUS =
  "case when `enabled` = 0 then 'paused' when `idle` in ('dead', 'invalid', 'retired') then `idle` when `frozen_until` is not null and coalesce(`idle`, '') <> 'done' then 'frozen' when `retry_at` is not null then 'retrying' when `idle` = 'done' then 'done' else 'active' end"

const IS_OPEN = `\`state\` in (${OPEN.map((state) => `'${state}'`).join(', ')})`

/** `open_key` and `open_turn` of a job are unique together, so that runs of a schedule exclude each other. */
export const OPEN_KEY = ifOpen('`periodic_task_id`')
export const OPEN_TURN = `case when \`periodic_task_id\` is null or not (${IS_OPEN}) then null when \`exclusive\` = 1 and \`state\` <> 'blocked' then '' else \`id\` end`

/** A value that a job has until it is final. */
export function ifOpen(value: string): string {
  return `case when ${IS_OPEN} then ${value} end`
}

/** `ready` of a job that can be claimed now. */
export const READY = "`state` = 'waiting' and `run_at` is null and `frozen_until` is null"

/** `claim_task` of a job. Task names never look like the queue names here. */
export const CLAIM_TASK = {
  mysql: "coalesce(concat(' ', `queue`), `task`)",
  sqlite: "coalesce(' ' || `queue`, `task`)",
} as const

/**
 * `held_by` of a held job: empty until a freeze ends, or a blank and the time by which the external queue must report
 * the outcome.
 */
export const heldBy = (reportBy: string) =>
  `case \`state\` when 'external' then ${reportBy} when 'waiting' then case when \`frozen_until\` is not null then '' end end`

/** The settings that determine the next run, as SQL that is never null. */
export const DEFINITION_PARTS: readonly string[] = SETTING_NAMES.map((name) => settingOf(name))
  .filter(({ replans }) => replans === true)
  .map(({ column, default: value }) => (value === null ? `coalesce(\`${column}\`, '')` : `\`${column}\``))

/** Builds the condition of a CHECK from the quoted name of its column. */
export type Check = (column: string) => string

export function oneOf(values: readonly string[]): Check {
  return (column) => `${column} in (${values.map((value) => `'${value}'`).join(', ')})`
}

/** The CHECKs of a dialect, by kind of setting. */
export interface ChecksOfKinds {
  readonly text: (most: number) => Check | null
  readonly whole: (least: number, most: number) => Check
  readonly instant: Check
  readonly json: Check | null
}

/** The CHECKs of settings, by column. */
export function settingChecks(
  names: readonly SettingName[],
  of: ChecksOfKinds,
): Readonly<Record<string, Check | null>> {
  return Object.fromEntries(names.map((name) => [settingOf(name).column, checkOf(settingOf(name), of)]))
}

function checkOf(setting: Setting, of: ChecksOfKinds): Check | null {
  switch (setting.kind) {
    case 'flag':
      return of.whole(0, 1)
    case 'text':
      return of.text(setting.most)
    case 'whole':
      return of.whole(setting.unlimited === true ? UNLIMITED : setting.least, setting.most)
    case 'span':
      return of.whole(setting.least, setting.most)
    case 'choice':
      return oneOf(Object.keys(setting.values))
    case 'instant':
      return of.instant
    case 'json':
      return of.json
    default:
      return setting satisfies never
  }
}
