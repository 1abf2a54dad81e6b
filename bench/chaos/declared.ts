/**
 * The set of schedules that the workers declare, in two versions of the code: some are the same in both versions, one
 * has a different timer, one exists only in the old version, and one only in the new version.
 */

export const FLEET_SET = 'fleet'

export type Version = 'old' | 'new'

/** A declaration in the form that `kalends.declare` accepts, except that the task is given by name. */
export interface FleetDeclaration {
  readonly id: string
  readonly task: string
  readonly timer: string
  readonly overlap?: 'skip' | 'queue-one' | 'replace' | 'allow'
  readonly catchUp?: number
  readonly retries?: number
  readonly retryDelay?: string
}

const quick = { retries: 10, retryDelay: '500ms' } as const

const same: readonly FleetDeclaration[] = [
  { id: 'fleet-same-second', task: 'tick', timer: '*:*:*', overlap: 'allow', catchUp: 120, ...quick },
  { id: 'fleet-same-every', task: 'tick', timer: 'every 2s', overlap: 'allow', catchUp: 120, ...quick },
  { id: 'fleet-same-slow', task: 'slow', timer: '*:*:0/2', overlap: 'queue-one', ...quick },
]

export const fleetDeclarations: Readonly<Record<Version, readonly FleetDeclaration[]>> = {
  old: [
    ...same,
    { id: 'fleet-changed', task: 'tick', timer: '*:*:0/2', catchUp: 5, overlap: 'allow', ...quick },
    { id: 'fleet-old', task: 'tick', timer: '*:*:0/3', catchUp: 5, overlap: 'allow', ...quick },
  ],
  new: [
    ...same,
    { id: 'fleet-changed', task: 'tick', timer: '*:*:1/4', catchUp: 5, overlap: 'allow', ...quick },
    { id: 'fleet-new', task: 'tick', timer: 'every 3s', catchUp: 5, overlap: 'allow', ...quick },
  ],
}
