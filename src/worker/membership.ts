/**
 * The registration and the heartbeat of a worker, and the eviction of other workers.
 *
 * A worker whose own row is gone was evicted, because other workers considered it dead. It aborts its handlers and
 * registers again under a new id.
 *
 * A worker that is cut off from the database does not learn that it was evicted. It therefore uses its own clock:
 * before other workers may evict it, it gives up its jobs, and takes on no work until a heartbeat succeeds.
 *
 * A worker sends five heartbeats per lease, and is evicted after it has missed three. So the work of a dead worker
 * becomes free within one lease: one beat until the last heartbeat is seen, three missed beats, and one beat because
 * the worker that evicts it may check late.
 */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { SchemaError } from '../errors.ts'
import { Loop } from '../loop.ts'
import { versionProblem } from '../model/version.ts'
import type { WorkerRecord, WorkerStore } from '../store/worker-store.ts'
import { CutOff } from './cut-off.ts'
import { deadAfterMs, DeadWorkers } from './dead-workers.ts'
import { TakeOver, type TakeOverOptions } from './take-over.ts'

/** Time until the next heartbeat if this worker's row was locked; short, so that the heartbeat precedes an eviction. */
const LOCKED_RETRY_MS = 50

export interface MembershipOptions
  extends Omit<TakeOverOptions, 'worker' | 'beatMs' | 'beatsPerLease' | 'onEvicted'> {
  readonly workers: WorkerStore
  readonly name: string
  readonly tasks: () => readonly string[]
  /** The hash of each set that this code declares, by name. */
  readonly sets: Readonly<Record<string, string>>
  readonly version: string
  /** This worker was evicted, so other workers now own its jobs. */
  readonly onLost: (workerId: string) => void
  /** Heartbeats have failed for so long that other workers may evict this worker and run its jobs. */
  readonly onCutOff: (workerId: string) => void
  readonly onRegistered: () => void
  readonly onDead: (workerId: string) => void
  /** This process also runs a worker that started earlier. */
  readonly onTwin: (workerId: string) => void
}

const BEATS_PER_LEASE = 5

export class Membership {
  readonly loop: Loop
  readonly #options: MembershipOptions
  readonly #beatMs: number
  readonly #deadWorkers: DeadWorkers
  readonly takeOver: TakeOver
  #id: string | null = null
  /** The time at which the last successful heartbeat was sent, by the monotonic clock; null before the first. */
  #lastBeat: number | null = null
  /** Null if no worker can be cut off, or if `beat` is called manually. */
  #cutOff: CutOff | null = null
  /** Whether the last heartbeat found this worker's row locked. */
  #isLocked = false
  /** The time at which this worker last found that it had been evicted, by the monotonic clock. */
  #lostAt: number | null = null
  /** As of the last heartbeat. */
  #workers: readonly WorkerRecord[] = []
  /** The worker that was last reported as running in the same process. */
  #twin: string | null = null
  /** Why this version can no longer use the tables, or null if it can. */
  #outdated: string | null = null

  constructor(options: MembershipOptions) {
    this.#options = options
    this.#beatMs = options.leaseMs / BEATS_PER_LEASE
    this.#deadWorkers = new DeadWorkers({ ...options, beatMs: this.#beatMs })
    this.takeOver = new TakeOver({
      ...options,
      worker: () => this.id(),
      beatMs: this.#beatMs,
      beatsPerLease: BEATS_PER_LEASE,
      onEvicted: () => this.loop.wake(),
    })
    this.loop = new Loop({
      name: 'lease',
      pass: () => this.beat(),
      // After an outage, all workers retry within one beat. With a longer back-off, the first worker to reconnect would
      // evict the others.
      longestBackOffMs: this.#beatMs,
      onError: (error, loop) => {
        // While the database was unavailable, no heartbeat could be seen.
        this.#deadWorkers.forget()
        options.onError(error, loop)
      },
    })
  }

