/** What a beat of the heart asks of the database, and when. */
import { afterEach, expect, it, vi } from 'vitest'
import { Lease } from '../../src/executor/lease.ts'
import type { SweepExtent } from '../../src/store/scheduling-store.ts'
import type { WorkerStore } from '../../src/store/worker-store.ts'

const LEASE_MS = 60_000
const BEATS_PER_LEASE = 5

afterEach(() => void vi.restoreAllMocks())

/** A worker alone, whose sweeps take so long and find orphans or not. */
function alone({ sweepMs = 0, orphans = false } = {}) {
  const asked: string[] = []
  const healed: string[] = []
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const ask = <Answer>(what: string, answer: Answer): Promise<Answer> => {
    asked.push(what)
    return Promise.resolve(answer)
  }
  const workers: WorkerStore = {
    register: () => ask('register', undefined),
    heartbeat: () => ask('heartbeat', true),
    list: () => ask('list', []),
    running: () => ask('running', new Map()),
    bury: () => ask('bury', true),
    unregister: () => ask('unregister', undefined),
  }
  const lease = new Lease({
    workers,
    executing: {
      orphans: () => ask('orphans', []),
      settle: () => Promise.reject(new Error('nothing to settle')),
    },
    scheduling: {
      clearStaleMarks: () => ask('stale marks', 0),
      sweep: (_worker: string, _leaseMs: number, extent: SweepExtent) => {
        now += extent === 'everything' ? sweepMs : 0
        return ask(`sweep: ${extent}`, { healed: ['a mark'], orphans })
      },
    },
    name: 'w',
    tasks: () => [],
    sets: {},
    leaseMs: LEASE_MS,
    onLost: () => {},
    onTakenOver: () => {},
    onRegistered: () => {},
    onDead: () => {},
    onHealed: (text) => void healed.push(text),
    onError: (error) => {
      throw error
    },
  })
  /** What a lease asks for beside heartbeats and the workers there are. */
  const oneLease = async () => {
    asked.length = 0
    for (let beat = 0; beat < BEATS_PER_LEASE; beat += 1) {
      now += LEASE_MS / BEATS_PER_LEASE
      await lease.beat()
    }
    expect(asked.filter((what) => what === 'heartbeat' || what === 'list')).toHaveLength(2 * BEATS_PER_LEASE)
    return asked.filter((what) => what !== 'heartbeat' && what !== 'list')
  }
  return { lease, oneLease, healed }
}

it('a lease is a few heartbeats, and one sweep of everything', async () => {
  const { lease, oneLease, healed } = alone()
  await lease.beat()
  for (let leases = 1; leases <= 7; leases += 1) {
    expect(await oneLease()).toEqual(['sweep: everything'])
    expect(healed).toHaveLength(leases + 1)
  }
})

it('while it takes long to sweep everything, four of five sweeps find only what workers have left', async () => {
  const { lease, oneLease } = alone({ sweepMs: 5000 })
  await lease.beat()
  for (let round = 0; round < 3; round += 1) {
    for (let quick = 0; quick < 4; quick += 1) expect(await oneLease()).toEqual(['sweep: left by workers'])
    expect(await oneLease()).toEqual(['sweep: everything'])
  }
})

it('where a sweep says that there are orphans, they are settled in the same beat', async () => {
  const { lease, oneLease } = alone({ orphans: true })
  await lease.beat()
  expect(await oneLease()).toEqual(['sweep: everything', 'orphans'])
})
