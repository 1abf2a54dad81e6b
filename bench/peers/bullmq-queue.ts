/** The same as programs/queue, on BullMQ. */
import { Queue, Worker } from 'bullmq'
import { z } from 'zod'
import { program } from '../programs/program.ts'

const params = z.object({
  url: z.string(),
  jobs: z.number(),
  warmUp: z.number(),
  chunk: z.number(),
  concurrency: z.number(),
})

await program(params, async ({ url, jobs, warmUp, chunk, concurrency }, line) => {
  const name = `queue-${process.pid}`
  const connection = { url, maxRetriesPerRequest: null }
  const queue = new Queue(name, { connection })
  await queue.waitUntilReady()
  await enqueue(warmUp)
  await run(warmUp)
  await line.ready()
  const enqueueMs = await enqueue(jobs)
  await line.ready()
  const runMs = await run(jobs)
  await queue.obliterate({ force: true })
  await queue.close()
  return { enqueueMs, runMs }

  async function enqueue(count: number): Promise<number> {
    const began = performance.now()
    for (let done = 0; done < count; done += chunk) {
      const some = Array.from({ length: Math.min(chunk, count - done) }, (_, index) => done + index)
      await queue.addBulk(some.map((number) => ({ name: 'noop', data: { number } })))
    }
    return performance.now() - began
  }

  async function run(count: number): Promise<number> {
    const worker = new Worker(name, async () => null, { connection, concurrency, autorun: false })
    let completed = 0
    const all = new Promise<void>((resolve) => {
      worker.on('completed', () => {
        completed += 1
        if (completed === count) resolve()
      })
    })
    const began = performance.now()
    const running = worker.run()
    await all
    const took = performance.now() - began
    await worker.close()
    await running
    return took
  }
})
