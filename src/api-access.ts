/** The parts of a Kalends that the REST API uses, on separate connections; and what only they and `Kalends` share. */
import type { Freezes } from './freezes.ts'
import { FULL_AUTHORITY } from './model/authority.ts'
import type { Finding } from './model/diagnosis.ts'
import { doctorFindings } from './model/doctor.ts'
import { schemaFindings } from './model/schema-drift.ts'
import type { ScopeOptions } from './options.ts'
import {
  type EveryOwnerOptions,
  everyOwnerAuthority,
  type Scope,
  scopeAuthority,
  type ScopeOf,
} from './scopes.ts'
import type { Store } from './store/store.ts'
import { workerStatuses } from './worker/worker-status.ts'

export type ApiAccess = Readonly<ReturnType<typeof apiAccess>>

export function apiAccess(
  store: Store,
  scopeOf: ScopeOf,
  freezesOf: (store: Store, scope: Scope) => Freezes,
  leaseMs: number,
) {
  const all = scopeOf(FULL_AUTHORITY, store)
  return {
    ...all,
    freezes: freezesOf(store, all),
    scope: (options: ScopeOptions) => scopeOf(scopeAuthority(options), store),
    /** The rows of every owner, for a caller that may not use every task. */
    everyOwner: (options: EveryOwnerOptions) => scopeOf(everyOwnerAuthority(options), store),
    workers: () => workerStatuses(store, leaseMs),
    doctor: () => diagnosed(store, leaseMs),
  }
}

export async function diagnosed({ inspection }: Store, leaseMs: number): Promise<Finding[]> {
  const drift = schemaFindings(await inspection.schemaDrift())
  // If tables are missing or differ, the other checks may not be able to read them.
  return drift.length > 0 ? drift : doctorFindings(await inspection.inspect(), leaseMs)
}
