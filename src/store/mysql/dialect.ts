import { MIGRATIONS } from '../../generated/migrations.ts'
import { PARTS } from '../../generated/parts.ts'
import { StoreUnavailableError } from '../../errors.ts'
import { NAME_LIMIT } from '../../model/settings.ts'
import type { BatchColumn, Dialect, SchemaDialect } from '../database.ts'
import { integerLiteral, JOB_ID, jsonPairs, placeholders, quoted, STORED_VALUE } from '../literals.ts'
import { withLiterals } from './literal.ts'
import type { Server } from './session.ts'
import { checkTransaction, TRANSACTION_STATE, TRANSACTION_STATUS } from './session-variables.ts'
import {
  isAlreadyApplied,
  isDeniedOn,
  isDuplicate,
  isLockWait,
  isRejection,
  isTransient,
  missingTable,
} from './errors.ts'

const BATCH_TYPES: Readonly<Record<BatchColumn, string>> = {
  // The character sets and collations of the keys, so that their indexes can be used.
  'schedule id': `VARCHAR(${integerLiteral(NAME_LIMIT)}) CHARACTER SET utf8mb4 COLLATE {exact}`,
  'job id': `VARCHAR(${integerLiteral(NAME_LIMIT)}) CHARACTER SET ascii COLLATE ascii_bin`,
  text: 'VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE {exact}',
  'long text': 'LONGTEXT CHARACTER SET utf8mb4 COLLATE {exact}',
  integer: 'BIGINT',
  instant: 'DATETIME(3)',
}

/** Some servers store names in lower case; the collation of information_schema is incompatible with our literals. */
function isNamed(names: readonly string[]): string {
  return `table_schema = DATABASE()
    AND LOWER(CONVERT(table_name USING utf8mb4)) IN (${names.map(() => 'LOWER(?)').join(', ')})`
}

