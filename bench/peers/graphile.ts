/** The options of graphile-worker in all its measurements. */
import { Logger, type RunnerOptions } from 'graphile-worker'

/** Tuned as its documentation recommends: it fetches jobs in advance and writes completions in batches. */
const TUNED = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }

export function graphileOptions(url: string, concurrency: number, tuned: boolean): RunnerOptions {
  return {
    connectionString: url,
    concurrency,
    // The number of connections that it recommends.
    maxPoolSize: concurrency + 2,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    ...(tuned ? { preset: { worker: TUNED } } : {}),
  }
}
