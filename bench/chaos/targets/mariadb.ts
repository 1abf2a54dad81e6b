/** A MariaDB server of our own. */
import { findMariadb, mariadbPlan } from '../../../test/support/servers-mariadb.ts'
import type { Target } from '../fault.ts'
import { openOwnServer, type TargetOptions } from './own-server.ts'

/**
 * For all that a run writes: after its clock has gone back, a server that has to make room, in its log or in memory,
 * waits for writes that no thread of it takes on until the clock is where it was.
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
