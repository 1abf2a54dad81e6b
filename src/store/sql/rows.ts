/** From rows to nouns: which columns are read, and what they become. */
import type { Job, JobState } from '../../model/job.ts'
import type { Finishing } from '../../model/finish.ts'
import type { Idle, Schedule, ScheduleSettings, ScheduleStatus } from '../../model/schedule.ts'
import {
  JOB_SETTING_NAMES,
  propertyOf,
  SETTING_NAMES,
  settingOf,
  SETTINGS,
  type SettingRow,
  type JobSettingRow,
} from '../../model/settings.ts'
import { DEFAULT_POLICY, type RunPolicy } from '../../model/task.ts'
import type { Dialect, SqlValue } from '../database.ts'
import { fromStored, fromText, toText } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import type { LargeColumn, Listed } from '../list-store.ts'

/** The settings that planning reads. */
const PLANNING = [
  'enabled',
  'task',
  'timer',
  'overlap',
  'catch_up',
  'jitter',
  'starts',
  'ends',
  'max_runs',
  'on_exhausted',
] as const satisfies readonly (keyof SettingRow)[]

/** The part of a schedule's row that planning reads. args stay in the database: they may be large. */
export interface PlannableRow extends Pick<SettingRow, (typeof PLANNING)[number]> {
  id: string
  nextrun: string | null
  idle: Idle | null
  last_slot: string | null
  last_error: string | null
  created: string
  run_count: number
  error_count: number
  definition: string
  planned_from: string | null
  worker: string | null
  marked: string | null
  clock: string
}

/** Instants of settings are read as all others are. */
const INSTANTS: ReadonlySet<string> = new Set(
  SETTING_NAMES.filter((name) => settingOf(name).kind === 'instant').map((name) => settingOf(name).column),
)

function read({ instant }: Dialect, columns: readonly string[]): string[] {
  return columns.map((column) => (INSTANTS.has(column) ? `${instant(column)} AS ${column}` : column))
}

function plannable(dialect: Dialect): readonly string[] {
  const { instant, now } = dialect
  return [
    'id',
    ...read(dialect, PLANNING),
    `${instant('nextrun')} AS nextrun`,
    'idle',
    `${instant('last_slot')} AS last_slot`,
    'last_error',
    `${instant('created')} AS created`,
    'run_count',
    'error_count',
    'definition',
    'planned_from',
    'worker',
    `${instant('marked')} AS marked`,
    `${now} AS clock`,
  ]
}

export function plannableColumns(dialect: Dialect): string {
  return plannable(dialect).join(', ')
}

export function toPlannable(row: PlannableRow): Finishing {
  const planned = row.planned_from === null ? null : splitPlannedFrom(row.planned_from)
  return {
    id: row.id,
    enabled: row.enabled !== 0,
    timer: row.timer,
    created: fromStored(row.created),
    jitterMs: numberOr(row.jitter, SETTINGS.jitter.default),
    starts: fromText(row.starts),
    ends: fromText(row.ends),
    overlap: row.overlap,
    onExhausted: row.on_exhausted,
    maxRuns: numberOr(row.max_runs, null),
    successes: numberOr(row.run_count, 0) - numberOr(row.error_count, 0),
    nextRun: fromText(row.nextrun),
    idle: row.idle,
    lastSlot: fromText(row.last_slot),
    lastError: row.last_error,
    catchUp: numberOr(row.catch_up, SETTINGS.catchUp.default),
    definition: row.definition,
    plannedDefinition: planned?.definition ?? null,
    plannedRun: planned?.run ?? null,
  }
}

/** What `wake_at` compares with the row: the definition and the nextrun that a planning leaves behind. */
export function plannedFrom(definition: string, nextRun: Date | null): string {
  return `${definition}|${nextRun === null ? '' : toText(nextRun)}`
}

function splitPlannedFrom(text: string): { definition: string; run: Date | null } {
  const bar = text.lastIndexOf('|')
  return { definition: text.slice(0, bar), run: fromText(text.slice(bar + 1)) }
}

export interface ScheduleRow extends PlannableRow, SettingRow {
  status: ScheduleStatus
  declared_by: string | null
  last_run: string | null
  last_finished: string | null
  last_job: string | null
}

const OTHER_SETTINGS = SETTING_NAMES.map((name) => settingOf(name).column).filter(
  (column) => !PLANNING.some((one) => one === column),
)

function wholeSchedule(dialect: Dialect): readonly string[] {
  return [
    ...plannable(dialect),
    ...read(dialect, OTHER_SETTINGS),
    'status',
    'declared_by',
    'last_job',
    ...['last_run', 'last_finished'].map((column) => `${dialect.instant(column)} AS ${column}`),
  ]
}

