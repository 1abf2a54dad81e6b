/** Everything that a Kalends can do on one set of its connections: those for calls or those for the REST API. */
import { freezes } from './freezes.ts'
import type { Lifecycle } from './lifecycle.ts'
import { FULL_AUTHORITY } from './model/authority.ts'
import type { Finding } from './model/diagnosis.ts'
import { doctorFindings } from './model/doctor.ts'
import { schemaFindings } from './model/schema-drift.ts'
import type { CheckedOptions, ScopeOptions } from './options.ts'
import { type EveryOwnerOptions, everyOwnerAuthority, scopeAuthority, type ScopeOf } from './scopes.ts'
import type { Store } from './store/store.ts'
import { workerStatuses } from './worker/worker-status.ts'

export type Access = Readonly<ReturnType<typeof accessTo>>

export function accessTo(
  store: Store,
  scopeOf: ScopeOf,
  lifecycle: Lifecycle,
  { now, leaseMs }: Pick<CheckedOptions, 'now' | 'leaseMs'>,
) {
  const all = scopeOf(FULL_AUTHORITY, store)
  return {
    ...all,
    freezes: freezes(store.freezes, all, now, () => lifecycle.wake()),
    scope: (options: ScopeOptions) => scopeOf(scopeAuthority(options), store),
    everyOwner: (options: EveryOwnerOptions) => scopeOf(everyOwnerAuthority(options), store),
    workers: () => workerStatuses(store, leaseMs),
    doctor: () => diagnosed(store, leaseMs),
  }
}

export async function diagnosed({ inspection }: Store, leaseMs: number): Promise<Finding[]> {
  const drift = schemaFindings(await inspection.schemaDrift())
  // The other checks may be unable to read tables that are missing or have an unexpected structure.
  return drift.length > 0 ? drift : doctorFindings(await inspection.inspect(), leaseMs)
}
