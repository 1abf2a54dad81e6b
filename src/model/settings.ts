/**
 * The settings of a schedule, each defined once: name, column, kind, limits, default and description.
 *
 * Types, columns and their CHECKs, the schemas of the REST API, command-line flags, the form of the web page and the
 * tables of the documentation derive from this table. The comment above an entry is what editors show for the option;
 * a test compares it with the entry. After a change: `npm run docs:settings`, and `npm run schema` for a column.
 */

interface Common {
  readonly column: string
  /** The name of the stored value; default the name of the setting. */
  readonly property?: string
  /** For people: on the page and in `kalends schedules show`. */
  readonly label: string
  readonly description: string
  /** What null means, or an empty field of a form. */
  readonly otherwise?: string
  /** Jobs have it too: a schedule's jobs get a copy. */
  readonly isOfJobs?: true
  /** It decides the next run: an edit plans the schedule again, from now. */
  readonly replans?: true
}

/** Without a default, the setting is required. */
export interface TextSetting extends Common {
  readonly kind: 'text'
  /** Most characters. */
  readonly most: number
  /** A name decides who runs what: no blanks around it, no invisible characters. */
  readonly isName?: true
  readonly default?: string | null
}

export interface WholeSetting extends Common {
  readonly kind: 'whole'
  readonly least: number
  readonly most: number
  readonly default: number | null
  /** What holds where neither the task nor the schedule says otherwise. */
  readonly taskDefault?: number | null
}

/** In milliseconds; people may also write a time span such as `10min`. */
export interface SpanSetting extends Common {
  readonly kind: 'span'
  readonly least: number
  readonly most: number
  readonly default: number | null
  readonly taskDefault?: number | null
  /** What null means there. */
  readonly taskOtherwise?: string
}

export interface ChoiceSetting extends Common {
  readonly kind: 'choice'
  /** The values, each with what it means. */
  readonly values: Readonly<Record<string, string>>
  readonly default: string | null
  readonly taskDefault?: string | null
}

export interface InstantSetting extends Common {
  readonly kind: 'instant'
  readonly default: null
}

export interface FlagSetting extends Common {
  readonly kind: 'flag'
  readonly default: boolean
}

/** JSON text in the row. */
export interface JsonSetting extends Common {
  readonly kind: 'json'
  readonly default: string
}

export type Setting =
  | TextSetting
  | WholeSetting
  | SpanSetting
  | ChoiceSetting
  | InstantSetting
  | FlagSetting
  | JsonSetting

/** The largest whole number of an INT column, which is also the longest delay of setTimeout: 24.8 days. */
const INT = 2 ** 31 - 1

