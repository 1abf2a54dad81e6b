/**
 * Migrates the tables to this version. drizzle-kit generates the migrations in drizzle/<dialect>. They run in the order
 * of drizzle-kit's journal. Each statement is recorded when it has run, so that an interrupted migration can continue
 * (MySQL commits each CREATE TABLE separately).
 */
import { SchemaError } from '../errors.ts'
import { type SchemaDrift, VIEW } from '../model/schema-drift.ts'
import type { Database, Dialect, Sql } from './database.ts'
import { TABLE_NAMES, tables } from './sql/tables.ts'
import { newest, versionProblem } from '../model/version.ts'

/**
 * The lowest version of Kalends that may use the tables once a migration has started. A migration without an entry
 * does not change it.
 */
const LOWEST_VERSIONS: Readonly<Record<string, string>> = { '0000_first': '0.1.0' }

export interface Migration {
  readonly tag: string
  /** Names of tables, indexes and constraints start with `{prefix}`. */
  readonly statements: readonly string[]
  readonly lowestVersion: string | null
}

interface Step {
  /** For example `0000_first/3`: the migration, and the index of the statement in it. */
  readonly name: string
  readonly statement: string
  /** Null means that this step does not change the lowest version. */
  readonly lowest: string | null
}

/**
 * @param onStep  called before each statement; on large tables, a statement may take a long time
 * @returns the migrations that were applied; empty when the tables were up to date
 * @throws SchemaError when the application has a table with the name of one of Kalends' tables
 */
export async function migrate(
  database: Database,
  prefix: string,
  onStep: (done: number, of: number) => void = () => undefined,
  migrations?: readonly Migration[],
): Promise<string[]> {
  const { dialect } = database
  const steps = stepsOf(database, prefix, migrations)
  const before = await appliedSteps(database, dialect, prefix)
  if (before !== null && steps.every((step) => before.has(step.name))) return []
  // In a cluster, the lock belongs to one server. Another process may migrate through another server at the same time.
  return database.exclusively(`kalends:${prefix}`, async (sql) => {
    const applied = (await appliedSteps(sql, dialect, prefix)) ?? (await begin(sql, dialect, prefix))
    const pending = steps.filter((step) => !applied.has(step.name))
    for (const [done, step] of pending.entries()) {
      onStep(done, pending.length)
      const question = `SELECT name FROM ${tables(prefix, dialect).migration} WHERE name = ?`
      const recorded = await sql.rows(question, [step.name])
      if (recorded.length === 0) await apply(sql, dialect, prefix, step)
    }
    return [...new Set(pending.map((step) => migrationOf(step)))]
  })
}

/**
 * The statements that `migrate` would run, with all values filled in, for a deployment that runs them itself.
 *
 * @param isNew  true if the schema or file of the tables does not exist yet: nothing is then read from `database`
 * @throws SchemaError when the application has a table with the name of one of Kalends' tables
 */
export async function pendingStatements(
  database: Database,
  prefix: string,
  isNew: boolean,
): Promise<string[]> {
  const { dialect } = database
  const applied = isNew ? null : await appliedSteps(database, dialect, prefix)
  if (applied === null && !isNew) await refuseForeignTables(database, dialect, prefix)
  const pending = stepsOf(database, prefix).filter(({ name }) => applied?.has(name) !== true)
  const record = (name: string, lowest: string | null) =>
    dialect.withLiterals(...recording(dialect, prefix, name, lowest))
  const complete = (statement: string) => dialect.withLiterals(statement, []).replace(/;$/, '')
  return [
    ...(applied === null ? [complete(bookkeeping(dialect, prefix))] : []),
    ...pending.flatMap((step) => [
      ...(step.lowest === null ? [] : [record(migrationOf(step), step.lowest)]),
      complete(step.statement),
      record(step.name, null),
    ]),
  ]
}

function bookkeeping(dialect: Dialect, prefix: string): string {
  return `CREATE TABLE ${tables(prefix, dialect).migration} (
  name VARCHAR(190) NOT NULL PRIMARY KEY, applied VARCHAR(32) NOT NULL, lowest VARCHAR(32)
)${dialect.schema.tableOptions}`
}

function recording(dialect: Dialect, prefix: string, name: string, lowest: string | null) {
  return [
    `INSERT INTO ${tables(prefix, dialect).migration} (name, applied, lowest) VALUES (?, ?, ?)`,
    [name, new Date().toISOString(), lowest],
  ] as const
}

/** @returns the steps that another process applied in the meantime */
async function begin(sql: Sql, dialect: Dialect, prefix: string): Promise<ReadonlySet<string>> {
  try {
    await refuseForeignTables(sql, dialect, prefix)
    await sql.run(bookkeeping(dialect, prefix))
    return new Set()
  } catch (error) {
    const applied = await appliedSteps(sql, dialect, prefix)
    if (applied === null) throw error
    return applied
  }
}

async function apply(sql: Sql, dialect: Dialect, prefix: string, step: Step): Promise<void> {
  const record = async (name: string, lowest: string | null) => {
    try {
      await sql.run(...recording(dialect, prefix, name, lowest))
    } catch (error) {
      if (!dialect.isDuplicate(error)) throw error
    }
  }
  // This is recorded before the tables change, so that an older worker stops before it reads the new tables.
  if (step.lowest !== null) await record(migrationOf(step), step.lowest)
  try {
    await sql.run(step.statement)
  } catch (error) {
    // The step was applied but not recorded: a process ended in between, or another process is about to record it.
    if (!dialect.schema.isAlreadyApplied(error)) throw error
  }
  await record(step.name, null)
}

