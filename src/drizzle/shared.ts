/** What the tables have in common on every database: their options, their columns, and which of these have CHECKs. */
import { type ColumnBuilderBase, type HasDefault, type NotNull, type SQL, sql } from 'drizzle-orm'
import {
  ATTEMPT_COLUMNS,
  CLAIM_COLUMNS,
  type Column,
  type Columns,
  FREEZE_COLUMNS,
  JOB_COLUMNS,
  LOG_COLUMNS,
  OCCURRENCE_COLUMNS,
  PLAN_COLUMNS,
  QUEUE_COLUMNS,
  SCHEDULE_COLUMNS,
  SET_COLUMNS,
  type Stored,
  type Value,
  WORKER_COLUMNS,
} from '../model/columns.ts'
import { JOB_SETTINGS, SETTING_NAMES, settingOf, SETTINGS, UNLIMITED } from '../model/settings.ts'
import { OPEN_STATES } from '../model/states.ts'

export interface TablesOptions {
  /** The `tablePrefix` of `Kalends.open`; default: none. */
  readonly prefix?: string | undefined
}

/** The columns of each table, without single-column keys and generated columns. */
export const COLUMNS = {
  periodic_task: { ...SETTINGS, ...SCHEDULE_COLUMNS, ...PLAN_COLUMNS },
  job: { ...OCCURRENCE_COLUMNS, ...JOB_SETTINGS, ...JOB_COLUMNS, ...CLAIM_COLUMNS },
  attempt: ATTEMPT_COLUMNS,
  job_log: LOG_COLUMNS,
  worker: WORKER_COLUMNS,
  schedule_freeze: FREEZE_COLUMNS,
  task_queue: QUEUE_COLUMNS,
  declared_set: SET_COLUMNS,
}

export const STATUS =
  "case when `enabled` = 0 then 'paused' when `idle` in ('dead', 'invalid', 'retired') then `idle` when `frozen_until` is not null and coalesce(`idle`, '') <> 'done' then 'frozen' when `retry_at` is not null then 'retrying' when `idle` = 'done' then 'done' else 'active' end"

const IS_OPEN = `\`state\` in (${OPEN_STATES.map((state) => `'${state}'`).join(', ')})`

/** The pair (`open_key`, `open_turn`) is unique, so runs of a schedule exclude each other unless they may overlap. */
export const OPEN_KEY = ifOpen('`periodic_task_uid`')
export const OPEN_TURN = `case when \`periodic_task_uid\` is null or not (${IS_OPEN}) then null when \`exclusive\` = 1 and \`state\` <> 'blocked' then '' else \`id\` end`

/** SQL for a value that becomes null when the job is final. */
export function ifOpen(value: string): string {
  return `case when ${IS_OPEN} then ${value} end`
}

/** The condition for `ready`: the job can be claimed now. */
export const READY = "`state` = 'waiting' and `run_at` is null and `frozen_until` is null"

/** `claim_task` of a job: its task, or a blank followed by its queue's name. No task's name begins with a blank. */
export const claimTask = (queue: string) => `coalesce(${queue}, \`task\`)`

/** `held_by`: '' while a freeze holds the job; in an external queue, a blank and the deadline for its report. */
export const heldBy = (reportBy: string) =>
  `case \`state\` when 'external' then ${reportBy} when 'waiting' then case when \`frozen_until\` is not null then '' end end`

/** The settings that determine the next run, as SQL that is never null. */
export const DEFINITION_PARTS: readonly string[] = SETTING_NAMES.map((name) => settingOf(name))
  .filter(({ replans }) => replans === true)
  .map(({ column, default: value }) => (value === null ? `coalesce(\`${column}\`, '')` : `\`${column}\``))

export const JSON_TEXT = {
  toDriver: (value: unknown) => JSON.stringify(value),
  fromDriver: (value: string): unknown => JSON.parse(value),
}
export const FLAG = {
  toDriver: Number,
  // A driver may be configured to return bigints.
  fromDriver: (value: number) => Number(value) === 1,
}

/** The configuration of a column whose type is not one of drizzle's own. */
export interface CustomColumn<ColumnType extends string, Data> {
  name: string
  dataType: 'custom'
  columnType: ColumnType
  data: Data
  driverParam: unknown
  enumValues: undefined
}
/** The type of column builder that one dialect uses for a column that contains `data`. */
export interface BuilderType {
  readonly data: unknown
  readonly builder: ColumnBuilderBase
}
type Of<Dialect extends BuilderType, Data> = (Dialect & { readonly data: Data })['builder']
export type Builders<Dialect extends BuilderType, Definitions> = {
  [Name in keyof Definitions]: Definitions[Name] extends { default: null }
    ? Of<Dialect, Exclude<Stored<Definitions[Name]>, null | 'unlimited'>>
    : Definitions[Name] extends { default: unknown }
      ? HasDefault<NotNull<Of<Dialect, Value<Definitions[Name]>>>>
      : NotNull<Of<Dialect, Value<Definitions[Name]>>>
}

