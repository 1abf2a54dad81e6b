/** Three private MySQL servers in a replication group, with one primary or three. */
import { findHaproxy, startHaproxy } from '../../../test/support/haproxy.ts'
import { startGroup } from '../../../test/support/servers-group.ts'
import { findMysql, mysqlFolder } from '../../../test/support/servers-mysql.ts'
import { KeptFolder } from '../../../test/support/servers-restartable.ts'
import type { Target } from '../fault.ts'
import { groupFaults } from '../faults/group.ts'
import { serverAdminFaults, serverProcessFaults } from '../faults/server.ts'
import { Admin, PrimaryAdmin } from './admin.ts'
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
    const primary = new PrimaryAdmin(first, async () => (await group.primaries()).map(databaseUrl)[0])
    const proxies = orLeftOut('haproxy', await findHaproxy(), leftOut)
    const haproxy =
      proxies === null
        ? null
        : await startHaproxy(
            proxies,
            group.members.map(({ url }) => new URL(url).host),
          )
    if (haproxy !== null) open.push(() => haproxy.stop())
    const places = group.members.map((node) => ({
      name: node.name,
      admin: adminOf(node),
      workerUrl: workerUrl(node),
    }))
    // A secondary is read-only and must stay read-only.
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
        ...(haproxy === null ? {} : { front: `127.0.0.1:${haproxy.server.port}` }),
        lockAdmin: hasOnePrimary ? primary : new Admin(first, ...others),
        locksTables: false,
        clock,
        leftOut,
        faults: (leaseMs) => [
          ...groupFaults(group, { leaseMs, hasOnePrimary }),
          ...(haproxy === null
            ? []
            : serverProcessFaults(haproxy.server, leaseMs, { name: 'haproxy', hit: 'HAProxy' })),
          ...serverAdminFaults(places, 'mysql', writable),
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
