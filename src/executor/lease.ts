/**
 * The lease of a worker: its registration, its heartbeat, and its judgement of the others.
 *
 * A worker whose heartbeat has not moved for most of a lease, as this process saw it by its own clock and
 * without trouble with the database, is dead: its row is deleted, so that its next heartbeat hits nothing. Then
 * its running jobs, now orphans, are settled as lost attempts. A worker that finds its own row gone was taken
 * for dead: it aborts its handlers and registers again under a new id.
 *
 * With heartbeats every fifth of the lease and death at three of them unseen, what a dead worker held is free
 * within the lease: one until its last heartbeat is seen, the three, and one that the judge may be late.
 */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { SchemaError } from '../errors.ts'
import { Loop, type LoopHealth } from '../loop.ts'
import { AllRefusedError, Halving, isOfARow } from '../model/halves.ts'
import { SetAside } from '../model/set-aside.ts'
import { versionFault } from '../model/version.ts'
import type { Attempt, ExecutingStore, SettleResult } from '../store/executing-store.ts'
import type { SchedulingStore } from '../store/scheduling-store.ts'
import type { WorkerStore } from '../store/worker-store.ts'
import { REJECTED_RETRY_MS, settleIsolated } from './settle-isolated.ts'

export interface LeaseOptions {
  readonly workers: WorkerStore
  readonly executing: Pick<ExecutingStore, 'orphans' | 'settle'>
  readonly scheduling: Pick<SchedulingStore, 'clearStaleMarks' | 'sweep'>
  readonly name: string
  readonly tasks: () => readonly string[]
  /** The declared sets of this code: name to hash. */
  readonly sets: Readonly<Record<string, string>>
  readonly leaseMs: number
  /** Of the software. */
  readonly version: string
  /** This worker was taken for dead: whatever it runs belongs to others. */
  readonly onLost: (workerId: string) => void
  /** Orphans were settled. */
  readonly onTakenOver: (result: SettleResult) => void
  /** The database rejects the end of this orphan. */
  readonly onRejected: (attempt: Attempt, error: unknown) => void
  /** This worker has an id, which it may not have had before. */
  readonly onRegistered: () => void
  readonly onDead: (workerId: string) => void
  readonly onHealed: (text: string) => void
  readonly onError: (error: unknown, loop: string) => void
}

const BEATS_PER_LEASE = 5
const BEATS_UNTIL_DEAD = 3
/** With more between two looks, the first of them says nothing about what was seen unchanged. */
const BEATS_BETWEEN_LOOKS = 2
/** A sweep of everything that took long, for the tables are large, comes more rarely. */
const LEASES_PER_WHOLE_SWEEP = { quick: 1, slow: 5 }
/** It is quick when it took less than this part of the lease, and always in so many ms. */
const QUICK_SWEEP = { share: 1 / 500, ms: 50 }
const ORPHANS_AT_ONCE = 200
const MOST_REJECTED = 1000

interface Observation {
  readonly heartbeat: number
  /** By this process's monotonic clock. */
  readonly unchangedSince: number
}

