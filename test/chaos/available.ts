import { inject } from 'vitest'
import type { Target } from '../../bench/chaos/fault.ts'
import { missingFor } from '../../bench/chaos/targets/open.ts'
import { databaseNames } from '../support/databases-run.ts'
import { notTested } from '../support/not-tested.ts'
import { wantedDatabases } from '../support/servers.ts'

/** What each target is made of. */
const SERVER_OF = {
  sqlite: 'sqlite',
  mariadb: 'mariadb',
  mysql: 'mysql',
  galera: 'mariadb',
  group: 'mysql',
  'group-multi': 'mysql',
} as const
const NAMES: Readonly<Record<Target['kind'], string>> = {
  ...databaseNames,
  galera: 'Galera',
  group: 'Group Replication',
  'group-multi': 'Group Replication with several primaries',
}

/** Whether a target of our own can be opened here; where it is wanted and cannot, the last lines of the run say so. */
export async function isAvailable(kind: Target['kind']): Promise<boolean> {
  const run = inject('testRun')
  const database = SERVER_OF[kind]
  if (!wantedDatabases(process.env).includes(database)) return false
  // What the global setup could not get is not looked for again: that could install something.
  const missing = run.missing.find((server) => server.kind === database)?.missing ?? (await missingFor(kind))
  if (missing === null) return true
  notTested(run, `Chaos on ${NAMES[kind]}`, missing)
  return false
}
