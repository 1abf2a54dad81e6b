/** Submits a burst without running its jobs: when is the last job written? It runs one round per start signal. */
import { Kalends } from 'kalends'
import { z } from 'zod'
import { program } from './program.ts'
import { signal } from './signal.ts'

const params = z.object({ url: z.string(), schedules: z.number(), rounds: z.number() })

await program(params, async ({ url, schedules, rounds }, line) => {
  await using kalends = await Kalends.open(url, { worker: 'burst', retention: false })
  let submitted = 0
  let all = signal<number>()
  kalends.on('submitted', ({ runs }) => {
    submitted += runs.length
    if (submitted === schedules) all.give(Date.now())
  })
  await kalends.start({ concurrency: 0 })
  for (let round = 0; round < rounds; round += 1) {
    submitted = 0
    all = signal()
    await line.measure(() => all.promise)
  }
})
