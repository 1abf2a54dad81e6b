/** Where connections come from: a pool that the application lends, or pools of our own, one per host. */
import mysql from 'mysql2/promise'
import { StoreUnavailableError } from '../../errors.ts'
import { condemnsHost } from './errors.ts'
import { checkGroupName, checkMembership, NotInGroupError } from './group.ts'
import type { Host } from './hosts.ts'
import { isSilent, withTimeout } from './timeout.ts'

export interface Connections {
  /** Whatever the reason for which there is none, it is not an error of the work that needs one. */
  take(): Promise<mysql.PoolConnection>
  give(connection: mysql.PoolConnection): void
  /** Work on it ended with an error of the server or the network: it is not used again. */
  drop(connection: mysql.PoolConnection, error: unknown): void
  /**
   * Whether the server of the connection may still be worked with. Never throws. After a COMMIT that the server's group
   * refused, it tells a conflict, which undoes the transaction, from the loss of the group, which may leave it committed.
   */
  isFit(connection: mysql.PoolConnection): Promise<boolean>
  /** Whether several servers of a cluster may commit at the same time; known after the first connection. */
  clustered(): boolean
  end(): Promise<void>
}

export class CallerSuppliedConnections implements Connections {
  readonly #pool: mysql.Pool

  constructor(pool: mysql.Pool) {
    this.#pool = pool
  }

  async take(): Promise<mysql.PoolConnection> {
    try {
      return await this.#pool.getConnection()
    } catch (error) {
      // The driver's error has a text and no code.
      if (!(error instanceof Error) || error.message !== 'Queue limit reached.') throw error
      throw new StoreUnavailableError(
        'The pool that the application passed in has no free connection, and its queueLimit is reached: raise its connectionLimit, or leave out queueLimit',
        { cause: error },
      )
    }
  }

  give(connection: mysql.PoolConnection): void {
    connection.release()
  }

  drop(connection: mysql.PoolConnection): void {
    connection.destroy()
  }

  async isFit(): Promise<boolean> {
    return true
  }

  clustered(): boolean {
    return false
  }

  async end(): Promise<void> {
    // It stays the application's.
  }
}

export interface OwnOptions {
  /** Most connections to one host. */
  readonly connections: number
  /** Of every new session. */
  readonly setup: readonly string[]
  /** A host that does not let a new connection work within this time fails, or is passed over for another. */
  readonly timeoutMs: number
  /** The replication group that every host must be a member of; null: the hosts tell. */
  readonly group: string | null
  /** Is told the server of each new connection. */
  readonly seen: SeenServers
}

/** A connection that was found fit for work. */
interface Made {
  readonly place: Place
  readonly generation: number
  /** Its server is a member of a replication group, and is asked before each use whether it still is. */
  isMember: boolean
}

/** Servers tell their uptime in whole seconds. */
const UPTIME_SLACK_MS = 2000

/** The servers that connections have reached. A URL, a pool or a proxy does not show which one it is. */
export class SeenServers {
  /** How many new connections reached another server than the connection before, or a restarted one. */
  changes = 0
  #last: { readonly name: string; readonly startedMs: number | null } | null = null

  /**
   * @param name  of the server itself
   * @param startedMs  when it was started, by performance.now(); null: unknown
   */
  add(name: string, startedMs: number | null): void {
    const last = this.#last
    this.#last = { name, startedMs }
    if (last === null) return
    const laterMs = startedMs === null || last.startedMs === null ? 0 : startedMs - last.startedMs
    if (name !== last.name || Math.abs(laterMs) > UPTIME_SLACK_MS) this.changes += 1
  }
}

/** A host and its connections. */
interface Place {
  readonly host: Host
  readonly pool: mysql.Pool
  /** Connections made before the last trouble with the host are not used again: it may have become another. */
  generation: number
}

/**
 * Connections to the first host that works, and to that one for as long as it does. It is left when it refuses,
 * is silent, is read-only (a replica, or what was the primary), or is a node that its cluster has lost. A member
 * outside its replication group can be writable, so members are asked again before each use.
 */
export class OwnConnections implements Connections {
  readonly #options: OwnOptions
  readonly #places: readonly Place[]
  /** Of connections that were found fit for work, by the driver's own object. */
  readonly #made = new WeakMap<object, Made>()
  #current = 0
  #clustered = false

  constructor(hosts: readonly Host[], options: OwnOptions) {
    this.#options = options
    this.#places = hosts.map((host) => ({ host, pool: this.#pool(host), generation: 0 }))
  }

