/** Options and types that the scheduler and the BullMQ workers share. */
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    redis: { type: 'string', default: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379' },
    queue: { type: 'string', default: 'kalends' },
    worker: { type: 'string', default: `process-${process.pid}` },
    lease: { type: 'string', default: '60s' },
    crash: { type: 'boolean', default: false },
  },
})

export const options = values
/** The database that stores the schedules. Redis stores only the jobs. */
export const database = positionals[0] ?? 'sqlite:./bullmq.db'
export const connection = { url: values.redis }

/** The data of a BullMQ job. */
export interface Occurrence {
  readonly schedule: string
  readonly args: unknown
  /** ISO 8601, because BullMQ stores JSON. */
  readonly slot: string
  readonly missed: number
}
