/** What tests of the executor without a database share. */
import type { ClaimedJob } from '../../src/model/job.ts'
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import type { ExecutingStore } from '../../src/store/executing-store.ts'

/** A job of the task 'noop' in its first attempt. */
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

/** There is nothing in it. */
export const executingStore: ExecutingStore = {
  promoteDue: () => Promise.resolve(0),
  claim: () => Promise.resolve([]),
  handOver: () => Promise.resolve([]),
  handedOver: () => Promise.resolve([]),
  route: () => Promise.resolve([]),
  postpone: () => Promise.resolve(),
  settle: () => Promise.resolve({ settled: [], lost: [], locked: [] }),
  stopRequests: () => Promise.resolve([]),
  saveProgress: () => Promise.resolve([]),
  appendLogs: () => Promise.resolve(),
  held: () => Promise.resolve([]),
  orphans: () => Promise.resolve([]),
}
