/**
 * One connection to a SQLite file in a separate process with the workers' clock. argv[2] is the file. Orders arrive as
 * messages: see SqliteOrder in sqlite-process.ts.
 */
import Libsql from 'libsql'

/** Longer than any process in a run holds the write lock. */
const BUSY_TIMEOUT_MS = 60_000

const connection = new Libsql(process.argv[2] ?? '')
connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
connection.exec('PRAGMA journal_mode = WAL')
connection.exec('PRAGMA synchronous = FULL')

/** @param {import('./sqlite-process.ts').SqliteOrder} order */
function carryOut({ text, params }) {
  if (text === 'ROLLBACK' && !connection.inTransaction) return []
  const statement = connection.prepare(text)
  if (statement.reader) return statement.all(...params)
  statement.run(...params)
  return []
}

process.on('message', (/** @type {import('./sqlite-process.ts').SqliteOrder} */ order) => {
  /** @type {import('./sqlite-process.ts').SqliteAnswer} */
  let answer
  try {
    answer = { number: order.number, rows: carryOut(order) }
  } catch (error) {
    answer = { number: order.number, error: { message: String(error?.message), code: String(error?.code) } }
  }
  if (process.connected) process.send?.(answer, undefined, undefined, () => {})
})
process.on('disconnect', () => process.exit())
// The parent may have ended while this module was loading.
if (!process.connected) process.exit()
process.send?.({ number: 0, rows: [] })
