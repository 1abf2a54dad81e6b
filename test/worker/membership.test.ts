/** Heartbeats, evictions and takeovers: when a worker sends which queries, and when it gives up its jobs. */
import { hostname } from 'node:os'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { CutOff } from '../../src/worker/cut-off.ts'
import { Membership, type MembershipOptions } from '../../src/worker/membership.ts'
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import type { UnsettledAttempt, SettledAttempt } from '../../src/store/executing-store.ts'
import type { SchedulingStore, SweepExtent } from '../../src/store/scheduling-store.ts'
import type { Heartbeat, WorkerRecord, WorkerStore } from '../../src/store/worker-store.ts'
import { schedule } from '../model/plannable.ts'
import { LONELY } from './membership-options.ts'

const LEASE_MS = 60_000
const BEATS_PER_LEASE = 5
const BEAT_MS = LEASE_MS / BEATS_PER_LEASE
/** Other workers may evict a worker this long after its last heartbeat: three beats, less a small tolerance. */
const DEAD_AFTER_MS = 3 * BEAT_MS * 0.99
/** The queries of each beat. */
const BEAT: ReadonlySet<string> = new Set(['heartbeat', 'list'])

interface Scene extends Partial<Pick<MembershipOptions, 'executing' | 'onError' | 'onDead' | 'onTwin'>> {
  /** The duration of a full sweep. */
  readonly sweepMs?: number
  /** Whether sweeps find orphans. */
  readonly orphans?: boolean
  readonly furthest?: SchedulingStore['furthest']
  readonly others?: readonly WorkerRecord[]
  readonly evict?: WorkerStore['evict']
}

/** A worker whose clock the test advances. */
function alone({
  sweepMs = 0,
  orphans = false,
  furthest = LONELY.scheduling.furthest,
  others = [],
  evict = () => Promise.resolve('evicted'),
  ...options
}: Scene = {}) {
  const asked: string[] = []
  const repaired: string[] = []
  let now = 0
  const ask = <Answer>(what: string, answer: Answer): Promise<Answer> => {
    asked.push(what)
    return Promise.resolve(answer)
  }
  const workers: WorkerStore = {
    canBeCutOff: true,
    register: () => ask('register', undefined),
    heartbeat: () => ask('heartbeat', 'written'),
    list: () => ask('list', { workers: others, lowestVersion: null }),
    running: () => ask('running', new Map()),
    evict: (...of) => {
      asked.push('evict')
      return evict(...of)
    },
    unregister: () => ask('unregister', undefined),
  }
  const membership = new Membership({
    ...LONELY,
    workers,
    executing: {
      orphans: () => ask('orphans', []),
      settle: () => Promise.reject(new Error('nothing to settle')),
    },
    scheduling: {
      clearStaleMarks: () => ask('stale marks', 0),
      sweep: (_worker: string, _leaseMs: number, extent: SweepExtent) => {
        now += extent === 'everything' ? sweepMs : 0
        return ask(`sweep: ${extent}`, { repaired: ['a mark'], orphans })
      },
      furthest,
    },
    leaseMs: LEASE_MS,
    monotonicNow: () => now,
    onRepaired: (text) => void repaired.push(text),
    ...options,
  })
  const beat = async () => {
    await membership.beat()
    await membership.takeOver.pass()
  }
  /** Runs the worker for one lease, and returns its queries except those of each beat. */
  const oneLease = async () => {
    asked.length = 0
    for (let beats = 0; beats < BEATS_PER_LEASE; beats += 1) {
      now += LEASE_MS / BEATS_PER_LEASE
      await beat()
    }
    expect(asked.filter((what) => BEAT.has(what))).toHaveLength(BEAT.size * BEATS_PER_LEASE)
    return asked.filter((what) => !BEAT.has(what))
  }
  const pass = (ms: number) => void (now += ms)
  return { membership, beat, oneLease, repaired, asked, pass }
}

