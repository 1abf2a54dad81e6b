/** What graphile-worker is given in all its measurements. */
import { Logger, type RunnerOptions } from 'graphile-worker'

/** As its documentation tunes it: batches fetched ahead, completions written together. */
const TUNED = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }

export function graphileOptions(url: string, concurrency: number, tuned: boolean): RunnerOptions {
  return {
    connectionString: url,
    concurrency,
    // As many connections as it advises.
    maxPoolSize: concurrency + 2,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    ...(tuned ? { preset: { worker: TUNED } } : {}),
  }
}
