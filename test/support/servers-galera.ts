/**
 * Three private MariaDB Galera nodes on this machine, which can be killed, stopped, isolated from each other and
 * restarted.
 *
 * Each node runs under supervise.sh, and keep-folder.sh removes the folder, so nothing is left behind even if the test
 * runner is killed. The initial state is copied, not transferred, so the cluster is up in seconds. A returning node
 * receives missed writes from the cache of another node, or everything through mariadb-backup.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { findMariadb, type MariadbPrograms } from './servers-mariadb.ts'
import { freePort } from './servers-private.ts'
import { asUser, findOrInstall, findProgram } from './servers-programs.ts'

const run = promisify(execFile)
const superviseScript = fileURLToPath(new URL('supervise.sh', import.meta.url))
const keepScript = fileURLToPath(new URL('keep-folder.sh', import.meta.url))

/** The state UUID of a node that was never part of a cluster. */
const nowhere = '00000000-0000-0000-0000-000000000000'
const nodeNames = ['n1', 'n2', 'n3'] as const
const providers = ['/usr/lib/galera/libgalera_smm.so', '/usr/lib64/galera-4/libgalera_smm.so']
/** Long enough for a full copy of the state on a busy machine. */
const joinWithinMs = 180_000
/** After this time, a joining node is considered stuck. */
const hangsAfterMs = 40_000
/** The number of checks, a second apart, after which survivors without a majority are told to form the cluster. */
const looksWithoutPrimary = 4

export interface GaleraPrograms extends MariadbPrograms {
  provider: string
}

export interface GaleraNode {
  readonly name: string
  /** `mysql://root@127.0.0.1:port`. The port stays the same while the node is down. */
  readonly url: string
  /** null while it is down. */
  readonly pid: number | null
  /** Sends SIGKILL and waits until the node has exited. */
  kill(): Promise<void>
  /** Shuts it down cleanly. */
  stop(): Promise<void>
  /**
   * Starts it, and returns once it is in sync with the others. If none is running, the most advanced node starts first
   * and bootstraps the cluster, because it may have commits that this one lacks.
   */
  start(): Promise<void>
  /** Isolates it from the other nodes, or reconnects it. While isolated, it accepts clients, but returns error 1047. */
  isolate(on: boolean): Promise<void>
  /** Waits until it is part of the cluster and in sync. */
  ready(): Promise<void>
}

export interface GaleraCluster {
  readonly nodes: readonly GaleraNode[]
  /** '10.11.14, Galera 4.23' */
  readonly version: string
  /** Resolves once every node has exited and the folder is gone. */
  stop(): Promise<void>
}

export interface GaleraOptions {
  /** Additional environment variables of the servers, for example for libfaketime. */
  readonly environment?: Readonly<Record<string, string>>
  /** Additional options of each server: `--max-connections=100`. */
  readonly options?: readonly string[]
}

/** The programs, installed if necessary, or the reason why they are not available. */
export async function findGalera(): Promise<GaleraPrograms | string> {
  const mariadb = await findMariadb()
  if (typeof mariadb === 'string') return mariadb
  return await findOrInstall('Galera', ['galera-4', 'mariadb-backup', 'socat'], () => {
    const provider = galeraProvider()
    return provider === null || missingTools().length > 0 ? null : { ...mariadb, provider }
  })
}

function galeraProvider(): string | null {
  return providers.find((file) => existsSync(file)) ?? null
}

function missingTools(): string[] {
  return ['mariadb-backup', 'socat', 'flock'].filter((name) => findProgram(name) === null)
}

