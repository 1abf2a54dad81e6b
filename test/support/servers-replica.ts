/**
 * A private MySQL source and its replica. Each can be killed and frozen, and the replica can be promoted. A started
 * server is read-only until it is made the source.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { type MysqlProgram, mysqlPlans, MysqlServer } from './servers-mysql.ts'
import type { PrivateServerPlan } from './servers-private.ts'
import { KeptFolder, RestartableServer } from './servers-restartable.ts'

/** Long enough for a replica to receive and apply missed transactions, possibly all of them, on a busy machine. */
const CATCH_UP_S = 110
/** Long enough for commits in progress to complete. */
const LONG_MS = 120_000

export interface PairOptions {
  /** Whether each COMMIT waits for the replica, without a time limit. */
  readonly semiSynchronous: boolean
  /** Additional environment variables of the servers, for example for libfaketime. */
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

  /** Starts stopped servers, assigns the roles, and returns when the replica has caught up with the source. */
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

  /** A planned switchover: writes stop, the replica catches up, and the roles change. */
  async switchOver(): Promise<void> {
    const { source } = this
    // Waits for commits in progress.
    await source.query('SET GLOBAL super_read_only = ON', LONG_MS)
    await this.#caughtUp()
    this.#changeRoles()
    // The administrator's sessions end, so that they do not read from the new replica. The workers must notice the
    // switchover by themselves.
    await source.endSessionsOfRoot()
    await this.heal()
  }

  /**
   * Does what an operator does after the loss of the source: applies all received transactions before the replica
   * accepts writes.
   */
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
    // It is the only server now, so its commits do not wait for a replica.
    await replica.takeWrites()
  }

  /**
   * Restores the killed source as a replica of the promoted server. Its data is recreated if it has transactions that
   * the promoted server lacks; with semi-synchronous replication, these were never acknowledged.
   *
   * @returns a description for messages
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
      ? 'with its data, because it had no extra transactions'
      : 'with new data, because it had extra transactions'
  }

  /** Resolves when both have exited and the folders are removed. */
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
    // After a kill -9, received but unapplied transactions are requested again.
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

/** A server of the pair. It is read-only after each start. */
export class ReplicaServer extends MysqlServer {
  #renewals = 0

  /** Starts it again without data and under a new id, because a server skips transactions that carry its own id. */
  async renew(): Promise<void> {
    await this.server.renew()
    await this.start()
    this.#renewals += 1
    await this.query(`SET GLOBAL server_id = @@GLOBAL.server_id + ${this.#renewals * 10}`)
  }

  /** The GTIDs of its committed transactions. */
  async executed(): Promise<string> {
    const [row] = await this.query('SELECT @@GLOBAL.gtid_executed AS transactions')
    return String(row?.['transactions']).replaceAll(/\s/g, '')
  }

  /** Waits until it has applied the transactions. @throws Error if it has not applied them in time */
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
    // Otherwise, applied transactions would wait for replicas that this server does not have.
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
    // A session that has just ended does not need to be killed.
    for (const { id } of sessions) await this.query(`KILL ${Number(id)}`).catch(() => {})
  }
}
