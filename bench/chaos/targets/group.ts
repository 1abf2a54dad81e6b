/** Three MySQL servers of our own in a replication group, with one primary or with three. */
import type { Connection } from 'mysql2/promise'
import mysql from 'mysql2/promise'
import { setTimeout as delay } from 'node:timers/promises'
import { type ReplicationGroup, startGroup } from '../../../test/support/servers-group.ts'
import { findMysql, mysqlFolder } from '../../../test/support/servers-mysql.ts'
import { KeptFolder } from '../../../test/support/servers-restartable.ts'
import type { Fault, Target } from '../fault.ts'
import { groupFaults } from '../faults/group.ts'
import { serverAdminFaults } from '../faults/server.ts'
import { Admin } from './admin.ts'
import { sweepSharedMemory, TargetClock } from './clock.ts'
import { adminOf, clusterTarget, databaseUrl, workerUrl } from './cluster.ts'
import { type LeftOutParts, orLeftOut, type TargetOptions } from './own-server.ts'

export async function openGroup(options: TargetOptions): Promise<Target> {
  return await openInMode('group', options)
}

export async function openGroupMulti(options: TargetOptions): Promise<Target> {
  return await openInMode('group-multi', options)
}

async function openInMode(kind: 'group' | 'group-multi', options: TargetOptions): Promise<Target> {
  const program = await findMysql(process.env)
  if (typeof program === 'string') throw new Error(program)
  const { folder, seen } = await mysqlFolder(program, 'kalends-clock-')
  const kept = await KeptFolder.keep(folder)
  const open: (() => Promise<void>)[] = [
    () => kept.remove(),
    () => sweepSharedMemory(program.root ?? undefined),
  ]
  const close = async () => {
    for (const each of open.splice(0).toReversed()) await each()
  }
  try {
    const leftOut: LeftOutParts = {}
    const clock = orLeftOut('clock', await TargetClock.open(folder), leftOut)
    const hasOnePrimary = kind === 'group'
    const group = await startGroup(program, {
      mode: hasOnePrimary ? 'single-primary' : 'multi-primary',
      environment: (await clock?.environmentIn(seen)) ?? {},
    })
    open.push(() => group.stop())
    const [first = '', ...others] = group.members.map(databaseUrl)
    const primary = new PrimaryAdmin(first, group)
    const places = group.members.map((node) => ({
      name: node.name,
      admin: adminOf(node),
      workerUrl: workerUrl(node),
    }))
    // A secondary is read-only, and must stay so.
    const writable = hasOnePrimary
      ? [{ name: 'the primary', admin: primary, workerUrl: workerUrl({ name: '', url: first }) }]
      : places
    const target = await clusterTarget(
      {
        kind,
        name: `MySQL ${group.version}, group of three, ${hasOnePrimary ? 'one primary' : 'all primaries'}`,
        isMariaDb: false,
        nodes: group.members,
        query: `?group=${group.name}`,
        grants: ['SELECT ON performance_schema.replication_group_members'],
        lockAdmin: hasOnePrimary ? primary : new Admin(first, ...others),
        clock,
        leftOut,
        faults: (leaseMs) => [
          ...groupFaults(group, { leaseMs, hasOnePrimary }),
          ...serverAdminFaults(writable, 'mysql').filter(isReadOnly),
          ...serverAdminFaults(places, 'mysql').filter((fault) => !isReadOnly(fault)),
        ],
      },
      options,
      open,
    )
    return { ...target, close }
  } catch (error) {
    await close()
    throw error
  }
}

function isReadOnly({ name }: Fault): boolean {
  return name === 'server.read-only'
}

const PATIENCE_MS = 60_000
const AGAIN_MS = 100

/** An administrator who works on the primary, whichever member it is. */
class PrimaryAdmin extends Admin {
  readonly #group: ReplicationGroup

  constructor(url: string, group: ReplicationGroup) {
    super(url)
    this.#group = group
  }

  override onOneNode(): Admin {
    return new PrimaryAdmin(this.url, this.#group)
  }

  override async connect(patienceMs = PATIENCE_MS): Promise<Connection> {
    const deadline = performance.now() + patienceMs
    for (;;) {
      const [primary] = await this.#group.primaries()
      try {
        if (primary === undefined) throw new Error('the group has no primary')
        const connection = await mysql.createConnection({ uri: databaseUrl(primary), connectTimeout: 3000 })
        // One that a fault has cut is seen by its next statement.
        connection.on('error', () => {})
        return connection
      } catch (error) {
        if (performance.now() > deadline) throw error
        await delay(AGAIN_MS)
      }
    }
  }
}
