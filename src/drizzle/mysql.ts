/**
 * The tables on MySQL and MariaDB as drizzle tables, so that an application can read them and join them with its own.
 * Kalends creates and migrates them; leave them out of your drizzle-kit schema (see the guide "Beside migration
 * tools").
 *
 * Strings are compared exactly, regardless of the database's default: `{exact}` becomes the server's collation that
 * compares byte by byte and does not pad with blanks. The engine name is added when a migration runs. Instants are
 * DATETIME(3) in UTC: TIMESTAMP would depend on the session's zone and end in 2038.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  check,
  customType,
  index,
  int,
  type MySqlCustomColumnBuilder,
  mysqlSchema,
  mysqlTable,
  type MySqlTableFn,
  primaryKey,
  uniqueIndex,
} from 'drizzle-orm/mysql-core'
import type { Columns } from '../model/columns.ts'
import { fromStored, toText } from '../model/instant.ts'
import { DEFAULT_REPORT_MS } from '../model/job.ts'
import { INT, NAME_LIMIT } from '../model/settings.ts'
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

export interface MysqlTablesOptions extends TablesOptions {
  /** The option `schema` of `Kalends.open`; default: the application's own database. */
  readonly schema?: string | undefined
}

const EXACT = 'CHARACTER SET utf8mb4 COLLATE {exact}'

function text<Value extends string = string>(column: string, most: number) {
  return customType<{ data: Value }>({ dataType: () => `varchar(${most}) ${EXACT}` })(column)
}
/** ASCII keeps index keys small. Servers ignore an id's trailing blanks in comparisons, so CHECKs reject them. */
const jobId = (column: string) =>
  customType<{ data: string }>({
    dataType: () => `varchar(${NAME_LIMIT}) CHARACTER SET ascii COLLATE ascii_bin`,
  })(column)
const longText = customType<{ data: string }>({ dataType: () => `longtext ${EXACT}` })
const json = customType<{ data: unknown; driverData: string }>({
  dataType: () => `longtext ${EXACT}`,
  ...JSON_TEXT,
})
const flag = customType<{ data: boolean; driverData: number }>({
  dataType: () => 'tinyint',
  ...FLAG,
})
/** drizzle reads instants as text. */
const instant = customType<{ data: Date; driverData: string }>({
  dataType: () => 'datetime(3)',
  toDriver: toText,
  fromDriver: fromStored,
})
const long = (column: string) => bigint(column, { mode: 'number' })

const now = sql`(utc_timestamp(3))`
const MILLISECONDS = "hex(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)"
const ZERO = "_utf8mb4'0' collate {exact}"
const RANDOM = `lpad(hex(floor(rand() * 4096)), 3, ${ZERO})`
/**
 * These ids sort by time, like a UUIDv7 (RFC 9562), so manually inserted jobs keep their order. The start of uuid()
 * differs with each call; rand() distinguishes the servers of a cluster. MySQL 9 does not allow hash functions in
 * defaults. Without an explicit collation, MariaDB would mix the collations of the session and the table, and
 * reject every statement.
 */
const uuidv7 = sql.raw(
  `(lower(concat(${[
    `left(lpad(${MILLISECONDS}, 12, ${ZERO}), 8), '-', right(${MILLISECONDS}, 4)`,
    `'-7', ${RANDOM}, '-8', ${RANDOM}`,
    "'-', left(uuid(), 8), right(uuid(), 4)",
  ].join(', ')})))`,
)

