/** Helpers for tests of the executor without a database. */
import { expect, onTestFinished, vi } from 'vitest'
import type { HandledTask, Handler } from '../../src/executor/handler.ts'
import { JobExecutor } from '../../src/executor/job-executor.ts'
import type { JobExecutorOptions } from '../../src/executor/options.ts'
import type { ClaimedJob } from '../../src/model/job.ts'
import { Redaction } from '../../src/model/redaction.ts'
import { DEFAULT_ARGS_LIMIT, DEFAULT_POLICY, task } from '../../src/model/task.ts'
import type { ExecutingStore, Settled } from '../../src/store/executing-store.ts'

/** A job of the task 'noop' on its first attempt. */
export function claimed(id: string): ClaimedJob {
  return {
    id,
    scheduleId: null,
    slot: null,
    missed: 0,
    run: null,
    task: 'noop',
    group: '',
    args: {},
    argsText: '{}',
    subject: null,
    submitter: null,
    priority: 0,
    state: 'running',
    reason: null,
    queue: null,
    worker: 'w/1',
    attempt: 1,
    claim: 1,
    releases: 0,
    submittedAt: new Date(0),
    runAt: null,
    frozenUntil: null,
    startedAt: new Date(0),
    finishedAt: null,
    timeout: null,
    retries: null,
    retryDelay: null,
    retryBackoff: null,
    progress: null,
    result: null,
    error: null,
    stopRequestedAt: null,
    policy: DEFAULT_POLICY,
  }
}

export const NOTHING: Settled = { settled: [], lost: [], locked: [], refused: [] }
/** The result if all log lines and the progress of all jobs are written. */
export const WRITTEN = { left: [], refused: [] }

/** An empty queue. */
export const executingStore: ExecutingStore = {
  promoteDue: () => Promise.resolve(0),
  claim: () => Promise.resolve([]),
  leaveOut: () => {},
  replaceLogs: () => Promise.resolve(),
  handOver: () => Promise.resolve([]),
  handedOver: () => Promise.resolve([]),
  route: () => Promise.resolve([]),
  postpone: () => Promise.resolve(),
  settle: () => Promise.resolve(NOTHING),
  stopRequests: () => Promise.resolve([]),
  saveProgress: () => Promise.resolve(WRITTEN),
  appendLogs: () => Promise.resolve(WRITTEN),
  held: () => Promise.resolve([]),
  orphans: () => Promise.resolve([]),
}

export function startLoops(executor: JobExecutor): void {
  for (const loop of executor.loops()) loop.start()
}

/** The event loop runs as usual, but the test advances the time. */
export function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

/** Lets the event loop run for some turns, so that all work that needs no timer ends. */
export async function settledDown(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Advances the time in steps, so that every sleep that ends is processed. */
export async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    await vi.advanceTimersByTimeAsync(500)
    await settledDown()
  }
}

/** An executor of the task 'noop' without a database. Errors fail the test, unless `onError` is given. */
export function executorOn(
  store: Partial<ExecutingStore>,
  handled: Handler | HandledTask,
  options: Partial<JobExecutorOptions> = {},
): JobExecutor {
  const errors: unknown[] = []
  onTestFinished(() => expect(errors).toEqual([]))
  return new JobExecutor({
    store: { ...executingStore, ...store },
    worker: () => 'w/1',
    othersHandle: () => false,
    onConverted: () => {},
    handlers: new Map([
      ['noop', typeof handled === 'function' ? { task: task('noop'), handler: handled } : handled],
    ]),
    middleware: null,
    delayFactor: () => 1,
    redaction: new Redaction([]),
    argsLimit: DEFAULT_ARGS_LIMIT,
    concurrency: 10,
    // Longer than any test.
    pollIntervalMs: 3_600_000,
    now: () => new Date(0),
    onStarted: () => {},
    onSettled: () => {},
    onRejected: () => {},
    onUnstartable: () => {},
    onLeftBehind: () => {},
    onDropped: () => {},
    onError: (error) => void errors.push(error),
    ...options,
  })
}