it('in each lease, a worker sends five heartbeats and runs one full sweep', async () => {
  const { beat, oneLease, repaired } = alone()
  await beat()
  for (let leases = 1; leases <= 7; leases += 1) {
    expect(await oneLease()).toEqual(['sweep: everything'])
    expect(repaired).toHaveLength(leases + 1)
  }
})

it('if full sweeps are slow, only every fifth sweep is a full one', async () => {
  const { beat, oneLease } = alone({ sweepMs: 5000 })
  await beat()
  for (let round = 0; round < 3; round += 1) {
    for (let quick = 0; quick < 4; quick += 1) expect(await oneLease()).toEqual(['sweep: left by workers'])
    expect(await oneLease()).toEqual(['sweep: everything'])
  }
})

it('a full sweep finds schedules whose slots only a wrong clock can explain, and forgets repaired schedules', async () => {
  const asked: number[] = []
  const lastSlot = new Date('2098-01-01')
  let isRepaired = false
  const { membership, beat, oneLease } = alone({
    furthest: (most) => {
      asked.push(most)
      const schedules = ['a', 'b'].map((id) =>
        schedule({ id, timer: 'yearly', lastSlot: isRepaired || id === 'b' ? null : lastSlot }),
      )
      return Promise.resolve({ schedules, now: new Date('2026-03-01') })
    },
  })
  expect(membership.takeOver.slotsInFuture()).toEqual([])
  await beat()
  expect(membership.takeOver.slotsInFuture()).toEqual(['a'])
  isRepaired = true
  expect(await oneLease()).toEqual(['sweep: everything'])
  expect(membership.takeOver.slotsInFuture()).toEqual([])
  expect(asked).toEqual([100, 100])
})

it('orphans from a sweep are settled in the same pass', async () => {
  const { beat, oneLease } = alone({ orphans: true })
  await beat()
  expect(await oneLease()).toEqual(['sweep: everything', 'orphans'])
})

it('an orphan whose outcome the database rejects does not block other orphans', async () => {
  const taken: string[] = []
  const rejected: string[] = []
  const orphan = (id: string): UnsettledAttempt => ({
    fence: { id, worker: 'dead/1', claim: 1 },
    end: { kind: 'lost', error: 'gone' },
    policy: DEFAULT_POLICY,
  })
  // More rejected orphans than fit into one batch, followed by a valid orphan.
  const bad = Array.from({ length: 250 }, (_, number) => `bad${number}`)
  let orphans = ['a', ...bad, 'c'].map(orphan)
  const errors: string[] = []
  const { beat, pass } = alone({
    orphans: true,
    executing: {
      orphans: (limit) => Promise.resolve(orphans.slice(0, limit)),
      settle: (attempts) => {
        orphans = orphans.filter((one) => !attempts.includes(one))
        const isBad = ({ fence }: UnsettledAttempt) => fence.id.startsWith('bad')
        const good = attempts.filter((one) => !isBad(one))
        taken.push(...good.map(({ fence }) => fence.id))
        rejected.push(...attempts.filter(isBad).map(({ fence }) => fence.id))
        const refused = attempts.filter(isBad).map((item) => ({ item, error: new Error('CHECK') }))
        return Promise.resolve({ settled: good.map(settledAs), lost: [], locked: [], refused })
      },
    },
    onError: (error) => void errors.push(String(error)),
  })
  const takeOver = async () => {
    do {
      errors.length = 0
      pass(BEAT_MS)
      await beat()
    } while (errors.length > 0)
  }
  await takeOver()
  expect(taken).toEqual(['a', 'c'])
  expect(rejected).toEqual(bad)
})

it('another worker handles a task as of the last heartbeat', async () => {
  const { membership, beat } = alone({ others: [{ ...SILENT, tasks: ['mail'] }] })
  expect(membership.othersHandle('mail')).toBe(false)
  await beat()
  expect(['mail', 'import'].map((task) => membership.othersHandle(task))).toEqual([true, false])
})

/** A worker whose heartbeat never changes. */
const SILENT: WorkerRecord = {
  id: 'silent/1',
  name: 'silent',
  host: 'h',
  pid: 1,
  tasks: [],
  sets: {},
  startedAt: new Date(0),
  heartbeatAt: new Date(1000),
}