export class Lease {
  readonly #options: LeaseOptions
  readonly #loop: Loop
  readonly #beatMs: number
  readonly #observed = new Map<string, Observation>()
  #id: string | null = null
  /** By performance.now(); null before the first. */
  #lastBeat: number | null = null
  #lost: number | null = null
  /** Why this version may not work on the tables any more. */
  #outdated: string | null = null
  readonly #halving = new Halving()
  /** Orphans whose end the database rejects. */
  readonly #rejected = new SetAside({
    firstMs: REJECTED_RETRY_MS,
    longestMs: REJECTED_RETRY_MS,
    most: MOST_REJECTED,
    now: () => performance.now(),
  })
  #lastLook = 0
  /** There may be some. */
  #orphansLeft = false
  /** In beats. */
  #untilSweep = 0
  /** In sweeps. */
  #untilWholeSweep = 0

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#beatMs = options.leaseMs / BEATS_PER_LEASE
    const onError = (error: unknown, loop: string) => {
      // While the database was away nobody's heartbeat could be seen: the observations begin anew.
      this.#observed.clear()
      options.onError(error, loop)
    }
    this.#loop = new Loop({
      name: 'lease',
      pass: () => this.beat(),
      // After an outage, whoever comes back first gives the others no longer than this time and a lease.
      longestBackOffMs: this.#beatMs,
      onError,
    })
  }

  /** The id of this worker, while it may take on work; null when its last heartbeat is too long ago. */
  id(): string | null {
    const sinceMs = this.sinceHeartbeatMs()
    if (this.#outdated !== null) return null
    return sinceMs !== null && sinceMs < this.#beatMs * BEATS_UNTIL_DEAD ? this.#id : null
  }

  /** How long ago the last heartbeat was that went through; null before the first. */
  sinceHeartbeatMs(): number | null {
    return this.#lastBeat === null ? null : performance.now() - this.#lastBeat
  }

  /** How long ago this worker was last found to have been taken for dead; null: never. */
  sinceLostMs(): number | null {
    return this.#lost === null ? null : performance.now() - this.#lost
  }

  /** How many orphans are left alone for their back-off. */
  setAside(): number {
    return this.#rejected.ids().length
  }

  /** Registers, ends what earlier incarnations left, and starts the heartbeat. */
  async start(): Promise<void> {
    await this.#register()
    this.#loop.start()
  }

  wake(): void {
    this.#loop.wake()
  }

  /** Ends the heartbeat and removes the registration. Comes last: until then others must see this worker alive. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    const id = this.#id
    this.#id = null
    if (id !== null) await this.#options.workers.unregister(id)
  }

  health(): LoopHealth {
    return this.#loop.health()
  }

  /** One heartbeat, and a look at those of the others. @returns milliseconds until the next */
  async beat(): Promise<number> {
    const started = performance.now()
    if (this.#id === null || !(await this.#options.workers.heartbeat(this.#id))) await this.#renew()
    this.#lastBeat = started
    // After the heartbeat: what this worker still runs may end, and must not be taken over meanwhile.
    this.#outdated = versionFault(await this.#options.workers.lowestVersion(), this.#options.version)
    if (this.#outdated !== null) throw new SchemaError(`${this.#outdated}; it takes on no work until then`)
    if ((await this.#buryDead()) > 0) this.#orphansLeft = true
    if (this.#orphansLeft) await this.#takeOver()
    this.#untilSweep -= 1
    if (this.#untilSweep <= 0) await this.#sweep()
    return Math.max(0, this.#beatMs - (performance.now() - started))
  }

  /** Once a lease, so that what a hand edit or a take-over cut short has left holds nothing for longer than a dead worker does. */
  async #sweep(): Promise<void> {
    const { scheduling, leaseMs } = this.#options
    if (this.#id === null) return
    this.#untilSweep = BEATS_PER_LEASE
    this.#untilWholeSweep -= 1
    const isWhole = this.#untilWholeSweep <= 0
    // Also after one that fails, or it would keep the heartbeat from its rhythm.
    if (isWhole) this.#untilWholeSweep = LEASES_PER_WHOLE_SWEEP.slow
    const started = performance.now()
    // Should it fail, the next beat looks for them.
    this.#orphansLeft = true
    const swept = await scheduling.sweep(this.#id, leaseMs, isWhole ? 'everything' : 'left by workers')
    this.#orphansLeft = swept.orphans
    for (const text of swept.healed) this.#options.onHealed(text)
    if (isWhole && performance.now() - started < Math.max(QUICK_SWEEP.ms, leaseMs * QUICK_SWEEP.share))
      this.#untilWholeSweep = LEASES_PER_WHOLE_SWEEP.quick
    if (this.#orphansLeft) await this.#settleOrphansLeft()
  }

  /** This worker was taken for dead: it goes on under a new id. */
  async #renew(): Promise<void> {
    if (this.#id !== null) {
      this.#lost = performance.now()
      this.#options.onLost(this.#id)
    }
    await this.#register()
  }

  async #register(): Promise<void> {
    const { workers, scheduling, name, tasks, sets, leaseMs } = this.#options
    const id = `${name}/${Date.now().toString(36)}${randomBytes(4).toString('hex')}`
    const started = performance.now()
    await workers.register({ id, name, host: hostname(), pid: process.pid, tasks: tasks(), sets })
    this.#id = id
    this.#lastBeat = started
    await scheduling.clearStaleMarks(id, leaseMs)
    this.#options.onRegistered()
  }

  async #buryDead(): Promise<number> {
    const asked = performance.now()
    const list = await this.#options.workers.list()
    const now = performance.now()
    // This process stood still, or the database did: so may the others have, and be about to go on.
    if (now - this.#lastLook > this.#beatMs * BEATS_BETWEEN_LOOKS) this.#observed.clear()
    this.#lastLook = now
    const seen = new Set(list.map((worker) => worker.id))
    for (const id of this.#observed.keys()) if (!seen.has(id)) this.#observed.delete(id)
    let buried = 0
    for (const worker of list) {
      if (worker.id === this.#id) continue
      const heartbeat = worker.heartbeat.getTime()
      const before = this.#observed.get(worker.id)
      if (before?.heartbeat !== heartbeat) this.#observed.set(worker.id, { heartbeat, unchangedSince: now })
      else if (
        asked - before.unchangedSince >= this.#beatMs * BEATS_UNTIL_DEAD * 0.99 &&
        (await this.#options.workers.bury(worker.id, worker.heartbeat))
      ) {
        this.#observed.delete(worker.id)
        this.#options.onDead(worker.id)
        buried += 1
      }
    }
    return buried
  }

  async #takeOver(): Promise<void> {
    const { scheduling, leaseMs } = this.#options
    if (this.#id !== null) await scheduling.clearStaleMarks(this.#id, leaseMs)
    await this.#settleOrphansLeft()
  }

  /** That orphans cannot be settled says nothing about the heartbeats: the next beat comes in time, and tries again. */
  async #settleOrphansLeft(): Promise<void> {
    const started = performance.now()
    for (;;) {
      try {
        await this.#settleOrphans(started)
        return
      } catch (error) {
        if (!isOfARow(error)) throw error
        this.#options.onError(error, 'lease')
        // At once: more are tried each time, and behind those that are rejected may be some that can be taken over.
        if (!(error instanceof AllRefusedError) || performance.now() - started > this.#beatMs) return
      }
    }
  }

  /** @param started  by performance.now() */
  async #settleOrphans(started: number): Promise<void> {
    const { executing, onRejected } = this.#options
    for (;;) {
      const orphans = await executing.orphans(ORPHANS_AT_ONCE, this.#rejected.ids())
      this.#orphansLeft = orphans.length > 0
      // However many there are, the own heartbeat comes first.
      if (!this.#orphansLeft || performance.now() - started > this.#beatMs) return
      // Buried since the last heartbeat: the own handlers must know before their jobs go to others.
      if (orphans.some(({ fence }) => fence.worker === this.#id)) await this.#renew()
      let rejected = 0
      const result = await settleIsolated(executing, orphans, this.#halving, (attempt, error) => {
        rejected += 1
        this.#rejected.add(attempt.fence.id, error)
        onRejected(attempt, error)
      })
      this.#options.onTakenOver(result)
      // What somebody else holds is taken over with the next beat.
      if (result.settled.length + rejected === 0) return
    }
  }
}
