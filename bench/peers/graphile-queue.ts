/** The same as programs/queue, on graphile-worker. */
import { EventEmitter } from 'node:events'
import { makeWorkerUtils, run as start, type WorkerEvents } from 'graphile-worker'
import { Pool } from 'pg'
import { z } from 'zod'
import { program } from '../programs/program.ts'
import { graphileOptions } from './graphile.ts'

const params = z.object({
  url: z.string(),
  jobs: z.number(),
  warmUp: z.number(),
  chunk: z.number(),
  concurrency: z.number(),
  tuned: z.boolean(),
})

await program(params, async ({ url, jobs, warmUp, chunk, concurrency, tuned }, line) => {
  const options = graphileOptions(url, concurrency, tuned)
  const utils = await makeWorkerUtils({
    connectionString: url,
    ...(options.logger && { logger: options.logger }),
  })
  await utils.migrate()
  const pool = new Pool({ connectionString: url, max: 1 })
  await enqueue(warmUp)
  await run(warmUp)
  await line.ready()
  const enqueueMs = await enqueue(jobs)
  await line.ready()
  const runMs = await run(jobs)
  await utils.release()
  await pool.end()
  return { enqueueMs, runMs }

  async function enqueue(count: number): Promise<number> {
    const began = performance.now()
    for (let done = 0; done < count; done += chunk) {
      const some = Array.from({ length: Math.min(chunk, count - done) }, (_, index) => done + index)
      await utils.addJobs(some.map((number) => ({ identifier: 'noop', payload: { number } })))
    }
    return performance.now() - began
  }

  async function run(count: number): Promise<number> {
    const events: WorkerEvents = new EventEmitter()
    let completed = 0
    const all = new Promise<void>((resolve) => {
      events.on('job:success', () => {
        completed += 1
        if (completed === count) resolve()
      })
    })
    const began = performance.now()
    const runner = await start({ ...options, events, taskList: { noop: async () => {} } })
    await all
    // A job that has succeeded is deleted; with batches that is a moment later.
    for (;;) {
      const { rowCount } = await pool.query('SELECT FROM graphile_worker._private_jobs LIMIT 1')
      if (rowCount === 0) break
    }
    const took = performance.now() - began
    await runner.stop()
    return took
  }
})