export async function startGalera(
  programs: GaleraPrograms,
  options: GaleraOptions = {},
): Promise<GaleraCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-galera-'))
  await writeFile(join(folder, 'lock'), '')
  const keeper = spawn('sh', [keepScript, folder], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] })
  const kept = once(keeper, 'exit')
  const cluster = new Cluster(programs, folder, options)
  const stop = async () => {
    await cluster.stopAll()
    keeper.stdin?.end()
    await kept
    if (existsSync(folder)) throw new Error(`The folder of the cluster still exists: ${folder}`)
  }
  try {
    await cluster.begin()
    return { nodes: cluster.nodes, version: await cluster.version(), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Ports {
  readonly client: number
  readonly group: number
  readonly increments: number
  readonly state: number
}

class Cluster {
  nodes: readonly Node[] = []
  readonly #programs: GaleraPrograms
  readonly #folder: string
  readonly #options: GaleraOptions
  /** Starts run one at a time, because bootstrapping depends on which nodes are running. */
  #starting: Promise<unknown> = Promise.resolve()

  constructor(programs: GaleraPrograms, folder: string, options: GaleraOptions) {
    this.#programs = programs
    this.#folder = folder
    this.#options = options
  }

  async begin(): Promise<void> {
    const ports = await Promise.all(
      nodeNames.map(async () => ({
        client: await freePort(),
        group: await freePort(),
        increments: await freePort(),
        state: await freePort(),
      })),
    )
    const address = `gcomm://${ports.map(({ group }) => `127.0.0.1:${group}`).join(',')}`
    this.nodes = nodeNames.map(
      (name, index) =>
        new Node({
          name,
          folder: join(this.#folder, name),
          lock: join(this.#folder, 'lock'),
          ports: ports[index] ?? fail(`no ports for ${name}`),
          address,
          programs: this.#programs,
          environment: this.#options.environment ?? {},
          options: this.#options.options ?? [],
          start: (node) => this.#inTurn(() => this.#start(node)),
        }),
    )
    await this.#firstState()
    const [first, ...others] = this.nodes
    if (first === undefined) return
    await this.#inTurn(async () => {
      await first.launch({ begins: true })
      for (const node of others) await node.launch({ begins: false })
    })
  }

  /** Every node gets a copy of the same state, so none needs a transfer. */
  async #firstState(): Promise<void> {
    const [first, ...others] = this.nodes
    if (first === undefined) return
    await mkdir(first.folder, { recursive: true })
    await run(this.#programs.initialize, [
      '--no-defaults',
      `--datadir=${first.data}`,
      `--tmpdir=${first.folder}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      ...asUser(),
    ])
    await writeFile(
      join(first.data, 'grastate.dat'),
      `# GALERA saved state\nversion: 2.1\nuuid:    ${nowhere}\nseqno:   -1\nsafe_to_bootstrap: 1\n`,
    )
    // A node finds its position only in tables that a cluster has written; a cluster of one node is enough.
    await first.launch({ begins: true })
    await first.stop()
    for (const node of others) await cp(first.data, node.data, { recursive: true })
  }

  async version(): Promise<string> {
    const [first] = this.nodes
    const [row] =
      first === undefined
        ? []
        : await first.query(
            "SELECT VERSION() AS server, (SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'wsrep_provider_version') AS provider",
          )
    const server = /^\d+\.\d+\.\d+/.exec(String(row?.['server']))?.[0]
    return `${server}, Galera ${String(row?.['provider']).replace(/\(.*/, '')}`
  }

  async stopAll(): Promise<void> {
    // The order does not matter, because no node will bootstrap this cluster again.
    await Promise.all(this.nodes.map((node) => node.close()))
  }

  async #start(node: Node): Promise<void> {
    if (node.pid !== null) return
    if (this.nodes.some(({ pid }) => pid !== null)) {
      await this.#withPrimary(() => node.join())
      return
    }
    const known = await Promise.all(
      this.nodes.map(async (each) => ({ node: each, position: await each.position() })),
    )
    const [most] = known.toSorted(
      (one, other) =>
        other.position - one.position || Number(other.node === node) - Number(one.node === node),
    )
    if (most === undefined) return
    await most.node.launch({ begins: true })
    if (most.node !== node) await node.join()
  }

  /**
   * Joins a cluster that may have lost its majority. If the cluster does not recover by itself, the survivors continue
   * alone.
   */
  async #withPrimary(join: () => Promise<void>): Promise<void> {
    const joined = new AbortController()
    const joining = join().finally(() => joined.abort())
    let withoutPrimary = 0
    let told = 0
    while (!joined.signal.aborted) {
      const seen = await Promise.all(
        this.nodes.map(async (node) => ({ node, state: await node.state().catch(() => null) })),
      )
      withoutPrimary = seen.some(({ state }) => state?.primary === true) ? 0 : withoutPrimary + 1
      if (withoutPrimary === looksWithoutPrimary) {
        const most = Math.max(...seen.map(({ state }) => state?.committed ?? -1))
        const knowing = seen.filter(({ state }) => state?.committed === most)
        // A node that has found the others rejects this, and a node that is still searching ignores it, so each of the
        // most advanced nodes is told in turn.
        const next = knowing[told % knowing.length]?.node
        await next?.query("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'").catch(() => {})
        told += 1
        withoutPrimary = 0
      }
      await pause(1000, undefined, { signal: joined.signal }).catch(() => {})
    }
    await joining
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#starting.then(work, work)
    this.#starting = done.catch(() => {})
    return done
  }
}

interface Running {
  readonly supervisor: ChildProcess
  readonly exit: Promise<void>
  readonly pid: number
}

