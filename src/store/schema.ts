/**
 * The tables on every database: columns, indexes and allowed values. Each dialect derives its schema from this
 * definition, including the CHECKs, so that the database rejects invalid rows, even from manual SQL. Only the dialects'
 * schemas import this.
 */
import { STORED_OUTCOMES } from '../model/attempt.ts'
import { FINAL_STATES, OPEN_STATES } from '../model/job.ts'
import { JOB_SETTING_NAMES, SETTING_NAMES, type SettingName, settingOf, SETTINGS } from '../model/settings.ts'

type Range = readonly [least: number, most: number]

export interface Column {
  readonly kind: 'text' | 'long text' | 'flag' | 'integer' | 'instant'
  /** The most characters in a text. Servers know it from the column type. */
  readonly most?: number
  readonly range?: Range
  /** The only allowed values. */
  readonly values?: readonly string[]
  /** Whether a CHECK enforces the kind, the length and the range; false where only Kalends writes. */
  readonly isChecked?: boolean
  /** Whether statements compare the stored values of an instant, so that SQLite takes only text that sorts by time. */
  readonly isSorted?: boolean
  readonly isRequired?: boolean
  readonly isKey?: boolean
  /** A row number that defaults to the next one. */
  readonly isNumbered?: boolean
  /** NOW: the database's clock; UUID: a new UUIDv7. */
  readonly default?: string | number | typeof NOW | typeof UUID
  /** Computed by the database with an expression of the dialect. */
  readonly isGenerated?: boolean
}

export interface Index {
  readonly name: string
  readonly columns: readonly string[]
  readonly isUnique?: boolean
  /** Ends with the key, which InnoDB adds itself. */
  readonly endsWithKey?: boolean
  /** Serves conditions on open jobs. */
  readonly isOfOpenJobs?: boolean
}

export interface Table {
  readonly name: string
  readonly columns: Readonly<Record<string, Column>>
  readonly indexes?: readonly Index[]
  /** A column that holds JSON. */
  readonly json?: string
}

export const NOW = Symbol('now')
export const UUID = Symbol('uuid')

/** The largest value of an INT column. */
export const INT = 2_147_483_647
const LARGE = Number.MAX_SAFE_INTEGER

const text = (most: number): Column => ({ kind: 'text', most, isChecked: true })
const integer = (range: Range): Column => ({ kind: 'integer', range, isChecked: true })
const count = (most: number): Column => ({ ...integer([0, most]), isRequired: true, default: 0 })
const flag = (value: 0 | 1): Column => ({
  kind: 'flag',
  range: [0, 1],
  isChecked: true,
  isRequired: true,
  default: value,
})
const oneOf = (values: readonly string[]): Column => ({ ...SHORT, values })
const key = (column: Column): Column => ({ ...column, isKey: true })
const required = (column: Column): Column => ({ ...column, isRequired: true })
const unchecked = (column: Column): Column => ({ ...column, isChecked: false })
const generated = (column: Column): Column => ({ ...column, isChecked: false, isGenerated: true })
const withDefault = (column: Column, value: NonNullable<Column['default']>): Column => ({
  ...column,
  isRequired: true,
  default: value,
})

const SHORT: Column = { kind: 'text', most: 16 }
const NAME = text(190)
const WORKER = text(255)
const LONG_TEXT: Column = { kind: 'long text' }
/** An instant that only Kalends writes. */
const INSTANT: Column = { kind: 'instant' }
/** An instant that people write, too. */
const TIME: Column = { kind: 'instant', isChecked: true }
const SORTED_TIME: Column = { ...TIME, isSorted: true }
const CREATED = withDefault(INSTANT, NOW)

/** The columns of settings. A default other than null is also the default of the column. */
function settings(names: readonly SettingName[]): Record<string, Column> {
  return Object.fromEntries(names.map((name) => [settingOf(name).column, settingColumn(name)]))
}

function settingColumn(name: SettingName): Column {
  const setting = settingOf(name)
  const { kind, default: value } = setting
  switch (kind) {
    case 'flag':
      return flag(value ? 1 : 0)
    case 'instant':
      return TIME
    case 'text':
      return value === undefined ? required(text(setting.most)) : orNull(text(setting.most), value)
    case 'whole':
    case 'span':
      return orNull(integer([setting.least, setting.most]), value)
    case 'choice':
      return orNull(oneOf(Object.keys(setting.values)), value)
    case 'json':
      return withDefault({ ...LONG_TEXT, isChecked: true }, value)
    default:
      return setting satisfies never
  }
}

function orNull(column: Column, value: string | number | null): Column {
  return value === null ? column : withDefault(column, value)
}

