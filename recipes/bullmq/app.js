// Kalends decides when jobs are due, and BullMQ runs them: schedules are in the application's database, jobs in Redis.
import { Queue, QueueEvents, Worker } from 'bullmq'
import { PeriodicScheduler, task } from 'kalends'

const connection = { url: process.env.REDIS_URL }
const queue = new Queue('kalends', { connection })
const scheduler = await PeriodicScheduler.open('sqlite:./app.db', {
  // After a crash, the same jobs may arrive again with the same ids. BullMQ ignores a job whose id it already has.
  submit: (jobs) =>
    queue.addBulk(jobs.map(({ id, task: name, args }) => ({ name, data: args, opts: { jobId: id } }))),
})
scheduler.declare('bullmq', [{ task: task('greet'), timer: '*:*:*', args: { name: 'world' } }])

const worker = new Worker('kalends', async ({ data }) => `Hello ${data.name}`, { connection })
const events = new QueueEvents('kalends', { connection, lastEventId: '0-0' })
events.on('completed', ({ jobId }) => scheduler.finish(jobId, { state: 'success' }))
events.on('failed', ({ jobId, failedReason: error }) => scheduler.finish(jobId, { state: 'failed', error }))
const first = new Promise((resolve) => events.once('completed', resolve))

await scheduler.start()
console.log((await first).returnvalue)
// Allow time for the job's outcome to be reported.
await new Promise((resolve) => setTimeout(resolve, 1000))
await scheduler.stop()
for (const part of [worker, events, queue]) await part.close()
