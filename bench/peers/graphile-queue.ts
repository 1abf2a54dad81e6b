/** The same as programs/queue, on graphile-worker, which stores no results. */
import { EventEmitter } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { makeWorkerUtils, run, type Runner, type WorkerEvents } from 'graphile-worker'
import { Pool } from 'pg'
import { countdown, queueProgram } from '../programs/queue-program.ts'
import { graphileOptions } from './graphile.ts'

/** The polling interval. Polling is needed: in batches, graphile-worker deletes a job after it reports the success. */
const LOOK_MS = 5

await queueProgram(async ({ url, concurrency, tuned = false }) => {
  const options = graphileOptions(url, concurrency, tuned)
  const utils = await makeWorkerUtils({
    connectionString: url,
    ...(options.logger && { logger: options.logger }),
  })
  await utils.migrate()
  const pool = new Pool({ connectionString: url, max: 1 })
  return {
    submit: (numbers) =>
      utils.addJobs(numbers.map((number) => ({ identifier: 'noop', payload: { number } }))),
    worker: async (count) => {
      const events: WorkerEvents = new EventEmitter()
      const { done, one } = countdown(count)
      events.on('job:success', one)
      let runner: Runner | null = null
      return {
        run: async () => {
          runner = await run({ ...options, events, taskList: { noop: async () => {} } })
          await done
          for (;;) {
            const left = await pool.query('SELECT FROM graphile_worker._private_jobs LIMIT 1')
            if (left.rowCount === 0) return
            await pause(LOOK_MS)
          }
        },
        stop: async () => runner?.stop(),
      }
    },
    close: async () => {
      await utils.release()
      await pool.end()
    },
  }
})
