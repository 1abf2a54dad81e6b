/** A plain BullMQ worker, independent of Kalends. See scheduler.ts. */
import { Worker } from 'bullmq'
import { connection, type Occurrence, options } from './queue.ts'

const worker = new Worker<Occurrence>(
  options.queue,
  async ({ id, name, data }) => {
    console.log(`done ${name} ${id} for ${data.slot}`)
  },
  { connection, concurrency: 10 },
)
await worker.waitUntilReady()
console.log('ready')

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void worker.close())