const settledAs = ({ fence: { id } }: UnsettledAttempt): SettledAttempt => ({
  id,
  task: 't',
  scheduleId: null,
  attempt: 1,
  outcome: { state: 'waiting', delayMs: 0, why: 'failed', error: 'gone' },
  startedAt: new Date(0),
  endedAt: new Date(0),
  promoted: null,
})

describe("a worker's own delays never make it consider other workers dead", () => {
  it('after a heartbeat, the worker has an id only until others may evict it', async () => {
    const { membership, pass } = alone()
    expect(membership.id()).toBeNull()
    await membership.beat()
    const id = membership.id()
    expect(id).toMatch(/^w\//)
    pass(DEAD_AFTER_MS - 1)
    expect(membership.id()).toBe(id)
    pass(1)
    // From this time, other workers may consider this worker dead.
    expect(membership.id()).toBeNull()
    await membership.beat()
    expect(membership.id()).toBe(id)
  })

  it('the worker does not evict another worker before that worker has given up its jobs', async () => {
    const { membership, pass, asked } = alone({ others: [SILENT] })
    // The worker observes the other worker's last heartbeat the moment it is sent.
    await membership.beat()
    for (const ms of [BEAT_MS, BEAT_MS, DEAD_AFTER_MS - 2 * BEAT_MS - 1]) {
      pass(ms)
      await membership.beat()
    }
    expect(asked).not.toContain('evict')
    pass(1)
    await membership.beat()
    expect(asked).toContain('evict')
  })

  it('the worker ignores observations made before its own stall', async () => {
    const { membership, pass, asked } = alone({ others: [SILENT] })
    const evicted = () => asked.filter((what) => what === 'evict').length
    await membership.beat()
    pass(BEAT_MS)
    await membership.beat()
    // Both workers have stalled, so the other one may be about to continue.
    pass(10 * LEASE_MS)
    await membership.beat()
    expect(evicted()).toBe(0)
    pass(BEAT_MS)
    await membership.beat()
    pass(BEAT_MS)
    await membership.beat()
    expect(evicted()).toBe(0)
    // Three beats after the first observation since the stall, the other worker counts as dead.
    pass(BEAT_MS)
    await membership.beat()
    expect(evicted()).toBe(1)
  })

  it('a dead worker with a locked row does not prevent the eviction of others, and is reported until evicted [L76]', async () => {
    const isLocked = new Set(['locked/1'])
    const dead: string[] = []
    const others = ['locked/1', 'dead/1'].map((id) => ({ ...SILENT, id }))
    const { membership, pass } = alone({
      others,
      evict: (id) => Promise.resolve(isLocked.has(id) ? 'locked' : 'evicted'),
      onDead: (id) => void dead.push(id),
    })
    const beat = async () => {
      await membership.beat()
      pass(BEAT_MS)
    }
    for (let beats = 0; beats < 4; beats += 1) await beat()
    expect(dead).toEqual(['dead/1'])
    // The locked worker is not reported at once, because a third worker may be evicting it right now.
    expect(membership.vitals().lockedWorkers).toEqual([])
    await beat()
    expect(membership.vitals().lockedWorkers).toEqual(['locked/1'])
    isLocked.clear()
    await beat()
    expect(dead).toContain('locked/1')
    expect(membership.vitals().lockedWorkers).toEqual([])
  })
})

it('an eviction triggers the take-over, and no heartbeat waits for it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let beats = 0
  const orphans = vi.fn(() => new Promise<never>(() => {}))
  const membership = new Membership({
    ...LONELY,
    workers: {
      ...LONELY.workers,
      heartbeat: () => {
        beats += 1
        return Promise.resolve('written')
      },
      list: () => Promise.resolve({ workers: [SILENT], lowestVersion: null }),
    },
    executing: { ...LONELY.executing, orphans },
    leaseMs: LEASE_MS,
    monotonicNow: () => performance.now(),
  })
  await membership.start()
  await vi.advanceTimersByTimeAsync(2 * BEAT_MS)
  expect(orphans).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(BEAT_MS + 1)
  expect(orphans).toHaveBeenCalledOnce()
  beats = 0
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect(beats).toBe(BEATS_PER_LEASE)
})