interface NodePlan {
  readonly name: string
  readonly folder: string
  readonly lock: string
  readonly ports: Ports
  readonly address: string
  readonly programs: GaleraPrograms
  readonly environment: Readonly<Record<string, string>>
  readonly options: readonly string[]
  readonly start: (node: Node) => Promise<void>
}

class Node implements GaleraNode {
  readonly name: string
  readonly url: string
  readonly folder: string
  readonly data: string
  readonly #plan: NodePlan
  #running: Running | null = null
  #over = false

  constructor(plan: NodePlan) {
    this.#plan = plan
    this.name = plan.name
    this.folder = plan.folder
    this.data = join(plan.folder, 'data')
    this.url = `mysql://root@127.0.0.1:${plan.ports.client}`
  }

  get pid(): number | null {
    return this.#running?.pid ?? null
  }

  async start(): Promise<void> {
    await this.#plan.start(this)
  }

  async kill(): Promise<void> {
    const running = this.#running
    if (running === null) return
    signal(running.pid, 'SIGKILL')
    await running.exit
    // This also kills processes that were transferring the state to or from the node.
    if (running.supervisor.pid !== undefined) signal(-running.supervisor.pid, 'SIGKILL')
  }

  async stop(): Promise<void> {
    const running = this.#running
    if (running === null) return
    // A process that is stopped by SIGSTOP does not handle SIGTERM.
    signal(running.pid, 'SIGCONT')
    running.supervisor.stdin?.end()
    await running.exit
  }

  /** Stops it permanently, so that a start in progress fails. */
  async close(): Promise<void> {
    this.#over = true
    await this.stop()
  }

  async isolate(on: boolean): Promise<void> {
    await this.query(`SET GLOBAL wsrep_provider_options = 'gmcast.isolate=${on ? 1 : 0}'`)
  }

  async ready(withinMs = joinWithinMs): Promise<void> {
    const deadline = performance.now() + withinMs
    for (;;) {
      const state = await this.state().catch(() => null)
      if (state?.synced === true) return
      if (this.#running === null)
        throw new Error(`${this.name} exited. The end of its log:\n${await this.#log()}`)
      if (performance.now() > deadline) {
        throw new Error(
          `${this.name} was not in step within ${withinMs} ms. The end of its log:\n${await this.#log()}`,
        )
      }
      await pause(50)
    }
  }

  async state(): Promise<{ primary: boolean; synced: boolean; committed: number }> {
    const rows = await this.query(
      "SHOW GLOBAL STATUS WHERE variable_name IN ('wsrep_cluster_status', 'wsrep_ready', 'wsrep_local_state_comment', 'wsrep_last_committed')",
    )
    const status = new Map(rows.map((row) => [String(row['Variable_name']), String(row['Value'])]))
    const primary = status.get('wsrep_cluster_status') === 'Primary'
    return {
      primary,
      synced:
        primary && status.get('wsrep_ready') === 'ON' && status.get('wsrep_local_state_comment') === 'Synced',
      committed: Number(status.get('wsrep_last_committed')),
    }
  }

  async query(text: string): Promise<RowDataPacket[]> {
    const connection = await createConnection({ uri: this.url, connectTimeout: 5000 })
    try {
      const [rows] = await connection.query<RowDataPacket[]>({ sql: text, timeout: 20_000 })
      return rows
    } finally {
      connection.destroy()
    }
  }

  /** Its position when it went down, as written at shutdown or, failing that, as recorded by InnoDB. */
  async position(): Promise<number> {
    return Number((await this.#startPosition()).split(':')[1])
  }

  /**
   * Starts the node, and restarts it if it hangs or gives up, as an operator would: a node that returns while the
   * others are removing it can wait forever, and one that finds no primary component for 30 s exits.
   */
  async join(): Promise<void> {
    try {
      await this.launch({ begins: false, withinMs: hangsAfterMs })
    } catch (error) {
      if (this.#over) throw error
      await this.kill()
      await this.launch({ begins: false })
    }
  }

  async launch({ begins, withinMs }: { begins: boolean; withinMs?: number }): Promise<void> {
    await writeFile(this.#configuration, this.#settings())
    const position = await this.#startPosition()
    if (begins) await this.#allowBeginning()
    await this.#spawn([
      ...this.#options(),
      `--wsrep-start-position=${position}`,
      ...(begins ? ['--wsrep-new-cluster'] : []),
      ...this.#plan.options,
    ])
    await this.ready(withinMs)
  }

  get #configuration(): string {
    return join(this.folder, 'my.cnf')
  }

  /** The settings are in a file because the script that transfers the state also reads them. */
  #settings(): string {
    const { ports, programs, address } = this.#plan
    const provider = [
      `base_port=${ports.group}`,
      `gmcast.listen_addr=tcp://127.0.0.1:${ports.group}`,
      `ist.recv_addr=127.0.0.1:${ports.increments}`,
      // Space for the writes that a node misses in a few minutes, but not more.
      'gcache.size=64M',
    ]
    return [
      '[mysqld]',
      `datadir=${this.data}`,
      `socket=${join(this.folder, 'socket')}`,
      `port=${ports.client}`,
      'bind-address=127.0.0.1',
      `pid-file=${join(this.folder, 'pid')}`,
      `tmpdir=${this.folder}`,
      'max-connections=400',
      'binlog-format=ROW',
      'default-storage-engine=InnoDB',
      'innodb-autoinc-lock-mode=2',
      // Space for all writes of a chaos run. If a node has to free space after its clock was set
      // back, it hangs until the clock catches up: it waits for writes that none of its threads starts.
      'innodb-log-file-size=1G',
      'innodb-buffer-pool-size=512M',
      'wsrep-on=ON',
      `wsrep-provider=${programs.provider}`,
      `wsrep-cluster-address=${address}`,
      'wsrep-cluster-name=kalends',
      `wsrep-node-name=${this.name}`,
      'wsrep-node-address=127.0.0.1',
      `wsrep-sst-receive-address=127.0.0.1:${ports.state}`,
      'wsrep-sst-method=mariabackup',
      'wsrep-sst-auth=root:',
      `wsrep-provider-options="${provider.join(';')}"`,
      '[sst]',
      // Into our log.
      'sst-syslog=-1',
      '',
    ].join('\n')
  }

  #options(): string[] {
    return [`--defaults-file=${this.#configuration}`, ...asUser()]
  }

