/** Measures an idle worker. */
import { Kalends, task } from 'kalends'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { program } from './program.ts'

/** Long enough for the startup work to finish. */
const START_MS = 2000

const params = z.object({ url: z.string(), seconds: z.number() })

await program(params, async ({ url, seconds }, line) => {
  await using kalends = await Kalends.open(url, { worker: 'idle' })
  kalends.handle(task('noop'), () => null)
  await kalends.start()
  await pause(START_MS)
  await line.measure(async () => {
    await pause(seconds * 1000)
    return { rssMb: process.memoryUsage.rss() / 1e6 }
  })
})