/** By the name that code, the REST API and, in kebab case, the command line use. */
export const SETTINGS = {
  /** What runs: the name of a task. */
  task: {
    kind: 'text',
    column: 'task',
    isName: true,
    most: 190,
    isOfJobs: true,
    label: 'Task',
    description: 'What runs: the name of a task',
  },
  /** Whether it runs, or is paused. Kalends never changes it; default true. */
  enabled: {
    kind: 'flag',
    column: 'enabled',
    default: true,
    replans: true,
    label: 'Enabled',
    description: 'Whether it runs, or is paused. Kalends never changes it',
  },
  /**
   * When it runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`, `cron 0 9 * * 1-5`,
   * `every 5min` or `every 5min after finish`; in UTC unless it names a zone. A full date runs once.
   */
  timer: {
    kind: 'text',
    column: 'timer',
    most: 512,
    replans: true,
    label: 'Timer',
    description:
      'When it runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`, `cron 0 9 * * 1-5`, `every 5min` or `every 5min after finish`; in UTC unless it names a zone. A full date runs once',
  },
  /** What the task gets, as JSON; default `{}`. */
  args: {
    kind: 'json',
    column: 'args',
    default: '{}',
    isOfJobs: true,
    label: 'Args',
    description: 'What the task gets, as JSON',
  },
  /** What it is for, in words. */
  summary: {
    kind: 'text',
    column: 'summary',
    most: 1000,
    default: null,
    label: 'Summary',
    description: 'What it is for, in words',
  },
  /** What happens to a slot while a job of the schedule has not ended; default `skip`. */
  overlap: {
    kind: 'choice',
    column: 'overlap',
    values: {
      skip: 'skip the slot',
      queue_one: 'queue one job behind the earlier one',
      replace: 'replace the earlier job',
      allow: 'run beside the earlier job',
    },
    default: 'skip',
    label: 'Overlap',
    description: 'What happens to a slot while a job of the schedule has not ended',
  },
  /** How many missed slots are made up at most, the newest of them; default 1. */
  catchUp: {
    kind: 'whole',
    column: 'catch_up',
    least: 0,
    most: 1000,
    default: 1,
    label: 'Catch-up',
    description: 'How many missed slots are made up at most, the newest of them',
  },
  /** Shifts all runs by the same part of this time: milliseconds or a time span; default 0. */
  jitter: {
    kind: 'span',
    column: 'jitter',
    property: 'jitterMs',
    least: 0,
    most: INT,
    default: 0,
    replans: true,
    label: 'Jitter',
    description: 'Shifts all runs by the same part of this time',
  },
  /** No slot before this time. */
  starts: {
    kind: 'instant',
    column: 'starts',
    default: null,
    replans: true,
    label: 'Starts',
    description: 'No slot before this time',
  },
  /** No slot after this time. */
  ends: {
    kind: 'instant',
    column: 'ends',
    default: null,
    replans: true,
    label: 'Ends',
    description: 'No slot after this time',
  },
  /** Successful runs after which it is done; default: no limit. */
  maxRuns: {
    kind: 'whole',
    column: 'max_runs',
    least: 1,
    most: Number.MAX_SAFE_INTEGER,
    default: null,
    otherwise: 'no limit',
    replans: true,
    label: 'Max runs',
    description: 'Successful runs after which it is done',
  },
  /** Longest time of one attempt: milliseconds or a time span; default: as the task says, else 10min. */
  timeout: {
    kind: 'span',
    column: 'timeout',
    property: 'timeoutMs',
    least: 1,
    most: INT,
    default: null,
    otherwise: 'as the task says',
    taskDefault: 600_000,
    isOfJobs: true,
    label: 'Timeout',
    description: 'Longest time of one attempt',
  },
  /** Attempts after the first; default: as the task says, else 3. */
  retries: {
    kind: 'whole',
    column: 'max_retries',
    property: 'maxRetries',
    least: 0,
    most: 1000,
    default: null,
    otherwise: 'as the task says',
    taskDefault: 3,
    isOfJobs: true,
    label: 'Retries',
    description: 'Attempts after the first',
  },
  /**
   * Time before the first retry: milliseconds or a time span; default: as the task says, else the span of an `every`
   * timer or 1min.
   */
  retryDelay: {
    kind: 'span',
    column: 'retry_delay',
    property: 'retryDelayMs',
    least: 0,
    most: INT,
    default: null,
    otherwise: 'as the task says',
    taskDefault: null,
    taskOtherwise: 'the span of an `every` timer or 1min',
    isOfJobs: true,
    label: 'Retry delay',
    description: 'Time before the first retry',
  },
  /** How the delay grows with each retry; default: as the task says, else `exponential`. */
  retryBackoff: {
    kind: 'choice',
    column: 'retry_backoff',
    values: {
      exponential: 'double it, up to ten times the first',
      fixed: 'keep it the same',
    },
    default: null,
    otherwise: 'as the task says',
    taskDefault: 'exponential',
    isOfJobs: true,
    label: 'Retry backoff',
    description: 'How the delay grows with each retry',
  },
  /** What happens after a run has failed for good; default `continue`. */
  onExhausted: {
    kind: 'choice',
    column: 'on_exhausted',
    values: {
      continue: 'continue with the next slot',
      stop: 'make it dead until it is reset',
    },
    default: 'continue',
    label: 'On exhausted',
    description: 'What happens after a run has failed for good',
  },
  /** What happens to a schedule that is done, once its jobs are pruned; default `keep`. */
  afterDone: {
    kind: 'choice',
    column: 'after_done',
    values: {
      keep: 'keep it',
      delete: 'delete it, unless code declares it',
    },
    default: 'keep',
    label: 'After done',
    description: 'What happens to a schedule that is done, once its jobs are pruned',
  },
  /** Jobs with a larger priority run first; default 0. */
  priority: {
    kind: 'whole',
    column: 'priority',
    // Without the smallest number of the column, which has no negative: the queue orders by that.
    least: -INT,
    most: INT,
    default: 0,
    isOfJobs: true,
    label: 'Priority',
    description: 'Jobs with a larger priority run first',
  },
  /** Groups take turns in the queue; default none. */
  group: {
    kind: 'text',
    column: 'group_',
    isName: true,
    most: 100,
    default: '',
    isOfJobs: true,
    label: 'Group',
    description: 'Groups take turns in the queue',
  },
  /** The user that it belongs to. */
  submitter: {
    kind: 'text',
    column: 'submitter',
    isName: true,
    most: 190,
    default: null,
    isOfJobs: true,
    label: 'Submitter',
    description: 'The user that it belongs to',
  },
  /** What it is about, such as the id of a row of the application. */
  subject: {
    kind: 'text',
    column: 'subject',
    most: 255,
    default: null,
    isOfJobs: true,
    label: 'Subject',
    description: 'What it is about, such as the id of a row of the application',
  },
} as const satisfies Readonly<Record<string, Setting>>

