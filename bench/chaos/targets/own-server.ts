/** A private MariaDB or MySQL server as a target: the common parts. */
import mysql from 'mysql2/promise'
import type { PrivateServerPlan } from '../../../test/support/servers-private.ts'
import { steadyPort } from '../../../test/support/servers-private.ts'
import { KeptFolder, RestartableServer } from '../../../test/support/servers-restartable.ts'
import { say } from '../../../test/support/servers-programs.ts'
import type { Fault, LeftOut, Target } from '../fault.ts'
import { applicationFaults } from '../faults/application.ts'
import { clockFaults } from '../faults/clock.ts'
import { diskFaults } from '../faults/disk.ts'
import { lockFaults } from '../faults/locks.ts'
import { networkFaults } from '../faults/network.ts'
import { serverAdminFaults, serverProcessFaults } from '../faults/server.ts'
import { type OpenWay, openWay } from '../proxy.ts'
import { type Access, openAccess } from './access.ts'
import { Admin } from './admin.ts'
import { sweepSharedMemory, TargetClock } from './clock.ts'
import { DeadlockCount } from './deadlock-count.ts'
import { PROBE_TABLE, reviveServer, writeMuch } from './full-disk.ts'
import { SmallDisk } from './disk.ts'

export interface TargetOptions {
  /** The initial time of the database's clock. Default: the machine's time. */
  readonly beginAt?: Date
  readonly workers: number
  /** The folder of the run. */
  readonly folder: string
  /** The lease of the workers. Default: 4 s. */
  readonly leaseMs?: number
}

export const LEASE_MS = 4000

export interface OwnServer {
  readonly kind: 'mariadb' | 'mysql'
  readonly plan: PrivateServerPlan
  /** The root of the server's file system, if it is not this machine's. */
  readonly root?: string
  /** Options for a separate port that accepts the harness even if max_connections is reached. */
  readonly adminOptions: (port: number) => readonly string[]
}

export const DATABASE = 'chaos'
export const WORKER = { user: 'kalends', password: 'only here' } as const

export async function openOwnServer(own: OwnServer, options: TargetOptions): Promise<Target> {
  const { plan, kind } = own
  const leaseMs = options.leaseMs ?? LEASE_MS
  const folder = await KeptFolder.keep(plan.folder)
  const open: (() => Promise<void>)[] = [() => folder.remove()]
  const close = async () => {
    for (const each of open.splice(0).toReversed()) await each()
    await sweepSharedMemory(own.root)
  }
  try {
    const leftOut: LeftOutParts = {}
    const disk = orLeftOut('disk', await SmallDisk.open(plan.folder), leftOut)
    const clock = orLeftOut('clock', await TargetClock.open(plan.folder), leftOut)
    const adminPort = await steadyPort()
    const server = await RestartableServer.start(plan, folder, {
      options: own.adminOptions(adminPort),
      ...(clock === null ? {} : { environment: await clock.environmentIn(plan.seen) }),
    })
    open.push(() => server.stop())
    server.onOwnEnd = (log) => {
      // Without disk space, the server would not start. The fault starts it again after freeing space.
      if (disk?.isFull === true) return
      say(`${log}\n${plan.name} is being restarted`)
      server.start().catch((error: unknown) => say(String(error)))
    }
    const admin = await prepared(`mysql://root@127.0.0.1:${adminPort}/${DATABASE}`, server.port)
    const access = await openAccess(admin.url)
    open.push(() => access.close())
    const deadlocks = new DeadlockCount([access], kind === 'mariadb')
    open.push(() => deadlocks.close())
    const rootUrl = `mysql://root@127.0.0.1:${server.port}/${DATABASE}`
    const workerUrl = workerUrlOf(`127.0.0.1:${server.port}`)
    const ways: OpenWay[] = []
    for (let index = 0; index < options.workers; index += 1) {
      const way = await openWay(new URL(workerUrl), [`127.0.0.1:${server.port}`])
      ways.push(way)
      open.push(() => way.close())
    }
    const process = {
      get pid() {
        return server.pid
      },
      async kill() {
        await deadlocks.look()
        await server.kill()
        await sweepSharedMemory(own.root)
      },
      async stop() {
        await deadlocks.look()
        await server.stop()
      },
      start: () => server.start(),
      signal: (signal: NodeJS.Signals) => server.signal(signal),
    }
    clock?.beginAt(options.beginAt)
    const faults: Fault[] = [
      ...networkFaults(ways, leaseMs),
      ...applicationFaults(leaseMs),
      ...serverProcessFaults(process, leaseMs),
      ...serverAdminFaults([{ name: 'database', admin, workerUrl }], kind),
      ...lockFaults(admin, {
        counted: () => deadlocks.look(),
        made: (count) => deadlocks.leaveOut(count),
        ofTables: true,
        leaseMs,
      }),
      ...(disk === null
        ? []
        : diskFaults(disk, {
            probe: () => writeMuch(workerUrl),
            revive: () => reviveServer(process, rootUrl),
          })),
      ...(clock === null ? [] : clockFaults(clock)),
    ]
    return {
      kind,
      name: await nameOf(access, plan.name),
      ways,
      environment: clock?.environment ?? {},
      query: access.query,
      transaction: access.transaction,
      deadlocks: () => deadlocks.unmade(),
      faults,
      leftOut,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

export function workerUrlOf(host: string): string {
  return `mysql://${WORKER.user}:${encodeURIComponent(WORKER.password)}@${host}/${DATABASE}`
}

export type LeftOutParts = { -readonly [Part in keyof LeftOut]: LeftOut[Part] }

/** Omits only the faults that need the missing part, and records the reason. */
export function orLeftOut<Thing>(
  part: keyof LeftOut,
  got: Thing | string,
  leftOut: LeftOutParts,
): Thing | null {
  if (typeof got !== 'string') return got
  say(`faults of ${part} are omitted: ${got}`)
  leftOut[part] = got
  return null
}

/** Creates the database and the workers' user, which has only the privileges of an application's user. */
export async function prepare(
  connect: () => Promise<mysql.Connection>,
  /** Additional privileges of the workers, such as `SELECT ON a.b`. */
  grants: readonly string[] = [],
): Promise<void> {
  const connection = await connect()
  try {
    await connection.query(`CREATE DATABASE ${DATABASE} CHARACTER SET utf8mb4`)
    await connection.query(`CREATE USER '${WORKER.user}'@'%' IDENTIFIED BY '${WORKER.password}'`)
    await connection.query(`CREATE TABLE ${DATABASE}.${PROBE_TABLE}`)
    for (const grant of [`ALL PRIVILEGES ON ${DATABASE}.*`, ...grants])
      await connection.query(`GRANT ${grant} TO '${WORKER.user}'@'%'`)
  } finally {
    connection.destroy()
  }
}

async function prepared(url: string, port: number): Promise<Admin> {
  await prepare(() => mysql.createConnection(`mysql://root@127.0.0.1:${port}`))
  const admin = new Admin(url)
  // Wait until the separate port responds, too.
  await admin.query('SELECT 1')
  return admin
}

async function nameOf(access: Access, make: string): Promise<string> {
  const [row] = await access.query('SELECT VERSION() AS version')
  return `${make} ${/^[\d.]+/.exec(String(row?.['version']))?.[0] ?? ''}`.trim()
}
