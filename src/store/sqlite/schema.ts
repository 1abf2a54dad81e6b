/**
 * The tables on SQLite. `npm run schema` generates the migrations in drizzle/sqlite from this file; `{prefix}`
 * becomes the `tablePrefix` when they run. Nothing imports it at run time.
 *
 * Instants are text in UTC, `YYYY-MM-DD HH:MM:SS.mmm`. What people write by hand in another of SQLite's forms
 * is normalised by strftime wherever it is compared: as bare text `…T00:00:00Z` would be later than that day.
 */
import { type SQL, sql } from 'drizzle-orm'
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { JOB_SETTING_NAMES, SETTING_NAMES, type SettingName, settingOf } from '../../model/settings.ts'
import {
  ATTEMPT_CHECKS,
  DECLARED_SET_CHECKS,
  DEFINITION_COLUMNS,
  JOB_CHECKS,
  JOB_LOG_CHECKS,
  PERIODIC_TASK_CHECKS,
  WORKER_CHECKS,
  sqliteChecks,
  type TableChecks,
} from '../checks.ts'

const now = sql`(strftime('%Y-%m-%d %H:%M:%f', 'now'))`
/** Sorts by time as UUIDv7 of RFC 9562 does, so that jobs inserted by hand keep their turn. */
const uuidv7 = sql.raw(
  "(lower(printf('%08x-%04x-7', cast((julianday('now') - 2440587.5) * 86400000 as integer) >> 16, cast((julianday('now') - 2440587.5) * 86400000 as integer) & 65535) || substr(hex(randomblob(2)), 1, 3) || '-8' || substr(hex(randomblob(2)), 1, 3) || '-' || hex(randomblob(6))))",
)
const EPOCH = '1970-01-01 00:00:00.000'
/** All that decides the next run, as one text. */
const DEFINITION = DEFINITION_COLUMNS.join(" || '|' || ")
/** As statements have it word for word: or SQLite does not see that an index on these rows serves them. */
const IS_OPEN = "`state` in ('waiting', 'blocked', 'running')"

/** SQLite keeps a BLOB as the id of a row: no statement would find it by a text. Such a row is never due or claimed. */
const FINDABLE = "typeof(`id`) = 'text'"

const CLAIMABLE = `\`state\` = 'waiting' and \`run_at\` is null and ${FINDABLE}`

const checks = (table: string, of: TableChecks) =>
  sqliteChecks(of).map(({ column, condition }) => check(`{prefix}${table}_${column}`, sql.raw(condition)))

/** The columns of settings: a default that is not null is one that the column has. */
function settingColumns<Name extends SettingName>(names: readonly Name[]) {
  const columns = names.map((name) => [name, settingColumn(name)] as const)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.fromEntries forgets the names
  return Object.fromEntries(columns) as Record<Name, ReturnType<typeof settingColumn>>
}

function settingColumn(name: SettingName) {
  const setting = settingOf(name)
  const { column } = setting
  switch (setting.kind) {
    case 'whole':
    case 'span':
      return setting.default === null ? integer(column) : integer(column).notNull().default(setting.default)
    case 'flag':
      return integer(column).notNull().default(Number(setting.default))
    default:
      if (setting.default === null) return text(column)
      return setting.default === undefined
        ? text(column).notNull()
        : text(column).notNull().default(setting.default)
  }
}

export const periodicTask = sqliteTable(
  '{prefix}periodic_task',
  {
    id: text('id').primaryKey().notNull(),
    ...settingColumns(SETTING_NAMES),
    nextrun: text('nextrun'),
    declaredBy: text('declared_by'),
    created: text('created').notNull().default(now),
    worker: text('worker'),
    marked: text('marked'),
    markEnds: text('mark_ends'),
    idle: text('idle'),
    lastSlot: text('last_slot'),
    runCount: integer('run_count').notNull().default(0),
    errorCount: integer('error_count').notNull().default(0),
    lastRun: text('last_run'),
    lastFinished: text('last_finished'),
    lastJob: text('last_job'),
    lastError: text('last_error'),
    plannedFrom: text('planned_from'),
    status: text('status').generatedAlwaysAs(
      (): SQL =>
        sql`case when \`enabled\` = 0 then 'paused' when \`idle\` is not null and \`idle\` <> 'awaiting finish' then \`idle\` else 'active' end`,
      { mode: 'virtual' },
    ),
    definition: text('definition').generatedAlwaysAs((): SQL => sql.raw(DEFINITION), { mode: 'virtual' }),
    wakeAt: text('wake_at').generatedAlwaysAs(
      (): SQL =>
        sql.raw(
          `case when not ${FINDABLE} then null when \`worker\` is not null then coalesce(strftime('%Y-%m-%d %H:%M:%f', \`mark_ends\`), '${EPOCH}') when \`planned_from\` is not ${DEFINITION} || '|' || coalesce(strftime('%Y-%m-%d %H:%M:%f', \`nextrun\`), '') then '${EPOCH}' when \`enabled\` = 0 or \`idle\` is not null then null else coalesce(strftime('%Y-%m-%d %H:%M:%f', \`nextrun\`), '${EPOCH}') end`,
        ),
      { mode: 'virtual' },
    ),
  },
  (table) => [
    index('{prefix}periodic_task_wake_at').on(table.wakeAt),
    index('{prefix}periodic_task_declared_by').on(table.declaredBy),
    index('{prefix}periodic_task_idle').on(table.idle),
    index('{prefix}periodic_task_status').on(table.status, table.id),
    index('{prefix}periodic_task_task').on(table.task, table.id),
    index('{prefix}periodic_task_group').on(table.group, table.id),
    index('{prefix}periodic_task_submitter').on(table.submitter, table.id),
    check('{prefix}periodic_task_json', sql`json_valid(\`args\`)`),
    ...checks('periodic_task', PERIODIC_TASK_CHECKS),
  ],
)

