/**
 * Schedules in the application's database, jobs in BullMQ: Kalends decides when, BullMQ runs.
 *
 *     node examples/dist/bullmq/scheduler.js [database] [--redis redis://127.0.0.1:6379] [--crash]
 *     node examples/dist/bullmq/worker.js
 *
 * Any number of either. There is no transaction across both: the jobs are added first, then the schedules are moved on.
 * `--crash` ends the process in between; start it once more, and the same jobs are added again, with the same ids,
 * which BullMQ has already.
 */
import { Queue } from 'bullmq'
import { type ExternalJob, Kalends, task } from 'kalends'
import { connection, database, type Occurrence, options } from './queue.ts'

const queue = new Queue<Occurrence>(options.queue, {
  connection,
  defaultJobOptions: {
    attempts: 4,
    backoff: { type: 'exponential', delay: 60_000 },
    // An id that BullMQ has removed is new to it: jobs stay for longer than a scheduler that crashed may be away.
    removeOnComplete: { age: 7 * 86_400 },
    removeOnFail: { age: 7 * 86_400 },
  },
})

/** A UUID, so without the ':' that BullMQ forbids in ids; the same each time for one occurrence. */
async function submit(jobs: readonly ExternalJob[]): Promise<void> {
  await queue.addBulk(
    jobs.map(({ id, task, scheduleId: schedule, args, slot, missed }) => ({
      name: task,
      data: { schedule, args, slot: slot.toISOString(), missed },
      opts: { jobId: id },
    })),
  )
  for (const { id, task } of jobs) console.log(`queued ${task} ${id}`)
  if (options.crash) process.exit(1)
}

const kalends = await Kalends.open(database, { worker: options.worker, lease: options.lease })
kalends.declare('bullmq', [
  { task: task('measure'), timer: '*:*:0/2', catchUp: 100, args: { of: 'load' } },
  { task: task('report'), timer: '*:*:0/5', catchUp: 100, args: { to: 'x@example.com' } },
])
await kalends.start({ scheduler: { submit } })
console.log('ready')

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void kalends.stop().then(() => queue.close())
  })
}
