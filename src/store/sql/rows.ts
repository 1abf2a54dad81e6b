/** Converts rows to objects, and defines which columns are read, and how. */
import type { ClaimedJob, Job, JobState } from '../../model/job.ts'
import type { Finishing } from '../../model/finish.ts'
import type { Idle, ScheduleSettings, StoredSchedule } from '../../model/schedule.ts'
import {
  JOB_SETTING_NAMES,
  type JobSettingRow,
  type Setting,
  SETTING_NAMES,
  type SettingName,
  settingOf,
  type SettingRow,
  type SettingValues,
  UNLIMITED,
} from '../../model/settings.ts'
import { DEFAULT_POLICY, type RunPolicy } from '../../model/task.ts'
import type { Dialect, SqlValue } from '../database.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'

/** The settings that planning reads. */
const PLANNING = [
  'enabled',
  'timer',
  'overlap',
  'yields',
  'catchUp',
  'jitter',
  'starts',
  'ends',
  'maxRuns',
  'onExhausted',
  'group',
] as const satisfies readonly SettingName[]

/** The columns of a schedule that planning reads. The args stay in the database because they may be large. */
export interface PlannableRow
  extends Pick<
    SettingRow,
    | 'task'
    | 'enabled'
    | 'timer'
    | 'overlap'
    | 'yields'
    | 'catch_up'
    | 'jitter'
    | 'starts'
    | 'ends'
    | 'max_runs'
    | 'on_exhausted'
    | 'group_'
  > {
  id: string
  nextrun: string | null
  idle: Idle | null
  last_slot: string | null
  last_error: string | null
  created: string
  run_count: number
  error_count: number
  retry_at: string | null
  frozen_until: string | null
  definition: string
  planned_from: string | null
  worker: string | null
  marked: string | null
  clock: string
}

export interface ScheduleRow extends PlannableRow, SettingRow {
  declared_by: string | null
  last_run: string | null
  last_finished: string | null
  last_job: string | null
  failed_attempts: number
  pause_reason: string | null
  retry: number | null
  retry_limit: number | null
}

export interface JobRow extends JobSettingRow {
  id: string
  periodic_task_id: string | null
  slot: string | null
  missed: number
  run: number | null
  state: JobState
  reason: string | null
  queue: string | null
  worker: string | null
  attempt: number
  claim: number
  releases: number
  submitted: string
  run_at: string | null
  frozen_until: string | null
  started: string | null
  finished: string | null
  progress: string | null
  result: string | null
  error: string | null
  stop_requested: string | null
}

/** The columns of settings, with instants as normalised text. */
function settingExpressions({ instant }: Dialect, names: readonly SettingName[]): string[] {
  return names.map((name) => {
    const { kind, column } = settingOf(name)
    return kind === 'instant' ? `${instant(column)} AS ${column}` : column
  })
}

/** Instants as normalised text. */
export function instants({ instant }: Dialect, columns: readonly string[]): string[] {
  return columns.map((column) => `${instant(column)} AS ${column}`)
}

const PLANNABLE = [
  'id',
  'task',
  'idle',
  'last_error',
  'run_count',
  'error_count',
  'definition',
  'planned_from',
  'worker',
]

/** The expressions for `PlannableRow`, one for each column. */
export function plannableExpressions(dialect: Dialect): string[] {
  return [
    ...PLANNABLE,
    ...settingExpressions(dialect, PLANNING),
    ...instants(dialect, ['nextrun', 'last_slot', 'created', 'marked', 'retry_at', 'frozen_until']),
    `${dialect.now} AS clock`,
  ]
}

export function plannableColumns(dialect: Dialect): string {
  return plannableExpressions(dialect).join(', ')
}

const OTHER_SETTINGS = SETTING_NAMES.filter(
  (name) => name !== 'task' && !PLANNING.some((one) => one === name),
)

/** The expressions for `ScheduleRow`, one for each column. */
export function scheduleExpressions(dialect: Dialect): string[] {
  return [
    ...plannableExpressions(dialect),
    ...settingExpressions(dialect, OTHER_SETTINGS),
    ...instants(dialect, ['last_run', 'last_finished']),
    'declared_by',
    'last_job',
    'failed_attempts',
    'pause_reason',
    'retry',
    'retry_limit',
  ]
}

export function scheduleColumns(dialect: Dialect): string {
  return scheduleExpressions(dialect).join(', ')
}

