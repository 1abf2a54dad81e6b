/** The harness's own statements. They are retried for a long time, because faults affect the harness as well. */
import { setTimeout as delay } from 'node:timers/promises'
import { StoreUnavailableError } from '../../../src/errors.ts'
import type { Database, Sql, SqlValue } from '../../../src/store/database.ts'
import { MysqlDatabase } from '../../../src/store/mysql/database.ts'
import { SqliteDatabase } from '../../../src/store/sqlite/database.ts'
import type { Target } from '../fault.ts'
import type { RowText } from '../record.ts'

/** Longer than any fault can keep the database unavailable. */
const PATIENCE_MS = 300_000
const AGAIN_MS = 200
const CONNECTIONS = 6

export interface Access {
  readonly query: Target['query']
  readonly transaction: Target['transaction']
  close(): Promise<void>
}

/** @param url  the URL of the run's private database, which must bypass all proxies */
export async function openAccess(url: string): Promise<Access> {
  const database = url.startsWith('sqlite:')
    ? await SqliteDatabase.open(url.slice('sqlite:'.length))
    : new MysqlDatabase(url.replace(/^mariadb:/, 'mysql:'), CONNECTIONS)
  return accessOf(database)
}

function accessOf(database: Database): Access {
  return {
    query: (text, params) => patiently(() => statement(database, text, params)),
    transaction: (work) =>
      patiently(() => database.transaction((sql) => work((text, params) => statement(sql, text, params)))),
    close: () => database.close(),
  }
}

async function statement(sql: Sql, text: string, params: readonly SqlValue[] = []): Promise<RowText[]> {
  if (/^\s*(select|show|explain|check|pragma|with)\b/i.test(text))
    return await sql.rows<RowText>(text, params)
  await sql.run(text, params)
  return []
}

async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || performance.now() > deadline) throw error
      await delay(AGAIN_MS)
    }
  }
}
