/**
 * The tables on SQLite as drizzle tables, so that an application can read them and join them with its own. Kalends
 * creates and migrates them; leave them out of your drizzle-kit schema (see the guide "Beside migration tools").
 *
 * Instants are UTC text, `YYYY-MM-DD HH:MM:SS.mmm`. Manually written instants may have another form, so strftime
 * normalises them before they are compared; as plain text, `…T00:00:00Z` would sort after the rest of that day. The
 * CHECKs reject text that strftime cannot read. Sorted columns are compared as stored, so their CHECKs also reject
 * instants in another form.
 */
import { sql } from 'drizzle-orm'
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
import type { Columns } from '../model/columns.ts'
import { toText } from '../model/instant.ts'
import { DEFAULT_REPORT_MS } from '../model/job.ts'
import { NAME_LIMIT } from '../model/settings.ts'
import type { ScheduleStatus } from '../model/states.ts'
import {
  type Builders,
  type BuilderType,
  builders,
  type Check,
  checksOf,
  claimTask,
  COLUMNS,
  type CustomColumn,
  DEFINITION_PARTS,
  FLAG,
  heldBy,
  ifOpen,
  JSON_TEXT,
  OPEN_KEY,
  OPEN_TURN,
  READY,
  STATUS,
  type TablesOptions,
  validJson,
} from './shared.ts'

export type { TablesOptions } from './shared.ts'

const text = (column: string) => plainText(column)
const json = customType<{ data: unknown; driverData: string }>({
  dataType: () => 'text',
  ...JSON_TEXT,
})
const flag = customType<{ data: boolean; driverData: number }>({
  dataType: () => 'integer',
  ...FLAG,
})
/** Instants without a zone, which is how Kalends writes them, are in UTC. */
const instant = customType<{ data: Date; driverData: string }>({
  dataType: () => 'text',
  toDriver: toText,
  fromDriver: (value) => new Date(/Z|[+-]\d\d:\d\d$/.test(value) ? value : `${value.replace(' ', 'T')}Z`),
})

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
/** SQLite accepts a BLOB as an id, but statements compare ids with text, so such a row must never be due or claimed. */
const FINDABLE = "typeof(`id`) = 'text'"
const WAKE_AT = [
  `case when not ${FINDABLE} then null`,
  `when \`worker\` is not null then coalesce(${normalised('mark_ends')}, ${EPOCH})`,
  `when \`planned_from\` is not ${DEFINITION} or \`planned_nextrun\` is not ${normalised('nextrun')} then ${EPOCH}`,
  'when `enabled` = 0 or `idle` is not null then null',
  `else max(coalesce(${normalised('nextrun')}, ${EPOCH}), coalesce(${normalised('frozen_until')}, ${EPOCH})) end`,
].join(' ')
/** run_at and frozen_until, each replaced by the other if it is null; `due_at` is the later one. */
const LATER = ['run_at', 'frozen_until'].map(
  (column) => `coalesce(${normalised(column)}, ${normalised('run_at')}, ${normalised('frozen_until')})`,
)
const DUE_AT = `case when \`state\` = 'waiting' and ${FINDABLE} then max(${LATER.join(', ')}) end`
const CLAIM_TASK = claimTask("' ' || `queue`")
const HELD_BY = heldBy(
  `' ' || strftime('%Y-%m-%d %H:%M:%f', coalesce(\`started\`, \`submitted\`), (case when coalesce(\`reason\`, '') = 'handed-over' then 0 else coalesce(\`timeout\`, ${DEFAULT_REPORT_MS}) end / 1000.0) || ' seconds')`,
)

