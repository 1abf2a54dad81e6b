/** A private MySQL server. */
import { findMysql, mysqlPlan } from '../../../test/support/servers-mysql.ts'
import type { Target } from '../fault.ts'
import { openOwnServer, type TargetOptions } from './own-server.ts'

export async function openMysql(options: TargetOptions): Promise<Target> {
  const program = await findMysql(process.env)
  if (typeof program === 'string') throw new Error(program)
  return await openOwnServer(
    {
      kind: 'mysql',
      plan: await mysqlPlan(program),
      ...(program.root === null ? {} : { root: program.root }),
      adminOptions: (port) => [
        '--admin-address=127.0.0.1',
        `--admin-port=${port}`,
        '--create-admin-listener-thread=ON',
      ],
    },
    options,
  )
}