const schema: SchemaDialect = {
  create: (name) => [`CREATE DATABASE IF NOT EXISTS ${quoted(name)}`, `USE ${quoted(name)}`],
  tableOptions: ' ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {exact}',
  async existing(sql, names) {
    const rows = await sql.rows<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE ${isNamed(names)}`,
      names,
    )
    return rows.map(({ name }) => name)
  },
  withoutTransactions: (sql, names) =>
    // A view has no engine.
    sql.rows(
      `SELECT table_name AS name, COALESCE(engine, table_type) AS engine
       FROM information_schema.tables
       WHERE ${isNamed(names)} AND COALESCE(engine, '') <> 'InnoDB'
       ORDER BY table_name`,
      names,
    ),
  async parts(sql, names) {
    // MariaDB turns a unique key that is too long into a hash index, which supports neither order nor ranges.
    const rows = await sql.rows<{ part: string }>(
      `SELECT CONCAT('column ', table_name, '.', column_name) AS part
       FROM information_schema.columns
       WHERE ${isNamed(names)}
       UNION
       SELECT CONCAT('index ', index_name) AS part
       FROM information_schema.statistics
       WHERE ${isNamed(names)} AND index_type = 'BTREE'
       UNION
       SELECT CONCAT('check ', constraint_name) AS part
       FROM information_schema.table_constraints
       WHERE ${isNamed(names)} AND constraint_type = 'CHECK'`,
      [...names, ...names, ...names],
    )
    return rows.map(({ part }) => part)
  },
  isAlreadyApplied,
}

/**
 * @param server  returns the connected server; throws before the first connection
 * @param ownSchema  the database of the tables, if the application's transactions are in another one
 */
export const mysqlDialect = (server: () => Server, ownSchema: string | null = null): Dialect => ({
  migrations: MIGRATIONS.mysql,
  parts: PARTS.mysql,
  table: ownSchema === null ? quoted : (name) => `${quoted(ownSchema)}.${quoted(name)}`,
  jobId: JOB_ID,
  storedValue: STORED_VALUE,
  // This does not use NOW(), which depends on the session's time zone, and the session may be the application's.
  now: 'UTC_TIMESTAMP(3)',
  nowPlus: (ms) => `UTC_TIMESTAMP(3) + INTERVAL ${integerLiteral(Math.round(ms * 1000))} MICROSECOND`,
  instant: (column) => column,
  found: (table, by) => `${table} FORCE INDEX (${by === 'key' ? 'PRIMARY' : by.index})`,
  joinedByKey: (rows, table, as, key) =>
    `${rows} STRAIGHT_JOIN ${table} AS ${as} FORCE INDEX (PRIMARY) ON ${as}.id = ${key}`,
  locked: (how) => (how === 'skip' ? 'FOR UPDATE SKIP LOCKED' : 'FOR UPDATE'),
  union: (selections) => selections.map((selection) => `(${selection})`).join(' UNION ALL '),
  batch(columns) {
    const list = Object.entries(columns).map(
      ([name, type]) => `${name} ${BATCH_TYPES[type]} PATH '$.${name}'`,
    )
    return `JSON_TABLE(?, '$[*]' COLUMNS (${list.join(', ')}))`
  },
  updateFromBatch(table, batch, assignments, where = '1 = 1') {
    const list = Object.entries(assignments).map(([column, value]) => `t.${column} = ${value}`)
    return `UPDATE ${batch} AS b
      STRAIGHT_JOIN ${table} AS t FORCE INDEX (PRIMARY) ON t.id = b.id
      SET ${list.join(', ')}
      WHERE ${where}`
  },
  position: (text, part) => `INSTR(${text}, ${part})`,
  instantText: (instant) => `CAST(${instant} AS CHAR)`,
  listed: (column) => `GROUP_CONCAT(DISTINCT ${column})`,
  orOverwrite: (_key, columns) =>
    `ON DUPLICATE KEY UPDATE ${columns.map((column) => `${column} = VALUES(${column})`).join(', ')}`,
  prefersCase: true,
  // The rows are written in the order of the batch, so one statement is enough.
  updateStages: (rows) => [[...rows]],
  turns: (job, claimIndex, { from, tasks, limit }) =>
    `(SELECT group_ AS in_group, claim_task, MIN(claim_rank) AS claim_rank
      FROM ${job} FORCE INDEX (${claimIndex})
      WHERE ready = 1 AND group_ ${from} ? AND claim_task IN (${placeholders({ length: tasks })})
      GROUP BY ready, group_, claim_task
      ORDER BY ready, group_, claim_task
      LIMIT ${integerLiteral(limit)})`,
  encoded: (columns) => `HEX(CONVERT(JSON_OBJECT(${jsonPairs(columns)}) USING utf8mb4))`,
  withLiterals: (text, params) => withLiterals(text, params, server().exact),
  writesInParallel: true,
  isDuplicate,
  isLockWait: (error) => (error instanceof StoreUnavailableError ? error.isLockWait : isLockWait(error)),
  isDeniedOn,
  missingTable,
  isRejection,
  isContended: (error) => error instanceof StoreUnavailableError && isTransient(error.cause),
  async checkTransaction(execute) {
    const database = ownSchema === null ? server().database : null
    checkTransaction(database, await execute(TRANSACTION_STATE), await execute(TRANSACTION_STATUS))
  },
  async changeTokens(database, tables) {
    const names = tables.map((table) => table.replaceAll('`', '').replace(/^.*\./, ''))
    // Our table names are plain literals, so that the server examines no other tables.
    const literals = names.flatMap((name) => [`'${name}'`, `'${name.toLowerCase()}'`])
    const rows = await database.rows<{ name: string; updated: string | null }>(
      `SELECT table_name AS name, CAST(update_time AS CHAR) AS updated
      FROM information_schema.tables
      WHERE table_schema = DATABASE() AND table_name IN (${literals.join(', ')})`,
    )
    const updated = new Map(rows.map((row) => [row.name.toLowerCase(), row.updated]))
    return names.map((name) => updated.get(name.toLowerCase()) ?? '')
  },
  schema,
})
