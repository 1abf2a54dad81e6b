/** A private MySQL source and its semi-synchronous replica. The two can swap roles. */
import { findMysql, mysqlFolder } from '../../../test/support/servers-mysql.ts'
import { ReplicationPair } from '../../../test/support/servers-replica.ts'
import { KeptFolder } from '../../../test/support/servers-restartable.ts'
import type { Target } from '../fault.ts'
import { replicaFaults } from '../faults/replica.ts'
import { type ServerProcess, serverAdminFaults, serverProcessFaults } from '../faults/server.ts'
import { PrimaryAdmin } from './admin.ts'
import { sweepSharedMemory, TargetClock } from './clock.ts'
import { adminOf, clusterTarget, databaseUrl, workerUrl } from './cluster.ts'
import { type LeftOutParts, orLeftOut, type TargetOptions } from './own-server.ts'

export async function openReplica(options: TargetOptions): Promise<Target> {
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
    const pair = await ReplicationPair.start(program, {
      semiSynchronous: true,
      environment: (await clock?.environmentIn(seen)) ?? {},
    })
    open.push(() => pair.stop())
    const source = new PrimaryAdmin(databaseUrl(pair.source), async () => databaseUrl(pair.source))
    const target = await clusterTarget(
      {
        kind: 'replica',
        name: `MySQL ${pair.version}, source and replica`,
        isMariaDb: false,
        nodes: pair.servers,
        query: '',
        grants: [],
        lockAdmin: source,
        locksTables: true,
        clock,
        leftOut,
        faults: (leaseMs) => [
          ...replicaFaults(pair, leaseMs),
          ...serverProcessFaults(processOf(pair, 'source'), leaseMs),
          ...serverProcessFaults(processOf(pair, 'replica'), leaseMs, {
            name: 'replica',
            hit: 'the replica',
          }),
          ...serverAdminFaults(
            pair.servers.map((server) => ({
              name: server.name,
              admin: adminOf(server),
              workerUrl: workerUrl(server),
            })),
            'mysql',
            [{ name: 'the source', admin: source, workerUrl: workerUrl(pair.source) }],
          ),
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

/** The server with this role. Starting it restores both servers to their roles. */
function processOf(pair: ReplicationPair, role: 'source' | 'replica'): ServerProcess {
  return {
    get pid() {
      return pair[role].pid
    },
    kill: () => pair[role].kill(),
    stop: () => pair[role].stop(),
    start: () => pair.heal(),
    signal: (signal) => pair[role].signal(signal),
  }
}
