/**
 * The tables on SQLite as drizzle tables, so that an application can read them and join them with its own. Kalends
 * creates and migrates them; leave them out of the schema of drizzle-kit (see the guide "Beside migration tools").
 *
 * Instants are UTC text, `YYYY-MM-DD HH:MM:SS.mmm`. Manually written instants may have another form, so strftime
 * normalises them wherever they are compared; as plain text, `…T00:00:00Z` would sort after the rest of that day. The
 * CHECKs reject text that strftime cannot read, and in sorted columns also instants that are not in this form.
 */
import { type HasDefault, type NotNull, sql } from 'drizzle-orm'
import {
  check,
  customType,
  index,
  integer,
  primaryKey,
  type SQLiteCustomColumnBuilder,
  sqliteTable,
  text as plainText,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core'
import { toText } from '../model/instant.ts'

import { DEFAULT_REPORT_MS, QUEUE_LIMIT } from '../model/job.ts'
import {
  JOB_SETTING_NAMES,
  NAME_LIMIT,
  type ScheduleStatus,
  SETTING_NAMES,
  type SettingName,
  settingOf,
  type StoredValue,
} from '../model/settings.ts'
import {
  type Check,
  DEFINITION_PARTS,
  CLAIM_TASK,
  heldBy,
  ifOpen,
  IDLE,
  INT,
  LARGE,
  LEVELS,
  OUTCOMES,
  OPEN_KEY,
  OPEN_TURN,
  oneOf,
  READY,
  REASONS,
  settingChecks,
  STATES,
  STATUS,
  type TablesOptions,
} from './shared.ts'

export type { TablesOptions } from './shared.ts'

const text = (column: string) => plainText(column)
function word<const Values extends readonly string[]>(column: string, _values: Values) {
  return plainText(column).$type<Values[number]>()
}
const json = customType<{ data: unknown; driverData: string }>({
  dataType: () => 'text',
  toDriver: (value) => JSON.stringify(value),
  fromDriver: (value): unknown => JSON.parse(value),
})
const flag = customType<{ data: boolean; driverData: number }>({
  dataType: () => 'integer',
  toDriver: Number,
  // A driver may be configured to return bigints.
  fromDriver: (value) => Number(value) === 1,
})
/** Without a zone, as Kalends writes them, instants are in UTC. */
const instant = customType<{ data: Date; driverData: string }>({
  dataType: () => 'text',
  toDriver: toText,
  fromDriver: (value) => new Date(/Z|[+-]\d\d:\d\d$/.test(value) ? value : `${value.replace(' ', 'T')}Z`),
})
const count = (column: string) => integer(column).notNull().default(0)

const now = sql`(strftime('%Y-%m-%d %H:%M:%f', 'now'))`
const MILLISECONDS = "cast((julianday('now') - 2440587.5) * 86400000 as integer)"
/** These ids sort by time, like a UUIDv7 (RFC 9562), so manually inserted jobs keep their order. */
const uuidv7 = sql.raw(
  `(lower(${[
    `printf('%08x-%04x-7', ${MILLISECONDS} >> 16, ${MILLISECONDS} & 65535)`,
    "substr(hex(randomblob(2)), 1, 3) || '-8' || substr(hex(randomblob(2)), 1, 3) || '-' || hex(randomblob(6))",
  ].join(' || ')}))`,
)

const EPOCH = "'1970-01-01 00:00:00.000'"
const normalised = (column: string) => `strftime('%Y-%m-%d %H:%M:%f', \`${column}\`)`
const DEFINITION = DEFINITION_PARTS.join(" || '|' || ")
/** `planned_from` if neither has changed since the last planning. */
const PLANNED = `${DEFINITION} || '|' || coalesce(${normalised('nextrun')}, '')`
/** SQLite accepts a BLOB as an id, but no statement would find it by text. Such a row would never be due or claimed. */
const FINDABLE = "typeof(`id`) = 'text'"
const WAKE_AT = [
  `case when not ${FINDABLE} then null`,
  `when \`worker\` is not null then coalesce(${normalised('mark_ends')}, ${EPOCH})`,
  `when coalesce(\`planned_from\`, '') not in (${PLANNED}, ${PLANNED} || '|by hand') then ${EPOCH}`,
  'when `enabled` = 0 or `idle` is not null then null',
  `else max(coalesce(${normalised('nextrun')}, ${EPOCH}), coalesce(${normalised('frozen_until')}, ${EPOCH})) end`,
].join(' ')
/** The later of run_at and frozen_until. */
const LATER = ['run_at', 'frozen_until'].map(
  (column) => `coalesce(${normalised(column)}, ${normalised('run_at')}, ${normalised('frozen_until')})`,
)
const DUE_AT = `case when \`state\` = 'waiting' and ${FINDABLE} then max(${LATER.join(', ')}) end`
const HELD_BY = heldBy(
  `' ' || strftime('%Y-%m-%d %H:%M:%f', coalesce(\`started\`, \`submitted\`), (case when coalesce(\`reason\`, '') = 'handed-over' then 0 else coalesce(\`timeout\`, ${DEFAULT_REPORT_MS}) end / 1000.0) || ' seconds')`,
)

type Builder<Data> = SQLiteCustomColumnBuilder<{
  name: string
  dataType: 'custom'
  columnType: 'SQLiteCustomColumn'
  data: Data
  driverParam: unknown
  enumValues: undefined
}>
type SettingColumn<Name extends SettingName> = Name extends 'task' | 'timer'
  ? NotNull<Builder<string>>
  : Name extends 'args'
    ? HasDefault<NotNull<Builder<unknown>>>
    : null extends StoredValue<Name>
      ? Builder<Exclude<StoredValue<Name>, null | 'unlimited'>>
      : HasDefault<NotNull<Builder<StoredValue<Name>>>>

/** The columns of settings, by setting name. A default other than null is also the column's default. */
function settings<Name extends SettingName>(
  names: readonly Name[],
): { [Column in Name]: SettingColumn<Column> } {
  const columns = names.map((name) => [name, settingColumn(name)])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- SettingColumn follows settingColumn
  return Object.fromEntries(columns) as { [Column in Name]: SettingColumn<Column> }
}

function settingColumn(name: SettingName) {
  const { kind, column, default: value } = settingOf(name)
  switch (kind) {
    case 'flag':
      return flag(column)
        .notNull()
        .default(sql.raw(value ? '1' : '0'))
    case 'instant':
      return instant(column)
    case 'json':
      return json(column)
        .notNull()
        .default(sql.raw(`'${value}'`))
    case 'text':
    case 'choice': {
      if (value === null) return text(column)
      return value === undefined ? text(column).notNull() : text(column).notNull().default(value)
    }
    case 'whole':
    case 'span':
      return value === null ? integer(column) : integer(column).notNull().default(value)
    default:
      return kind satisfies never
  }
}

const isText = (column: string) => `typeof(${column}) in ('text', 'null') and instr(${column}, char(0)) = 0`
/** SQLite columns accept values of any type and strings of any length, and drivers cut strings at NUL. */
const upTo =
  (most: number): Check =>
  (column) =>
    `${isText(column)} and length(${column}) <= ${most}`
const between =
  (least: number, most: number): Check =>
  (column) =>
    `typeof(${column}) in ('integer', 'null') and ${column} between ${least} and ${most}`
const time: Check = (column) => timeCondition(column, false)
/** For columns that statements compare as stored. */
const sortedTime: Check = (column) => timeCondition(column, true)

/**
 * `YYYY-MM-DD HH:MM:SS`, with up to three digits after the dot, `T` instead of the space, and `Z` or `±HH:MM`; the
 * sorted form allows only the dot and its digits. SQLite's own functions also accept other forms, such as a Julian day,
 * and 30 February; the modifier makes all versions turn 30 February into 2 March. Kalends' own form is checked first,
 * because each function call takes time.
 */
function timeCondition(name: string, isSorted: boolean): string {
  const seconds = `substr(${name}, 1, 19)`
  const others = [
    `replace(${seconds}, 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', ${seconds}, '+0 days')`,
    `strftime('%s', ${name}) is not null`,
    `substr(${name}, 20) not glob '*[^-+.:Z0-9]*'`,
    // SQLite rounds more digits up into the next day, but changes only the date.
    `${name} not glob '*.[0-9][0-9][0-9][0-9]*'`,
    ...(isSorted ? [`substr(${name}, 11) not glob '*[-+TZ]*'`] : []),
    `instr(${name}, char(0)) = 0`,
  ]
  const own = `${name} is strftime('%Y-%m-%d %H:%M:%f', ${name}, '+0 days')`
  // Years from 0001. Text such as 'now' and BLOBs are rejected.
  return `${name} is null or ${name} between '0001' and ':' and (${own} or ${others.join(' and ')})`
}

const OF_SETTINGS = { text: upTo, whole: between, instant: time, json: isText }

/** The database reports the name of a CHECK. */
function checks(table: string, conditions: Readonly<Record<string, Check | null>>) {
  return Object.entries(conditions).flatMap(([column, condition]) => {
    if (condition === null) return []
    const isTime = condition === time || condition === sortedTime
    const name = `${table}_${column}${isTime ? ': write UTC as YYYY-MM-DD HH:MM:SS' : ''}`
    return [check(name, sql.raw(condition(`\`${column}\``)))]
  })
}

const validJson: Check = () => 'json_valid(`args`)'
const id = upTo(NAME_LIMIT)
/** ASCII without a trailing blank, as on database servers. */
const jobId: Check = (column) =>
  `${id(column)} and length(cast(${column} as blob)) = length(${column}) and ${column} not like '% '`
const workerId = upTo(255)

/**
 * The tables of Kalends, for drizzle statements. Args, progress and results are JSON columns; instants are Dates.
 */
export function tables({ prefix = '' }: TablesOptions = {}) {
  const name = <Name extends string>(of: Name) => `${prefix}${of}` as const
  return {
    periodicTask: sqliteTable(
      name('periodic_task'),
      {
        id: text('id').primaryKey().notNull(),
        ...settings(SETTING_NAMES),
        nextRunAt: instant('nextrun'),
        declaredBy: text('declared_by'),
        createdAt: instant('created').notNull().default(now),
        markedBy: text('worker'),
        markedAt: instant('marked'),
        markEndsAt: instant('mark_ends'),
        idle: word('idle', IDLE),
        lastSlot: instant('last_slot'),
        runCount: count('run_count'),
        errorCount: count('error_count'),
        failedAttempts: count('failed_attempts'),
        lastRunAt: instant('last_run'),
        lastFinishedAt: instant('last_finished'),
        lastJobId: text('last_job'),
        lastError: text('last_error'),
        pauseReason: text('pause_reason'),
        frozenUntil: instant('frozen_until'),
        retryAt: instant('retry_at'),
        retry: integer('retry'),
        retryLimit: integer('retry_limit'),
        plannedFrom: text('planned_from'),
        status: text('status').$type<ScheduleStatus>().generatedAlwaysAs(sql.raw(STATUS)),
        definition: text('definition').generatedAlwaysAs(sql.raw(DEFINITION)),
        wakeAt: instant('wake_at').generatedAlwaysAs(sql.raw(WAKE_AT)),
      },
      (table) => [
        // Includes the key, because a page of a list may start between rows with equal times.
        index(name('periodic_task_wake_at')).on(table.wakeAt, table.id),
        index(name('periodic_task_declared_by')).on(table.declaredBy),
        index(name('periodic_task_idle')).on(table.idle),
        // For lists paged in key order.
        index(name('periodic_task_status')).on(table.status, table.id),
        index(name('periodic_task_task')).on(table.task, table.id),
        index(name('periodic_task_group')).on(table.group, table.id),
        index(name('periodic_task_submitter')).on(table.submitter, table.id),
        ...checks(name('periodic_task'), {
          json: validJson,
          id,
          ...settingChecks(SETTING_NAMES, OF_SETTINGS),
          nextrun: time,
          declared_by: id,
          created: sortedTime,
          worker: workerId,
          idle: oneOf(IDLE),
          pause_reason: upTo(1000),
          last_job: jobId,
          run_count: between(0, LARGE),
          error_count: between(0, LARGE),
          failed_attempts: between(0, LARGE),
          retry: between(0, INT),
          retry_limit: between(0, INT),
        }),
      ],
    ),
    job: sqliteTable(
      name('job'),
      {
        id: text('id').primaryKey().notNull().default(uuidv7),
        scheduleId: text('periodic_task_id'),
        slot: instant('slot'),
        missed: count('missed'),
        run: integer('run'),
        ...settings(JOB_SETTING_NAMES),
        state: word('state', STATES).notNull().default('waiting'),
        reason: word('reason', REASONS),
        queue: text('queue'),
        exclusive: flag('exclusive').notNull().default(sql`1`),
        worker: text('worker'),
        attempt: count('attempt'),
        claim: count('claim'),
        releases: count('releases'),
        submittedAt: instant('submitted').notNull().default(now),
        runAt: instant('run_at'),
        frozenUntil: instant('frozen_until'),
        startedAt: instant('started'),
        finishedAt: instant('finished'),
        progress: json('progress'),
        result: json('result'),
        error: text('error'),
        stopRequestedAt: instant('stop_requested'),
        openKey: text('open_key').generatedAlwaysAs(sql.raw(OPEN_KEY)),
        openTurn: text('open_turn').generatedAlwaysAs(sql.raw(OPEN_TURN)),
        openGroup: text('open_group').generatedAlwaysAs(sql.raw(ifOpen("nullif(`group_`, '')"))),
        openSubmitter: text('open_submitter').generatedAlwaysAs(sql.raw(ifOpen('`submitter`'))),
        ready: flag('ready').generatedAlwaysAs(
          sql.raw(`case when ${READY} and ${FINDABLE} then 1 else 0 end`),
        ),
        claimTask: text('claim_task').generatedAlwaysAs(sql.raw(CLAIM_TASK.sqlite)),
        claimRank: integer('claim_rank').generatedAlwaysAs(sql.raw('-`priority`')),
        dueAt: instant('due_at').generatedAlwaysAs(sql.raw(DUE_AT)),
        heldBy: text('held_by').generatedAlwaysAs(sql.raw(HELD_BY)),
      },
      (table) => [
        uniqueIndex(name('job_occurrence')).on(table.scheduleId, table.slot),
        // Allows at most one running and one waiting job, unless overlap is `allow`; also finds the open jobs of a
        // schedule.
        uniqueIndex(name('job_open')).on(table.openKey, table.openTurn).where(sql`open_key is not null`),
        index(name('job_claim'))
          .on(table.ready, table.group, table.claimTask, table.claimRank, table.id)
          .where(sql`ready = 1`),
        index(name('job_due')).on(table.dueAt),
        index(name('job_held')).on(table.heldBy).where(sql`held_by is not null`),
        // For lists: open jobs in key order, final jobs in the order in which they ended.
        index(name('job_state')).on(table.state, table.finishedAt, table.id),
        // For lists, newest first, which is key order.
        index(name('job_task')).on(table.task, table.id),
        index(name('job_group')).on(table.group, table.id),
        index(name('job_submitter')).on(table.submitter, table.id),
        // For the limit on an owner's open jobs, because an owner's history may be long.
        index(name('job_open_group')).on(table.openGroup).where(sql`open_group is not null`),
        index(name('job_open_submitter')).on(table.openSubmitter).where(sql`open_submitter is not null`),
        ...checks(name('job'), {
          json: validJson,
          // An empty id would be mistaken for the turn of the running job.
          id: (column) => `${jobId(column)} and ${column} <> ''`,
          periodic_task_id: id,
          missed: between(0, INT),
          run: between(0, LARGE),
          ...settingChecks(JOB_SETTING_NAMES, OF_SETTINGS),
          state: oneOf(STATES),
          reason: oneOf(REASONS),
          queue: upTo(QUEUE_LIMIT),
          exclusive: between(0, 1),
          worker: workerId,
          attempt: between(0, INT),
          claim: between(0, INT),
          releases: between(0, INT),
          run_at: time,
          finished: sortedTime,
          stop_requested: time,
        }),
      ],
    ),
    /** The attempts that did not succeed. An attempt's number is not unique within its job; its claim is. */
    attempt: sqliteTable(
      name('attempt'),
      {
        jobId: text('job_id').notNull(),
        claim: integer('claim').notNull(),
        attempt: integer('attempt').notNull(),
        worker: text('worker').notNull(),
        startedAt: instant('started').notNull(),
        endedAt: instant('ended').notNull(),
        outcome: word('outcome', OUTCOMES).notNull(),
        error: text('error'),
      },
      (table) => [
        primaryKey({ columns: [table.jobId, table.claim] }),
        ...checks(name('attempt'), {
          job_id: jobId,
          claim: between(0, INT),
          attempt: between(0, INT),
          worker: workerId,
          outcome: oneOf(OUTCOMES),
        }),
      ],
    ),
    jobLog: sqliteTable(
      name('job_log'),
      {
        id: integer('id').primaryKey({ autoIncrement: true }),
        jobId: text('job_id').notNull(),
        at: instant('at').notNull().default(now),
        level: word('level', LEVELS).notNull().default('info'),
        message: text('message').notNull(),
      },
      (table) => [
        index(name('job_log_job')).on(table.jobId, table.id),
        ...checks(name('job_log'), { job_id: jobId, level: oneOf(LEVELS) }),
      ],
    ),
    worker: sqliteTable(
      name('worker'),
      {
        id: text('id').primaryKey().notNull(),
        name: text('name').notNull(),
        host: text('host').notNull(),
        pid: integer('pid').notNull(),
        tasks: json('tasks').notNull(),
        sets: json('sets').notNull().default(sql`'{}'`),
        startedAt: instant('started').notNull().default(now),
        heartbeatAt: instant('heartbeat').notNull().default(now),
      },
      () => checks(name('worker'), { id: workerId, name: id }),
    ),
    /** Freezes: each stops a schedule, a task, a group, or everything (if none of these is set) until a given time. */
    scheduleFreeze: sqliteTable(
      name('schedule_freeze'),
      {
        id: text('id').primaryKey().notNull().default(uuidv7),
        scheduleId: text('schedule_id'),
        task: text('task'),
        group: text('group_'),
        until: instant('until').notNull(),
        reason: text('reason'),
        createdAt: instant('created').notNull().default(now),
      },
      () =>
        checks(name('schedule_freeze'), {
          id,
          schedule_id: id,
          task: id,
          group_: id,
          until: time,
          reason: upTo(1000),
          created: sortedTime,
        }),
    ),
    /** The tasks whose jobs go to an external queue; `*` means all other tasks. */
    taskQueue: sqliteTable(
      name('task_queue'),
      {
        task: text('task').primaryKey().notNull(),
        queue: text('queue').notNull(),
      },
      () => checks(name('task_queue'), { task: id, queue: upTo(QUEUE_LIMIT) }),
    ),
    /**
     * Every version of a declared set that was ever seen. The newest is the version that was first seen most recently.
     */
    declaredSet: sqliteTable(
      name('declared_set'),
      {
        name: text('name').notNull(),
        hash: text('hash').notNull(),
        /** The ids that this version declares. */
        schedules: json('schedules').notNull(),
        firstSeenAt: instant('first_seen').notNull().default(now),
      },
      (table) => [
        primaryKey({ columns: [table.name, table.hash] }),
        ...checks(name('declared_set'), { name: id, hash: upTo(64) }),
      ],
    ),
  }
}
