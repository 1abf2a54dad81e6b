/** Submits the jobs of schedules that fire every second: how long after each due time is the last job written? */
import { Kalends } from 'kalends'
import { z } from 'zod'
import { program } from './program.ts'

const params = z.object({ url: z.string(), due: z.number(), seconds: z.number() })

/** The first seconds are not measured, because the server is still cold. */
const WARM_UP = 2

await program(params, async ({ url, due, seconds }) => {
  await using kalends = await Kalends.open(url, { worker: 'pass', retention: false })
  const counts = new Map<number, number>()
  const took: number[] = []
  let full = 0
  await new Promise<void>((resolve, reject) => {
    kalends.on('submitted', ({ runs }) => {
      for (const { slot } of runs) {
        const count = (counts.get(slot.getTime()) ?? 0) + 1
        counts.set(slot.getTime(), count)
        if (count < due) continue
        full += 1
        if (full > WARM_UP) took.push(Date.now() - slot.getTime())
        if (took.length === seconds) resolve()
      }
    })
    kalends.start({ concurrency: 0 }).catch(reject)
  })
  return took
})
