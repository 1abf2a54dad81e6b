/**
 * A worker that runs schedules that fire every second, and any other load. It reports how late the schedules' handlers
 * started.
 */
import { Kalends, task } from 'kalends'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { program } from './program.ts'

const params = z.object({ url: z.string(), seconds: z.number(), concurrency: z.number() })

await program(params, async ({ url, seconds, concurrency }, line) => {
  await using kalends = await Kalends.open(url, { worker: `steady-${process.pid}`, retention: false })
  let late: number[] = []
  let noops = 0
  kalends.handle(task('tick'), ({ slot }) => {
    const ms = Date.now() - (slot?.getTime() ?? Number.NaN)
    late.push(ms)
    return { late: ms }
  })
  kalends.handle(task('noop'), () => {
    noops += 1
    return { number: noops }
  })
  await kalends.start({ concurrency })
  await line.measure(async () => {
    late = []
    noops = 0
    await pause(seconds * 1000)
    return { late: [...late], noops }
  })
})
