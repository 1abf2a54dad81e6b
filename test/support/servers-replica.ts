/**
 * A MySQL source and its replica, both of the tests' own. Each can be killed and frozen, and the replica can be made the
 * source. A server that was started is read-only until it is made the source.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type MysqlProgram, mysqlPlans, MysqlServer } from './servers-mysql.ts'
import type { PrivateServerPlan } from './servers-private.ts'
import { KeptFolder, RestartableServer } from './servers-restartable.ts'

/** A replica that receives and applies what it missed, which may be all there is, on a busy machine. */
const CATCH_UP_S = 110
/** Until the commits that are under way have ended. */
const LONG_MS = 120_000

export interface PairOptions {
  /** Whether a COMMIT waits for the replica, however long that takes. */
  readonly semiSynchronous: boolean
  /** Of the servers, on top of our own: libfaketime, for one. */
  readonly environment?: Readonly<Record<string, string>>
}

export class ReplicationPair {
  readonly servers: readonly ReplicaServer[]
  /** '9.7.4' */
  readonly version: string
  readonly #folders: readonly KeptFolder[]
  readonly #semiSynchronous: boolean
  #roles: { readonly source: ReplicaServer; readonly replica: ReplicaServer }

  private constructor(
    [source, replica]: readonly [ReplicaServer, ReplicaServer],
    folders: readonly KeptFolder[],
    version: string,
    semiSynchronous: boolean,
  ) {
    this.servers = [source, replica]
    this.version = version
    this.#folders = folders
    this.#semiSynchronous = semiSynchronous
    this.#roles = { source, replica }
  }

  static async start(program: MysqlProgram, options: PairOptions): Promise<ReplicationPair> {
    const started: RestartableServer[] = []
    const folders: KeptFolder[] = []
    const one = async (plan: PrivateServerPlan, id: number) => {
      const folder = await KeptFolder.keep(plan.folder)
      folders.push(folder)
      const server = await RestartableServer.start({ ...plan, name: `MySQL s${id}` }, folder, {
        environment: options.environment ?? {},
        options: settings(id),
      })
      started.push(server)
      return new ReplicaServer(`s${id}`, server)
    }
    try {
      const [first, second] = await mysqlPlans(program, 2)
      if (first === undefined || second === undefined) throw new RangeError('a server has no plan')
      const servers = [await one(first, 1), await one(second, 2)] as const
      const [row] = await servers[0].query('SELECT VERSION() AS version')
      const version = /^[\d.]+/.exec(String(row?.['version']))?.[0] ?? ''
      const pair = new ReplicationPair(servers, folders, version, options.semiSynchronous)
      await pair.heal()
      return pair
    } catch (error) {
      await Promise.all(started.map((server) => server.stop()))
      await Promise.all(folders.map((folder) => folder.remove()))
      throw error
    }
  }

  get source(): ReplicaServer {
    return this.#roles.source
  }

  get replica(): ReplicaServer {
    return this.#roles.replica
  }

  /** Starts what is down, gives each server its role, and returns once the replica has all that the source has. */
  async heal(): Promise<void> {
    const { source, replica } = this
    await Promise.all(this.servers.map((server) => server.start()))
    await source.query('STOP REPLICA')
    await source.query('RESET REPLICA ALL')
    if (this.#semiSynchronous) await source.query('SET GLOBAL rpl_semi_sync_source_enabled = ON')
    await replica.follow(source)
    await source.takeWrites()
    await this.#caughtUp()
  }

  /** As planned: nothing is written any more, the replica has everything, the roles change. */
  async switchOver(): Promise<void> {
    const { source } = this
    // Waits for commits that are under way.
    await source.query('SET GLOBAL super_read_only = ON', LONG_MS)
    await this.#caughtUp()
    this.#changeRoles()
    // What the administrator reads must not be what the replica has by then. The workers find out by themselves.
    await source.endSessionsOfRoot()
    await this.heal()
  }

  /** As an operator does whose source is gone: all that was received is applied before the replica takes writes. */
  async promote(): Promise<void> {
    const { replica } = this
    await replica.query('STOP REPLICA IO_THREAD', LONG_MS)
    const [received] = await replica.query(
      "SELECT received_transaction_set AS transactions FROM performance_schema.replication_connection_status WHERE channel_name = ''",
    )
    await replica.applied(String(received?.['transactions']).replaceAll(/\s/g, ''))
    await replica.query('STOP REPLICA', LONG_MS)
    await replica.query('RESET REPLICA ALL')
    this.#changeRoles()
    // Alone, it waits for no replica.
    await replica.takeWrites()
  }

  /**
   * Brings back the source that was killed, as the replica of the one that was promoted. Its data is made anew when it
   * has transactions that the other has not: they were never acknowledged.
   *
   * @returns how, for people
   */
  async rejoin(): Promise<string> {
    const { source, replica } = this
    await replica.start()
    const [row] = await source.query(
      `SELECT GTID_SUBTRACT('${await replica.executed()}', @@GLOBAL.gtid_executed) AS own`,
    )
    const own = String(row?.['own'])
    if (own !== '') await replica.renew()
    await this.heal()
    return own === ''
      ? 'with its data, for it had no transactions of its own'
      : 'with new data, for it had transactions of its own'
  }

  /** Resolves once both have exited and the folders are gone. */
  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()))
    await Promise.all(this.#folders.map((folder) => folder.remove()))
  }

  #changeRoles(): void {
    const { source, replica } = this.#roles
    this.#roles = { source: replica, replica: source }
  }

  async #caughtUp(): Promise<void> {
    await this.replica.applied(await this.source.executed())
    if (!this.#semiSynchronous) return
    const deadline = performance.now() + LONG_MS
    for (;;) {
      const [row] = await this.source.query("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_source_clients'")
      if (Number(row?.['Value']) > 0) return
      if (performance.now() > deadline) throw new Error('the source has no semi-synchronous replica')
      await pause(50)
    }
  }
}

