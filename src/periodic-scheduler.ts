import type { ExternalSubmit } from './executor/hand-over.ts'
import type { ListenOptions } from './events.ts'
import type { FinishOptions } from './jobs/external.ts'
import type { Jobs } from './jobs/jobs.ts'
import { checkKeys } from './keys.ts'
import { Kalends } from './kalends.ts'
import type { Job } from './model/job.ts'
import { checkedFunction } from './model/input.ts'
import { type ExternalQueueOptions, type KalendsOptions, OPEN_OPTIONS, type StartOptions } from './options.ts'
import type { Declaration, OnRemoved } from './schedules/declared.ts'
import type { Schedules } from './schedules/schedules.ts'
import type { DatabaseTarget } from './store/database.ts'
import type { Health } from './worker/health.ts'
import type { KalendsEvents } from './worker/reporter.ts'

/**
 * Options for `PeriodicScheduler.open`: the options of the external queue, and those of `Kalends.open` that do not
 * concern handlers.
 */
export interface PeriodicSchedulerOptions
  extends Omit<KalendsOptions, 'externalQueue' | 'middleware'>,
    Pick<ExternalQueueOptions, 'reports' | 'timeout'>,
    ExternalSubmit {}

/** These options have no effect without handlers. */
const UNUSED: readonly string[] = ['externalQueue', 'middleware']
const OF_QUEUE = ['submit', 'reports', 'timeout']

/**
 * Submits the jobs of schedules to the application's own queue. All processes that embed a scheduler share the work;
 * each occurrence is handed over once. This is the same as `Kalends.open` with an `externalQueue` for all tasks.
 */
export class PeriodicScheduler {
  readonly schedules: Schedules
  readonly jobs: Jobs
  readonly #kalends: Kalends

  private constructor(kalends: Kalends) {
    this.#kalends = kalends
    this.schedules = kalends.schedules
    this.jobs = kalends.jobs
  }

  /** @throws as `Kalends.open` does */
  static async open(database: DatabaseTarget, options: PeriodicSchedulerOptions): Promise<PeriodicScheduler> {
    checkKeys(options, [...OPEN_OPTIONS.filter((name) => !UNUSED.includes(name)), ...OF_QUEUE])
    const { reports, timeout } = options
    const others = Object.entries(options).filter(([name]) => !OF_QUEUE.includes(name))
    checkedFunction('submit', Reflect.get(options, 'submit'))
    const externalQueue: ExternalQueueOptions = {
      submit: (jobs, context) => options.submit(jobs, context),
      reports,
      timeout,
    }
    return new PeriodicScheduler(
      await Kalends.open(database, { ...Object.fromEntries(others), externalQueue }),
    )
  }

  /** See `Kalends.declare`. */
  declare<Inputs extends readonly unknown[]>(
    set: string,
    declarations: readonly [...{ [Index in keyof Inputs]: Declaration<Inputs[Index]> }],
    options: { readonly onRemoved?: OnRemoved | undefined } = {},
  ): void {
    this.#kalends.declare(set, declarations, options)
  }

  /** See `Kalends.on`. */
  on<Name extends keyof KalendsEvents>(
    event: Name,
    listener: (payload: KalendsEvents[Name]) => void,
    options: ListenOptions = {},
  ): () => void {
    return this.#kalends.on(event, listener, options)
  }

  /** Starts submitting due schedules. @throws as `Kalends.start` does */
  async start(options: Pick<StartOptions, 'signals'> = {}): Promise<void> {
    checkKeys(options, ['signals'])
    await this.#kalends.start(options)
  }

  /** Reports the outcome of a job; see `ExternalJobs.finish`. */
  finish(id: string, options: FinishOptions): Promise<Job> {
    return this.#kalends.external.finish(id, options)
  }

  /** See `Kalends.health`. */
  health(): Health {
    return this.#kalends.health()
  }

  /** Stops after the current pass, and closes the database unless the caller supplied it. */
  stop(): Promise<void> {
    return this.#kalends.stop()
  }

  /** Does the same as `stop`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