/** Everything that determines the next run, as SQL that is never null. */
export const DEFINITION_COLUMNS: readonly string[] = SETTING_NAMES.map((name) => settingOf(name))
  .filter(({ replans }) => replans === true)
  .map(({ column, default: value }) => (value === null ? `coalesce(\`${column}\`, '')` : `\`${column}\``))

export const PERIODIC_TASK: Table = {
  name: 'periodic_task',
  columns: {
    id: key(NAME),
    ...settings(SETTING_NAMES),
    nextrun: TIME,
    declared_by: NAME,
    created: withDefault(SORTED_TIME, NOW),
    worker: WORKER,
    marked: INSTANT,
    mark_ends: INSTANT,
    idle: oneOf(['awaiting finish', 'done', 'dead', 'invalid', 'retired']),
    last_slot: INSTANT,
    run_count: count(LARGE),
    error_count: count(LARGE),
    last_run: INSTANT,
    last_finished: INSTANT,
    last_job: unchecked(NAME),
    last_error: LONG_TEXT,
    planned_from: unchecked(text(800)),
    status: generated(SHORT),
    definition: generated(text(720)),
    wake_at: generated(INSTANT),
  },
  json: 'args',
  indexes: [
    { name: 'wake_at', columns: ['wake_at'] },
    { name: 'declared_by', columns: ['declared_by'] },
    { name: 'idle', columns: ['idle'] },
    // For lists, paged in key order.
    { name: 'status', columns: ['status'], endsWithKey: true },
    { name: 'task', columns: ['task'], endsWithKey: true },
    { name: 'group', columns: ['group_'], endsWithKey: true },
    { name: 'submitter', columns: ['submitter'], endsWithKey: true },
  ],
}

export const JOB: Table = {
  name: 'job',
  columns: {
    id: { ...key(NAME), default: UUID },
    periodic_task_id: NAME,
    slot: INSTANT,
    missed: count(INT),
    run: integer([0, LARGE]),
    ...settings(JOB_SETTING_NAMES),
    state: withDefault(oneOf([...OPEN_STATES, ...FINAL_STATES]), 'waiting'),
    // Of skipped, failed and cancelled jobs, and of those that a person asked for.
    // biome-ignore format: by state
    reason: oneOf([
      'overlap', 'missed', 'max runs', 'unsubmittable',
      'exhausted', 'permanent', 'lost',
      'replaced',
      'run now',
    ]),
    exclusive: flag(1),
    worker: WORKER,
    attempt: count(INT),
    claim: count(INT),
    submitted: CREATED,
    run_at: TIME,
    started: INSTANT,
    finished: SORTED_TIME,
    progress: LONG_TEXT,
    result: LONG_TEXT,
    error: LONG_TEXT,
    stop_requested: TIME,
    active_key: generated(NAME),
    claim_group: generated(text(SETTINGS.group.most)),
    claim_task: generated(NAME),
    // Wider than the priority, so that its negative always fits.
    claim_rank: generated(integer([-LARGE, LARGE])),
    due_at: generated(INSTANT),
    held_by: generated(WORKER),
  },
  json: 'args',
  indexes: [
    { name: 'occurrence', columns: ['periodic_task_id', 'slot'], isUnique: true },
    { name: 'active', columns: ['active_key'], isUnique: true },
    // If the index named the key on MariaDB, the server would not treat it as covering the base columns of the
    // generated ones, and would scan all claimable jobs to find the groups.
    { name: 'claim', columns: ['claim_group', 'claim_task', 'claim_rank'], endsWithKey: true },
    { name: 'due', columns: ['due_at'] },
    { name: 'held', columns: ['held_by'] },
    { name: 'finished', columns: ['finished'] },
    { name: 'state_schedule', columns: ['state', 'periodic_task_id'] },
    // For lists, newest first, which is the order of the key.
    { name: 'state', columns: ['state'], endsWithKey: true },
    { name: 'task', columns: ['task'], endsWithKey: true },
    { name: 'group', columns: ['group_'], endsWithKey: true },
    { name: 'submitter', columns: ['submitter'], endsWithKey: true },
    // For the limit on an owner's open jobs; an owner's history may be long.
    { name: 'open_group', columns: ['group_'], isOfOpenJobs: true },
    { name: 'open_submitter', columns: ['submitter'], isOfOpenJobs: true },
  ],
}

/** The attempts that did not succeed. An attempt's number is not unique within its job; its claim number is. */
export const ATTEMPT: Table = {
  name: 'attempt',
  columns: {
    job_id: key(required(NAME)),
    claim: key(required(integer([0, INT]))),
    attempt: required(integer([0, INT])),
    worker: required(WORKER),
    started: required(INSTANT),
    ended: required(INSTANT),
    outcome: required(oneOf(STORED_OUTCOMES)),
    error: LONG_TEXT,
  },
}

