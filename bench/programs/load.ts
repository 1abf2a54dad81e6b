/** Submits the given number of no-op jobs per second for the given time, a tenth of them every 100 ms. */
import { setTimeout as pause } from 'node:timers/promises'
import { Kalends, task } from 'kalends'
import { z } from 'zod'
import { program } from './program.ts'

const params = z.object({ url: z.string(), jobsPerSecond: z.number(), seconds: z.number() })
const noop = task('noop')

await program(params, async ({ url, jobsPerSecond, seconds }, line) => {
  await using kalends = await Kalends.open(url, { retention: false })
  await line.ready()
  const began = performance.now()
  for (let portion = 1; portion <= seconds * 10; portion += 1) {
    const jobs = Array.from({ length: Math.ceil(jobsPerSecond / 10) }, () => ({ task: noop }))
    await kalends.jobs.submitMany(jobs)
    await pause(Math.max(0, began + portion * 100 - performance.now()))
  }
  return { tookMs: performance.now() - began }
})
