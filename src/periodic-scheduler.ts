import type { ExternalSubmit } from './executor/hand-over.ts'
import type { ExternalJobs } from './jobs/external.ts'
import type { Jobs } from './jobs/jobs.ts'
import { checkKeys } from './keys.ts'
import { Kalends } from './kalends.ts'
import { checkedFunction } from './model/input.ts'
import { type ExternalQueueOptions, type KalendsOptions, OPEN_OPTIONS, type StartOptions } from './options.ts'
import type { Schedules } from './schedules/schedules.ts'
import type { DatabaseTarget } from './store/database.ts'

/**
 * Options for `PeriodicScheduler.open`: the options of the external queue, and those of `Kalends.open` that do not
 * concern handlers.
 */
export interface PeriodicSchedulerOptions
  extends Omit<KalendsOptions, 'externalQueue' | 'middleware'>,
    Pick<ExternalQueueOptions, 'reports' | 'timeout'>,
    ExternalSubmit {}

/** Not accepted: the scheduler sets `externalQueue` itself, and `middleware` has no effect without handlers. */
const UNUSED: readonly string[] = ['externalQueue', 'middleware']

/**
 * Submits the jobs of schedules to the application's own queue. All processes that embed a scheduler share the work;
 * each occurrence becomes one job. This is the same as `Kalends.open` with an `externalQueue` for all tasks.
 */
export class PeriodicScheduler {
  readonly schedules: Schedules
  readonly jobs: Jobs
  /** See `Kalends.declare`. */
  readonly declare: Kalends['declare']
  /** See `Kalends.on`. */
  readonly on: Kalends['on']
  /** See `Kalends.health`. */
  readonly health: Kalends['health']
  /** Reports the outcome of a job; see `ExternalJobs.finish`. */
  readonly finish: ExternalJobs['finish']
  readonly #kalends: Kalends

  private constructor(kalends: Kalends) {
    this.#kalends = kalends
    this.schedules = kalends.schedules
    this.jobs = kalends.jobs
    this.declare = kalends.declare.bind(kalends)
    this.on = kalends.on.bind(kalends)
    this.health = kalends.health.bind(kalends)
    this.finish = kalends.external.finish.bind(kalends.external)
  }

  /** @throws as `Kalends.open` does */
  static async open(database: DatabaseTarget, options: PeriodicSchedulerOptions): Promise<PeriodicScheduler> {
    const known = OPEN_OPTIONS.filter((name) => !UNUSED.includes(name))
    checkKeys(options, [...known, 'submit', 'reports', 'timeout'])
    checkedFunction('submit', Reflect.get(options, 'submit'))
    const { reports, timeout } = options
    const externalQueue = { submit: options.submit.bind(options), reports, timeout }
    const others = Object.entries(options).filter(([name]) => known.includes(name))
    return new PeriodicScheduler(
      await Kalends.open(database, { ...Object.fromEntries(others), externalQueue }),
    )
  }

  /** Starts submitting due schedules. @throws as `Kalends.start` does */
  async start(options: Pick<StartOptions, 'signals'> = {}): Promise<void> {
    checkKeys(options, ['signals'])
    await this.#kalends.start(options)
  }

  /** Stops after the current pass, and closes the scheduler's connections, but not a pool passed to `open`. */
  stop(): Promise<void> {
    return this.#kalends.stop()
  }

  /** Does the same as `stop`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