interface SqliteBuilder extends BuilderType {
  readonly builder: SQLiteCustomColumnBuilder<CustomColumn<'SQLiteCustomColumn', this['data']>>
}
const TYPES = {
  text,
  'job id': text,
  uid: text,
  'long text': text,
  json,
  flag,
  instant,
  whole: (column: string) => integer(column),
  now,
  uuid: uuidv7,
}
function columns<Definitions extends Columns>(
  definitions: Definitions,
): Builders<SqliteBuilder, Definitions> {
  return builders(definitions, TYPES)
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
 * Accepts `YYYY-MM-DD HH:MM:SS`, optionally with a dot and up to three digits, `T` instead of the space, and `Z` or
 * `±HH:MM`; of these options, the sorted form allows only the dot and digits. SQLite's own functions also accept other
 * forms, such as a Julian day, and 30 February; with '+0 days', all versions turn 30 February into a day in March, so
 * the result differs from the text. Kalends' own form is checked first, because each function call takes time.
 */
function timeCondition(name: string, isSorted: boolean): string {
  const seconds = `substr(${name}, 1, 19)`
  const others = [
    `replace(${seconds}, 'T', ' ') is strftime('%Y-%m-%d %H:%M:%S', ${seconds}, '+0 days')`,
    `strftime('%s', ${name}) is not null`,
    `substr(${name}, 20) not glob '*[^-+.:Z0-9]*'`,
    // With more than three decimals, SQLite's functions disagree: some round up to the next day, others truncate.
    `${name} not glob '*.[0-9][0-9][0-9][0-9]*'`,
    ...(isSorted ? [`substr(${name}, 11) not glob '*[-+TZ]*'`] : []),
    `instr(${name}, char(0)) = 0`,
  ]
  const own = `${name} is strftime('%Y-%m-%d %H:%M:%f', ${name}, '+0 days')`
  // Years start at 0001. BLOBs, and text such as 'now', are rejected.
  return `${name} is null or ${name} between '0001' and ':' and (${own} or ${others.join(' and ')})`
}

const id = upTo(NAME_LIMIT)
/** ASCII without a trailing blank, as on servers. */
const jobId: Check = (column) =>
  `${id(column)} and length(cast(${column} as blob)) = length(${column}) and ${column} not like '% '`
const CHECKS = {
  text: upTo,
  'job id': jobId,
  whole: between,
  instant: { text: time, sorted: sortedTime },
  json: isText,
}

/** Tables for drizzle statements. Args, progress and results are read and written as JSON values, instants as Dates. */
export function tables({ prefix = '' }: TablesOptions = {}) {
  const name = <Name extends string>(of: Name) => `${prefix}${of}` as const
  const checks = (table: keyof typeof COLUMNS, more: Readonly<Record<string, Check>> = {}) =>
    checksOf(name(table), COLUMNS[table], CHECKS, ': write UTC as YYYY-MM-DD HH:MM:SS', more).map(
      ([of, condition]) => check(of, condition),
    )
  return {
    periodicTask: sqliteTable(
      name('periodic_task'),
      {
        id: text('id').primaryKey().notNull(),
        ...columns(COLUMNS.periodic_task),
        status: text('status').$type<ScheduleStatus>().generatedAlwaysAs(sql.raw(STATUS)),
        definition: text('definition').generatedAlwaysAs(sql.raw(DEFINITION)),
        wakeAt: instant('wake_at').generatedAlwaysAs(sql.raw(WAKE_AT)),
      },
      (table) => [
        // The index includes the key, because a page of a list may start between rows with equal times.
        index(name('periodic_task_wake_at')).on(table.wakeAt, table.id),
        // No two rows have the same identity, so that no job belongs to both.
        uniqueIndex(name('periodic_task_identity')).on(table.uid),
        index(name('periodic_task_declared_by')).on(table.declaredBy),
        index(name('periodic_task_idle')).on(table.idle),
        // For lists paged in key order.
        index(name('periodic_task_status')).on(table.status, table.id),
        index(name('periodic_task_task')).on(table.task, table.id),
        index(name('periodic_task_group')).on(table.group, table.id),
        index(name('periodic_task_submitter')).on(table.submitter, table.id),
        ...checks('periodic_task', { json: validJson, id }),
      ],
    ),
    job: sqliteTable(
      name('job'),
      {
        id: text('id').primaryKey().notNull().default(uuidv7),
        ...columns(COLUMNS.job),
        openKey: text('open_key').generatedAlwaysAs(sql.raw(OPEN_KEY)),
        openTurn: text('open_turn').generatedAlwaysAs(sql.raw(OPEN_TURN)),
        openGroup: text('open_group').generatedAlwaysAs(sql.raw(ifOpen("nullif(`group_`, '')"))),
        openSubmitter: text('open_submitter').generatedAlwaysAs(sql.raw(ifOpen('`submitter`'))),
        ready: flag('ready').generatedAlwaysAs(
          sql.raw(`case when ${READY} and ${FINDABLE} then 1 else 0 end`),
        ),
        claimTask: text('claim_task').generatedAlwaysAs(sql.raw(CLAIM_TASK)),
        claimRank: integer('claim_rank').generatedAlwaysAs(sql.raw('-`priority`')),
        dueAt: instant('due_at').generatedAlwaysAs(sql.raw(DUE_AT)),
        heldBy: text('held_by').generatedAlwaysAs(sql.raw(HELD_BY)),
      },
      (table) => [
        uniqueIndex(name('job_occurrence')).on(table.scheduleUid, table.slot),
        // Allows each schedule at most one open job that is not blocked, unless overlap is `allow`; also finds the open
        // jobs of a schedule.
        uniqueIndex(name('job_open')).on(table.openKey, table.openTurn).where(sql`open_key is not null`),
        index(name('job_claim'))
          .on(table.ready, table.group, table.claimTask, table.claimRank, table.id)
          .where(sql`ready = 1`),
        index(name('job_due')).on(table.dueAt),
        index(name('job_held')).on(table.heldBy).where(sql`held_by is not null`),
        // For lists: open jobs in key order, final jobs in the order in which they ended.
        index(name('job_state')).on(table.state, table.finishedAt, table.id),
        // For lists of the newest jobs first, which are read in reverse key order.
        index(name('job_schedule')).on(table.scheduleId, table.id).where(sql`periodic_task_id is not null`),
        index(name('job_task')).on(table.task, table.id),
        index(name('job_group')).on(table.group, table.id),
        index(name('job_submitter')).on(table.submitter, table.id),
        // For counting an owner's open jobs for the limit, without reading the owner's history, which may be long.
        index(name('job_open_group')).on(table.openGroup).where(sql`open_group is not null`),
        index(name('job_open_submitter')).on(table.openSubmitter).where(sql`open_submitter is not null`),
        ...checks('job', {
          json: validJson,
          // `open_turn` is '' for a schedule's unblocked job and otherwise the job's id, so no id may be ''.
          id: (column) => `${jobId(column)} and ${column} <> ''`,
        }),
      ],
    ),
    attempt: sqliteTable(name('attempt'), columns(COLUMNS.attempt), (table) => [
      primaryKey({ columns: [table.jobId, table.claim] }),
      ...checks('attempt'),
    ]),
    jobLog: sqliteTable(
      name('job_log'),
      { id: integer('id').primaryKey({ autoIncrement: true }), ...columns(COLUMNS.job_log) },
      (table) => [index(name('job_log_job')).on(table.jobId, table.id), ...checks('job_log')],
    ),
    worker: sqliteTable(
      name('worker'),
      { id: text('id').primaryKey().notNull(), ...columns(COLUMNS.worker) },
      () => checks('worker', { id: upTo(255) }),
    ),
    scheduleFreeze: sqliteTable(
      name('schedule_freeze'),
      { id: text('id').primaryKey().notNull().default(uuidv7), ...columns(COLUMNS.schedule_freeze) },
      () => checks('schedule_freeze', { id }),
    ),
    taskQueue: sqliteTable(
      name('task_queue'),
      { task: text('task').primaryKey().notNull(), ...columns(COLUMNS.task_queue) },
      () => checks('task_queue', { task: id }),
    ),
    declaredSet: sqliteTable(name('declared_set'), columns(COLUMNS.declared_set), (table) => [
      primaryKey({ columns: [table.name, table.hash] }),
      ...checks('declared_set'),
    ]),
  }
}