function settings(id: number): string[] {
  return [
    `--server-id=${id}`,
    '--gtid-mode=ON',
    '--enforce-gtid-consistency=ON',
    '--super-read-only=ON',
    // After a kill -9, what was received and not applied is asked for again.
    '--relay-log-recovery=ON',
    '--innodb-buffer-pool-size=64M',
    '--performance-schema-digests-size=100',
    '--performance-schema-error-size=0',
    '--plugin-load-add=semisync_source.so;semisync_replica.so',
    '--rpl-semi-sync-replica-enabled=ON',
    '--rpl-semi-sync-source-wait-point=AFTER_SYNC',
    '--rpl-semi-sync-source-timeout=4294967295',
  ]
}

/** Started, it is read-only. */
export class ReplicaServer extends MysqlServer {
  #renewals = 0

  /** Starts it without any data, as another server: a server skips what comes back to it from under its own id. */
  async renew(): Promise<void> {
    await this.server.renew()
    await this.start()
    this.#renewals += 1
    await this.query(`SET GLOBAL server_id = @@GLOBAL.server_id + ${this.#renewals * 10}`)
  }

  /** The GTIDs of what it has committed. */
  async executed(): Promise<string> {
    const [row] = await this.query('SELECT @@GLOBAL.gtid_executed AS transactions')
    return String(row?.['transactions']).replaceAll(/\s/g, '')
  }

  /** @throws when it has not applied them in time */
  async applied(transactions: string): Promise<void> {
    const [row] = await this.query(
      `SELECT WAIT_FOR_EXECUTED_GTID_SET('${transactions}', ${CATCH_UP_S}) AS late`,
      LONG_MS,
    )
    if (Number(row?.['late']) === 0) return
    const [status] = await this.query('SHOW REPLICA STATUS')
    throw new Error(
      `${this.name} did not catch up: ${String(status?.['Last_IO_Error'])} ${String(status?.['Last_SQL_Error'])}`,
    )
  }

  async follow(source: ReplicaServer): Promise<void> {
    await this.query('SET GLOBAL super_read_only = ON', LONG_MS)
    // What it applies would wait for replicas that it does not have.
    await this.query('SET GLOBAL rpl_semi_sync_source_enabled = OFF')
    const { port } = new URL(source.url)
    const [followed] = await this.query(
      "SELECT port FROM performance_schema.replication_connection_configuration WHERE channel_name = ''",
    )
    if (String(followed?.['port']) !== port) {
      await this.query('STOP REPLICA', LONG_MS)
      await this.query(
        `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = ${port}, SOURCE_USER = 'root',
         SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400`,
      )
    }
    await this.query('START REPLICA')
  }

  async takeWrites(): Promise<void> {
    await this.query('SET GLOBAL super_read_only = OFF')
    await this.query('SET GLOBAL read_only = OFF')
  }

  async endSessionsOfRoot(): Promise<void> {
    const sessions = await this.query(
      "SELECT id AS id FROM information_schema.processlist WHERE user = 'root' AND db IS NOT NULL AND id <> CONNECTION_ID()",
    )
    // One that has just ended by itself is no trouble.
    for (const { id } of sessions) await this.query(`KILL ${Number(id)}`).catch(() => {})
  }
}
