/**
 * A scheduler of its own process that dies right after another queue has taken its jobs: before its schedules are moved
 * on. Plain JavaScript on dist/, as test/support/worker.mjs.
 */
import { appendFileSync } from 'node:fs'
import { Kalends } from '../../dist/index.js'

const [, , url = '', file = ''] = process.argv
const kalends = await Kalends.open(url, { worker: 'crashing', pollInterval: 50 })
await kalends.start({
  scheduler: {
    submit: async (jobs) => {
      for (const job of jobs) appendFileSync(file, `${job.id}\n`)
      process.exit(7)
    },
  },
})
