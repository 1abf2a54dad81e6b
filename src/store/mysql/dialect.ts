import { StoreUnavailableError } from '../../errors.ts'
import type { BatchColumn, Dialect } from '../database.ts'
import { integerLiteral } from '../literals.ts'
import { type ExactCollation, withLiterals } from './literal.ts'
import { checkTransaction, stateIn, TRANSACTION_STATE } from './session-variables.ts'
import { isAlreadyApplied, isDuplicate, isTransient } from './errors.ts'

const BATCH_TYPES: Readonly<Record<BatchColumn, string>> = {
  // The collation of the keys, so that they stay usable.
  id: 'VARCHAR(255) CHARACTER SET utf8mb4 COLLATE {exact}',
  text: 'VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE {exact}',
  'long text': 'LONGTEXT CHARACTER SET utf8mb4 COLLATE {exact}',
  integer: 'BIGINT',
  instant: 'DATETIME(3)',
}

/**
 * The tables of our database that have one of so many names. Some servers store and compare names in lower case, with a
 * collation of information_schema that cannot be compared with that of our literals.
 */
function namedAmong(count: number): string {
  const names = Array.from({ length: count }, () => 'LOWER(?)').join(', ')
  return `table_schema = DATABASE() AND LOWER(CONVERT(table_name USING utf8mb4)) IN (${names})`
}

/** @param exact  the collation of the server that is worked with */
export const mysqlDialect = (exact: () => ExactCollation): Dialect => ({
  name: 'mysql',
  // Not NOW(): that is the session's zone, and the sessions are the application's.
  now: 'UTC_TIMESTAMP(3)',
  nowPlus: (ms) => `UTC_TIMESTAMP(3) + INTERVAL ${integerLiteral(Math.round(ms * 1000))} MICROSECOND`,
  forUpdate: 'FOR UPDATE',
  andFindable: '',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  writesInParallel: true,
  byKey: 'FORCE INDEX (PRIMARY)',
  byIndex: (index) => `FORCE INDEX (${index})`,
  onlyByIndex: (index) => `FORCE INDEX (${index})`,
  instant: (column) => column,
  batch(columns) {
    const list = Object.entries(columns).map(
      ([name, type]) => `${name} ${BATCH_TYPES[type]} PATH '$.${name}'`,
    )
    return `JSON_TABLE(?, '$[*]' COLUMNS (${list.join(', ')}))`
  },
  straightJoin: 'STRAIGHT_JOIN',
  updatesInOrder: true,
  updateFromBatch(table, batch, assignments) {
    const list = Object.entries(assignments).map(([column, value]) => `t.${column} = ${value}`)
    return `UPDATE ${batch} AS b STRAIGHT_JOIN ${table} AS t FORCE INDEX (PRIMARY) ON t.id = b.id SET ${list.join(', ')}`
  },
  turns: (job, claimIndex, { from, tasks, limit }) =>
    `(SELECT claim_group, claim_task, MIN(claim_rank) AS claim_rank FROM ${job} FORCE INDEX (${claimIndex}) WHERE claim_group ${from} ? AND claim_task IN (${Array(tasks).fill('?').join(', ')}) GROUP BY claim_group, claim_task ORDER BY claim_group, claim_task LIMIT ${integerLiteral(limit)})`,
  union: (selections) => selections.map((selection) => `(${selection})`).join(' UNION ALL '),
  revisions: (database, tables) =>
    database.transaction(async (sql) => {
      const names = tables.map((table) => table.replaceAll('`', ''))
      // MySQL shows a day old cache unless told otherwise; MariaDB has none and takes this for a comment.
      await sql.run(
        'SET @kalends = 0 /*!80000 , @kalends = @@SESSION.information_schema_stats_expiry, SESSION information_schema_stats_expiry = 0 */',
      )
      // By plain literals of the names that our tables have, so that the server looks at no other table.
      const literals = names.flatMap((name) => [`'${name}'`, `'${name.toLowerCase()}'`])
      try {
        const rows = await sql.rows<{ name: string; updated: string | null }>(
          `SELECT table_name AS name, CAST(update_time AS CHAR) AS updated
          FROM information_schema.tables
          WHERE table_schema = DATABASE() AND table_name IN (${literals.join(', ')})`,
        )
        const updated = new Map(rows.map((row) => [row.name.toLowerCase(), row.updated]))
        return names.map((name) => updated.get(name.toLowerCase()) ?? '')
      } finally {
        // The session may be the application's.
        await sql.run('SET /*!80000 SESSION information_schema_stats_expiry = @kalends, */ @kalends = NULL')
      }
    }),
  tablesAmong: (count) =>
    `SELECT table_name AS name FROM information_schema.tables WHERE ${namedAmong(count)}`,
  withoutTransactions: (count) =>
    // A view has no engine.
    `SELECT table_name AS name, COALESCE(engine, table_type) AS engine
    FROM information_schema.tables
    WHERE ${namedAmong(count)} AND COALESCE(engine, '') <> 'InnoDB'
    ORDER BY table_name`,
  partsOf: (count) =>
    // MariaDB makes a unique key that is too long a hash index, which has no order and no ranges.
    `SELECT CONCAT('column ', table_name, '.', column_name) AS part
    FROM information_schema.columns
    WHERE ${namedAmong(count)}
    UNION
    SELECT CONCAT('index ', index_name) AS part
    FROM information_schema.statistics
    WHERE ${namedAmong(count)} AND index_type = 'BTREE'`,
  async checkTransaction(execute) {
    const state = stateIn(await execute(TRANSACTION_STATE))
    // Of a function of the application it is not known what it returns.
    if (state !== null) checkTransaction(state)
  },
  withLiterals: (text, params) => withLiterals(text, params, exact()),
  tableOptions: ' ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {exact}',
  isDuplicate,
  isContended: (error) => error instanceof StoreUnavailableError && isTransient(error.cause),
  isAlreadyApplied,
})