export const JOB_LOG: Table = {
  name: 'job_log',
  columns: {
    id: { kind: 'integer', range: [0, LARGE], isKey: true, isNumbered: true },
    job_id: required(NAME),
    at: CREATED,
    level: withDefault(oneOf(['debug', 'info', 'warn', 'error']), 'info'),
    message: required(LONG_TEXT),
  },
  indexes: [{ name: 'job', columns: ['job_id', 'id'] }],
}

export const WORKER_TABLE: Table = {
  name: 'worker',
  columns: {
    id: key(WORKER),
    name: required(NAME),
    host: required(unchecked(text(255))),
    pid: required(unchecked(integer([0, INT]))),
    tasks: required(LONG_TEXT),
    sets: withDefault(LONG_TEXT, '{}'),
    started: CREATED,
    heartbeat: CREATED,
  },
}

/** Every version of a declared set that was ever seen. The one that was first seen last is the newest. */
export const DECLARED_SET: Table = {
  name: 'declared_set',
  columns: {
    name: key(required(NAME)),
    hash: key(required(text(64))),
    // The ids that this version declares, as a JSON array.
    schedules: required(LONG_TEXT),
    first_seen: CREATED,
  },
}

/**
 * The CHECKs of a table, by the suffix of their names. `forServer`: column types have lengths, and the instants of the
 * column type are valid dates or zero.
 */
export function checksOf({ columns, json }: Table, forServer: boolean): [name: string, condition: string][] {
  const conditions = Object.entries(columns).flatMap(([name, column]): [string, string][] => {
    const condition = conditionOf(`\`${name}\``, column, forServer)
    if (condition === null) return []
    if (column.kind !== 'instant') return [[name, condition]]
    // Databases report the name. On servers, a name has at most 64 characters, and the prefix up to 32.
    return [[forServer ? `${name}_valid_date` : `${name}: write UTC as YYYY-MM-DD HH:MM:SS`, condition]]
  })
  return json === undefined ? conditions : [['json', `json_valid(\`${json}\`)`], ...conditions]
}

/** SQLite columns accept values of any type, and texts of any length, which drivers cut off at NUL. */
function conditionOf(name: string, column: Column, forServer: boolean): string | null {
  const { kind, range, values, most, isChecked, isSorted } = column
  if (values !== undefined) return `${name} in (${values.map((value) => `'${value}'`).join(', ')})`
  if (isChecked !== true) return null
  if (range !== undefined) {
    const between = `${name} between ${range[0]} and ${range[1]}`
    return forServer ? between : `typeof(${name}) in ('integer', 'null') and ${between}`
  }
  if (kind === 'instant') return forServer ? dateOnServer(name) : timeOnSqlite(name, isSorted === true)
  if (forServer) return null
  const isText = `typeof(${name}) in ('text', 'null') and instr(${name}, char(0)) = 0`
  return kind === 'long text' ? isText : `${isText} and length(${name}) <= ${most}`
}

/** Depending on `sql_mode`, servers store zero, 0 as a month or a day, and 30 February, also in place of other text. */
function dateOnServer(name: string): string {
  return `month(${name}) > 0 and day(${name}) between 1 and day(last_day(${name}))`
}

/**
 * `YYYY-MM-DD HH:MM:SS`, with up to three digits after the dot, `T` instead of the space, and `Z` or `±HH:MM`; sorted
 * text has only the dot and its digits. SQLite's own functions also accept other forms, such as a Julian day, and 30 February; the
 * modifier makes all its versions turn 30 February into 2 March. Kalends' own form comes first, because each function
 * takes time.
 */
function timeOnSqlite(name: string, isSorted: boolean): string {
  const seconds = `substr(${name}, 1, 19)`
  const others = [
    `replace(${seconds}, 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', ${seconds}, '+0 days')`,
    `strftime('%s', ${name}) is not null`,
    `substr(${name}, 20) not glob '*[^-+.:Z0-9]*'`,
    // SQLite rounds further digits up into the next day, but only the date of it.
    `${name} not glob '*.[0-9][0-9][0-9][0-9]*'`,
    ...(isSorted ? [`substr(${name}, 11) not glob '*[-+TZ]*'`] : []),
    `instr(${name}, char(0)) = 0`,
  ]
  const own = `${name} is strftime('%Y-%m-%d %H:%M:%f', ${name}, '+0 days')`
  // Years from 0001; no text such as 'now', and no BLOB.
  return `${name} is null or ${name} between '0001' and ':' and (${own} or ${others.join(' and ')})`
}
