/** One of several workers on one database: schedules and runs jobs, and reports how many runs ended and when. */
import { Kalends, task } from 'kalends'
import { z } from 'zod'
import { program } from './program.ts'

const params = z.object({ url: z.string(), name: z.string(), concurrency: z.number() })

await program(params, async ({ url, name, concurrency }, line) => {
  await using kalends = await Kalends.open(url, { worker: name, retention: false })
  let number = 0
  kalends.handle(task('noop'), () => {
    number += 1
    return { number }
  })
  let ended = 0
  let errors = 0
  kalends.on('error', () => {
    errors += 1
  })
  kalends.on('settled', () => {
    if (ended === 0)
      setImmediate(() => {
        line.tell({ ended, at: Date.now(), errors })
        ended = 0
      })
    ended += 1
  })
  await kalends.start({ concurrency })
  // All jobs that are measured run between the two signals.
  await line.measure(() => line.ready())
})
