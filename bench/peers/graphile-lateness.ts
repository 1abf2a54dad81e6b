/** The same as programs/lateness, with graphile-worker's crontab, which supports only whole minutes. */
import { parseCronItems, run, runMigrations } from 'graphile-worker'
import { z } from 'zod'
import { program } from '../programs/program.ts'
import { signal } from '../programs/signal.ts'
import { graphileOptions } from './graphile.ts'

const params = z.object({
  url: z.string(),
  schedules: z.number(),
  concurrency: z.number(),
  tuned: z.boolean(),
})

const MINUTE = 60_000
/** graphile-worker must have been running for this long when the minute begins. */
const LEAD_MS = 5000

await program(params, async ({ url, schedules, concurrency, tuned }) => {
  const options = graphileOptions(url, concurrency, tuned)
  await runMigrations(options)
  const late: number[] = []
  const all = signal()
  const at = new Date(Math.ceil((Date.now() + LEAD_MS) / MINUTE) * MINUTE)
  const parsedCronItems = parseCronItems(
    Array.from({ length: schedules }, (_, index) => ({
      task: 'noop',
      // The schedules fire once an hour, so that a second run is not measured.
      match: `${at.getUTCMinutes()} * * * *`,
      identifier: `s${index}`,
      options: { backfillPeriod: 0 },
    })),
  )
  const runner = await run({
    ...options,
    parsedCronItems,
    taskList: {
      noop: async () => {
        late.push(Date.now() - at.getTime())
        if (late.length === schedules) all.give()
      },
    },
  })
  await all.promise
  await runner.stop()
  return late
})