it('before it settles its orphans, an evicted worker sends a heartbeat, which aborts their handlers', async () => {
  const settle = vi.fn(() => Promise.reject(new Error('too soon')))
  const orphans: UnsettledAttempt[] = []
  const { membership, beat } = alone({
    orphans: true,
    executing: { orphans: () => Promise.resolve(orphans), settle },
  })
  await membership.beat()
  const woken = vi.spyOn(membership.loop, 'wake')
  orphans.push({
    fence: { id: 'j', worker: String(membership.id()), claim: 1 },
    end: { kind: 'lost', error: 'gone' },
    policy: DEFAULT_POLICY,
  })
  await beat()
  expect(woken).toHaveBeenCalledOnce()
  expect(settle).not.toHaveBeenCalled()
})

describe('a worker that is cut off from the database', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  /** Starts a worker. @param heartbeat  returns the response to a heartbeat; the first one has the number 1 */
  async function beating(
    heartbeat: (number: number) => Promise<Heartbeat>,
    { canBeCutOff = true, leaseMs = LEASE_MS } = {},
  ) {
    const started = performance.now()
    const cutOff: { readonly ms: number; readonly worker: string; readonly id: string | null }[] = []
    let beats = 0
    const membership = new Membership({
      ...LONELY,
      workers: { ...LONELY.workers, canBeCutOff, heartbeat: () => heartbeat((beats += 1)) },
      leaseMs,
      monotonicNow: () => performance.now(),
      onCutOff: (worker) =>
        void cutOff.push({ ms: performance.now() - started, worker, id: membership.id() }),
      onError: () => {},
    })
    await membership.start()
    return { membership, cutOff, id: membership.id() }
  }
  const never = () => new Promise<never>(() => {})
  const after = (ms: number) => new Promise<Heartbeat>((resolve) => setTimeout(() => resolve('written'), ms))

  it('gives up its jobs before others may evict it, even while a heartbeat hangs [R8]', async () => {
    const { cutOff, id } = await beating((number) =>
      number === 1 ? Promise.resolve<Heartbeat>('written') : never(),
    )
    await vi.advanceTimersByTimeAsync(DEAD_AFTER_MS - 1)
    expect(cutOff).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    // From then on, the worker accepts no work, so it has no id.
    expect(cutOff).toEqual([{ ms: DEAD_AFTER_MS, worker: id, id: null }])
    await vi.advanceTimersByTimeAsync(10 * LEASE_MS)
    expect(cutOff).toHaveLength(1)
  })

  it('gives up its jobs if heartbeats keep failing', async () => {
    const { cutOff } = await beating((number) =>
      number === 1
        ? Promise.resolve<Heartbeat>('written')
        : Promise.reject(new StoreUnavailableError('away')),
    )
    await vi.advanceTimersByTimeAsync(LEASE_MS)
    expect(cutOff.map(({ ms }) => ms)).toEqual([DEAD_AFTER_MS])
  })

  it('gives up its jobs in time even if the response to the last successful heartbeat was slow', async () => {
    const { cutOff } = await beating((number) => (number === 1 ? after(5000) : never()))
    await vi.advanceTimersByTimeAsync(LEASE_MS)
    expect(cutOff.map(({ ms }) => ms)).toEqual([DEAD_AFTER_MS])
  })

  it('keeps its jobs if at most two consecutive heartbeats fail, and never gives them up after it has stopped', async () => {
    const { membership, cutOff } = await beating((number) =>
      // Of every five heartbeats, two consecutive ones fail, which is too few for a cut-off.
      number % 5 < 2 ? Promise.reject(new StoreUnavailableError('away')) : after(1000),
    )
    await vi.advanceTimersByTimeAsync(10 * LEASE_MS)
    const stopped = membership.stop()
    await vi.advanceTimersByTimeAsync(10 * LEASE_MS)
    await stopped
    expect(cutOff).toEqual([])
  })

  it('gives up its jobs after a stall of its process only if the next heartbeat gets no response', () => {
    const cutOff = (answer: boolean) => {
      const onCutOff = vi.fn()
      const watch = new CutOff({ beatMs: BEAT_MS, monotonicNow: () => performance.now(), onCutOff })
      watch.written(performance.now())
      vi.advanceTimersByTime(DEAD_AFTER_MS - 1)
      // The stall has delayed the heartbeat until just before the cut-off.
      watch.sending()
      vi.advanceTimersByTime(1000)
      const before = onCutOff.mock.calls.length
      if (answer) watch.written(performance.now())
      vi.advanceTimersByTime(5000)
      watch.stop()
      return [before, onCutOff.mock.calls.length]
    }
    expect(cutOff(true)).toEqual([0, 0])
    expect(cutOff(false)).toEqual([0, 1])
  })

  it.each([1000, 3000, LEASE_MS])(
    'keeps its jobs while its own row is locked, because the lock also prevents its eviction: lease %i ms',
    async (leaseMs) => {
      let isCutOff = false
      const { membership, cutOff } = await beating(
        async (number) => {
          if (isCutOff) return never()
          if (number === 1) return 'written'
          await after(2000)
          return 'locked'
        },
        { leaseMs },
      )
      await vi.advanceTimersByTimeAsync(2 * LEASE_MS)
      expect(cutOff).toEqual([])
      expect(membership.vitals().isRowLocked).toBe(true)
      // The worker accepts no work in the meantime.
      expect(membership.id()).toBeNull()
      // If it loses its connection now, others may evict it as soon as the locking transaction ends.
      isCutOff = true
      await vi.advanceTimersByTimeAsync(6100)
      expect(cutOff).toHaveLength(1)
    },
  )

  it('keeps its jobs if the database is a local file, even while a heartbeat hangs', async () => {
    const { cutOff } = await beating((number) => (number === 1 ? Promise.resolve('written') : never()), {
      canBeCutOff: false,
    })
    await vi.advanceTimersByTimeAsync(2 * LEASE_MS)
    expect(cutOff).toEqual([])
  })

  it('is cut off again if heartbeats fail again', async () => {
    const { cutOff } = await beating((number) =>
      number === 1 || number === 3 ? Promise.resolve<Heartbeat>('written') : after(2 * LEASE_MS),
    )
    await vi.advanceTimersByTimeAsync(4 * LEASE_MS)
    expect(cutOff).toHaveLength(2)
  })
})