  async take(): Promise<mysql.PoolConnection> {
    const first = this.#current
    const failures: { host: Host; error: unknown }[] = []
    for (let step = 0; step < this.#places.length; step += 1) {
      const index = (first + step) % this.#places.length
      const place = this.#places[index]
      if (place === undefined) continue
      try {
        const connection = await this.#from(place)
        if (step > 0) this.#current = index
        return connection
      } catch (error) {
        // One host alone: whoever asked knows which, and what its error means.
        if (this.#places.length === 1) throw error
        failures.push({ host: place.host, error })
      }
    }
    throw new StoreUnavailableError(
      `No host of the database can be worked with: ${failures.map(({ host, error }) => `${host.name}: ${reason(error)}`).join('; ')}`,
      { cause: failures[0]?.error },
    )
  }

  give(connection: mysql.PoolConnection): void {
    const made = this.#made.get(connection.connection)
    if (made !== undefined && made.generation !== made.place.generation) connection.destroy()
    else connection.release()
  }

  drop(connection: mysql.PoolConnection, error: unknown): void {
    const made = this.#made.get(connection.connection)
    connection.destroy()
    // The others of its age were told off by the same trouble already.
    if (made === undefined || made.generation !== made.place.generation || !condemnsHost(error)) return
    made.place.generation += 1
    // One that says nothing would say nothing to the next either, for as long again.
    if (isSilent(error) && this.#places[this.#current] === made.place)
      this.#current = (this.#current + 1) % this.#places.length
  }

  async isFit(connection: mysql.PoolConnection): Promise<boolean> {
    if (this.#made.get(connection.connection)?.isMember !== true) return true
    return await this.#inTime(connection, () => checkMembership(connection)).then(
      () => true,
      () => false,
    )
  }

  clustered(): boolean {
    return this.#clustered
  }

  async end(): Promise<void> {
    await Promise.all(this.#places.map(({ pool }) => pool.end()))
  }

  #pool(host: Host): mysql.Pool {
    const pool = mysql.createPool({
      // What the URL says itself wins.
      connectTimeout: this.#options.timeoutMs,
      uri: host.url,
      timezone: 'Z',
      charset: 'utf8mb4_bin',
      connectionLimit: this.#options.connections,
      maxIdle: this.#options.connections,
      enableKeepAlive: true,
    })
    // Queued on the new connection before anything else.
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
    for (;;) {
      const connection = await place.pool.getConnection()
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
        // Nothing was sent yet: a new connection may work, also to another server where a proxy is in front.
        if (made.generation === place.generation && (error instanceof NotInGroupError || condemnsHost(error)))
          place.generation += 1
      }
    }
  }

  /** What kind of server it is. @throws when it is not one to work with */
  async #examine(connection: mysql.PoolConnection, place: Place): Promise<void> {
    // Before the question: what goes wrong meanwhile ages this one too.
    const made: Made = { place, generation: place.generation, isMember: false }
    this.#made.set(connection.connection, made)
    await this.#inTime(connection, async () => {
      const several = this.#places.length > 1
      const variables = await settings(
        connection,
        `SHOW GLOBAL VARIABLES WHERE variable_name IN (
          'wsrep_on', 'read_only', 'server_uuid', 'server_id', 'hostname', 'port',
          'group_replication_group_name', 'group_replication_single_primary_mode', 'group_replication_consistency'
        )`,
      )
      const status = await settings(
        connection,
        "SHOW GLOBAL STATUS WHERE variable_name IN ('uptime', 'wsrep_ready')",
      )
      const name = ['server_uuid', 'server_id', 'hostname', 'port'].map((key) => variables.get(key)).join(' ')
      this.#options.seen.add(name, performance.now() - Number(status.get('uptime')) * 1000)
      const group = variables.get('group_replication_group_name') ?? ''
      checkGroupName(this.#options.group, group)
      made.isMember = group !== '' && (several || this.#options.group !== null)
      if (made.isMember) await checkMembership(connection)
      // An administrator may write to a replica all the same, and would then write to what nobody reads.
      if (several && isOn(variables.get('read_only'))) throw new Error('it is read-only')
      if (variables.get('group_replication_single_primary_mode') === 'OFF') this.#clustered = true
      if (made.isMember) await waitForGroup(connection, variables)
      if (!isOn(variables.get('wsrep_on'))) return
      this.#clustered = true
      if (several && !isOn(status.get('wsrep_ready'))) throw new Error('it is not in step with its cluster')
      // What another node has committed is seen, so that work can go on there: 1 is the bit of reads.
      await connection.query('SET SESSION wsrep_sync_wait = @@SESSION.wsrep_sync_wait | 1')
    })
  }

  #inTime<Result>(connection: mysql.PoolConnection, work: () => Promise<Result>): Promise<Result> {
    return withTimeout(connection, this.#options.timeoutMs, work)
  }
}

/** What another member has committed is seen, so that work can go on here after a fail-over, or beside that member. */
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
    // Whatever options the URL has.
    rowsAsArray: false,
    nestTables: false,
  })
  return new Map(rows.map((row) => [String(row['Variable_name']).toLowerCase(), String(row['Value'])]))
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && !/^(off|0)$/i.test(value)
}

/** What went wrong, in few words and never empty: some of the system's errors have only a code. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return error.message || code || error.name
}
