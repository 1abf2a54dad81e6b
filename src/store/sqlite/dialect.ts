import { MIGRATIONS } from '../../generated/migrations.ts'
import { PARTS } from '../../generated/parts.ts'
import type { Dialect, SchemaDialect } from '../database.ts'
import { toText } from '../../model/instant.ts'
import { integerLiteral, jsonPairs, placeholders, quoted, withLiterals as fill } from '../literals.ts'
import { groupBy } from '../group-by.ts'
import { isAlreadyApplied, isDuplicate, isRejection, missingTable } from './errors.ts'

const FORMAT = '%Y-%m-%d %H:%M:%f'

const schema: SchemaDialect = {
  create: () => [],
  tableOptions: '',
  async existing(sql, names) {
    const rows = await sql.rows<{ name: string }>(
      `SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name IN (${placeholders(names)})`,
      names,
    )
    return rows.map(({ name }) => name)
  },
  withoutTransactions: async () => [],
  async parts(sql, names) {
    const rows = await sql.rows<{ part: string }>(
      `SELECT 'column ' || t.name || '.' || c.name AS part
       FROM sqlite_master AS t, pragma_table_xinfo(t.name) AS c
       WHERE t.type = 'table' AND t.name IN (${placeholders(names)})
       UNION
       SELECT 'index ' || name AS part
       FROM sqlite_master
       WHERE type = 'index' AND tbl_name IN (${placeholders(names)})`,
      [...names, ...names],
    )
    const tables = await sql.rows<{ sql: string }>(
      `SELECT sql FROM sqlite_master WHERE type = 'table' AND name IN (${placeholders(names)})`,
      names,
    )
    const checks = tables.flatMap((table) => [...table.sql.matchAll(/CONSTRAINT "([^"]+)" CHECK/gi)])
    return [...rows.map(({ part }) => part), ...checks.map(([, name]) => `check ${name ?? ''}`)]
  },
  isAlreadyApplied,
}

/** @param clock  for tests that control time; null means the machine's clock */
export const sqliteDialect = (clock: (() => Date) | null): Dialect => ({
  migrations: MIGRATIONS.sqlite,
  parts: PARTS.sqlite,
  table: quoted,
  jobId: '?',
  storedValue: '?',
  get now() {
    return clock === null ? `strftime('${FORMAT}', 'now')` : `'${toText(clock())}'`
  },
  nowPlus: (ms) =>
    clock === null
      ? `strftime('${FORMAT}', 'now', '${seconds(ms)} seconds')`
      : `'${toText(new Date(clock().getTime() + ms))}'`,
  instant: (column) => `strftime('${FORMAT}', ${column})`,
  found: (table, by) => (by === 'key' ? table : `${table} INDEXED BY ${by.index}`),
  joinedByKey: (rows, table, as, key) => `${rows} CROSS JOIN ${table} AS ${as} ON ${as}.id = ${key}`,
  // Transactions use BEGIN IMMEDIATE. There is one writer at a time, so no row needs a lock.
  locked: () => '',
  union: (selections) => selections.map((selection) => `SELECT * FROM (${selection})`).join(' UNION ALL '),
  batch(columns) {
    const list = Object.keys(columns).map((name) => `json_extract(value, '$.${name}') AS ${name}`)
    return `(SELECT ${list.join(', ')} FROM json_each(?))`
  },
  updateFromBatch(table, batch, assignments, where = '1 = 1') {
    const list = Object.entries(assignments).map(([column, value]) => `${column} = ${value}`)
    return `UPDATE ${table} AS t SET ${list.join(', ')} FROM ${batch} AS b WHERE t.id = b.id AND (${where})`
  },
  position: (text, part) => `INSTR(${text}, ${part})`,
  instantText: (instant) => instant,
  listed: (column) => `GROUP_CONCAT(DISTINCT ${column})`,
  orOverwrite: (key, columns) =>
    `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
  prefersCase: false,
  // SQLite may write the rows of a statement in any order, so each stage is a separate statement.
  updateStages: (rows) =>
    [...groupBy(rows, ({ stage }) => stage)]
      .toSorted(([one], [other]) => one - other)
      .map(([, ofStage]) => ofStage),
  turns(job, _claimIndex, { from, tasks, limit }) {
    // SQLite has no loose index scan, so this probes for one group and task after another until it has enough.
    const next = (column: string) =>
      `(SELECT ${column} FROM ${job}
        WHERE ready = 1 AND (group_, claim_task) > (g, t)
        ORDER BY group_, claim_task LIMIT 1)`
    return `(WITH RECURSIVE turn (g, t) AS (
      SELECT * FROM (
        SELECT group_, claim_task FROM ${job}
        WHERE ready = 1 AND group_ ${from} ? ORDER BY group_, claim_task LIMIT 1
      )
      UNION ALL
      SELECT ${next('group_')}, ${next('claim_task')} FROM turn WHERE g IS NOT NULL
    )
    SELECT g AS in_group, t AS claim_task,
      (SELECT MIN(claim_rank) FROM ${job} WHERE ready = 1 AND group_ = g AND claim_task = t) AS claim_rank
    FROM turn
    WHERE t IN (${placeholders({ length: tasks })})
    LIMIT ${integerLiteral(limit)})`
  },
  encoded: (columns) => `HEX(JSON_OBJECT(${jsonPairs(columns)}))`,
  withLiterals: (text, params) => fill(text, params, textLiteral),
  writesInParallel: false,
  isDuplicate,
  // Either the whole file is locked or nothing is.
  isContended: () => false,
  isLockWait: () => false,
  isDeniedOn: () => false,
  missingTable,
  isRejection,
  async changeTokens(database, tables) {
    // The first value changes with the commits of other connections, the second with the writes of this one.
    const [others] = await database.rows<{ data_version: number }>('PRAGMA data_version')
    const [own] = await database.rows<{ changes: number }>('SELECT total_changes() AS changes')
    return tables.map(() => `${String(others?.data_version)}/${String(own?.changes)}`)
  },
  schema,
})

/** With millisecond precision. */
function seconds(ms: number): string {
  const digits = integerLiteral(Math.round(ms)).padStart(4, '0')
  return `${digits.slice(0, -3)}.${digits.slice(-3)}`
}

/** A text literal would end at a NUL character. */
function textLiteral(value: string): string {
  if (value.includes('\0')) return `CAST(x'${Buffer.from(value, 'utf8').toString('hex')}' AS TEXT)`
  return `'${value.replaceAll("'", "''")}'`
}
