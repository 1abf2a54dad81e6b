/**
 * An application with its own job table and workers: Kalends decides which jobs are due, and `submit` inserts them
 * into that table.
 *
 *     node examples/dist/own-queue/main.js [database] [--worker name] [--lease 60s] [--crash]
 *
 * Start any number of these processes. `--crash` kills the process, as `kill -9` does, after it has inserted the first
 * items and before it commits them. Start it again without `--crash`: nothing is lost or duplicated.
 */
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { PeriodicScheduler, task } from 'kalends'
import { openQueue } from './queue.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    worker: { type: 'string', default: `${hostname()}-${process.pid}` },
    lease: { type: 'string', default: '60s' },
    crash: { type: 'boolean', default: false },
  },
})
const url = positionals[0] ?? 'sqlite:./own-queue.db'

const queue = await openQueue(url)
await queue.release(values.worker)
const scheduler = await PeriodicScheduler.open(url, {
  worker: values.worker,
  lease: values.lease,
  async submit(jobs, { tx }) {
    // The insert is committed either together with the hand-over or not at all.
    await queue.insert(jobs, tx)
    for (const { id, task } of jobs) console.log(`queued ${task} ${id}`)
    if (values.crash) process.kill(process.pid, 'SIGKILL')
  },
})
scheduler.declare('own-queue', [
  { task: task('measure'), timer: '*:*:0/2', catchUp: 100, args: { of: 'load' } },
  { task: task('report'), timer: '*:*:0/5', catchUp: 100, args: { to: 'x@example.com' } },
])
await scheduler.start()
// Report items that were done but not yet reported when a process died. A second report has no effect.
for (const id of await queue.done()) await report(id)
console.log('ready')

/** The application's own worker. */
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort())
while (!stopping.signal.aborted) {
  const item = await queue.take(values.worker)
  if (item === null) {
    await pause(100, undefined, { signal: stopping.signal }).catch(() => {})
    continue
  }
  console.log(`done ${item.task} of ${new Date(item.slot).toISOString()} ${item.args}`)
  await queue.set(item.id, 'done')
  await report(item.id)
}
await scheduler.stop()
await queue.close()

async function report(id: string): Promise<void> {
  await scheduler.finish(id, { state: 'success' })
  await queue.set(id, 'reported')
}
