/**
 * The tables on MySQL and MariaDB. `npm run schema` generates the migrations in drizzle/mysql from this file;
 * `{prefix}` becomes the `tablePrefix` when they run. Nothing imports it at run time.
 *
 * Texts are compared exactly, whatever the database's default: `{exact}` becomes the server's collation that compares
 * byte by byte and does not pad with blanks. The engine is added when a migration runs. Instants are DATETIME(3) in
 * UTC: TIMESTAMP would depend on the session's zone and end in 2038.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  check,
  customType,
  index,
  int,
  type MySqlColumn,
  type MySqlColumnBuilder,
  mysqlTable,
  primaryKey,
  tinyint,
  uniqueIndex,
} from 'drizzle-orm/mysql-core'
import {
  ATTEMPT,
  checksOf,
  type Column,
  DECLARED_SET,
  DEFINITION_COLUMNS,
  INT,
  JOB,
  JOB_LOG,
  NOW,
  PERIODIC_TASK,
  type Table,
  UUID,
  WORKER_TABLE,
} from '../schema.ts'

const now = sql`(utc_timestamp(3))`
const MILLISECONDS = "hex(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)"
const ZERO = "_utf8mb4'0' collate {exact}"
const RANDOM = `lpad(hex(floor(rand() * 4096)), 3, ${ZERO})`
/**
 * Sorts by time, as UUIDv7 of RFC 9562 does, so that manually inserted jobs keep their order. The server makes the
 * start of uuid() different each time; rand() distinguishes the servers of a cluster. MySQL 9 does not allow a hash
 * here. Without an explicit collation, MariaDB would mix that of the session with that of the table and reject every
 * statement.
 */
const uuidv7 = sql.raw(
  `(lower(concat(${[
    `left(lpad(${MILLISECONDS}, 12, ${ZERO}), 8), '-', right(${MILLISECONDS}, 4)`,
    `'-7', ${RANDOM}, '-8', ${RANDOM}`,
    "'-', left(uuid(), 8), right(uuid(), 4)",
  ].join(', ')})))`,
)

const EPOCH = "timestamp'1970-01-01 00:00:00.000'"
/** Everything that determines the next run, as one text. */
const DEFINITION = `concat(${DEFINITION_COLUMNS.join(", '|', ")})`
/** `planned_from` if neither has changed since the last planning, in parts. */
const PLANNED = `${DEFINITION}, '|', coalesce(\`nextrun\`, '')`
const WAITS = "`state` = 'waiting' and `run_at` is null"

const GENERATED: Readonly<Record<string, string>> = {
  status:
    "case when `enabled` = 0 then 'paused' when `idle` is not null and `idle` <> 'awaiting finish' then `idle` else 'active' end",
  definition: DEFINITION,
  wake_at: [
    `case when \`worker\` is not null then coalesce(\`mark_ends\`, ${EPOCH})`,
    `when coalesce(\`planned_from\`, '') not in (concat(${PLANNED}), concat(${PLANNED}, '|by hand'))`,
    `then ${EPOCH} when \`enabled\` = 0 or \`idle\` is not null then null else coalesce(\`nextrun\`, ${EPOCH}) end`,
  ].join(' '),
  active_key: "case when `exclusive` = 1 and `state` in ('waiting', 'running') then `periodic_task_id` end",
  claim_group: `case when ${WAITS} then \`group_\` end`,
  claim_task: `case when ${WAITS} then \`task\` end`,
  claim_rank: `case when ${WAITS} then -\`priority\` end`,
  due_at: "case when `state` = 'waiting' then `run_at` end",
  held_by: "case when `state` = 'running' then `worker` end",
}

const EXACT = 'CHARACTER SET utf8mb4 COLLATE {exact}'

function ofType(name: string, { kind, most, range }: Column): MySqlColumnBuilder {
  const typed = (type: string) => customType<{ data: unknown }>({ dataType: () => type })(name)
  switch (kind) {
    case 'text':
      return typed(`varchar(${most}) ${EXACT}`)
    case 'long text':
      return typed(`longtext ${EXACT}`)
    case 'instant':
      return typed('datetime(3)')
    case 'flag':
      return tinyint(name)
    case 'integer':
      return range !== undefined && range[1] > INT ? bigint(name, { mode: 'number' }) : int(name)
    default:
      return kind satisfies never
  }
}

function columnOf(name: string, column: Column, isOnlyKey: boolean): MySqlColumnBuilder {
  const { kind, default: value, isRequired, isKey, isGenerated, isNumbered } = column
  if (isNumbered === true) return bigint(name, { mode: 'number' }).autoincrement().primaryKey()
  let builder = ofType(name, column)
  if (isKey === true && isOnlyKey) builder = builder.primaryKey()
  if (isRequired === true) builder = builder.notNull()
  if (value === NOW) builder = builder.default(now)
  else if (value === UUID) builder = builder.default(uuidv7)
  // MySQL accepts a default for a long text only as an expression.
  else if (kind === 'long text' && value !== undefined) builder = builder.default(sql.raw(`('${value}')`))
  else if (value !== undefined) builder = builder.default(value)
  // Stored, because these columns are indexed, and MariaDB handles stored columns more reliably.
  if (isGenerated === true)
    builder = builder.generatedAlwaysAs(sql.raw(GENERATED[name] ?? ''), { mode: 'stored' })
  return builder
}

function table(of: Table) {
  const { name, columns, indexes = [] } = of
  const keys = Object.keys(columns).filter((column) => columns[column]?.isKey === true)
  const builders = Object.entries(columns).map(
    ([column, definition]) => [column, columnOf(column, definition, keys.length === 1)] as const,
  )
  return mysqlTable(`{prefix}${name}`, Object.fromEntries(builders), (made) => {
    const named = (names: readonly string[]): [MySqlColumn, ...MySqlColumn[]] => {
      const [first, ...others] = names.flatMap((column) => made[column] ?? [])
      if (first === undefined) throw new RangeError(`${name} has none of the columns ${names.join(', ')}`)
      return [first, ...others]
    }
    return [
      ...(keys.length > 1 ? [primaryKey({ columns: named(keys) })] : []),
      ...indexes.map(({ name: end, columns: of, isUnique, isOfOpenJobs }) => {
        const full = `{prefix}${name}_${end}`
        return (isUnique === true ? uniqueIndex(full) : index(full)).on(
          ...named(isOfOpenJobs === true ? [...of, 'state'] : of),
        )
      }),
      ...checksOf(of, true).map(([end, condition]) => check(`{prefix}${name}_${end}`, sql.raw(condition))),
    ]
  })
}

export const periodicTask = table(PERIODIC_TASK)
export const job = table(JOB)
export const attempt = table(ATTEMPT)
export const jobLog = table(JOB_LOG)
export const worker = table(WORKER_TABLE)
export const declaredSet = table(DECLARED_SET)