/** The expressions for `JobRow`, one for each column. */
export function jobExpressions(dialect: Dialect): string[] {
  return [
    ...settingExpressions(dialect, JOB_SETTING_NAMES),
    ...instants(dialect, [
      'slot',
      'submitted',
      'run_at',
      'frozen_until',
      'started',
      'finished',
      'stop_requested',
    ]),
    'id',
    'periodic_task_id',
    'missed',
    'run',
    'state',
    'reason',
    'queue',
    'worker',
    'attempt',
    'claim',
    'releases',
    'progress',
    'result',
    'error',
  ]
}

export function jobColumns(dialect: Dialect): string {
  return jobExpressions(dialect).join(', ')
}

/** A job that may start, and the database's clock when it was read. */
export interface StartableRow
  extends Omit<
    JobRow,
    'run_at' | 'frozen_until' | 'started' | 'finished' | 'progress' | 'result' | 'state' | 'worker'
  > {
  readonly clock: string
}

/** Other columns are empty or written by the claim, and the driver takes time for each column. */
export function startableColumns(dialect: Dialect): string {
  return [
    ...settingExpressions(dialect, JOB_SETTING_NAMES),
    ...instants(dialect, ['slot', 'submitted', 'stop_requested']),
    'id',
    'periodic_task_id',
    'missed',
    'run',
    'reason',
    'queue',
    'attempt',
    'claim',
    'releases',
    'error',
    `${dialect.now} AS clock`,
  ].join(', ')
}

/**
 * A job after its claim. A single literal tells V8 the size of the object. [Building it from parts, as in `toJob`,
 * takes 2 µs more, and the same again for garbage collection; a no-op job takes 80 µs in total.]
 */
export function toClaimed(
  row: StartableRow,
  startedAt: Date,
  {
    state,
    worker,
    attempt,
    claim,
    policy,
  }: Pick<ClaimedJob, 'state' | 'worker' | 'attempt' | 'claim' | 'policy'>,
): ClaimedJob {
  const { group_: group } = row
  return {
    id: row.id,
    scheduleId: row.periodic_task_id,
    slot: fromText(row.slot),
    missed: numberOr(row.missed, 0),
    run: numberOr(row.run, null),
    task: row.task,
    args: fromJson(row.args),
    timeout: numberOr(row.timeout, null),
    retries: row.max_retries === UNLIMITED ? 'unlimited' : numberOr(row.max_retries, null),
    retryDelay: numberOr(row.retry_delay, null),
    retryBackoff: row.retry_backoff,
    priority: numberOr(row.priority, 0),
    group,
    submitter: row.submitter,
    subject: row.subject,
    state,
    reason: row.reason,
    queue: row.queue,
    worker,
    attempt,
    submittedAt: fromStored(row.submitted),
    runAt: null,
    frozenUntil: null,
    startedAt,
    finishedAt: null,
    progress: null,
    result: null,
    error: row.error,
    stopRequestedAt: fromText(row.stop_requested),
    claim,
    releases: row.releases,
    argsText: row.args,
    policy,
  }
}

type Values = SettingValues & { readonly args: unknown }

/**
 * Reads the settings of a row into an object to which other fields are added. [A literal with a spread takes ten times
 * as long.]
 */
function settingsReader<Name extends SettingName>(
  names: readonly Name[],
): (row: object) => Pick<Values, Name> {
  const settings = names.map((name) => [name, settingOf(name)] as const)
  return (row) => {
    const values: Record<string, unknown> = {}
    for (const [name, setting] of settings) values[name] = valueOf(setting, Reflect.get(row, setting.column))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one value for each name
    return values as Pick<Values, Name>
  }
}

function valueOf(setting: Setting, stored: unknown): unknown {
  switch (setting.kind) {
    case 'whole':
      return setting.unlimited === true && stored === UNLIMITED
        ? 'unlimited'
        : numberOr(stored, setting.default)
    case 'span':
      return numberOr(stored, setting.default)
    case 'flag':
      return stored !== 0
    case 'instant':
      return fromText(typeof stored === 'string' ? stored : null)
    case 'json':
      return fromJson(String(stored))
    case 'text':
    case 'choice':
      return stored
    default:
      return setting satisfies never
  }
}

const planningSettings = settingsReader(PLANNING)
const scheduleSettings = settingsReader(SETTING_NAMES)
const jobSettings = settingsReader(JOB_SETTING_NAMES)

export function toPlannable(row: PlannableRow): Finishing {
  const planned = row.planned_from === null ? null : splitPlannedFrom(row.planned_from)
  return Object.assign(planningSettings(row), {
    id: row.id,
    task: row.task,
    createdAt: fromStored(row.created),
    successes: numberOr(row.run_count, 0) - numberOr(row.error_count, 0),
    nextRunAt: fromText(row.nextrun),
    idle: row.idle,
    lastSlot: fromText(row.last_slot),
    lastError: row.last_error,
    definition: row.definition,
    plannedDefinition: planned?.definition ?? null,
    plannedRun: planned?.run ?? null,
    isByHand: planned?.isByHand ?? false,
    frozenUntil: fromText(row.frozen_until),
  })
}

