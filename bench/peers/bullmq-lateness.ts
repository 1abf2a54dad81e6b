/** The same as programs/lateness, with BullMQ's job schedulers. */
import { Queue, Worker } from 'bullmq'
import { z } from 'zod'
import { program } from '../programs/program.ts'
import { signal } from '../programs/signal.ts'

const params = z.object({
  url: z.string(),
  schedules: z.number(),
  concurrency: z.number(),
  leadMs: z.number(),
})

await program(params, async ({ url, schedules, concurrency, leadMs }) => {
  const name = `late-${process.pid}`
  const connection = { url, maxRetriesPerRequest: null }
  const queue = new Queue(name, { connection })
  const late: number[] = []
  const all = signal()
  // The schedules fire once an hour, so that only the first run is measured.
  const at = new Date(Math.ceil((Date.now() + leadMs) / 1000) * 1000)
  const pattern = `${at.getUTCSeconds()} ${at.getUTCMinutes()} * * * *`
  for (let first = 0; first < schedules; first += 100) {
    await Promise.all(
      Array.from({ length: Math.min(100, schedules - first) }, (_, index) =>
        queue.upsertJobScheduler(`s${first + index}`, { pattern, tz: 'UTC' }, { name: 'noop', data: {} }),
      ),
    )
  }
  if (Date.now() > at.getTime() - 500) throw new Error('The schedules were not created in time')
  const worker = new Worker(
    name,
    async () => {
      const ms = Date.now() - at.getTime()
      late.push(ms)
      if (late.length === schedules) all.give()
      return { late: ms }
    },
    { connection, concurrency },
  )
  await worker.waitUntilReady()
  await all.promise
  await worker.close()
  await queue.obliterate({ force: true })
  await queue.close()
  return late
})
