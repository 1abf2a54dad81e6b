/**
 * Several private servers that form one database. Each worker tries a different server first, and knows the others,
 * unless it uses a proxy in front of them.
 */
import mysql, { type RowDataPacket } from 'mysql2/promise'
import type { Fault, Target } from '../fault.ts'
import { clockFaults } from '../faults/clock.ts'
import { lockFaults } from '../faults/locks.ts'
import { networkFaults } from '../faults/network.ts'
import { type OpenWay, openWay } from '../proxy.ts'
import { openAccess } from './access.ts'
import { Admin } from './admin.ts'
import type { TargetClock } from './clock.ts'
import { DeadlockCount } from './deadlock-count.ts'
import {
  DATABASE,
  LEASE_MS,
  type LeftOutParts,
  prepare,
  type TargetOptions,
  workerUrlOf,
} from './own-server.ts'

export interface ClusterNode {
  readonly name: string
  /** `mysql://root@127.0.0.1:port`; the port stays the same while the node is down. */
  readonly url: string
}

export interface ClusterParts {
  readonly kind: Target['kind']
  readonly name: string
  readonly isMariaDb: boolean
  /** The first server accepts writes when the target is opened. */
  readonly nodes: readonly ClusterNode[]
  /** The query part of the URL that lists all nodes, such as `?group=…`. */
  readonly query: string
  /** Additional privileges of the workers, such as `SELECT ON a.b`. */
  readonly grants: readonly string[]
  /** A proxy in front of the nodes, such as `127.0.0.1:3306`. Every second worker uses only this proxy. */
  readonly front?: string
  /** The administrator that faults use to lock rows and tables. */
  readonly lockAdmin: Admin
  /** Whether tables can be locked. */
  readonly locksTables: boolean
  readonly clock: TargetClock | null
  readonly leftOut: LeftOutParts
  readonly faults: (leaseMs: number) => readonly Fault[]
}

/**
 * @param open  collects functions that close the resources, to be called in reverse order, even if this function fails
 */
export async function clusterTarget(
  parts: ClusterParts,
  options: TargetOptions,
  open: (() => Promise<void>)[],
): Promise<Omit<Target, 'close'>> {
  const { kind, name, nodes, clock, leftOut, query } = parts
  const leaseMs = options.leaseMs ?? LEASE_MS
  const hosts = nodes.map(({ url }) => new URL(url).host)
  await prepare(() => mysql.createConnection(nodes[0]?.url ?? ''), parts.grants)
  const access = await openAccess(`mysql://root@${hosts.join(',')}/${DATABASE}${query}`)
  open.push(() => access.close())
  const deadlocks = new DeadlockCount(
    nodes.map((node) => ({ query: (text) => once(databaseUrl(node), text) })),
    parts.isMariaDb,
  )
  open.push(() => deadlocks.close())
  const ways: OpenWay[] = []
  for (let index = 0; index < options.workers; index += 1) {
    const first = index % hosts.length
    const way = await openWay(
      new URL(`${workerUrlOf('127.0.0.1')}${query}`),
      parts.front !== undefined && index % 2 === 1
        ? [parts.front]
        : [...hosts.slice(first), ...hosts.slice(0, first)],
    )
    ways.push(way)
    open.push(() => way.close())
  }
  clock?.beginAt(options.beginAt)
  return {
    kind,
    name,
    ways,
    environment: clock?.environment ?? {},
    query: access.query,
    transaction: access.transaction,
    deadlocks: () => deadlocks.unmade(),
    faults: [
      ...networkFaults(ways, leaseMs),
      ...parts.faults(leaseMs),
      ...lockFaults(parts.lockAdmin, {
        counted: () => deadlocks.look(),
        made: (count) => deadlocks.leaveOut(count),
        ofTables: parts.locksTables,
        leaseMs,
      }),
      ...(clock === null ? [] : clockFaults(clock)),
    ],
    leftOut,
  }
}

export function databaseUrl({ url }: ClusterNode): string {
  return `${url}/${DATABASE}`
}

export function adminOf(node: ClusterNode): Admin {
  return new Admin(databaseUrl(node))
}

/** A URL that bypasses all proxies, with the workers' user. */
export function workerUrl({ url }: ClusterNode): string {
  return workerUrlOf(new URL(url).host)
}

/** Executes a statement without retries or a long wait, because the node may be down. */
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