/** The suffix of `planned_from` if nextrun was set manually; `wake_at` accepts it. */
const BY_HAND = '|by hand'

/** The value of `planned_from`, which `wake_at` compares: the definition and the nextrun of the last planning. */
export function plannedFrom(
  definition: string,
  { nextRunAt, isByHand }: { readonly nextRunAt: Date | null; readonly isByHand: boolean },
): string {
  return `${definition}|${nextRunAt === null ? '' : toText(nextRunAt)}${isByHand ? BY_HAND : ''}`
}

export function splitPlannedFrom(text: string) {
  const isByHand = text.endsWith(BY_HAND)
  const planned = isByHand ? text.slice(0, -BY_HAND.length) : text
  const bar = planned.lastIndexOf('|')
  return { definition: planned.slice(0, bar), run: fromText(planned.slice(bar + 1)), isByHand }
}

export function toSchedule(row: ScheduleRow): StoredSchedule {
  return {
    id: row.id,
    ...scheduleSettings(row),
    nextRunAt: fromText(row.nextrun),
    idle: row.idle,
    declaredBy: row.declared_by,
    createdAt: fromStored(row.created),
    lastSlot: fromText(row.last_slot),
    runCount: numberOr(row.run_count, 0),
    errorCount: numberOr(row.error_count, 0),
    failedAttempts: numberOr(row.failed_attempts, 0),
    lastRunAt: fromText(row.last_run),
    lastFinishedAt: fromText(row.last_finished),
    lastJobId: row.last_job,
    lastError: row.last_error,
    pauseReason: row.pause_reason,
    frozenUntil: fromText(row.frozen_until),
    retryAt: fromText(row.retry_at),
    retry: numberOr(row.retry, null),
    retryLimit: numberOr(row.retry_limit, null),
    markedBy: row.worker,
  }
}

export function toJob(row: JobRow): Job {
  return Object.assign(jobSettings(row), {
    id: row.id,
    scheduleId: row.periodic_task_id,
    slot: fromText(row.slot),
    missed: numberOr(row.missed, 0),
    run: numberOr(row.run, null),
    state: row.state,
    reason: row.reason,
    queue: row.queue,
    worker: row.worker,
    attempt: numberOr(row.attempt, 0),
    submittedAt: fromStored(row.submitted),
    runAt: fromText(row.run_at),
    frozenUntil: fromText(row.frozen_until),
    startedAt: fromText(row.started),
    finishedAt: fromText(row.finished),
    progress: row.progress === null ? null : fromJson(row.progress),
    result: row.result === null ? null : fromJson(row.result),
    error: row.error,
    stopRequestedAt: fromText(row.stop_requested),
  })
}

const COLUMNS = [
  ...SETTING_NAMES.map((name) => [name, settingOf(name).column] as const),
  ['declaredBy', 'declared_by'] as const,
]

/** The columns and values of the given settings; undefined settings are left out. */
export function settingColumns(settings: Partial<ScheduleSettings>): [column: string, value: SqlValue][] {
  return COLUMNS.flatMap(([name, column]) => {
    const value = settings[name]
    return value === undefined ? [] : [[column, settingValue(name, value)]]
  })
}

/** The value of a setting in its column. */
export function settingValue(name: SettingName | 'declaredBy', value: SqlValue | boolean | Date): SqlValue {
  if (name === 'retries' && value === 'unlimited') return UNLIMITED
  if (value instanceof Date) return toText(value)
  return typeof value === 'boolean' ? Number(value) : value
}

/** SQLite accepts text in number columns, so anything but a number counts as missing. */
function numberOr<Default>(value: unknown, otherwise: Default): number | Default {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise
}

/** Invalid JSON is returned as text, so that one manually written row does not hide other rows. */
function fromJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The policy in effect: the job's own, else the task's, else the default. */
export function policyOf(
  row: Pick<JobRow, 'timeout' | 'max_retries' | 'retry_delay' | 'retry_backoff'>,
  task: RunPolicy = DEFAULT_POLICY,
): RunPolicy {
  return {
    timeout: numberOr(row.timeout, null) ?? task.timeout,
    retries: row.max_retries === UNLIMITED ? 'unlimited' : (numberOr(row.max_retries, null) ?? task.retries),
    retryDelay: numberOr(row.retry_delay, null) ?? task.retryDelay,
    retryBackoff: row.retry_backoff ?? task.retryBackoff,
  }
}