  async #spawn(options: readonly string[]): Promise<void> {
    const { programs, environment, lock } = this.#plan
    if (this.#over) throw new Error(`${this.name} can no longer be started`)
    const log = openSync(this.#logFile, 'a')
    const supervisor = spawn(
      'flock',
      [
        '--shared',
        lock,
        'sh',
        superviseScript,
        join(this.folder, 'run'),
        // Reports its process id, which the server keeps.
        'sh',
        '-c',
        'echo $$ >&4; exec 4>&-; exec "$@"',
        'sh',
        'env',
        ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
        programs.server,
        ...options,
      ],
      // detached: Ctrl-C in the terminal is for the test runner, which stops the servers later.
      { detached: true, stdio: ['pipe', log, log, 'ignore', 'pipe'] },
    )
    closeSync(log)
    const exit = once(supervisor, 'exit').then(() => {
      this.#running = null
      return undefined
    })
    const pipe = supervisor.stdio[4]
    if (!(pipe instanceof Readable)) throw new Error('no pipe for the process id')
    const [line]: unknown[] = await once(pipe, 'data')
    pipe.destroy()
    this.#running = { supervisor, exit, pid: Number(line) }
  }

  /** Its position `uuid:seqno`, for --wsrep-start-position: without it, a crashed node needs a full transfer. */
  async #startPosition(): Promise<string> {
    const saved = await readFile(join(this.data, 'grastate.dat'), 'utf8')
    const uuid = /^uuid:\s*(\S+)/m.exec(saved)?.[1] ?? nowhere
    const seqno = Number(/^seqno:\s*(-?\d+)/m.exec(saved)?.[1] ?? -1)
    if (seqno >= 0 || uuid === nowhere) return `${uuid}:${seqno}`
    const { stderr } = await run(
      this.#plan.programs.server,
      [...this.#options(), '--wsrep-recover', '--skip-networking'],
      { maxBuffer: 16 * 1024 * 1024 },
    )
    const recovered = /Recovered position:?\s+(\S+:-?\d+)/.exec(stderr)?.[1]
    return recovered ?? `${nowhere}:-1`
  }

  async #allowBeginning(): Promise<void> {
    const file = join(this.data, 'grastate.dat')
    const saved = await readFile(file, 'utf8')
    await writeFile(file, saved.replace(/^safe_to_bootstrap: 0/m, 'safe_to_bootstrap: 1'))
  }

  get #logFile(): string {
    return join(this.folder, 'server.log')
  }

  async #log(): Promise<string> {
    return (await readFile(this.#logFile, 'utf8').catch(() => '')).slice(-3000)
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    const gone = error instanceof Error && 'code' in error && error.code === 'ESRCH'
    if (!gone) throw error
  }
}

function fail(message: string): never {
  throw new Error(message)
}