type Definitions = typeof SETTINGS
export type SettingName = keyof Definitions
/** The settings with this mark. */
type Marked<Mark> = { [Name in SettingName]: Definitions[Name] extends Mark ? Name : never }[SettingName]
/** How long a run may take and what happens when it fails: a task, a schedule and a job may each say it. */
export type PolicyName = Marked<{ taskDefault: unknown }>
export type JobSettingName = Marked<{ isOfJobs: true }>
type Renamed = Marked<{ property: string }>
/** The name of a setting's stored value. */
type PropertyOf<Name extends SettingName> = Name extends Renamed ? Definitions[Name]['property'] : Name
/** The settings as people write them, but for those that have a check of their own. */
export type OptionName = Exclude<SettingName, 'task' | 'args' | 'timer'>

interface Values {
  readonly text: string
  readonly whole: number
  readonly span: number
  readonly instant: Date
  readonly flag: boolean
  readonly json: unknown
}
type Value<Definition> = Definition extends { kind: 'choice'; values: infer Choices }
  ? keyof Choices
  : Definition extends { kind: keyof Values }
    ? Values[Definition['kind']]
    : never
// Conditional types, so that editors show what they come to.
type StoredValue<Name extends SettingName> = Definitions[Name] extends { default: null }
  ? Value<Definitions[Name]> | null
  : Value<Definitions[Name]>
type GivenValue<Name extends SettingName> = Definitions[Name] extends { kind: 'span' }
  ? StoredValue<Name> | string
  : StoredValue<Name>

/**
 * What happens to a slot while a job of the schedule is not final.
 *
 * @useDeclaredType
 */
export type Overlap = Value<Definitions['overlap']>
/**
 * What happens after a run has failed for good.
 *
 * @useDeclaredType
 */
export type OnExhausted = Value<Definitions['onExhausted']>
/**
 * exponential: the delay doubles with each retry, up to ten times the first; fixed: it stays.
 *
 * @useDeclaredType
 */
export type RetryBackoff = Value<Definitions['retryBackoff']>

// Each is two mapped types, because one that renames its keys loses the comments of the table.

/** The settings as they are read from a row; args are different ones when they are read and when they are written. */
export type SettingValues = {
  readonly [Name in keyof Definitions as Name extends Renamed | 'args' ? never : Name]: StoredValue<Name>
} & { readonly [Name in Renamed as PropertyOf<Name>]: StoredValue<Name> }

/** The settings of a job as they are read from a row, but for the args. */
export type JobSettingValues = {
  readonly [Name in keyof Definitions as Name extends Exclude<JobSettingName, Renamed | 'args'>
    ? Name
    : never]: StoredValue<Name>
} & { readonly [Name in JobSettingName & Renamed as PropertyOf<Name>]: StoredValue<Name> }

