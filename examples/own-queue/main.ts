/**
 * Kalends as scheduler alone: the jobs go into the application's own table, in its own transaction.
 *
 *     node examples/dist/own-queue/main.js [database] [--worker name] [--lease 60s] [--crash]
 *
 * `--crash` ends the process right after the first items are in the table, before Kalends has moved the schedules on.
 * Start it once more: the same items are submitted again, with the same ids, and none is there twice.
 */
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Kalends, task } from 'kalends'
import { openDatabase } from './database.ts'
import { OwnQueue } from './queue.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    worker: { type: 'string', default: `${hostname()}-${process.pid}` },
    lease: { type: 'string', default: '60s' },
    crash: { type: 'boolean', default: false },
  },
})
const url = positionals[0] ?? 'sqlite:./own-queue.db'

const database = openDatabase(url)
const queue = await OwnQueue.open(database)
await queue.release(values.worker)
const kalends = await Kalends.open(url, { worker: values.worker, lease: values.lease })

// No handlers: who runs the jobs is the other queue's affair. It has no overlap policy but its own: of slots that are
// made up together, it takes the first and refuses the others.
kalends.declare('own-queue', [
  { task: task('measure'), timer: '*:*:0/2', catchUp: 100, args: { of: 'load' } },
  { task: task('report'), timer: '*:*:0/5', catchUp: 100, args: { to: 'x@example.com' } },
])
await kalends.start({
  scheduler: {
    submit: async (jobs) => {
      const refused = await queue.submit(jobs)
      for (const { id, task, slot } of jobs)
        console.log(`${refused.includes(id) ? 'refused' : 'queued '} ${task} of ${slot.toISOString()} ${id}`)
      if (values.crash) process.exit(1)
      return refused
    },
  },
})
console.log('ready')

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort())
while (!stopping.signal.aborted) {
  const item = await queue.take(values.worker)
  if (item === null) await pause(100, undefined, { signal: stopping.signal }).catch(() => {})
  else {
    console.log(`done    ${item.task} of ${new Date(item.slot).toISOString()} ${item.args}`)
    await queue.done(item.id)
  }
}
await kalends.stop()
await database.close()
