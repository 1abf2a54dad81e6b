/**
 * Proves at `open` that the server locks rows. Some servers and proxies that speak the protocol accept FOR UPDATE SKIP
 * LOCKED but lock nothing, such as TiDB and Dolt, so that two workers would start the same job.
 *
 * While one connection has locked a row, another connection to the same server must see the row but skip it. Several
 * processes may do this at the same time: the first connection waits for the row, and the second one never gets a row
 * that somebody has locked. Only the row is locked, and only until the ROLLBACK.
 */
import { messageOf, SchemaError, StoreUnavailableError } from '../../errors.ts'
import type { LockProof, Sql } from '../database.ts'
import { ASK_SERVER, serverName } from './connections.ts'
import type { MysqlDatabase } from './database.ts'
import { isDenied, isReadOnly, isSyntaxError } from './errors.ts'

const MAX_RECONNECTS = 10
/** How often the second connection may wait for a lock. One wait may have had another cause, such as a backup. */
const MAX_WAITS = 2

/** The servers, with their versions, that this process need not check again. */
const checked = new Set<string>()

export interface Provers {
  /** Waits for the row. */
  readonly first: MysqlDatabase
  /** Must not wait for long. */
  readonly second: MysqlDatabase
  readonly reconnect: () => MysqlDatabase
}

/** @throws SchemaError when the server does not lock rows; StoreUnavailableError */
export async function proveLocks(provers: Provers, proof: LockProof): Promise<void> {
  const { name, isClustered } = provers.first.server()
  if (checked.has(name)) return
  try {
    if (isClustered)
      proof.logger.info(
        {},
        'Not checked whether the server locks rows: in a cluster with several writable servers, a lock applies to only one of them',
      )
    else if (!(await isProved(provers, proof)))
      proof.logger.warn(
        {},
        `Not checked whether the server locks rows, because no two of ${MAX_RECONNECTS + 2} connections reached the same server. Locks protect only workers on the same server, so send all connections to one server`,
      )
  } catch (error) {
    const isBlocked = error instanceof StoreUnavailableError && (error.isLockWait || isReadOnly(error.cause))
    if (!isBlocked && !isDenied(error)) throw error
    const advice = isDenied(error) ? `; GRANT SELECT, UPDATE ON ${proof.table} TO the user` : ''
    proof.logger.warn({}, `Not checked whether the server locks rows: ${messageOf(error)}${advice}`)
    return
  }
  checked.add(name)
}

/** @returns false if the connections always reached different servers */
async function isProved({ first, second, reconnect }: Provers, proof: LockProof): Promise<boolean> {
  const byKey = `FROM ${proof.table} WHERE name = ?`
  const locks = [
    `SELECT name ${byKey} FOR UPDATE`,
    `UPDATE ${proof.table} SET applied = applied WHERE name = ?`,
  ]
  for (let attempt = 0, waits = 0; attempt <= MAX_RECONNECTS; attempt += 1) {
    const other = attempt === 0 ? second : reconnect()
    try {
      const found = new Set<Found>()
      for (const lock of locks) found.add(await lookBeside(first, other, { lock, byKey, row: proof.row }))
      if (found.has('waited')) waits += 1
      if (found.has('the locked row')) throw refused('a connection got a row that another one had locked')
      if (found.has('not SKIP LOCKED')) throw refused('it does not know SKIP LOCKED')
      if (found.has('no row'))
        throw new SchemaError(`The row '${proof.row}' of ${proof.table} is missing; run 'kalends migrate'`)
      if (waits === MAX_WAITS) throw refused('a connection waited for a locked row instead of skipping it')
      if (!found.has('waited') && !found.has('another server')) return true
    } finally {
      if (other !== second) await other.close()
    }
  }
  return false
}

const refused = (reason: string) =>
  new SchemaError(
    `The database server, or a proxy in front of it, does not lock rows as MySQL and MariaDB do (SELECT … FOR UPDATE SKIP LOCKED): ${reason}. Two workers would start the same job, so Kalends does not use this server`,
  )

type Found = 'only the row' | 'the locked row' | 'no row' | 'waited' | 'not SKIP LOCKED' | 'another server'

/** What the second connection finds while the first one has locked the row. */
function lookBeside(
  first: MysqlDatabase,
  second: MysqlDatabase,
  { lock, byKey, row }: { readonly lock: string; readonly byKey: string; readonly row: string },
): Promise<Found> {
  return first.transaction(async (one) => {
    const server = await serverOf(one)
    await one.run(lock, [row])
    const found = await second
      .transaction(async (other): Promise<Found> => {
        if ((await serverOf(other)) !== server) return 'another server'
        const free = await other.rows(`SELECT name ${byKey} FOR UPDATE SKIP LOCKED`, [row])
        const visible = await other.rows(`SELECT name ${byKey}`, [row])
        await other.run('ROLLBACK')
        if (visible.length === 0) return 'no row'
        return free.length === 0 ? 'only the row' : 'the locked row'
      })
      .catch((error: unknown): Found => {
        if (isSyntaxError(error)) return 'not SKIP LOCKED'
        if (error instanceof StoreUnavailableError && error.isLockWait) return 'waited'
        throw error
      })
    await one.run('ROLLBACK')
    return found
  })
}

/** Asked in the transaction, because a proxy may send each transaction to another server. */
async function serverOf(sql: Sql): Promise<string> {
  const rows = await sql.rows<{ Variable_name: string; Value: string }>(ASK_SERVER)
  return serverName(new Map(rows.map((row) => [row.Variable_name.toLowerCase(), row.Value])))
}
