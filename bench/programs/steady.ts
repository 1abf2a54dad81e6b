/**
 * A worker that runs schedules which go off every second, and whatever load there is beside them; tells how late their
 * handlers were started and what it cost.
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
    late.push(Date.now() - (slot?.getTime() ?? Number.NaN))
    return null
  })
  kalends.handle(task('noop'), () => {
    noops += 1
    return null
  })
  await kalends.start({ concurrency })
  await line.ready()
  late = []
  noops = 0
  const cpu = process.cpuUsage()
  const began = performance.now()
  await pause(seconds * 1000)
  const { user, system } = process.cpuUsage(cpu)
  const elapsedMs = performance.now() - began
  return {
    late: [...late],
    noops,
    cpuShare: (user + system) / 1000 / elapsedMs,
    rssMb: process.memoryUsage.rss() / 1e6,
  }
})
