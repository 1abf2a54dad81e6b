/** No-op jobs of Kalends. */
import { Kalends, task } from 'kalends'
import { countdown, queueProgram } from './queue-program.ts'

const noop = task<{ number: number }>('noop')

await queueProgram(async ({ url, concurrency }) => {
  const kalends = await Kalends.open(url, { retention: false })
  return {
    submit: (numbers) => kalends.jobs.submitMany(numbers.map((number) => ({ task: noop, args: { number } }))),
    worker: async (count) => {
      const worker = await Kalends.open(url, { worker: 'queue', retention: false })
      worker.handle(noop, ({ args }) => ({ number: args.number }))
      const { done, one } = countdown(count)
      worker.on('settled', ({ state }) => {
        if (state === 'success') one()
      })
      return {
        run: async () => {
          await worker.start({ scheduler: false, concurrency })
          await done
        },
        stop: () => worker.stop(),
      }
    },
    close: () => kalends.stop(),
  }
})
