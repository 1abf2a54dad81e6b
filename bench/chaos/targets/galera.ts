/** Three Galera nodes of our own. Each worker has one that it tries first, and knows the others. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import mysql, { type RowDataPacket } from 'mysql2/promise'
import { findGalera, startGalera } from '../../../test/support/servers-galera.ts'
import { KeptFolder } from '../../../test/support/servers-restartable.ts'
import type { Target } from '../fault.ts'
import { clockFaults } from '../faults/clock.ts'
import { clusterFaults } from '../faults/cluster.ts'
import { lockFaults } from '../faults/locks.ts'
import { networkFaults } from '../faults/network.ts'
import { serverAdminFaults } from '../faults/server.ts'
import { type OpenWay, openWay } from '../proxy.ts'
import { openAccess } from './access.ts'
import { Admin } from './admin.ts'
import { sweepSharedMemory, TargetClock } from './clock.ts'
import { DeadlockCount } from './deadlock-count.ts'
import {
  DATABASE,
  LEASE_MS,
  type LeftOutParts,
  orLeftOut,
  prepare,
  type TargetOptions,
  workerUrlOf,
} from './own-server.ts'

export async function openGalera(options: TargetOptions): Promise<Target> {
  const programs = await findGalera()
  if (typeof programs === 'string') throw new Error(programs)
  const leaseMs = options.leaseMs ?? LEASE_MS
  const folder = await KeptFolder.keep(await mkdtemp(join(tmpdir(), 'kalends-clock-')))
  const open: (() => Promise<void>)[] = [() => folder.remove(), () => sweepSharedMemory()]
  const close = async () => {
    for (const each of open.splice(0).toReversed()) await each()
  }
  try {
    const leftOut: LeftOutParts = {}
    const clock = orLeftOut('clock', await TargetClock.open(folder.path), leftOut)
    const cluster = await startGalera(programs, { environment: clock?.environment ?? {} })
    open.push(() => cluster.stop())
    const hosts = cluster.nodes.map(({ url }) => new URL(url).host)
    await prepare(() => mysql.createConnection(cluster.nodes[0]?.url ?? ''))
    const [root = '', ...roots] = hosts.map((host) => `mysql://root@${host}/${DATABASE}`)
    const access = await openAccess(`mysql://root@${hosts.join(',')}/${DATABASE}`)
    open.push(() => access.close())
    const deadlocks = new DeadlockCount(
      [root, ...roots].map((url) => ({ query: (text) => once(url, text) })),
      true,
    )
    open.push(() => deadlocks.close())
    const ways: OpenWay[] = []
    for (let index = 0; index < options.workers; index += 1) {
      const first = index % hosts.length
      const way = await openWay(new URL(workerUrlOf('127.0.0.1')), [
        ...hosts.slice(first),
        ...hosts.slice(0, first),
      ])
      ways.push(way)
      open.push(() => way.close())
    }
    const everywhere = new Admin(root, ...roots)
    clock?.beginAt(options.beginAt)
    return {
      kind: 'galera',
      name: `MariaDB ${cluster.version}, three nodes`,
      ways,
      environment: clock?.environment ?? {},
      query: access.query,
      transaction: access.transaction,
      deadlocks: () => deadlocks.unmade(),
      faults: [
        ...networkFaults(ways, leaseMs),
        ...clusterFaults(cluster, adminOf, leaseMs),
        ...serverAdminFaults(
          cluster.nodes.map((node, index) => ({
            name: node.name,
            admin: adminOf(node),
            workerUrl: workerUrlOf(hosts[index] ?? ''),
          })),
          'mariadb',
        ),
        ...lockFaults(everywhere, {
          counted: () => deadlocks.look(),
          made: (count) => deadlocks.leaveOut(count),
          ofTables: false,
        }),
        ...(clock === null ? [] : clockFaults(clock)),
      ],
      leftOut,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

function adminOf({ url }: { readonly url: string }): Admin {
  return new Admin(`${url}/${DATABASE}`)
}

/** Of a node that may be down: it is not waited for. */
async function once(url: string, text: string): Promise<RowDataPacket[]> {
  const connection = await mysql.createConnection({ uri: url, connectTimeout: 1000 })
  connection.on('error', () => {})
  try {
    const [rows] = await connection.query<RowDataPacket[]>({ sql: text, timeout: 2000 })
    return rows
  } finally {
    connection.destroy()
  }
}
