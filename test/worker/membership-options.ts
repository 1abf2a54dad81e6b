import type { MembershipOptions } from '../../src/worker/membership.ts'

const nothing = () => {}

/** The options of a worker without tasks, on a database with no other workers and no work. */
export const LONELY: Omit<MembershipOptions, 'monotonicNow' | 'leaseMs'> = {
  workers: {
    canBeCutOff: true,
    register: () => Promise.resolve(),
    heartbeat: () => Promise.resolve('written'),
    list: () => Promise.resolve({ workers: [], lowestVersion: null }),
    running: () => Promise.resolve(new Map()),
    evict: () => Promise.resolve('evicted'),
    unregister: () => Promise.resolve(),
  },
  executing: {
    orphans: () => Promise.resolve([]),
    settle: () => Promise.reject(new Error('nothing to settle')),
  },
  scheduling: {
    clearStaleMarks: () => Promise.resolve(0),
    sweep: () => Promise.resolve({ repaired: [], orphans: false }),
    furthest: () => Promise.resolve({ schedules: [], now: new Date(0) }),
  },
  name: 'w',
  tasks: () => [],
  sets: {},
  version: '0.1.0',
  onLost: nothing,
  onCutOff: nothing,
  onSettled: nothing,
  onRegistered: nothing,
  onDead: nothing,
  onTwin: nothing,
  onRepaired: nothing,
  onError: (error) => {
    throw error
  },
}
