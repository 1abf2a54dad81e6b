/** The same as programs/queue, on BullMQ. */
import { Queue, Worker } from 'bullmq'
import { countdown, queueProgram } from '../programs/queue-program.ts'

await queueProgram(async ({ url, concurrency }) => {
  const name = `queue-${process.pid}`
  const connection = { url, maxRetriesPerRequest: null }
  const queue = new Queue<{ number: number }>(name, { connection })
  await queue.waitUntilReady()
  return {
    submit: (numbers) => queue.addBulk(numbers.map((number) => ({ name: 'noop', data: { number } }))),
    worker: async (count) => {
      const worker = new Worker<{ number: number }>(name, async ({ data }) => ({ number: data.number }), {
        connection,
        concurrency,
        autorun: false,
      })
      const { done, one } = countdown(count)
      worker.on('completed', one)
      let running = Promise.resolve()
      return {
        run: () => {
          running = worker.run()
          return done
        },
        stop: async () => {
          await worker.close()
          await running
        },
      }
    },
    close: async () => {
      await queue.obliterate({ force: true })
      await queue.close()
    },
  }
})
