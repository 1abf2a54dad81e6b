import {
  CLAIM_COLUMNS,
  type Column,
  type Columns,
  JOB_COLUMNS,
  OCCURRENCE_COLUMNS,
  picked,
  PLAN_COLUMNS,
  type Row,
  SCHEDULE_COLUMNS,
  type Values,
} from '../../model/columns.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import type { ClaimedJob, Job } from '../../model/job.ts'
import { type Plannable, PLANNING_COLUMNS } from '../../model/planning.ts'
import type { ScheduleSettings, StoredSchedule } from '../../model/schedule.ts'
import {
  JOB_SETTINGS,
  SETTING_NAMES,
  type SettingName,
  SETTINGS,
  settingOf,
  UNLIMITED,
} from '../../model/settings.ts'
import { DEFAULT_POLICY, type RunPolicy } from '../../model/task.ts'
import type { Dialect, SqlValue } from '../database.ts'
import type { AnyContext } from './context.ts'

/** The schedule columns that planning reads. The args stay in the database because they may be large. */
const PLANNABLE = {
  ...PLANNING_COLUMNS,
  ...picked(SCHEDULE_COLUMNS, ['runCount', 'errorCount', 'retryAt', 'markedBy']),
  ...picked(PLAN_COLUMNS, ['uid', 'markedAt', 'plannedDefinition', 'plannedRun', 'isByHand']),
}
const SCHEDULE = { ...SETTINGS, ...SCHEDULE_COLUMNS, ...picked(PLAN_COLUMNS, ['uid', 'idle']) }
const JOB = { ...OCCURRENCE_COLUMNS, ...JOB_SETTINGS, ...JOB_COLUMNS }
/** What a claim reads. Other columns are empty or written by the claim, and each column costs the driver time. */
const STARTABLE = {
  ...OCCURRENCE_COLUMNS,
  ...JOB_SETTINGS,
  ...picked(JOB_COLUMNS, ['submittedAt', 'stopRequestedAt', 'reason', 'queue', 'attempt', 'error']),
  ...picked(CLAIM_COLUMNS, ['claim', 'releases']),
}

export interface PlannableRow extends Row<typeof PLANNABLE> {
  id: string
  definition: string
  clock: string
}
export interface ScheduleRow extends PlannableRow, Row<typeof SCHEDULE> {}
export interface JobRow extends Row<typeof JOB> {
  id: string
  /** 1 if the schedule that created the job was deleted. */
  is_left_over?: number
}
/** A job that may start, and the database's clock at the time when the job was read. */
export interface StartableRow extends Row<typeof STARTABLE> {
  id: string
  clock: string
}

/** The id and these columns, with instants as normalised text. */
export function expressions({ instant }: Dialect, columns: Columns): string[] {
  const selected = Object.values(columns).map(({ kind, column }) =>
    kind === 'instant' ? `${instant(column)} AS ${column}` : column,
  )
  return ['id', ...selected]
}

export function plannableColumns(dialect: Dialect): string[] {
  return [...expressions(dialect, PLANNABLE), 'definition', `${dialect.now} AS clock`]
}

export function scheduleExpressions(dialect: Dialect): string[] {
  return [...expressions(dialect, { ...PLANNABLE, ...SCHEDULE }), 'definition', `${dialect.now} AS clock`]
}

/** The columns of a job that people see. */
export function jobExpressions({ dialect, tables }: Pick<AnyContext, 'dialect' | 'tables'>): string[] {
  const schedule = `SELECT 1 FROM ${tables.schedule} AS s WHERE s.uid = periodic_task_uid`
  const isLeftOver = `periodic_task_uid IS NOT NULL AND NOT EXISTS (${schedule})`
  return [...expressions(dialect, JOB), `CASE WHEN ${isLeftOver} THEN 1 ELSE 0 END AS is_left_over`]
}

export function jobColumns(dialect: Dialect): string {
  return expressions(dialect, JOB).join(', ')
}

export function startableColumns(dialect: Dialect): string[] {
  return [...expressions(dialect, STARTABLE), `${dialect.now} AS clock`]
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

/** Returns a function that converts a row. [An object literal with a spread takes ten times as long as this loop.] */
export function reader<Definitions extends Columns>(
  definitions: Definitions,
): (row: { readonly id: string }) => Values<Definitions> & { readonly id: string } {
  const columns = Object.entries(definitions)
  return (row) => {
    const values: Record<string, unknown> = { id: row.id }
    for (const [name, column] of columns) values[name] = valueOf(column, Reflect.get(row, column.column))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one value for each name
    return values as Values<Definitions> & { readonly id: string }
  }
}

function valueOf(column: Column, stored: unknown): unknown {
  switch (column.kind) {
    case 'whole':
      return 'unlimited' in column && stored === UNLIMITED ? 'unlimited' : numberOr(stored, column.default)
    case 'span':
      return numberOr(stored, column.default)
    case 'flag':
      return stored !== 0
    case 'instant': {
      const text = typeof stored === 'string' ? stored : null
      return column.default === null ? fromText(text) : fromStored(text ?? '')
    }
    case 'json':
      return typeof stored === 'string' ? fromJson(stored) : null
    default:
      return stored
  }
}

const readPlanning = reader(PLANNING_COLUMNS)
export const toSchedule: (row: ScheduleRow) => StoredSchedule = reader(SCHEDULE)
const readJob: (row: JobRow) => Job = reader(JOB)

export function toJob(row: JobRow): Job {
  const job = readJob(row)
  return row.is_left_over === 1 ? { ...job, scheduleDeleted: true } : job
}

export function toPlannable(row: PlannableRow): Plannable {
  const isPlanned = row.planned_from !== null
  return Object.assign(readPlanning(row), {
    successes: numberOr(row.run_count, 0) - numberOr(row.error_count, 0),
    definition: row.definition,
    plannedDefinition: row.planned_from,
    plannedRun: isPlanned ? fromText(row.planned_nextrun) : null,
    isByHand: isPlanned && row.planned_by_hand === 1,
  })
}

/** The columns that record from what a schedule was planned. The generated column `wake_at` compares them with the row. */
export const PLANNED = {
  planned_from: 'text',
  planned_nextrun: 'instant',
  planned_by_hand: 'integer',
} as const

/** The values of `PLANNED`. */
export function plannedFrom(
  definition: string,
  { nextRunAt, isByHand }: { readonly nextRunAt: Date | null; readonly isByHand: boolean },
) {
  return {
    planned_from: definition,
    planned_nextrun: nextRunAt && toText(nextRunAt),
    planned_by_hand: Number(isByHand),
  }
}

const COLUMNS = [
  ...SETTING_NAMES.map((name) => [name, settingOf(name).column] as const),
  ['declaredBy', 'declared_by'] as const,
]

export function settingColumns(settings: Partial<ScheduleSettings>): [column: string, value: SqlValue][] {
  return COLUMNS.flatMap(([name, column]) => {
    const value = settings[name]
    return value === undefined ? [] : [[column, settingValue(name, value)]]
  })
}

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
