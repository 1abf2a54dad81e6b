/** A worker with its own task and schedules that fire every second. It reports the start of each run. */
import { Kalends, task } from 'kalends'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { program } from './program.ts'

const params = z.object({
  url: z.string(),
  name: z.string(),
  leaseMs: z.number(),
  schedules: z.number(),
  seconds: z.number(),
})

await program(params, async ({ url, name, leaseMs, schedules, seconds }, line) => {
  await using kalends = await Kalends.open(url, { worker: name, lease: leaseMs, retention: false })
  const starts: number[] = []
  const beat = task(name, { retries: 0 })
  kalends.handle(beat, ({ log }) => {
    starts.push(Date.now())
    log.info('started')
    // A failed attempt creates a row in `attempt`.
    if (starts.length % 2 === 0) throw new Error('as intended')
  })
  const hold = task(`${name}-hold`)
  kalends.handle(hold, async ({ signal }) => {
    await pause(seconds * 2000, undefined, { signal }).catch(() => {})
  })
  for (let number = 0; number < schedules; number += 1)
    await kalends.schedules.create({ id: `${name}-${number}`, task: beat, timer: 'every 1s' })
  await kalends.start()
  await kalends.jobs.submit(hold)
  await line.ready()
  starts.length = 0
  await pause(seconds * 1000)
  const measured = [...starts]
  await kalends.stop({ grace: 0 })
  return measured
})
