import { inject } from 'vitest'
import type { Target } from '../../bench/chaos/fault.ts'
import { missingFor, OWN } from '../../bench/chaos/targets/open.ts'
import { notTested } from '../support/not-tested.ts'
import { wantedDatabases } from '../support/servers.ts'

/**
 * Whether a private target is requested and can be opened on this machine. If it is requested but unavailable, the last
 * lines of the test run say so.
 */
export async function isAvailable(kind: Target['kind']): Promise<boolean> {
  const run = inject('testRun')
  const { database } = OWN[kind]
  if (!wantedDatabases(process.env).includes(database)) return false
  // If the global setup could not find the server, do not search again: that could install something.
  const missing = run.missing.find((server) => server.kind === database)?.missing ?? (await missingFor(kind))
  if (missing === null) return true
  notTested(run, `Chaos on ${kind}`, missing)
  return false
}
