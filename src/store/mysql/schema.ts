/**
 * The tables on MySQL and MariaDB. `npm run schema` generates the migrations in drizzle/mysql from this file;
 * `{prefix}` becomes the `tablePrefix` when they run. Nothing imports it at run time.
 *
 * Texts are compared exactly, whatever the database's default: `{exact}` becomes the collation of the server that compares
 * byte by byte and does not pad with blanks. The engine is added when a migration runs. Instants are DATETIME(3) in UTC:
 * TIMESTAMP would depend on the session's zone and end in 2038.
 */
import { type SQL, sql } from 'drizzle-orm'
import {
  bigint,
  check,
  customType,
  index,
  int,
  mysqlTable,
  primaryKey,
  tinyint,
  uniqueIndex,
} from 'drizzle-orm/mysql-core'
import {
  JOB_SETTING_NAMES,
  SETTING_NAMES,
  type SettingName,
  settingOf,
  SETTINGS,
} from '../../model/settings.ts'
import {
  ATTEMPT_CHECKS,
  DEFINITION_COLUMNS,
  INT,
  JOB_CHECKS,
  JOB_LOG_CHECKS,
  NAME,
  PERIODIC_TASK_CHECKS,
  WORKER,
  serverChecks,
  type TableChecks,
} from '../checks.ts'

const characters = (length: number) =>
  customType<{ data: string }>({
    dataType: () => `varchar(${length}) CHARACTER SET utf8mb4 COLLATE {exact}`,
  })
const longText = customType<{ data: string }>({
  dataType: () => 'longtext CHARACTER SET utf8mb4 COLLATE {exact}',
})
const instant = customType<{ data: string }>({ dataType: () => 'datetime(3)' })

const name = characters(NAME)
const jobId = name
const workerId = characters(WORKER)
const short = characters(16)
const now = sql`(utc_timestamp(3))`
/**
 * Sorts by time as UUIDv7 of RFC 9562 does, so that jobs inserted by hand keep their turn. The server makes the
 * start of uuid() different each time; rand() tells servers of a cluster apart. MySQL 9 takes no hash here. With no
 * collation named, MariaDB would mix that of the session with that of the table, and refuse every statement.
 */
const uuidv7 = sql.raw(
  "(lower(concat(left(lpad(hex(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000), 12, _utf8mb4'0' collate {exact}), 8), '-', right(hex(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000), 4), '-7', lpad(hex(floor(rand() * 4096)), 3, _utf8mb4'0' collate {exact}), '-8', lpad(hex(floor(rand() * 4096)), 3, _utf8mb4'0' collate {exact}), '-', left(uuid(), 8), right(uuid(), 4))))",
)

const EPOCH = "timestamp'1970-01-01 00:00:00.000'"
/** All that decides the next run, as one text. */
const DEFINITION = `concat(${DEFINITION_COLUMNS.join(", '|', ")})`

const checks = (table: string, of: TableChecks) =>
  serverChecks(of).map(({ column, condition }) => check(`{prefix}${table}_${column}`, sql.raw(condition)))

/** The columns of settings: a default that is not null is one that the column has. */
function settingColumns<Name extends SettingName>(names: readonly Name[]) {
  const columns = names.map((name) => [name, settingColumn(name)] as const)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.fromEntries forgets the names
  return Object.fromEntries(columns) as Record<Name, ReturnType<typeof settingColumn>>
}

function settingColumn(name: SettingName) {
  const setting = settingOf(name)
  const { kind, column } = setting
  switch (kind) {
    case 'text': {
      const text = characters(setting.most)(column)
      if (setting.default === null) return text
      return setting.default === undefined ? text.notNull() : text.notNull().default(setting.default)
    }
    case 'whole':
    case 'span': {
      const whole = setting.most > INT ? bigint(column, { mode: 'number' }) : int(column)
      return setting.default === null ? whole : whole.notNull().default(setting.default)
    }
    case 'choice':
      return setting.default === null ? short(column) : short(column).notNull().default(setting.default)
    case 'instant':
      return instant(column)
    case 'flag':
      return tinyint(column).notNull().default(Number(setting.default))
    case 'json':
      return longText(column)
        .notNull()
        .default(sql.raw(`('${setting.default}')`))
    default:
      return setting satisfies never
  }
}

