/**
 * `kalends/testing`: runs an application's schedules and handlers in memory, on a clock that the test controls. A year
 * of a schedule passes in milliseconds.
 *
 * Nothing runs automatically. `advance` moves from one due time to the next, and at each does what a worker would do.
 * Handlers actually run, and their retries wait for the test clock.
 *
 * @module
 */
import { setImmediate as tick } from 'node:timers/promises'
import {
  type Job,
  type JobState,
  Kalends,
  type KalendsOptions,
  NotFoundError,
  WaitTimeoutError,
} from '../index.ts'
import { checkKeys } from '../keys.ts'
import { OPEN_OPTIONS } from '../options.ts'
import { timeSpan } from '../timer/index.ts'

const OWN = ['clock', 'connections', 'migrate', 'schema', 'tablePrefix'] as const

/** The options of `Kalends.open`, except those that the test kit sets itself or does not support. */
export interface TestOptions extends Omit<KalendsOptions, (typeof OWN)[number]> {
  /** The initial time of the clock; default 2026-01-01T00:00Z. */
  readonly now?: Date | string | undefined
  /**
   * A SQLite file, such as `sqlite:./file.db`, instead of an in-memory database. A second test application can open the
   * same file later, to simulate a restart, downtime or an upgrade.
   */
  readonly database?: string | undefined
}

/** Sets up handlers and declarations. The modules of `kalends start` have such a function as their default export. */
export type Setup = (kalends: Kalends) => unknown

type Step = Awaited<ReturnType<Kalends['startByHand']>>

const OPTIONS = [...OPEN_OPTIONS.filter((name) => !OWN.some((own) => own === name)), 'now', 'database']

/** Maximum number of rounds of work that may be due at the same instant before the test fails. */
const MAX_ROUNDS = 10_000

/**
 * Opens Kalends and sets it up, on a new in-memory database unless `database` names a file.
 *
 * @throws DeclarationError with all problems of the declared schedules
 */
export async function open(setup: Setup, options: TestOptions = {}): Promise<TestKalends> {
  checkKeys(options, OPTIONS)
  const { now = '2026-01-01T00:00:00Z', database = 'sqlite::memory:', ...rest } = options
  const clock = { now: new Date(now) }
  if (Number.isNaN(clock.now.getTime())) throw new RangeError(`now: must be a valid date, got ${String(now)}`)
  const kalends = await Kalends.open(database, { retention: false, ...rest, clock: () => clock.now })
  try {
    await setup(kalends)
    return new TestKalends(kalends, clock, await kalends.startByHand())
  } catch (error) {
    await kalends.stop()
    throw error
  }
}

/** A Kalends instance on a clock that the test controls. Nothing runs between calls. */
export class TestKalends {
  readonly kalends: Kalends
  readonly #clock: { now: Date }
  readonly #step: Step

  /** @internal */
  constructor(kalends: Kalends, clock: { now: Date }, step: Step) {
    this.kalends = kalends
    this.#clock = clock
    this.#step = step
  }

  /** The time on the test clock, which the database and Kalends share. */
  now(): Date {
    return this.#clock.now
  }

  /** Does all work that is due now, until nothing is left. */
  async drain(): Promise<void> {
    for (let round = 0; (await this.#step()).acted; round += 1) {
      if (round === MAX_ROUNDS)
        throw new RangeError(`More work is always due at ${this.#clock.now.toISOString()}`)
      await tick()
    }
  }

  /**
   * Moves the clock forward, and does all work when it becomes due.
   *
   * @param by  a time span such as `1d`, a number of milliseconds, or the instant to move to
   */
  async advance(by: string | number | Date): Promise<void> {
    const end = by instanceof Date ? new Date(by) : new Date(this.#clock.now.getTime() + timeSpan(by))
    if (Number.isNaN(end.getTime())) throw new RangeError('by: must be a valid date, got Invalid Date')
    if (end < this.#clock.now)
      throw new RangeError(
        `The clock is at ${this.#clock.now.toISOString()}; it cannot go back to ${end.toISOString()}`,
      )
    do await this.drain()
    while (await this.#toNext(end))
    this.#clock.now = end
    await this.drain()
  }

  /**
   * Moves the clock forward until a job has the given state or, if none is given, is final.
   *
   * @param options.within  maximum time to advance; default `1d`
   * @throws NotFoundError, WaitTimeoutError
   */
  async waitFor(
    jobId: string,
    state?: JobState,
    options: { readonly within?: string | number } = {},
  ): Promise<Job> {
    checkKeys(options, ['within'])
    const end = new Date(this.#clock.now.getTime() + timeSpan(options.within ?? '1d'))
    for (;;) {
      await this.drain()
      const job = await this.kalends.jobs.get(jobId)
      if (job === null) throw new NotFoundError('job', jobId)
      const isFinal = job.finishedAt !== null
      if (state === undefined ? isFinal : job.state === state) return job
      if (isFinal || !(await this.#toNext(end))) {
        throw new WaitTimeoutError(
          `The job ${jobId} is ${job.state} at ${this.#clock.now.toISOString()}, not ${state ?? 'final'}`,
        )
      }
    }
  }

  /** Runs a step, then moves the clock to the next due time up to `end`. @returns whether either did anything */
  async #toNext(end: Date): Promise<boolean> {
    const { acted, next } = await this.#step()
    if (next === null || next > end) return acted
    if (next > this.#clock.now) this.#clock.now = next
    else if (!acted)
      throw new RangeError(`Work is due at ${this.#clock.now.toISOString()}, but cannot be done`)
    return true
  }

  /** Stops, and discards the database if it is in memory. `await using` does this automatically. */
  async close(): Promise<void> {
    await this.kalends.stop()
  }

  /** Does the same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