  /** The id of this worker; null without a recent heartbeat, or if its version cannot use the tables. */
  id(): string | null {
    const sinceMs = this.#sinceHeartbeatMs()
    if (this.#outdated !== null) return null
    return sinceMs !== null && sinceMs < deadAfterMs(this.#beatMs) ? this.#id : null
  }

  #sinceHeartbeatMs(): number | null {
    return this.#lastBeat === null ? null : this.#options.monotonicNow() - this.#lastBeat
  }

  vitals() {
    return {
      worker: this.id(),
      sinceHeartbeatMs: this.#sinceHeartbeatMs(),
      sinceLeaseLostMs: this.#lostAt === null ? null : this.#options.monotonicNow() - this.#lostAt,
      isRowLocked: this.#isLocked,
      lockedWorkers: this.#deadWorkers.locked(),
      slotsInFuture: this.takeOver.slotsInFuture(),
    }
  }

  /** Whether another worker handles the task. */
  othersHandle(task: string): boolean {
    return this.#workers.some(({ id, tasks }) => id !== this.#id && tasks.includes(task))
  }

  async start(): Promise<void> {
    const { workers, monotonicNow, onCutOff } = this.#options
    if (workers.canBeCutOff)
      this.#cutOff = new CutOff({
        beatMs: this.#beatMs,
        monotonicNow,
        onCutOff: () => {
          if (this.#id !== null) onCutOff(this.#id)
        },
      })
    await this.#register()
    for (const loop of this.loops()) loop.start()
  }

  loops(): Loop[] {
    return [this.loop, this.takeOver.loop]
  }

  /** Call this last, because until then other workers must see that this worker is alive. */
  async stop(): Promise<void> {
    await this.takeOver.loop.stop()
    await this.loop.stop()
    this.#cutOff?.stop()
    const id = this.#id
    this.#id = null
    if (id === null) return
    workersOfProcess().delete(id)
    await this.#options.workers.unregister(id)
  }

  /** @returns milliseconds until the next heartbeat */
  async beat(): Promise<number> {
    const { workers, version, monotonicNow } = this.#options
    const started = monotonicNow()
    this.#cutOff?.sending()
    const heartbeat = this.#id === null ? 'gone' : await workers.heartbeat(this.#id)
    this.#isLocked = heartbeat === 'locked'
    if (this.#isLocked) {
      this.#cutOff?.locked()
      // Other workers may also be waiting for a lock, and may therefore not have sent a heartbeat.
      this.#deadWorkers.forget()
      return LOCKED_RETRY_MS
    }
    if (heartbeat === 'gone') await this.#renew()
    this.#beaten(started)
    // This check follows the heartbeat, so that attempts that are still running here are not taken over and can end.
    const asked = monotonicNow()
    const { workers: list, lowestVersion } = await workers.list()
    this.#workers = list
    this.#reportTwin()
    this.#outdated = versionProblem(lowestVersion, version)
    if (this.#outdated !== null) throw new SchemaError(`${this.#outdated}; it takes on no work until then`)
    if ((await this.#deadWorkers.evict(list, asked, this.#id)) > 0) this.takeOver.wake()
    return Math.max(0, this.#beatMs - (monotonicNow() - started))
  }

  #reportTwin(): void {
    const twin = earlierWorker(this.#id, this.#workers)
    if (twin === null || twin === this.#twin) return
    this.#twin = twin
    this.#options.onTwin(twin)
  }

  #beaten(sentAt: number): void {
    this.#lastBeat = sentAt
    this.#cutOff?.written(sentAt)
  }

  /** Continues under a new id, because this worker is not registered or was evicted. */
  async #renew(): Promise<void> {
    const isEvicted = this.#id !== null
    if (this.#id !== null) {
      this.#lostAt = this.#options.monotonicNow()
      workersOfProcess().delete(this.#id)
      this.#options.onLost(this.#id)
    }
    await this.#register()
    // Other workers may not have taken over the jobs of the earlier id yet.
    if (isEvicted) this.takeOver.wake()
  }

  async #register(): Promise<void> {
    const { workers, scheduling, name, tasks, sets, leaseMs, monotonicNow } = this.#options
    const id = `${name}/${Date.now().toString(36)}${randomBytes(4).toString('hex')}`
    const started = monotonicNow()
    await workers.register({ id, name, host: hostname(), pid: process.pid, tasks: tasks(), sets })
    this.#id = id
    workersOfProcess().add(id)
    this.#beaten(started)
    await scheduling.clearStaleMarks(id, leaseMs)
    this.#options.onRegistered()
  }
}

/**
 * The ids of this process's workers, in the order of their start. Other copies of this module, such as those before a hot
 * reload, use the same set; threads have their own.
 */
function workersOfProcess(): Set<string> {
  const key = Symbol.for('kalends.workers')
  const found: unknown = Reflect.get(globalThis, key)
  if (found instanceof Set) return found
  const ids = new Set<string>()
  Reflect.set(globalThis, key, ids)
  return ids
}

/** The first worker of this process on the same database, if it is not the given one. */
function earlierWorker(own: string | null, onDatabase: readonly WorkerRecord[]): string | null {
  const [first] = [...workersOfProcess()].filter(
    (id) => id === own || onDatabase.some((worker) => worker.id === id),
  )
  return first === undefined || first === own ? null : first
}