/** @throws SchemaError when the tables need a later version of Kalends; the message names it */
export async function checkVersion(database: Database, prefix: string): Promise<void> {
  const problem = await tablesVersionProblem(database, prefix)
  if (problem !== null) throw new SchemaError(problem)
}

async function tablesVersionProblem(database: Database, prefix: string): Promise<string | null> {
  const { dialect } = database
  if ((await appliedSteps(database, dialect, prefix)) === null) return null
  const rows = await database.rows<{ lowest: string }>(
    `SELECT lowest FROM ${tables(prefix, dialect).migration} WHERE lowest IS NOT NULL`,
  )
  return versionProblem(newest(rows.map((row) => row.lowest)))
}

/** @throws SchemaError when the tables are missing or older than this version */
export async function checkMigrated(database: Database, prefix: string): Promise<void> {
  const { length } = await pendingSteps(database, prefix)
  if (length > 0)
    throw new SchemaError(
      `The tables of Kalends are missing or older than this version; pending steps: ${length}; run 'kalends migrate', or open with migrate: true`,
    )
}

/**
 * An engine without transactions guarantees nothing, so jobs could start twice without an error.
 *
 * @throws SchemaError when a table has such an engine or is a view
 */
export async function checkEngines(database: Database, prefix: string): Promise<void> {
  const wrong = await wrongEngines(database, prefix)
  const views = wrong.filter(({ engine }) => engine === VIEW)
  if (views.length > 0)
    throw new SchemaError(
      `Kalends needs tables, not views: ${views.map(({ table }) => `'${table}' is a view`).join(', ')}. Stop all workers, rename or drop the view, and give the table its name back; or choose a tablePrefix`,
    )
  if (wrong.length === 0) return
  throw new SchemaError(
    `Kalends needs tables that use the engine InnoDB: ${wrong.map(({ table, engine }) => `'${table}' is ${engine}`).join(', ')}. Stop all workers, and run ${wrong.map(({ table }) => `ALTER TABLE ${database.dialect.table(table)} ENGINE=InnoDB`).join('; ')}`,
  )
}

/** The record of the first step, which every migrated database has, for the proof that the server locks rows. */
export function provingRow(database: Database, prefix: string): { table: string; row: string } {
  const [first] = stepsOf(database, prefix)
  return { table: tables(prefix, database.dialect).migration, row: first?.name ?? '' }
}

async function wrongEngines(database: Database, prefix: string): Promise<SchemaDrift['engines']> {
  const ours = [...tableNames(prefix), `${prefix}kalends_migration`]
  const found = await database.dialect.schema.withoutTransactions(database, ours)
  return found.map(({ name, engine }) => ({ table: name, engine }))
}

export async function schemaDrift(database: Database, prefix: string): Promise<SchemaDrift> {
  const { parts: wanted, schema } = database.dialect
  const pending = await pendingSteps(database, prefix)
  const parts = await schema.parts(database, tableNames(prefix))
  // Some servers store table names in lower case.
  const there = new Set(parts.map((part) => part.toLowerCase()))
  return {
    pending: [...new Set(pending.map((step) => migrationOf(step)))],
    missing: wanted
      .map((part) => part.replaceAll('{prefix}', prefix))
      .filter((part) => !there.has(part.toLowerCase())),
    engines: await wrongEngines(database, prefix),
    version: await tablesVersionProblem(database, prefix),
  }
}

async function pendingSteps(database: Database, prefix: string): Promise<Step[]> {
  const applied = await appliedSteps(database, database.dialect, prefix)
  return stepsOf(database, prefix).filter(({ name }) => applied?.has(name) !== true)
}

function tableNames(prefix: string): string[] {
  return TABLE_NAMES.map((name) => `${prefix}${name}`)
}

function migrationOf({ name }: Step): string {
  return name.slice(0, name.lastIndexOf('/'))
}

/** @returns null when nothing has been migrated yet */
async function appliedSteps(sql: Sql, dialect: Dialect, prefix: string): Promise<ReadonlySet<string> | null> {
  const existing = await dialect.schema.existing(sql, [`${prefix}kalends_migration`])
  if (existing.length === 0) return null
  const rows = await sql.rows<{ name: string }>(`SELECT name FROM ${tables(prefix, dialect).migration}`)
  return new Set(rows.map((row) => row.name))
}

async function refuseForeignTables(sql: Sql, { schema }: Dialect, prefix: string): Promise<void> {
  const foreign = await schema.existing(sql, tableNames(prefix))
  if (foreign.length === 0) return
  throw new SchemaError(
    `The database already has ${foreign.map((name) => `'${name}'`).join(', ')}, which Kalends did not create; nothing was changed. Open with a tablePrefix, such as 'kalends_', to keep the tables apart`,
  )
}

export function migrationsFor({ dialect }: Database): Migration[] {
  return dialect.migrations.map(({ tag, statements }) => ({
    tag,
    // drizzle-kit does not write the table options.
    statements: statements.map((statement) =>
      statement.startsWith('CREATE TABLE')
        ? statement.replace(/\);?$/, `)${dialect.schema.tableOptions}`)
        : statement,
    ),
    lowestVersion: LOWEST_VERSIONS[tag] ?? null,
  }))
}

function stepsOf(
  database: Database,
  prefix: string,
  migrations: readonly Migration[] = migrationsFor(database),
): Step[] {
  return migrations.flatMap(({ tag, statements, lowestVersion: lowest }) =>
    statements.map((statement, index) => ({
      name: `${tag}/${index}`,
      statement: statement.replaceAll('{prefix}', prefix),
      lowest: index === 0 ? lowest : null,
    })),
  )
}
