/** A private MariaDB server. */
import { findMariadb, mariadbPlan } from '../../../test/support/servers-mariadb.ts'
import type { Target } from '../fault.ts'
import { openOwnServer, type TargetOptions } from './own-server.ts'

/**
 * Enough space for everything that a run writes. After its clock has gone back, a server that has to free space in its
 * log or in memory waits for writes that no thread performs until the clock has caught up.
 */
const ROOM = ['--innodb-log-file-size=1G', '--innodb-buffer-pool-size=512M']

export async function openMariadb(options: TargetOptions): Promise<Target> {
  const programs = await findMariadb()
  if (typeof programs === 'string') throw new Error(programs)
  return await openOwnServer(
    {
      kind: 'mariadb',
      plan: await mariadbPlan(programs),
      adminOptions: (port) => [`--extra-port=${port}`, '--extra-max-connections=50', ...ROOM],
    },
    options,
  )
}
