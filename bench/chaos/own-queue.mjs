/**
 * An application's own queue and the workers that run its jobs. The queue is in the same database as Kalends, or in a
 * separate file. Its submit function sometimes misbehaves, in various ways.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Libsql from 'libsql'
import mysql from 'mysql2/promise'

const COLUMNS = ['id', 'slot', 'schedule', 'worker', 'attempt']
const VALUES = COLUMNS.map(() => '?').join(', ')

/** The fraction of submit calls with each kind of misbehaviour. */
const MISBEHAVIOUR = { throw: 0.03, hang: 0.01, deadlock: 0.02, commit: 0.02, ddl: 0.01 }

/** @returns {string | null} */
function misbehaviour() {
  let chance = Math.random()
  for (const [name, share] of Object.entries(MISBEHAVIOUR)) {
    chance -= share
    if (chance < 0) return name
  }
  return null
}

/**
 * @typedef {(sql: string, params?: readonly (string | number | null)[]) => Promise<readonly Record<string, unknown>[]>} Rows
 * @typedef {{ insert: string, rows: Rows, on: (tx: unknown) => Rows }} Access
 */

/**
 * @param {Libsql.Database} on
 * @param {string} sql
 * @param {readonly (string | number | null)[]} params
 */
function select(on, sql, params) {
  const statement = on.prepare(sql)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rows
  if (statement.reader) return /** @type {Record<string, unknown>[]} */ (statement.all(...params))
  statement.run(...params)
  return []
}

/** @param {Pick<mysql.Pool, 'query'>} on @returns {Rows} */
function rowsOn(on) {
  return async (sql, params = []) => {
    const [rows] = await on.query(sql, [...params])
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rows
    return Array.isArray(rows) ? /** @type {Record<string, unknown>[]} */ (rows) : []
  }
}

/**
 * @param {string} path
 * @returns {Access}
 */
function sqlite(path) {
  const connection = new Libsql(path, { timeout: 5 })
  /**
   * The transaction is synchronous, so that nothing else uses the connection in the meantime. BEGIN takes the lock,
   * because a write that finds the file busy would stay unfinished in the driver, and later writes on this connection
   * would not be committed.
   *
   * @type {Rows}
   */
  const rows = async (sql, params = []) => {
    for (;;) {
      try {
        connection.exec('BEGIN IMMEDIATE')
      } catch (error) {
        if (!String(error).includes('database is locked')) throw error
        // Wait here, because a wait in the driver would block the event loop.
        await pause(5)
        continue
      }
      try {
        const found = select(connection, sql, params)
        connection.exec('COMMIT')
        return found
      } catch (error) {
        if (connection.inTransaction) connection.exec('ROLLBACK')
        throw error
      }
    }
  }
  return {
    insert: `INSERT INTO own_job (${COLUMNS.join(', ')}) VALUES (${VALUES}) ON CONFLICT DO NOTHING`,
    rows,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Kalends passes this type
    on:
      (tx) =>
      async (sql, params = []) =>
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Kalends passes this type
        select(/** @type {Libsql.Database} */ (tx), sql, params),
  }
}

/**
 * @param {string} uri
 * @returns {Access}
 */
function server(uri) {
  const pool = mysql.createPool({ uri, connectionLimit: 2 })
  return {
    insert: `INSERT INTO own_job (${COLUMNS.join(', ')}) VALUES (${VALUES}) ON DUPLICATE KEY UPDATE id = id`,
    rows: rowsOn(pool),
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Kalends passes this type
    on: (tx) => rowsOn(/** @type {mysql.Connection} */ (tx)),
  }
}

/** @param {{ queue: 'same' | 'elsewhere', url: string, folder: string, worker: string }} settings */
export function openOwnQueue({ queue, url, folder, worker }) {
  const isSame = queue === 'same'
  const isServer = isSame && !url.startsWith('sqlite:')
  const access = isServer
    ? server(url.replace(/^mariadb:/, 'mysql:'))
    : sqlite(isSame ? url.slice('sqlite:'.length) : join(folder, 'queue.db'))
  const self = `${worker}-${process.pid}`
  return {
    /** @param {readonly import('../../dist/index.js').Job[]} jobs @param {{ tx: unknown }} context */
    async submit(jobs, { tx }) {
      const how = misbehaviour()
      const rows = isSame ? access.on(tx) : access.rows
      // Rolls back, as the server does after a deadlock, but without an error.
      if (how === 'deadlock') await access.on(tx)('/* hidden */ ROLLBACK')
      for (const { id, slot, scheduleId, worker: by, attempt } of jobs)
        await rows(access.insert, [id, slot?.getTime() ?? null, scheduleId, by, attempt])
      if (how === 'throw') throw new Error('submit fails')
      if (how === 'hang') await new Promise(() => undefined)
      if (how === 'commit') await access.on(tx)('/* hidden */ COMMIT')
      if (how === 'ddl') await access.on(tx)('CREATE TABLE IF NOT EXISTS own_ddl (id INT)')
    },

    /**
     * Runs the queue's jobs, each at most once. A job that a worker took but did not report is lost, and ends at its
     * time limit.
     *
     * @param {(event: 'start' | 'end', job: { id: string, slot: number | null, schedule: string | null, worker: string, attempt: number }) => void} log
     * @param {(id: string) => Promise<unknown>} report
     */
    async run(log, report) {
      for (;;) {
        try {
          const taken = await take(access, isServer, self)
          if (taken === null) await pause(50)
          else {
            log('start', taken)
            await pause(Math.random() * 50)
            log('end', taken)
            // Do not wait for the report, because it is retried while the database is down.
            void repeatedly(() => report(taken.id))
          }
        } catch {
          await pause(200)
        }
      }
    },
  }
}

/** @param {() => Promise<unknown>} work */
async function repeatedly(work) {
  for (let tries = 0; tries < 100; tries += 1) {
    try {
      await work()
      return
    } catch {
      await pause(200)
    }
  }
}

/** @param {Access} access @param {boolean} isServer @param {string} self */
async function take({ rows }, isServer, self) {
  if (isServer) {
    // Lock no other rows: the first worker to update the row gets it.
    const [found] = await rows("SELECT id FROM own_job WHERE state = 'new' ORDER BY RAND() LIMIT 1")
    if (found === undefined) return null
    await rows("UPDATE own_job SET state = 'taken', taken_by = ? WHERE id = ? AND state = 'new'", [
      self,
      String(found['id']),
    ])
    const [row] = await rows('SELECT * FROM own_job WHERE id = ? AND taken_by = ?', [
      String(found['id']),
      self,
    ])
    return row === undefined ? null : itemOf(row)
  }
  const [row] = await rows(
    "UPDATE own_job SET state = 'taken', taken_by = ? WHERE id = (SELECT MIN(id) FROM own_job WHERE state = 'new') RETURNING *",
    [self],
  )
  return row === undefined ? null : itemOf(row)
}

/** @param {Record<string, unknown>} row */
function itemOf({ id, slot, schedule, worker, attempt }) {
  return {
    id: String(id),
    slot: slot === null ? null : Number(slot),
    schedule: typeof schedule === 'string' ? schedule : null,
    worker: String(worker),
    attempt: Number(attempt),
  }
}
