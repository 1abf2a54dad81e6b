import type mysql from 'mysql2/promise'
import { StoreUnavailableError } from '../../errors.ts'
import type { CreatePool } from './application-pool.ts'
import { condemnsHost } from './errors.ts'
import { checkGroupName, checkMembership, NotInGroupError } from './group.ts'
import { isSilent, withTimeout } from './timeout.ts'

export interface Host {
  readonly name: string
  readonly createPool: CreatePool
}

export interface ConnectionsOptions {
  readonly connections: number
  readonly setup: readonly string[]
  /** If a new connection cannot be used within this time, its host counts as failed, and the next host is tried. */
  readonly timeoutMs: number
  /** The replication group that every host must belong to; null means whichever group the host reports. */
  readonly group: string | null
}

interface Made {
  readonly place: Place
  readonly generation: number
  /** Whether the server's membership in its replication group is checked before each use. */
  isMember: boolean
}

/** Servers report their uptime in whole seconds. */
const UPTIME_SLACK_MS = 2000

interface Place {
  readonly host: Host
  /** Created for the first connection; null before. */
  pool: Promise<mysql.Pool> | null
  /** Connections from before the host's last failure are not used again: the host may be a different server now. */
  generation: number
}

/**
 * Connects to the first host that works, and stays there while it works. Moves on to the next host when the host
 * refuses connections, does not respond, is read-only (a replica or a former primary), or is cut off from its cluster.
 * A server outside its replication group can still be writable, so members are checked before each use.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #places: readonly Place[]
  /** What is known about each connection, keyed by the driver's object. */
  readonly #made = new WeakMap<object, Made>()
  #current = 0
  #clustered = false
  /** The last server that a new connection reached, and when it started, by performance.now(). */
  #reached: { readonly name: string; readonly startedMs: number } | null = null
  /** The address of that connection. */
  #address = ''
  #serverChanges = 0

  constructor(hosts: readonly Host[], options: ConnectionsOptions) {
    this.#options = options
    this.#places = hosts.map((host) => ({ host, pool: null, generation: 0 }))
  }

  /** If this fails, the error is never caused by the work that needs the connection. */
  async take(): Promise<mysql.PoolConnection> {
    const failures: { host: Host; error: unknown }[] = []
    const inOrder = [...this.#places.entries()]
    for (const [index, place] of [...inOrder.slice(this.#current), ...inOrder.slice(0, this.#current)]) {
      try {
        const connection = await this.#from(place)
        if (failures.length > 0) this.#current = index
        return connection
      } catch (error) {
        // With a single host, the caller knows which host failed and what the error means.
        if (this.#places.length === 1) throw error
        failures.push({ host: place.host, error })
      }
    }
    throw new StoreUnavailableError(
      `No host of the database can be used: ${failures.map(({ host, error }) => `${host.name}: ${reason(error)}`).join('; ')}`,
      { cause: failures[0]?.error },
    )
  }

  give(connection: mysql.PoolConnection): void {
    const made = this.#made.get(connection.connection)
    if (made !== undefined && made.generation !== made.place.generation) connection.destroy()
    else connection.release()
  }

  /** Call this when work on the connection failed with a server or network error. */
  drop(connection: mysql.PoolConnection, error: unknown): void {
    const made = this.#made.get(connection.connection)
    connection.destroy()
    // The same failure has already invalidated the other connections of this generation.
    if (made === undefined || made.generation !== made.place.generation || !condemnsHost(error)) return
    made.place.generation += 1
    // A host that does not respond would also keep the next caller waiting for the full timeout.
    if (isSilent(error) && this.#places[this.#current] === made.place)
      this.#current = (this.#current + 1) % this.#places.length
  }

  /**
   * Whether the server of this connection may still be used. Never throws. If the server's group refused a COMMIT, this
   * distinguishes a conflict, which rolls back the transaction, from the loss of the group, after which the transaction
   * may have been committed.
   */
  async isFit(connection: mysql.PoolConnection): Promise<boolean> {
    if (this.#made.get(connection.connection)?.isMember !== true) return true
    return await this.#inTime(connection, () => checkMembership(connection)).then(
      () => true,
      () => false,
    )
  }

  /** Whether several servers of a cluster may commit at the same time; known after the first connection. */
  clustered(): boolean {
    return this.#clustered
  }

  /** The last server that a new connection reached, its version, and the address, which may be that of a proxy. */
  serverName(): string {
    return `${this.#reached?.name ?? ''} at ${this.#address}`
  }

  /** See `Store.serverChanges`. */
  serverChanges(): number {
    return this.#serverChanges
  }

  async end(): Promise<void> {
    await Promise.all(
      this.#places.map(async ({ pool }) => {
        const created = await pool?.catch(() => null)
        await created?.end()
      }),
    )
  }

  async #pool(host: Host): Promise<mysql.Pool> {
    const pool = await host.createPool({
      connectTimeout: this.#options.timeoutMs,
      timezone: 'Z',
      charset: 'utf8mb4_bin',
      connectionLimit: this.#options.connections,
      maxIdle: this.#options.connections,
      enableKeepAlive: true,
    })
    // The setup is queued on the new connection before anything else.
    pool.pool.on('connection', (connection) => {
      for (const statement of this.#options.setup) {
        connection.query(statement, (error) => {
          if (error !== null) connection.destroy()
        })
      }
    })
    return pool
  }

  async #from(place: Place): Promise<mysql.PoolConnection> {
    const pool = await (place.pool ??= this.#pool(place.host))
    for (;;) {
      const connection = await pool.getConnection()
      const made = this.#made.get(connection.connection)
      if (made !== undefined && made.generation !== place.generation) {
        connection.destroy()
        continue
      }
      try {
        if (made === undefined) await this.#examine(connection, place)
        else if (made.isMember) await this.#inTime(connection, () => checkMembership(connection))
        return connection
      } catch (error) {
        connection.destroy()
        if (made === undefined || isSilent(error)) throw error
        // None of the work has been sent yet. A new connection may work; behind a proxy, it may reach another server.
        if (made.generation === place.generation && (error instanceof NotInGroupError || condemnsHost(error)))
          place.generation += 1
      }
    }
  }

  /** @throws when the server must not be used */
  async #examine(connection: mysql.PoolConnection, place: Place): Promise<void> {
    // The generation is recorded before the check, so that a failure in the meantime also invalidates this connection.
    const made: Made = { place, generation: place.generation, isMember: false }
    this.#made.set(connection.connection, made)
    await this.#inTime(connection, async () => {
      const several = this.#places.length > 1
      const variables = await settings(
        connection,
        `SHOW GLOBAL VARIABLES WHERE variable_name IN (
          'wsrep_on', 'read_only', ${SERVER_VARIABLES.map((name) => `'${name}'`).join(', ')},
          'group_replication_group_name', 'group_replication_single_primary_mode', 'group_replication_consistency'
        )`,
      )
      const status = await settings(
        connection,
        "SHOW GLOBAL STATUS WHERE variable_name IN ('uptime', 'wsrep_ready')",
      )
      const { host, port, socketPath } = connection.config
      this.#address = JSON.stringify([host, port, socketPath])
      this.#reach(serverName(variables), performance.now() - Number(status.get('uptime')) * 1000)
      const group = variables.get('group_replication_group_name') ?? ''
      checkGroupName(this.#options.group, group)
      made.isMember = group !== '' && (several || this.#options.group !== null)
      if (made.isMember) await checkMembership(connection)
      // If Kalends connects as an administrator, it can still write to a replica, but those writes would be lost.
      if (several && isOn(variables.get('read_only'))) throw new Error('it is read-only')
      if (variables.get('group_replication_single_primary_mode') === 'OFF') this.#clustered = true
      if (made.isMember) await waitForGroup(connection, variables)
      if (!isOn(variables.get('wsrep_on'))) return
      this.#clustered = true
      if (several && !isOn(status.get('wsrep_ready')))
        throw new Error('it is not synchronised with its cluster')
      // Reads then see the commits of other nodes, so that work can continue here. Bit 1 means reads.
      await connection.query('SET SESSION wsrep_sync_wait = @@SESSION.wsrep_sync_wait | 1')
    })
  }

  /** Notices a new server by its name and start time: behind a proxy, the host may stay the same. */
  #reach(name: string, startedMs: number): void {
    const last = this.#reached
    this.#reached = { name, startedMs }
    if (last === null) return
    if (name !== last.name || Math.abs(startedMs - last.startedMs) > UPTIME_SLACK_MS) this.#serverChanges += 1
  }

  #inTime<Result>(connection: mysql.PoolConnection, work: () => Promise<Result>): Promise<Result> {
    return withTimeout(connection, this.#options.timeoutMs, work)
  }
}

