/** Names and types derived from the table of settings, for values in rows and in input. */
import { picked, type Stored, type Value } from './columns.ts'
import { type Setting, SETTINGS } from './setting-table.ts'

export { INT, NAME_LIMIT, QUEUE_LIMIT, type Setting, SETTINGS } from './setting-table.ts'

type Definitions = typeof SETTINGS
export type SettingName = keyof Definitions
/** The settings whose definitions match a condition. */
type Marked<Mark> = { [Name in SettingName]: Definitions[Name] extends Mark ? Name : never }[SettingName]
/** How long an attempt may take and what happens when it fails. A task, a schedule and a job may each set these. */
export type PolicyName = Marked<{ taskDefault: unknown }>
export type JobSettingName = Marked<{ isOfJobs: true }>
/** The settings that `checkedSettings` checks: all except these three, which are checked elsewhere. */
export type OptionName = Exclude<SettingName, 'task' | 'args' | 'timer'>

type StoredValue<Name extends SettingName> = Stored<Definitions[Name]>
type GivenValue<Name extends SettingName> = Definitions[Name] extends { kind: 'span' }
  ? StoredValue<Name> | string
  : StoredValue<Name>

/** What happens to a slot while a job of the schedule is not final. @useDeclaredType */
export type Overlap = Value<Definitions['overlap']>
/** What happens after a run has failed permanently. @useDeclaredType */
export type OnExhausted = Value<Definitions['onExhausted']>
/**
 * exponential: the delay doubles with each retry, up to ten times the first. fixed: it stays the same. @useDeclaredType
 */
export type RetryBackoff = Value<Definitions['retryBackoff']>

/** The settings as read from a row, without args, which have different types for reading and writing. */
export type SettingValues = {
  readonly [Name in keyof Definitions as Name extends 'args' ? never : Name]: StoredValue<Name>
}

export type JobSettingValues = {
  readonly [Name in keyof Definitions as Name extends Exclude<JobSettingName, 'args'>
    ? Name
    : never]: StoredValue<Name>
}

/** The policy in effect, after all defaults are applied. */
export type PolicyValues = {
  readonly [Name in PolicyName]: Definitions[Name] extends { taskDefault: null }
    ? Value<Definitions[Name]> | null
    : Value<Definitions[Name]>
}

type Options<Names extends SettingName> = {
  readonly [Name in keyof Definitions as Name extends Names ? Name : never]?: GivenValue<Name> | undefined
}

/** The settings as people write them, without `task` and `args`: the task determines the type of its args. */
export type SettingOptions = Options<OptionName> & {
  readonly [Name in keyof Definitions as Name extends 'timer' ? Name : never]: string
}

export type JobSettingOptions = Options<JobSettingName & OptionName>

/** The policy as people write it for a task. */
export type PolicySettings = {
  readonly [Name in keyof Definitions as Name extends PolicyName ? Name : never]?:
    | Exclude<GivenValue<Name>, null>
    | undefined
}

/** The start of an error message: `must be an integer between 1 and 9, or null (no limit)`. */
export function wholeNeeded(least: number, most: number, otherwise?: string, unlimited?: true): string {
  const others = unlimited === true ? " or 'unlimited'" : ''
  return `must be an integer between ${least} and ${most}${others}${otherwise === undefined ? '' : `, or null (${otherwise})`}`
}

/** The number that represents `unlimited` in a column. */
export const UNLIMITED = -1

/** Maximum `delay` of a job: ten years. */
export const LONGEST_DELAY_MS = 3650 * 86_400_000

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.keys returns plain strings
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[]

/** The definition of a setting, for code that handles any setting. */
export function settingOf(name: SettingName): Setting {
  return SETTINGS[name]
}

/** A label for the web page and `kalends schedules show`, such as `Max runs` for `maxRuns`. */
export function labelOf(name: SettingName): string {
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

export function isPolicy(name: SettingName): name is PolicyName {
  return 'taskDefault' in SETTINGS[name]
}

export function isOfJobs(name: SettingName): name is JobSettingName {
  return settingOf(name).isOfJobs === true
}

export const OPTION_NAMES = SETTING_NAMES.filter(
  (name): name is OptionName => name !== 'task' && name !== 'args' && name !== 'timer',
)
export const JOB_OPTION_NAMES = OPTION_NAMES.filter((name) => isOfJobs(name))
export const POLICY_NAMES = SETTING_NAMES.filter((name) => isPolicy(name))
export const JOB_SETTING_NAMES = SETTING_NAMES.filter((name) => isOfJobs(name))
export const JOB_SETTINGS = picked(SETTINGS, JOB_SETTING_NAMES)

export function defaultsOf<Name extends OptionName>(names: readonly Name[]): Pick<SettingValues, Name> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each value is the default of its setting
  return Object.fromEntries(names.map((name) => [name, settingOf(name).default])) as Pick<SettingValues, Name>
}

export function isNullable(setting: Setting): boolean {
  return setting.default === null
}

/** The description, with the format and the default. */
export function explained(setting: Setting): string {
  const form = setting.kind === 'span' ? ': milliseconds or a time span' : ''
  const value = defaultText(setting)
  return `${setting.description}${form}${value === '' ? '' : `; default${value}`}`
}

/** The default as text; empty if the description makes it clear. */
function defaultText(setting: Setting): string {
  const { kind, default: value, otherwise } = setting
  const ofTask = taskDefaultText(setting)
  if (ofTask !== '') return `: ${otherwise}, else ${ofTask}`
  if (otherwise !== undefined) return `: ${otherwise}`
  if (value === undefined || value === null) return ''
  if (value === '') return ' none'
  return kind === 'choice' || kind === 'json' ? ` \`${value}\`` : ` ${value}`
}

/** The default, as text, if neither the task nor the schedule sets a value. */
export function taskDefaultText(setting: Setting): string {
  if (!('taskDefault' in setting)) return ''
  const { kind, taskDefault } = setting
  if (kind === 'span')
    return taskDefault == null ? (setting.taskOtherwise ?? '') : `${taskDefault / 60_000}min`
  return kind === 'choice' ? `\`${taskDefault}\`` : String(taskDefault)
}

/** Whether a string has at most this many characters, in code points, as databases count them. */
export function isUpTo(text: string, most: number): boolean {
  // A code point has one or two UTF-16 code units, so only strings of medium length need counting.
  return text.length <= most || (text.length <= 2 * most && Array.from(text).length <= most)
}