const EPOCH = "timestamp'1970-01-01 00:00:00.000'"
const DEFINITION = `concat(${DEFINITION_PARTS.join(", '|', ")})`
const WAKE_AT = [
  `case when \`worker\` is not null then coalesce(\`mark_ends\`, ${EPOCH})`,
  `when not (\`planned_from\` <=> ${DEFINITION} and \`planned_nextrun\` <=> \`nextrun\`)`,
  `then ${EPOCH} when \`enabled\` = 0 or \`idle\` is not null then null`,
  `else greatest(coalesce(\`nextrun\`, ${EPOCH}), coalesce(\`frozen_until\`, ${EPOCH})) end`,
].join(' ')
const CLAIM_TASK = claimTask("concat(' ', `queue`)")
const HELD_BY = heldBy(
  `concat(' ', coalesce(\`started\`, \`submitted\`) + interval (case when coalesce(\`reason\`, '') = 'handed-over' then 0 else coalesce(\`timeout\`, ${DEFAULT_REPORT_MS}) end * 1000) microsecond)`,
)
/** Most of these columns are indexed, and MariaDB handles stored columns more reliably than virtual ones. */
const STORED = { mode: 'stored' } as const

interface MysqlBuilder extends BuilderType {
  readonly builder: MySqlCustomColumnBuilder<CustomColumn<'MySqlCustomColumn', this['data']>>
}
const TYPES = {
  text,
  'job id': jobId,
  uid: jobId,
  'long text': longText,
  json,
  flag,
  instant,
  whole: (column: string, most: number) => (most > INT ? long(column) : int(column)),
  now,
  uuid: uuidv7,
}
function columns<Definitions extends Columns>(definitions: Definitions): Builders<MysqlBuilder, Definitions> {
  return builders(definitions, TYPES)
}

const between =
  (least: number, most: number): Check =>
  (column) =>
    `${column} between ${least} and ${most}`
/**
 * Depending on `sql_mode`, servers accept 30 February and a month or day of 0, and store other invalid text as a zero
 * date.
 */
const validDate: Check = (column) =>
  `month(${column}) > 0 and day(${column}) between 1 and day(last_day(${column}))`
const notPadded: Check = (column) => `${column} not like '% '`
const CHECKS = {
  text: () => null,
  'job id': notPadded,
  whole: between,
  instant: { text: validDate, sorted: validDate },
  json: null,
}

