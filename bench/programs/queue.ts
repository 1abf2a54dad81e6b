/** No-op jobs: submitted in bulk, then claimed, run and completed by one worker. */
import { Kalends, task } from 'kalends'
import { z } from 'zod'
import { program } from './program.ts'

const params = z.object({
  url: z.string(),
  jobs: z.number(),
  warmUp: z.number(),
  chunk: z.number(),
  concurrency: z.number(),
})
const noop = task('noop')

await program(params, async ({ url, jobs, warmUp, chunk, concurrency }, line) => {
  await enqueue(warmUp)
  await run(warmUp)
  await line.ready()
  const enqueueMs = await enqueue(jobs)
  await line.ready()
  return { enqueueMs, runMs: await run(jobs) }

  async function enqueue(count: number): Promise<number> {
    await using kalends = await Kalends.open(url, { retention: false })
    const began = performance.now()
    for (let done = 0; done < count; done += chunk) {
      const some = Array.from({ length: Math.min(chunk, count - done) }, (_, index) => done + index)
      await kalends.jobs.submitMany(some.map((number) => ({ task: noop, args: { number } })))
    }
    return performance.now() - began
  }

  async function run(count: number): Promise<number> {
    await using kalends = await Kalends.open(url, { worker: 'queue', retention: false })
    kalends.handle(noop, () => null)
    let settled = 0
    const all = new Promise<void>((resolve) => {
      kalends.on('settled', ({ state }) => {
        if (state === 'success') settled += 1
        if (settled === count) resolve()
      })
    })
    const began = performance.now()
    await kalends.start({ scheduler: false, concurrency })
    await all
    return performance.now() - began
  }
})
