/** A store that records its statements as they reach the database. */
import type { Database, Sql, SqlValue } from '../../src/store/database.ts'
import { MysqlDatabase } from '../../src/store/mysql/database.ts'
import { storeOn } from '../../src/store/open.ts'
import { SqliteDatabase } from '../../src/store/sqlite/database.ts'
import type { Store } from '../../src/store/store.ts'

export interface Recording {
  readonly store: Store
  /** Complete statements, including values. */
  readonly statements: string[]
}

/** Passed to `before` ahead of each transaction, because nothing else can write to a SQLite file during it. */
export const START = 'START TRANSACTION'

/** @param before  called before each statement and, with START, each transaction; its errors make the call fail */
export async function recording(
  url: string,
  before: (statement: string) => Promise<unknown> = async () => undefined,
): Promise<Recording> {
  const database = url.startsWith('sqlite:')
    ? await SqliteDatabase.open(url.slice('sqlite:'.length))
    : new MysqlDatabase(url, 4)
  // The literals depend on the server, so connect to it first.
  await database.rows('SELECT 1')
  const statements: string[] = []
  return { store: storeOn(recorded(database, statements, before), ''), statements }
}

function recorded(
  database: Database,
  statements: string[],
  before: (statement: string) => Promise<unknown>,
): Database {
  const recordedSql = (sql: Sql): Sql => ({
    rows: async <Row>(text: string, params: readonly SqlValue[] = []) => {
      await before(text)
      statements.push(complete(database, text, params))
      return sql.rows<Row>(text, params)
    },
    run: async (text, params = []) => {
      await before(text)
      statements.push(complete(database, text, params))
      return await sql.run(text, params)
    },
  })
  return {
    ...recordedSql(database),
    dialect: database.dialect,
    transaction: async (work) => {
      await before(START)
      return await database.transaction((sql, lend) => work(recordedSql(sql), lend))
    },
    exclusively: (name, work) => database.exclusively(name, (sql) => work(recordedSql(sql))),
    mostAtOnce: () => database.mostAtOnce(),
    longestWaitMs: () => database.longestWaitMs(),
    serverChanges: () => database.serverChanges(),
    warnings: () => database.warnings(),
    close: () => database.close(),
  }
}

/** The statement on a single line, with its values. */
function complete(database: Database, statement: string, params: readonly SqlValue[]): string {
  const text = statement.replaceAll(/\s+/g, ' ')
  return database.dialect.withLiterals(text, params)
}
