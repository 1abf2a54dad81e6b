/** Runs schedules that are due at one time, and reports how late each handler started. */
import { Kalends, task } from 'kalends'
import { z } from 'zod'
import { program } from './program.ts'
import { signal } from './signal.ts'

const params = z.object({ url: z.string(), schedules: z.number(), concurrency: z.number() })

await program(params, async ({ url, schedules, concurrency }, line) => {
  await using kalends = await Kalends.open(url, { worker: 'lateness', retention: false })
  const late: number[] = []
  const all = signal()
  kalends.handle(task('noop'), ({ slot }) => {
    const ms = Date.now() - (slot?.getTime() ?? Number.NaN)
    late.push(ms)
    if (late.length === schedules) all.give()
    return { late: ms }
  })
  await kalends.start({ concurrency })
  await line.ready()
  await all.promise
  return late
})
