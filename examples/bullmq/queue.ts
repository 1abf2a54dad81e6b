/** What the scheduler and the workers of BullMQ must agree on. */
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
/** Of the schedules; Redis has only the jobs. */
export const database = positionals[0] ?? 'sqlite:./bullmq.db'
export const connection = { url: values.redis }

/** What a job of BullMQ carries. */
export interface Occurrence {
  readonly schedule: string
  readonly args: unknown
  /** An ISO text: BullMQ keeps JSON. */
  readonly slot: string
  readonly missed: number
}
