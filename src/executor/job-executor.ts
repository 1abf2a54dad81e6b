/**
 * A claimed job belongs to this worker as long as the worker's heartbeat continues. Each write for a run is
 * fenced by id, worker, claim and state, so that an evicted worker changes nothing.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Loop } from '../loop.ts'
import { ClaimLoop } from './claim-loop.ts'
import { Journal } from './journal.ts'
import type { JobExecutorOptions } from './options.ts'
import { RunningAttempts } from './running-attempts.ts'
import { Settler } from './settler.ts'
import { within } from './within.ts'

const SETTLE_TIMEOUT_MS = 10_000
const JOURNAL_TIMEOUT_MS = 5000
/** Maximum number of attempts in one call to `runDue`. */
const MAX_BY_HAND = 10_000
const TURNS_TO_END = 5

export class JobExecutor {
  readonly claims: ClaimLoop
  readonly attempts: RunningAttempts
  readonly settler: Settler
  readonly journal: Journal
  #onWake: (() => void) | null = null

  constructor(options: JobExecutorOptions) {
    this.journal = new Journal(options)
    this.settler = new Settler({
      ...options,
      onSettled: (result) => {
        if (result.settled.length + result.lost.length > 0) options.onSettled(result)
        // Capacity may be free even if nothing was settled: some locked and rejected outcomes do not count against it.
        this.claims.freed()
      },
    })
    const { journal, settler } = this
    this.attempts = new RunningAttempts({
      ...options,
      journal,
      settler,
      onEnded: (ranMs, isLost) => {
        this.claims.ended(ranMs)
        // Unless the job is lost, the attempt occupies capacity until its outcome is written.
        if (isLost) this.claims.freed()
        this.#onWake?.()
      },
    })
    this.claims = new ClaimLoop({ ...options, attempts: this.attempts, settler })
  }

  wake(): void {
    this.claims.wake()
    this.#onWake?.()
  }

  wakeForTime(): void {
    this.claims.wakeForTime()
    this.#onWake?.()
  }

  /**
   * For tests with their own clock, which run no loops: claims, runs and settles due jobs. Jobs that handlers submit in
   * the meantime are left for the next call, unless a handler is still running, because it may be waiting for them.
   */
  async runDue(): Promise<void> {
    const before = this.attempts.startedCount()
    do {
      // Created before the claim, so that a submission during the claim is noticed.
      const woken = new Promise<void>((resolve) => {
        this.#onWake = resolve
      })
      if (this.attempts.startedCount() - before < MAX_BY_HAND) await this.claims.claimDue()
      await Promise.race([this.attempts.finished(), woken])
      // Most handlers finish right after their last submission, so wait a few turns.
      for (let turn = 0; turn < TURNS_TO_END && this.attempts.count() > 0; turn += 1) await nextTurn()
      await this.settler.settleAll()
    } while (this.attempts.count() > 0)
    await this.journal.flush()
    this.#onWake = null
  }

  async stop(graceMs: number): Promise<void> {
    await this.claims.stop()
    await within(graceMs, this.attempts.finished())
    this.attempts.stop()
    // Each attempt ends soon after its signal is aborted, if necessary without its handler.
    await this.attempts.finished()
    await this.attempts.loop.stop()
    await within(SETTLE_TIMEOUT_MS, this.settler.drain())
    await this.settler.loop.stop()
    await this.journal.stop(JOURNAL_TIMEOUT_MS)
  }

  loops(): Loop[] {
    return [this.claims.loop, this.attempts.loop, this.settler.loop, ...this.journal.loops()]
  }
}