export const periodicTask = mysqlTable(
  '{prefix}periodic_task',
  {
    id: name('id').primaryKey(),
    ...settingColumns(SETTING_NAMES),
    nextrun: instant('nextrun'),
    declaredBy: name('declared_by'),
    created: instant('created').notNull().default(now),
    worker: workerId('worker'),
    marked: instant('marked'),
    markEnds: instant('mark_ends'),
    idle: short('idle'),
    lastSlot: instant('last_slot'),
    runCount: bigint('run_count', { mode: 'number' }).notNull().default(0),
    errorCount: bigint('error_count', { mode: 'number' }).notNull().default(0),
    lastRun: instant('last_run'),
    lastFinished: instant('last_finished'),
    lastJob: jobId('last_job'),
    lastError: longText('last_error'),
    plannedFrom: characters(800)('planned_from'),
    status: short('status').generatedAlwaysAs(
      (): SQL =>
        sql`case when \`enabled\` = 0 then 'paused' when \`idle\` is not null and \`idle\` <> 'awaiting finish' then \`idle\` else 'active' end`,
      // Indexed: MariaDB is safer with what is stored.
      { mode: 'stored' },
    ),
    definition: characters(720)('definition').generatedAlwaysAs((): SQL => sql.raw(DEFINITION), {
      mode: 'stored',
    }),
    wakeAt: instant('wake_at').generatedAlwaysAs(
      (): SQL =>
        sql.raw(
          `case when \`worker\` is not null then coalesce(\`mark_ends\`, ${EPOCH}) when \`planned_from\` is null or \`planned_from\` <> concat(${DEFINITION}, '|', coalesce(\`nextrun\`, '')) then ${EPOCH} when \`enabled\` = 0 or \`idle\` is not null then null else coalesce(\`nextrun\`, ${EPOCH}) end`,
        ),
      { mode: 'stored' },
    ),
  },
  (table) => [
    index('{prefix}periodic_task_wake_at').on(table.wakeAt),
    index('{prefix}periodic_task_declared_by').on(table.declaredBy),
    index('{prefix}periodic_task_idle').on(table.idle),
    // For lists, page by page in the order of the key, which InnoDB adds to each.
    index('{prefix}periodic_task_status').on(table.status),
    index('{prefix}periodic_task_task').on(table.task),
    index('{prefix}periodic_task_group').on(table.group),
    index('{prefix}periodic_task_submitter').on(table.submitter),
    check('{prefix}periodic_task_json', sql`json_valid(\`args\`)`),
    ...checks('periodic_task', PERIODIC_TASK_CHECKS),
  ],
)