/** @param most  of a list: columns with more bytes are left out or shortened, see `ListedRow` */
export function scheduleColumns(dialect: Dialect, most?: number): string {
  const columns = wholeSchedule(dialect)
  if (most === undefined) return columns.join(', ')
  const small = columns.filter((column) => column !== 'args' && column !== 'last_error')
  return [...small, ...jsonPreview('args', most), ...textPreview('last_error', most)].join(', ')
}

/** What the large values of a list may take together. */
const LIST_BYTES = 4_000_000
/** Of one value; much more is seldom looked at in a list. */
const MOST_PREVIEW_BYTES = 2048
/** Of a row. */
const LARGE_COLUMNS = 4

/** How many bytes of each large column a list of so many rows reads. */
export function previewBytes(rows: number): number {
  return Math.min(MOST_PREVIEW_BYTES, Math.floor(LIST_BYTES / LARGE_COLUMNS / rows))
}

/** The database reads what is too large; it never leaves the database. */
function jsonPreview(column: string, most: number): string[] {
  return [
    `CASE WHEN OCTET_LENGTH(${column}) <= ${integerLiteral(most)} THEN ${column} END AS ${column}`,
    `CASE WHEN OCTET_LENGTH(${column}) > ${integerLiteral(most)} THEN OCTET_LENGTH(${column}) END AS ${column}_bytes`,
  ]
}

export function textPreview(column: string, most: number): string[] {
  return [
    `SUBSTR(${column}, 1, ${integerLiteral(most)}) AS ${column}`,
    `CASE WHEN OCTET_LENGTH(${column}) > ${integerLiteral(most)} THEN OCTET_LENGTH(${column}) END AS ${column}_bytes`,
  ]
}

/** A row of a list: the bytes of what is left out or shortened; null: nothing is. */
export type ListedRow<Row> = Row & {
  readonly args_bytes: number | null
  readonly last_error_bytes?: number | null
  readonly result_bytes?: number | null
  readonly progress_bytes?: number | null
  readonly error_bytes?: number | null
}

function truncatedOf(row: ListedRow<object>): Pick<Listed<object>, 'truncated'> {
  const sizes: Readonly<Record<LargeColumn, number | null | undefined>> = {
    args: row.args_bytes,
    result: row.result_bytes,
    progress: row.progress_bytes,
    error: row.error_bytes,
    lastError: row.last_error_bytes,
  }
  const truncated = Object.fromEntries(
    Object.entries(sizes).filter(([, bytes]) => bytes !== null && bytes !== undefined),
  )
  return Object.keys(truncated).length === 0 ? {} : { truncated }
}

/** Without the line that was cut off: the beginning of a secret would not be recognised as one. */
export function wholeLines(text: string | null, bytes: number | null | undefined): string | null {
  if (text === null || bytes === null || bytes === undefined) return text
  return text.slice(0, Math.max(0, text.lastIndexOf('\n')))
}

export function toListedSchedule(row: ListedRow<ScheduleRow>): Listed<Schedule> {
  const schedule = toSchedule({
    ...row,
    args: row.args ?? 'null',
    last_error: wholeLines(row.last_error, row.last_error_bytes),
  })
  return { ...schedule, ...truncatedOf(row) }
}

export function toListedJob(row: ListedRow<JobRow>): Listed<Job> {
  const job = toJob({ ...row, args: row.args ?? 'null', error: wholeLines(row.error, row.error_bytes) })
  return { ...job, ...truncatedOf(row) }
}

/** In place of `scheduleColumns`, for what one statement selects beside schedules. */
export function noScheduleColumns(dialect: Dialect): string {
  return wholeSchedule(dialect)
    .map(() => 'NULL')
    .join(', ')
}

export function toSchedule(row: ScheduleRow): Schedule {
  const { group_: group } = row
  return {
    id: row.id,
    enabled: row.enabled !== 0,
    status: row.status,
    task: row.task,
    group,
    args: fromJson(row.args),
    subject: row.subject,
    submitter: row.submitter,
    summary: row.summary,
    priority: numberOr(row.priority, SETTINGS.priority.default),
    timer: row.timer,
    nextRun: fromText(row.nextrun),
    idle: row.idle,
    starts: fromText(row.starts),
    ends: fromText(row.ends),
    jitterMs: numberOr(row.jitter, SETTINGS.jitter.default),
    catchUp: numberOr(row.catch_up, SETTINGS.catchUp.default),
    overlap: row.overlap,
    onExhausted: row.on_exhausted,
    maxRuns: numberOr(row.max_runs, null),
    afterDone: row.after_done,
    timeoutMs: numberOr(row.timeout, null),
    maxRetries: numberOr(row.max_retries, null),
    retryDelayMs: numberOr(row.retry_delay, null),
    retryBackoff: row.retry_backoff,
    declaredBy: row.declared_by,
    created: fromStored(row.created),
    lastSlot: fromText(row.last_slot),
    runCount: numberOr(row.run_count, 0),
    errorCount: numberOr(row.error_count, 0),
    lastRun: fromText(row.last_run),
    lastFinished: fromText(row.last_finished),
    lastJob: row.last_job,
    lastError: row.last_error,
    markedBy: row.worker,
  }
}

