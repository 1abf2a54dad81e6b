/**
 * The tables on SQLite. `npm run schema` generates the migrations in drizzle/sqlite from this file; `{prefix}` becomes
 * the `tablePrefix` when they run. Nothing imports it at run time.
 *
 * Instants are UTC text, `YYYY-MM-DD HH:MM:SS.mmm`. Manually written instants may have another form, so strftime
 * normalises them wherever they are compared: as plain text, `…T00:00:00Z` would sort after the rest of that day. The
 * CHECKs reject text that strftime cannot read, and instants of the sorted columns that are not in this form.
 */
import { sql } from 'drizzle-orm'
import {
  check,
  customType,
  index,
  integer,
  primaryKey,
  type SQLiteColumn,
  type SQLiteColumnBuilder,
  sqliteTable,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core'
import {
  ATTEMPT,
  checksOf,
  type Column,
  DECLARED_SET,
  DEFINITION_COLUMNS,
  JOB,
  JOB_LOG,
  NOW,
  PERIODIC_TASK,
  type Table,
  UUID,
  WORKER_TABLE,
} from '../schema.ts'

const now = sql`(strftime('%Y-%m-%d %H:%M:%f', 'now'))`
const MILLISECONDS = "cast((julianday('now') - 2440587.5) * 86400000 as integer)"
/** Sorts by time, as UUIDv7 of RFC 9562 does, so that manually inserted jobs keep their order. */
const uuidv7 = sql.raw(
  `(lower(${[
    `printf('%08x-%04x-7', ${MILLISECONDS} >> 16, ${MILLISECONDS} & 65535)`,
    "substr(hex(randomblob(2)), 1, 3) || '-8' || substr(hex(randomblob(2)), 1, 3) || '-' || hex(randomblob(6))",
  ].join(' || ')}))`,
)

const EPOCH = "'1970-01-01 00:00:00.000'"
const normalised = (column: string) => `strftime('%Y-%m-%d %H:%M:%f', \`${column}\`)`
/** Everything that determines the next run, as one text. */
const DEFINITION = DEFINITION_COLUMNS.join(" || '|' || ")
/** `planned_from` if neither has changed since the last planning. */
const PLANNED = `${DEFINITION} || '|' || coalesce(${normalised('nextrun')}, '')`
/** Must match the condition in statements word for word; otherwise SQLite does not use the partial index. */
const IS_OPEN = "`state` in ('waiting', 'blocked', 'running')"
/** SQLite accepts a BLOB as an id, but no statement would find it by a text. Such a row is never due or claimed. */
const FINDABLE = "typeof(`id`) = 'text'"
const CLAIMABLE = `\`state\` = 'waiting' and \`run_at\` is null and ${FINDABLE}`

const GENERATED: Readonly<Record<string, string>> = {
  status:
    "case when `enabled` = 0 then 'paused' when `idle` is not null and `idle` <> 'awaiting finish' then `idle` else 'active' end",
  definition: DEFINITION,
  wake_at: [
    `case when not ${FINDABLE} then null`,
    `when \`worker\` is not null then coalesce(${normalised('mark_ends')}, ${EPOCH})`,
    `when coalesce(\`planned_from\`, '') not in (${PLANNED}, ${PLANNED} || '|by hand') then ${EPOCH}`,
    'when `enabled` = 0 or `idle` is not null then null',
    `else coalesce(${normalised('nextrun')}, ${EPOCH}) end`,
  ].join(' '),
  active_key: "case when `exclusive` = 1 and `state` in ('waiting', 'running') then `periodic_task_id` end",
  claim_group: `case when ${CLAIMABLE} then \`group_\` end`,
  claim_task: `case when ${CLAIMABLE} then \`task\` end`,
  claim_rank: `case when ${CLAIMABLE} then -\`priority\` end`,
  due_at: `case when \`state\` = 'waiting' and ${FINDABLE} then ${normalised('run_at')} end`,
  held_by: "case when `state` = 'running' then `worker` end",
}

const ofType = (type: 'text' | 'integer') => customType<{ data: unknown }>({ dataType: () => type })
const text = ofType('text')
const whole = ofType('integer')

function columnOf(name: string, column: Column, isOnlyKey: boolean) {
  const { kind, default: value, isRequired, isKey, isGenerated, isNumbered } = column
  if (isNumbered === true) return integer(name).primaryKey({ autoIncrement: true })
  let builder: SQLiteColumnBuilder = kind === 'integer' || kind === 'flag' ? whole(name) : text(name)
  if (isKey === true && isOnlyKey) builder = builder.primaryKey().notNull()
  if (isRequired === true) builder = builder.notNull()
  if (value === NOW) builder = builder.default(now)
  else if (value === UUID) builder = builder.default(uuidv7)
  else if (value !== undefined) builder = builder.default(value)
  if (isGenerated === true)
    builder = builder.generatedAlwaysAs(sql.raw(GENERATED[name] ?? ''), { mode: 'virtual' })
  return builder
}

function table(of: Table) {
  const { name, columns, indexes = [] } = of
  const keys = Object.keys(columns).filter((column) => columns[column]?.isKey === true)
  const builders = Object.entries(columns).map(
    ([column, definition]) => [column, columnOf(column, definition, keys.length === 1)] as const,
  )
  return sqliteTable(`{prefix}${name}`, Object.fromEntries(builders), (made) => {
    const named = (names: readonly string[]): [SQLiteColumn, ...SQLiteColumn[]] => {
      const [first, ...others] = names.flatMap((column) => made[column] ?? [])
      if (first === undefined) throw new RangeError(`${name} has none of the columns ${names.join(', ')}`)
      return [first, ...others]
    }
    return [
      ...(keys.length > 1 ? [primaryKey({ columns: named(keys) })] : []),
      ...indexes.map(({ name: end, columns: of, isUnique, endsWithKey, isOfOpenJobs }) => {
        const full = `{prefix}${name}_${end}`
        const made = (isUnique === true ? uniqueIndex(full) : index(full)).on(
          ...named(endsWithKey === true ? [...of, ...keys] : of),
        )
        return isOfOpenJobs === true ? made.where(sql.raw(IS_OPEN)) : made
      }),
      ...checksOf(of, false).map(([end, condition]) => check(`{prefix}${name}_${end}`, sql.raw(condition))),
    ]
  })
}

export const periodicTask = table(PERIODIC_TASK)
export const job = table(JOB)
export const attempt = table(ATTEMPT)
export const jobLog = table(JOB_LOG)
export const worker = table(WORKER_TABLE)
export const declaredSet = table(DECLARED_SET)