const SERVER_VARIABLES = ['server_uuid', 'server_id', 'hostname', 'port', 'version']
export const ASK_SERVER = `SHOW GLOBAL VARIABLES WHERE variable_name IN (${SERVER_VARIABLES.map((name) => `'${name}'`).join(', ')})`

/** The server and its version. MariaDB has no `server_uuid`. */
export function serverName(variables: ReadonlyMap<string, string>): string {
  return SERVER_VARIABLES.map((name) => variables.get(name)).join(' ')
}

/** Makes statements see the commits of the failed primary, or of other primaries, so that work can continue here. */
async function waitForGroup(
  connection: mysql.PoolConnection,
  variables: ReadonlyMap<string, string>,
): Promise<void> {
  const hasOnePrimary = isOn(variables.get('group_replication_single_primary_mode'))
  const least = hasOnePrimary ? 'BEFORE_ON_PRIMARY_FAILOVER' : 'BEFORE'
  const enough = hasOnePrimary ? /^(BEFORE|AFTER)/ : /^BEFORE(_AND_AFTER)?$/
  if (!enough.test(variables.get('group_replication_consistency') ?? ''))
    await connection.query(`SET SESSION group_replication_consistency = '${least}'`)
}

async function settings(
  connection: mysql.PoolConnection,
  question: string,
): Promise<ReadonlyMap<string, string>> {
  const [rows] = await connection.query<mysql.RowDataPacket[]>({
    sql: question,
    // Overrides the URL's options.
    rowsAsArray: false,
    nestTables: false,
  })
  return new Map(rows.map((row) => [String(row['Variable_name']).toLowerCase(), String(row['Value'])]))
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && !/^(off|0)$/i.test(value)
}

/** A short reason, which is never empty: some system errors have only a code. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return error.message || code || error.name
}
