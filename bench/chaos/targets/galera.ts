/** Three private Galera nodes. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findGalera, startGalera } from '../../../test/support/servers-galera.ts'
import { KeptFolder } from '../../../test/support/servers-restartable.ts'
import type { Target } from '../fault.ts'
import { clusterFaults } from '../faults/cluster.ts'
import { serverAdminFaults } from '../faults/server.ts'
import { Admin } from './admin.ts'
import { sweepSharedMemory, TargetClock } from './clock.ts'
import { adminOf, clusterTarget, databaseUrl, workerUrl } from './cluster.ts'
import { type LeftOutParts, orLeftOut, type TargetOptions } from './own-server.ts'

export async function openGalera(options: TargetOptions): Promise<Target> {
  const programs = await findGalera()
  if (typeof programs === 'string') throw new Error(programs)
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
    const [first = '', ...others] = cluster.nodes.map(databaseUrl)
    const target = await clusterTarget(
      {
        kind: 'galera',
        name: `MariaDB ${cluster.version}, three nodes`,
        isMariaDb: true,
        nodes: cluster.nodes,
        query: '',
        grants: [],
        lockAdmin: new Admin(first, ...others),
        locksTables: false,
        clock,
        leftOut,
        faults: (leaseMs) => [
          ...clusterFaults(cluster, adminOf, leaseMs),
          ...serverAdminFaults(
            cluster.nodes.map((node) => ({
              name: node.name,
              admin: adminOf(node),
              workerUrl: workerUrl(node),
            })),
            'mariadb',
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