const COLUMNS = [
  ...SETTING_NAMES.map((name) => [propertyOf(name), settingOf(name).column] as const),
  ['declaredBy', 'declared_by'] as const,
]

/** The columns and values of settings; those that are undefined are left out. */
export function settingColumns(settings: Partial<ScheduleSettings>): [column: string, value: SqlValue][] {
  return COLUMNS.flatMap(([property, column]) => {
    const value = settings[property]
    return value === undefined ? [] : [[column, sqlValue(value)]]
  })
}

function sqlValue(value: SqlValue | boolean | Date): SqlValue {
  if (value instanceof Date) return toText(value)
  return typeof value === 'boolean' ? Number(value) : value
}

export interface JobRow extends JobSettingRow {
  id: string
  periodic_task_id: string | null
  slot: string | null
  missed: number
  run: number | null
  state: JobState
  reason: string | null
  worker: string | null
  attempt: number
  claim: number
  submitted: string
  run_at: string | null
  started: string | null
  finished: string | null
  progress: string | null
  result: string | null
  error: string | null
  stop_requested: string | null
}

/** But for the args, which may be large. */
const JOB_SETTINGS = JOB_SETTING_NAMES.map((name) => settingOf(name).column).filter(
  (column) => column !== 'args',
)

/** @param most  of a list: columns with more bytes are left out or shortened, see `ListedRow` */
export function jobColumns(dialect: Dialect, most?: number): string {
  const instants = ['slot', 'submitted', 'run_at', 'started', 'finished', 'stop_requested'].map(
    (column) => `${dialect.instant(column)} AS ${column}`,
  )
  const large =
    most === undefined
      ? ['args', 'progress', 'result', 'error']
      : [
          ...['args', 'progress', 'result'].flatMap((column) => jsonPreview(column, most)),
          ...textPreview('error', most),
        ]
  const others = ['id', 'periodic_task_id', 'missed', 'run', 'state', 'reason', 'worker', 'attempt', 'claim']
  return [...others, ...JOB_SETTINGS, ...large, ...instants].join(', ')
}

export function toJob(row: JobRow): Job {
  const { group_: group } = row
  return {
    id: row.id,
    scheduleId: row.periodic_task_id,
    slot: fromText(row.slot),
    missed: numberOr(row.missed, 0),
    run: numberOr(row.run, null),
    task: row.task,
    group,
    args: fromJson(row.args),
    subject: row.subject,
    submitter: row.submitter,
    priority: numberOr(row.priority, SETTINGS.priority.default),
    state: row.state,
    reason: row.reason,
    worker: row.worker,
    attempt: numberOr(row.attempt, 0),
    submitted: fromStored(row.submitted),
    runAt: fromText(row.run_at),
    started: fromText(row.started),
    finished: fromText(row.finished),
    timeoutMs: numberOr(row.timeout, null),
    maxRetries: numberOr(row.max_retries, null),
    retryDelayMs: numberOr(row.retry_delay, null),
    retryBackoff: row.retry_backoff,
    progress: row.progress === null ? null : fromJson(row.progress),
    result: row.result === null ? null : fromJson(row.result),
    error: row.error,
    stopRequested: fromText(row.stop_requested),
  }
}

/** Columns of SQLite take any text for a number; what is none is as if nothing stood there. */
function numberOr<Default extends number | null>(value: number | null, otherwise: Default): number | Default {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise
}

/** Invalid JSON stays text: one row that was written manually must not hide the others. */
function fromJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The policy in force: the job's own, else the task's, else what holds for all. */
export function policyOf(
  row: Pick<JobRow, 'timeout' | 'max_retries' | 'retry_delay' | 'retry_backoff'>,
  task: RunPolicy = DEFAULT_POLICY,
): RunPolicy {
  return {
    timeoutMs: numberOr(row.timeout, null) ?? task.timeoutMs,
    maxRetries: numberOr(row.max_retries, null) ?? task.maxRetries,
    retryDelayMs: numberOr(row.retry_delay, null) ?? task.retryDelayMs,
    retryBackoff: row.retry_backoff ?? task.retryBackoff,
  }
}