it('a worker that started earlier in the same process on the same database is reported once', async () => {
  const twins: string[] = []
  let others: readonly WorkerRecord[] = []
  const record = (id: string): WorkerRecord => ({
    id,
    name: 'w',
    // The same in each container on the host's network.
    host: hostname(),
    pid: process.pid,
    tasks: [],
    sets: {},
    startedAt: new Date(0),
    heartbeatAt: new Date(0),
  })
  const worker = (): Membership => {
    const membership: Membership = new Membership({
      ...LONELY,
      workers: {
        ...LONELY.workers,
        list: async () => ({ workers: [...others, record(membership.id() ?? '')], lowestVersion: null }),
      },
      leaseMs: LEASE_MS,
      monotonicNow: () => 0,
      onTwin: (id) => void twins.push(id),
    })
    return membership
  }
  const first = worker()
  const second = worker()
  await first.beat()
  await second.beat()
  others = [record('in another container')]
  await second.beat()
  expect(twins).toEqual([])
  const firstId = first.id() ?? ''
  others = [record(firstId)]
  await second.beat()
  await second.beat()
  expect(twins).toEqual([firstId])
  // One that has stopped no longer counts, even if its row is still there.
  await first.stop()
  const third = worker()
  await second.stop()
  await third.beat()
  expect(twins).toEqual([firstId])
  await third.stop()
})
