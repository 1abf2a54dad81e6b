/** One of two processes: one submits jobs one at a time; the other runs them and reports how long each waited. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Kalends, task } from 'kalends'
import { z } from 'zod'
import { program } from './program.ts'
import { signal } from './signal.ts'

const params = z.object({ url: z.string(), role: z.enum(['submit', 'run']), jobs: z.number() })
const noop = task<{ at: number }>('noop')
/**
 * The pause between two jobs, in milliseconds. It is uniformly distributed, so that jobs arrive at any time between
 * polls.
 */
const PAUSE = { least: 100, more: 200 }

await program(params, async ({ url, role, jobs }, line) => {
  await using kalends = await Kalends.open(url, { worker: role, retention: false })
  if (role === 'submit') {
    await line.ready()
    for (let count = 0; count < jobs; count += 1) {
      await sleep(PAUSE.least + PAUSE.more * Math.random())
      await kalends.jobs.submit(noop, { at: Date.now() })
    }
    return null
  }
  const waited: number[] = []
  const all = signal()
  kalends.handle(noop, ({ args }) => {
    waited.push(Date.now() - args.at)
    if (waited.length === jobs) all.give()
    return null
  })
  await kalends.start()
  await line.ready()
  await all.promise
  return waited
})
