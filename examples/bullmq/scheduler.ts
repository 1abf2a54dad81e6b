/**
 * Schedules live in the application's database and jobs in BullMQ: Kalends decides when jobs are due, and BullMQ runs
 * them.
 *
 *     node examples/dist/bullmq/scheduler.js [database] [--redis redis://127.0.0.1:6379] [--crash]
 *     node examples/dist/bullmq/worker.js
 *
 * Start any number of each. No transaction covers both systems: the scheduler adds a job to BullMQ, then commits the
 * hand-over. `--crash` kills the process in between, as `kill -9` does. Start it again without `--crash`: it adds
 * the same jobs with the same ids, and BullMQ ignores the duplicates.
 */
import { Queue, QueueEvents } from 'bullmq'
import { type FinishOptions, type Job, NotFoundError, PeriodicScheduler, task } from 'kalends'
import { connection, database, type Occurrence, options } from './queue.ts'

const queue = new Queue<Occurrence>(options.queue, {
  connection,
  defaultJobOptions: {
    attempts: 4,
    backoff: { type: 'exponential', delay: 60_000 },
    // BullMQ forgets the ids of removed jobs, so keep jobs for longer than any outage of all schedulers.
    removeOnComplete: { age: 7 * 86_400 },
    removeOnFail: { age: 7 * 86_400 },
  },
})

/** The id of a scheduled job is a UUID, so it never contains ':', which BullMQ forbids in ids. */
async function submit(jobs: readonly Job[]): Promise<void> {
  await queue.addBulk(
    jobs.map(({ id, task, scheduleId: schedule, args, slot, missed }) => ({
      name: task,
      data: { schedule: schedule ?? '', args, slot: slot?.toISOString() ?? '', missed },
      opts: { jobId: id },
    })),
  )
  for (const { id, task } of jobs) console.log(`queued ${task} ${id}`)
  if (options.crash) process.kill(process.pid, 'SIGKILL')
}

const scheduler = await PeriodicScheduler.open(database, {
  worker: options.worker,
  lease: options.lease,
  submit,
})
scheduler.declare('bullmq', [
  { task: task('measure'), timer: '*:*:0/2', catchUp: 100, args: { of: 'load' } },
  { task: task('report'), timer: '*:*:0/5', catchUp: 100, args: { to: 'x@example.com' } },
])
await scheduler.start()

// Start at the oldest event in Redis, to report jobs that finished while no scheduler was running. Only the first
// report for each job counts.
const events = new QueueEvents(options.queue, { connection, lastEventId: '0-0' })
let reports: Promise<void> = Promise.resolve()
events.on('completed', ({ jobId }) => report(jobId, { state: 'success' }))
events.on('failed', ({ jobId, failedReason }) => report(jobId, { state: 'failed', error: failedReason }))
await events.waitUntilReady()
console.log('ready')

/** Reports one job at a time, because there may be thousands. */
function report(id: string, end: FinishOptions): void {
  reports = reports
    .then(() => scheduler.finish(id, end))
    .then(
      () => undefined,
      (error: unknown) => {
        // A job that is not found has been pruned.
        if (!(error instanceof NotFoundError)) console.error(error)
      },
    )
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void events
      .close()
      .then(() => reports)
      .then(() => scheduler.stop())
      .then(() => queue.close())
  })
}