interface Builder {
  notNull(): Builder
  default(value: SQL): Builder
}
type WithoutLimit = 'job id' | 'uid' | 'long text' | 'json' | 'flag' | 'instant'
export interface Types extends Readonly<Record<WithoutLimit, (column: string) => Builder>> {
  readonly text: (column: string, most: number) => Builder
  readonly whole: (column: string, most: number) => Builder
  /** The time at which the row is inserted. */
  readonly now: SQL
  /** A new UUID. */
  readonly uuid: SQL
}

/** Maximum number of characters in a column of the kind `choice` or `word`. */
const MAX_WORD = 16

/** Builds columns from their definitions: nullable if the default is null, and required if there is no default. */
export function builders<Dialect extends BuilderType, Definitions extends Columns>(
  definitions: Definitions,
  types: Types,
): Builders<Dialect, Definitions> {
  const built = Object.entries(definitions).map(([name, definition]) => {
    const builder = typed(definition, types)
    const { default: value } = definition
    if (value === null) return [name, builder]
    const required = builder.notNull()
    return [name, value === undefined ? required : required.default(defaultOf(definition, value, types))]
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Builders follows this function
  return Object.fromEntries(built) as Builders<Dialect, Definitions>
}

function typed(definition: Column, types: Types): Builder {
  const { kind, column } = definition
  switch (kind) {
    case 'text':
      return types.text(column, definition.most)
    case 'choice':
    case 'word':
      return types.text(column, MAX_WORD)
    case 'whole':
    case 'span':
      return types.whole(column, definition.most)
    default:
      return types[kind](column)
  }
}

function defaultOf({ kind }: Column, value: string | number | boolean, { now, uuid }: Types): SQL {
  if (kind === 'instant') return now
  if (kind === 'uid') return uuid
  // MySQL accepts a default for a long text column only as an expression.
  if (kind === 'json') return sql.raw(`('${value}')`)
  return sql.raw(typeof value === 'string' ? `'${value}'` : String(Number(value)))
}

/** Builds the condition of a CHECK from the quoted name of its column. */
export type Check = (column: string) => string

function oneOf(values: readonly string[]): Check {
  return (column) => `${column} in (${values.map((value) => `'${value}'`).join(', ')})`
}

export interface ChecksOfKinds {
  readonly text: (most: number) => Check | null
  readonly 'job id': Check
  readonly whole: (least: number, most: number) => Check
  readonly instant: Readonly<Record<'text' | 'sorted', Check>>
  readonly json: Check | null
}

export const validJson: Check = () => 'json_valid(`args`)'

/**
 * @param timeSuffix  appended to the name of each CHECK of an instant
 * @param more  additional conditions, by column; the conditions that follow from `columns` take precedence
 */
export function checksOf(
  table: string,
  columns: Columns,
  of: ChecksOfKinds,
  timeSuffix: string,
  more: Readonly<Record<string, Check>>,
): [name: string, condition: SQL][] {
  const own = Object.values(columns).map((column) => [column.column, checkOf(column, of)] as const)
  return Object.entries({ ...more, ...Object.fromEntries(own) }).flatMap(([column, condition]) => {
    if (condition === null) return []
    const isTime = condition === of.instant.text || condition === of.instant.sorted
    const name = `${table}_${column}${isTime ? timeSuffix : ''}`
    return [[name, sql.raw(condition(`\`${column}\``))]]
  })
}

function checkOf(column: Column, of: ChecksOfKinds): Check | null {
  switch (column.kind) {
    case 'flag':
      return of.whole(0, 1)
    case 'text':
      return of.text(column.most)
    case 'job id':
      return of['job id']
    case 'uid':
      return (name) => `${of['job id'](name)} and ${name} <> ''`
    case 'whole':
      return of.whole('unlimited' in column ? UNLIMITED : column.least, column.most)
    case 'span':
      return of.whole(column.least, column.most)
    case 'choice':
      return oneOf(Object.keys(column.values))
    case 'word':
      return oneOf(column.values)
    case 'instant':
      return column.checked === undefined ? null : of.instant[column.checked]
    case 'json':
      return column.default === null ? null : of.json
    case 'long text':
      return null
    default:
      return column satisfies never
  }
}