export const job = sqliteTable(
  '{prefix}job',
  {
    id: text('id').primaryKey().notNull().default(uuidv7),
    periodicTaskId: text('periodic_task_id'),
    slot: text('slot'),
    missed: integer('missed').notNull().default(0),
    run: integer('run'),
    ...settingColumns(JOB_SETTING_NAMES),
    state: text('state').notNull().default('waiting'),
    reason: text('reason'),
    exclusive: integer('exclusive').notNull().default(1),
    worker: text('worker'),
    attempt: integer('attempt').notNull().default(0),
    claim: integer('claim').notNull().default(0),
    submitted: text('submitted').notNull().default(now),
    runAt: text('run_at'),
    started: text('started'),
    finished: text('finished'),
    progress: text('progress'),
    result: text('result'),
    error: text('error'),
    stopRequested: text('stop_requested'),
    activeKey: text('active_key').generatedAlwaysAs(
      (): SQL =>
        sql`case when \`exclusive\` = 1 and \`state\` in ('waiting', 'running') then \`periodic_task_id\` end`,
      { mode: 'virtual' },
    ),
    claimGroup: text('claim_group').generatedAlwaysAs(
      (): SQL => sql.raw(`case when ${CLAIMABLE} then \`group_\` end`),
      { mode: 'virtual' },
    ),
    claimTask: text('claim_task').generatedAlwaysAs(
      (): SQL => sql.raw(`case when ${CLAIMABLE} then \`task\` end`),
      { mode: 'virtual' },
    ),
    claimRank: integer('claim_rank').generatedAlwaysAs(
      (): SQL => sql.raw(`case when ${CLAIMABLE} then -\`priority\` end`),
      { mode: 'virtual' },
    ),
    dueAt: text('due_at').generatedAlwaysAs(
      (): SQL =>
        sql.raw(
          `case when \`state\` = 'waiting' and ${FINDABLE} then strftime('%Y-%m-%d %H:%M:%f', \`run_at\`) end`,
        ),
      { mode: 'virtual' },
    ),
    heldBy: text('held_by').generatedAlwaysAs(
      (): SQL => sql`case when \`state\` = 'running' then \`worker\` end`,
      {
        mode: 'virtual',
      },
    ),
  },
  (table) => [
    uniqueIndex('{prefix}job_occurrence').on(table.periodicTaskId, table.slot),
    uniqueIndex('{prefix}job_active').on(table.activeKey),
    index('{prefix}job_claim').on(table.claimGroup, table.claimTask, table.claimRank, table.id),
    index('{prefix}job_due').on(table.dueAt),
    index('{prefix}job_held').on(table.heldBy),
    index('{prefix}job_finished').on(table.finished),
    index('{prefix}job_state_schedule').on(table.state, table.periodicTaskId),
    index('{prefix}job_state').on(table.state, table.id),
    index('{prefix}job_task').on(table.task, table.id),
    index('{prefix}job_group').on(table.group, table.id),
    index('{prefix}job_submitter').on(table.submitter, table.id),
    // For the limit of open jobs of an owner, whose history may be long.
    index('{prefix}job_open_group').on(table.group).where(sql.raw(IS_OPEN)),
    index('{prefix}job_open_submitter').on(table.submitter).where(sql.raw(IS_OPEN)),
    check('{prefix}job_json', sql`json_valid(\`args\`)`),
    ...checks('job', JOB_CHECKS),
  ],
)

export const jobLog = sqliteTable(
  '{prefix}job_log',
  {
    id: integer('id').primaryKey({ autoIncrement: true }),
    jobId: text('job_id').notNull(),
    at: text('at').notNull().default(now),
    level: text('level').notNull().default('info'),
    message: text('message').notNull(),
  },
  (table) => [index('{prefix}job_log_job').on(table.jobId, table.id), ...checks('job_log', JOB_LOG_CHECKS)],
)

/** The attempts that did not succeed. The number of an attempt is not unique in its job; that of its claim is. */
export const attempt = sqliteTable(
  '{prefix}attempt',
  {
    jobId: text('job_id').notNull(),
    claim: integer('claim').notNull(),
    attempt: integer('attempt').notNull(),
    worker: text('worker').notNull(),
    started: text('started').notNull(),
    ended: text('ended').notNull(),
    outcome: text('outcome').notNull(),
    error: text('error'),
  },
  (table) => [primaryKey({ columns: [table.jobId, table.claim] }), ...checks('attempt', ATTEMPT_CHECKS)],
)

export const worker = sqliteTable(
  '{prefix}worker',
  {
    id: text('id').primaryKey().notNull(),
    name: text('name').notNull(),
    host: text('host').notNull(),
    pid: integer('pid').notNull(),
    tasks: text('tasks').notNull(),
    sets: text('sets').notNull().default('{}'),
    started: text('started').notNull().default(now),
    heartbeat: text('heartbeat').notNull().default(now),
  },
  () => checks('worker', WORKER_CHECKS),
)

/** The versions of declared sets that were ever seen: which of them came last decides. */
export const declaredSet = sqliteTable(
  '{prefix}declared_set',
  {
    name: text('name').notNull(),
    hash: text('hash').notNull(),
    /** The ids that this version declares, as a JSON array. */
    schedules: text('schedules').notNull(),
    firstSeen: text('first_seen').notNull().default(now),
  },
  (table) => [
    primaryKey({ columns: [table.name, table.hash] }),
    ...checks('declared_set', DECLARED_SET_CHECKS),
  ],
)
