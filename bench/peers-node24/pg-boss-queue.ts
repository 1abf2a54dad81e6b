/**
 * The same as programs/queue, on pg-boss, which is tuned for many short jobs: it fetches full batches without a pause.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { PgBoss } from 'pg-boss'
import { countdown, queueProgram } from '../programs/queue-program.ts'

/** The polling interval. Polling is needed: a job is completed after its handler returns, and no event reports it. */
const LOOK_MS = 5

await queueProgram(async ({ url, concurrency }) => {
  const name = `queue-${process.pid}`
  const boss = new PgBoss({ connectionString: url })
  boss.on('error', (error) => {
    throw error
  })
  await boss.start()
  await boss.createQueue(name)
  const options = { batchSize: concurrency, burstWhenBatchFull: true, perJobResults: true } as const
  return {
    submit: (numbers) =>
      boss.insert(
        name,
        numbers.map((number) => ({ data: { number } })),
      ),
    worker: async (count) => {
      const { done, one } = countdown(count)
      return {
        run: async () => {
          await boss.work(name, options, async (jobs) =>
            jobs.map(({ id, data }) => {
              one()
              return { id, status: 'completed', output: { number: data.number } }
            }),
          )
          await done
          const left = `SELECT FROM pgboss.job WHERE name = '${name}' AND state < 'completed' LIMIT 1`
          while ((await boss.getDb().executeSql(left)).rows.length > 0) await pause(LOOK_MS)
        },
        stop: () => boss.offWork(name),
      }
    },
    close: async () => {
      await boss.deleteQueue(name)
      await boss.stop()
    },
  }
})