/** Tables for drizzle statements. Args, progress and results are read and written as JSON values, instants as Dates. */
export function tables({ prefix = '', schema }: MysqlTablesOptions = {}) {
  const table: MySqlTableFn<string | undefined> =
    schema === undefined ? mysqlTable : mysqlSchema(schema).table
  const name = <Name extends string>(of: Name) => `${prefix}${of}` as const
  // The suffix is short, because a name can have at most 64 characters, of which the prefix takes up to 32.
  const checks = (table: keyof typeof COLUMNS, more: Readonly<Record<string, Check>> = {}) =>
    checksOf(name(table), COLUMNS[table], CHECKS, '_date', more).map(([of, condition]) =>
      check(of, condition),
    )
  return {
    periodicTask: table(
      name('periodic_task'),
      {
        id: text('id', NAME_LIMIT).primaryKey(),
        ...columns(COLUMNS.periodic_task),
        status: text<ScheduleStatus>('status', 16).generatedAlwaysAs(sql.raw(STATUS), STORED),
        definition: text('definition', 720).generatedAlwaysAs(sql.raw(DEFINITION), STORED),
        wakeAt: instant('wake_at').generatedAlwaysAs(sql.raw(WAKE_AT), STORED),
      },
      (made) => [
        index(name('periodic_task_wake_at')).on(made.wakeAt),
        // No two rows have the same identity, so that no job belongs to both.
        uniqueIndex(name('periodic_task_identity')).on(made.uid),
        index(name('periodic_task_declared_by')).on(made.declaredBy),
        index(name('periodic_task_idle')).on(made.idle),
        // For lists paged in key order; InnoDB appends the primary key to every index.
        index(name('periodic_task_status')).on(made.status),
        index(name('periodic_task_task')).on(made.task),
        index(name('periodic_task_group')).on(made.group),
        index(name('periodic_task_submitter')).on(made.submitter),
        ...checks('periodic_task', { json: validJson }),
      ],
    ),
    job: table(
      name('job'),
      {
        id: jobId('id').primaryKey().default(uuidv7),
        ...columns(COLUMNS.job),
        openKey: jobId('open_key').generatedAlwaysAs(sql.raw(OPEN_KEY), STORED),
        openTurn: jobId('open_turn').generatedAlwaysAs(sql.raw(OPEN_TURN), STORED),
        openGroup: text('open_group', NAME_LIMIT).generatedAlwaysAs(
          sql.raw(ifOpen("nullif(`group_`, '')")),
          STORED,
        ),
        openSubmitter: text('open_submitter', NAME_LIMIT).generatedAlwaysAs(
          sql.raw(ifOpen('`submitter`')),
          STORED,
        ),
        ready: flag('ready').generatedAlwaysAs(sql.raw(`case when ${READY} then 1 else 0 end`), STORED),
        claimTask: text('claim_task', NAME_LIMIT).generatedAlwaysAs(sql.raw(CLAIM_TASK), STORED),
        // Wider than the priority, so that the negated priority always fits.
        claimRank: long('claim_rank').generatedAlwaysAs(sql.raw('-`priority`'), STORED),
        dueAt: instant('due_at').generatedAlwaysAs(
          sql`case when \`state\` = 'waiting' then greatest(coalesce(\`run_at\`, \`frozen_until\`), coalesce(\`frozen_until\`, \`run_at\`)) end`,
          STORED,
        ),
        heldBy: text('held_by', 255).generatedAlwaysAs(sql.raw(HELD_BY), STORED),
      },
      (made) => [
        uniqueIndex(name('job_occurrence')).on(made.scheduleUid, made.slot),
        // Allows each schedule at most one open job that is not blocked, unless overlap is `allow`; also finds the open
        // jobs of a schedule.
        uniqueIndex(name('job_open')).on(made.openKey, made.openTurn),
        // If this index listed the primary key, MariaDB would not treat it as covering, and would scan all claimable
        // jobs to find the groups.
        index(name('job_claim')).on(made.ready, made.group, made.claimTask, made.claimRank),
        index(name('job_due')).on(made.dueAt),
        index(name('job_held')).on(made.heldBy),
        // For lists: open jobs in key order, final jobs in the order in which they ended.
        index(name('job_state')).on(made.state, made.finishedAt),
        // For lists with the newest jobs first, which are read in reverse key order.
        index(name('job_schedule')).on(made.scheduleId),
        index(name('job_task')).on(made.task),
        index(name('job_group')).on(made.group),
        index(name('job_submitter')).on(made.submitter),
        // For counting an owner's open jobs for the limit, without reading the owner's history, which may be long.
        index(name('job_open_group')).on(made.openGroup),
        index(name('job_open_submitter')).on(made.openSubmitter),
        ...checks('job', {
          json: validJson,
          // Among a schedule's open jobs, `open_turn` is '' for the exclusive one that is not blocked, and otherwise
          // the job's id, so no id may be ''.
          id: (column) => `${notPadded(column)} and ${column} <> ''`,
        }),
      ],
    ),
    attempt: table(name('attempt'), columns(COLUMNS.attempt), (made) => [
      primaryKey({ columns: [made.jobId, made.claim] }),
      ...checks('attempt'),
    ]),
    jobLog: table(
      name('job_log'),
      { id: long('id').autoincrement().primaryKey(), ...columns(COLUMNS.job_log) },
      (made) => [index(name('job_log_job')).on(made.jobId, made.id), ...checks('job_log')],
    ),
    worker: table(name('worker'), { id: text('id', 255).primaryKey(), ...columns(COLUMNS.worker) }, () =>
      checks('worker'),
    ),
    scheduleFreeze: table(
      name('schedule_freeze'),
      { id: text('id', NAME_LIMIT).primaryKey().default(uuidv7), ...columns(COLUMNS.schedule_freeze) },
      () => checks('schedule_freeze'),
    ),
    taskQueue: table(name('task_queue'), {
      task: text('task', NAME_LIMIT).primaryKey(),
      ...columns(COLUMNS.task_queue),
    }),
    declaredSet: table(name('declared_set'), columns(COLUMNS.declared_set), (made) => [
      primaryKey({ columns: [made.name, made.hash] }),
    ]),
  }
}