export const job = mysqlTable(
  '{prefix}job',
  {
    id: jobId('id').primaryKey().default(uuidv7),
    periodicTaskId: name('periodic_task_id'),
    slot: instant('slot'),
    missed: int('missed').notNull().default(0),
    run: bigint('run', { mode: 'number' }),
    ...settingColumns(JOB_SETTING_NAMES),
    state: short('state').notNull().default('waiting'),
    reason: short('reason'),
    exclusive: tinyint('exclusive').notNull().default(1),
    worker: workerId('worker'),
    attempt: int('attempt').notNull().default(0),
    claim: int('claim').notNull().default(0),
    submitted: instant('submitted').notNull().default(now),
    runAt: instant('run_at'),
    started: instant('started'),
    finished: instant('finished'),
    progress: longText('progress'),
    result: longText('result'),
    error: longText('error'),
    stopRequested: instant('stop_requested'),
    activeKey: name('active_key').generatedAlwaysAs(
      (): SQL =>
        sql`case when \`exclusive\` = 1 and \`state\` in ('waiting', 'running') then \`periodic_task_id\` end`,
      { mode: 'stored' },
    ),
    claimGroup: characters(SETTINGS.group.most)('claim_group').generatedAlwaysAs(
      (): SQL => sql`case when \`state\` = 'waiting' and \`run_at\` is null then \`group_\` end`,
      { mode: 'stored' },
    ),
    claimTask: name('claim_task').generatedAlwaysAs(
      (): SQL => sql`case when \`state\` = 'waiting' and \`run_at\` is null then \`task\` end`,
      { mode: 'stored' },
    ),
    // Wider than the priority: its negative always fits.
    claimRank: bigint('claim_rank', { mode: 'number' }).generatedAlwaysAs(
      (): SQL => sql`case when \`state\` = 'waiting' and \`run_at\` is null then -\`priority\` end`,
      { mode: 'stored' },
    ),
    dueAt: instant('due_at').generatedAlwaysAs(
      (): SQL => sql`case when \`state\` = 'waiting' then \`run_at\` end`,
      {
        mode: 'stored',
      },
    ),
    heldBy: workerId('held_by').generatedAlwaysAs(
      (): SQL => sql`case when \`state\` = 'running' then \`worker\` end`,
      {
        mode: 'stored',
      },
    ),
  },
  (table) => [
    uniqueIndex('{prefix}job_occurrence').on(table.periodicTaskId, table.slot),
    uniqueIndex('{prefix}job_active').on(table.activeKey),
    // InnoDB adds the key itself. Named here, MariaDB would take the index for one that does not cover the base
    // columns of the generated ones, and walk over every claimable job to find the groups.
    index('{prefix}job_claim').on(table.claimGroup, table.claimTask, table.claimRank),
    index('{prefix}job_due').on(table.dueAt),
    index('{prefix}job_held').on(table.heldBy),
    index('{prefix}job_finished').on(table.finished),
    index('{prefix}job_state_schedule').on(table.state, table.periodicTaskId),
    // For lists, newest first, which is the order of the key that InnoDB adds to each.
    index('{prefix}job_state').on(table.state),
    index('{prefix}job_task').on(table.task),
    index('{prefix}job_group').on(table.group),
    index('{prefix}job_submitter').on(table.submitter),
    // For the limit of open jobs of an owner, whose history may be long.
    index('{prefix}job_open_group').on(table.group, table.state),
    index('{prefix}job_open_submitter').on(table.submitter, table.state),
    check('{prefix}job_json', sql`json_valid(\`args\`)`),
    ...checks('job', JOB_CHECKS),
  ],
)

export const jobLog = mysqlTable(
  '{prefix}job_log',
  {
    id: bigint('id', { mode: 'number' }).autoincrement().primaryKey(),
    jobId: jobId('job_id').notNull(),
    at: instant('at').notNull().default(now),
    level: short('level').notNull().default('info'),
    message: longText('message').notNull(),
  },
  (table) => [index('{prefix}job_log_job').on(table.jobId, table.id), ...checks('job_log', JOB_LOG_CHECKS)],
)

/** The attempts that did not succeed. The number of an attempt is not unique in its job; that of its claim is. */
export const attempt = mysqlTable(
  '{prefix}attempt',
  {
    jobId: jobId('job_id').notNull(),
    claim: int('claim').notNull(),
    attempt: int('attempt').notNull(),
    worker: workerId('worker').notNull(),
    started: instant('started').notNull(),
    ended: instant('ended').notNull(),
    outcome: short('outcome').notNull(),
    error: longText('error'),
  },
  (table) => [primaryKey({ columns: [table.jobId, table.claim] }), ...checks('attempt', ATTEMPT_CHECKS)],
)

export const worker = mysqlTable('{prefix}worker', {
  id: workerId('id').primaryKey(),
  name: name('name').notNull(),
  host: characters(255)('host').notNull(),
  pid: int('pid').notNull(),
  tasks: longText('tasks').notNull(),
  sets: longText('sets').notNull().default(sql`('{}')`),
  started: instant('started').notNull().default(now),
  heartbeat: instant('heartbeat').notNull().default(now),
})

/** The versions of declared sets that were ever seen: which of them came last decides. */
export const declaredSet = mysqlTable(
  '{prefix}declared_set',
  {
    name: name('name').notNull(),
    hash: characters(64)('hash').notNull(),
    /** The ids that this version declares, as a JSON array. */
    schedules: longText('schedules').notNull(),
    firstSeen: instant('first_seen').notNull().default(now),
  },
  (table) => [primaryKey({ columns: [table.name, table.hash] })],
)
