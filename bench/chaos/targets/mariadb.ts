/** A MariaDB server of our own. */
import { findMariadb, mariadbPlan } from '../../../test/support/servers-mariadb.ts'
import type { Target } from '../fault.ts'
import { openOwnServer, type TargetOptions } from './own-server.ts'

export async function openMariadb(options: TargetOptions): Promise<Target> {
  const programs = await findMariadb()
  if (typeof programs === 'string') throw new Error(programs)
  return await openOwnServer(
    {
      kind: 'mariadb',
      plan: await mariadbPlan(programs),
      adminOptions: (port) => [
        `--extra-port=${port}`,
        '--extra-max-connections=50',
        // Stopped and let go on, a server under load waited for ever for writes that io_uring had not ended.
        '--skip-innodb-use-native-aio',
      ],
    },
    options,
  )
}