/** The policy in force. */
export type PolicyValues = {
  readonly [Name in PolicyName as PropertyOf<Name>]: Definitions[Name] extends { taskDefault: null }
    ? Value<Definitions[Name]> | null
    : Value<Definitions[Name]>
}

/** The settings as people write them. Task and args are typed by the task. */
export type SettingOptions = {
  readonly [Name in keyof Definitions as Name extends OptionName ? Name : never]?:
    | GivenValue<Name>
    | undefined
} & { readonly [Name in keyof Definitions as Name extends 'timer' ? Name : never]: string }

/** The settings of a job as people write them. */
export type JobSettingOptions = {
  readonly [Name in keyof Definitions as Name extends JobSettingName & OptionName ? Name : never]?:
    | GivenValue<Name>
    | undefined
}

/** The policy as people write it for a task. */
export type PolicySettings = {
  readonly [Name in keyof Definitions as Name extends PolicyName ? Name : never]?:
    | Exclude<GivenValue<Name>, null>
    | undefined
}

/** As the database gives them. */
interface ColumnValues {
  readonly text: string
  readonly whole: number
  readonly span: number
  readonly instant: string
  readonly flag: number
  readonly json: string
}
type ColumnValue<Name extends SettingName> =
  | (Definitions[Name] extends { kind: keyof ColumnValues }
      ? ColumnValues[Definitions[Name]['kind']]
      : Value<Definitions[Name]>)
  | (Definitions[Name] extends { default: null } ? null : never)

/** The columns of the settings as the database gives them. */
export type SettingRow = { [Name in SettingName as Definitions[Name]['column']]: ColumnValue<Name> }
export type JobSettingRow = { [Name in JobSettingName as Definitions[Name]['column']]: ColumnValue<Name> }

/** All settings in the order of the table. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.keys knows no names
export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[]

/** The definition of a setting where any of them may come. */
export function settingOf(name: SettingName): Setting {
  return SETTINGS[name]
}

export function propertyOf<Name extends SettingName>(name: Name): PropertyOf<Name> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- PropertyOf is made of these names
  return (settingOf(name).property ?? name) as PropertyOf<Name>
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

/** What a new schedule or job has, where nothing else is said. */
export function defaultsOf<Name extends OptionName>(
  names: readonly Name[],
): Pick<SettingValues, PropertyOf<Name>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each value is the default of its setting
  return Object.fromEntries(names.map((name) => [propertyOf(name), settingOf(name).default])) as Pick<
    SettingValues,
    PropertyOf<Name>
  >
}

/** Whether a setting may have no value. */
export function isNullable(setting: Setting): boolean {
  return setting.default === null
}

/** The description with what a value looks like and what holds without one. */
export function explained(setting: Setting): string {
  const form = setting.kind === 'span' ? ': milliseconds or a time span' : ''
  const value = defaultText(setting)
  return `${setting.description}${form}${value === '' ? '' : `; default${value}`}`
}

/** What holds without a value, as text; empty where that says itself. */
function defaultText(setting: Setting): string {
  const { kind, default: value, otherwise } = setting
  const ofTask = taskDefaultText(setting)
  if (ofTask !== '') return `: ${otherwise}, else ${ofTask}`
  if (otherwise !== undefined) return `: ${otherwise}`
  if (value === undefined || value === null) return ''
  if (value === '') return ' none'
  return kind === 'choice' || kind === 'json' ? ` \`${value}\`` : ` ${value}`
}

/** What holds where neither the task nor the schedule says otherwise, as text. */
export function taskDefaultText(setting: Setting): string {
  if (!('taskDefault' in setting)) return ''
  const { kind, taskDefault } = setting
  if (kind === 'span')
    return taskDefault == null ? (setting.taskOtherwise ?? '') : `${taskDefault / 60_000}min`
  return kind === 'choice' ? `\`${taskDefault}\`` : String(taskDefault)
}
