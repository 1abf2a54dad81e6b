/** The measurement for every queue: submits no-op jobs in bulk, then runs all of them with one worker. */
import { z } from 'zod'
import { program } from './program.ts'
import { signal } from './signal.ts'

const params = z.object({
  url: z.string(),
  jobs: z.number(),
  warmUp: z.number(),
  /** Jobs per submit call. */
  chunk: z.number(),
  concurrency: z.number(),
  /** For queues that are measured with and without tuning. */
  tuned: z.boolean().optional(),
})
export type QueueParams = z.infer<typeof params>

export interface MeasuredQueue {
  readonly submit: (numbers: readonly number[]) => Promise<unknown>
  /** Creates a worker for `count` jobs, each of which returns its number. */
  readonly worker: (count: number) => Promise<{
    /** Resolves when the last job is completed in the database. */
    readonly run: () => Promise<unknown>
    readonly stop: () => Promise<unknown>
  }>
  readonly close: () => Promise<unknown>
}

export function queueProgram(open: (params: QueueParams) => Promise<MeasuredQueue>): Promise<void> {
  return program(params, async (given, line) => {
    const { jobs, warmUp, chunk } = given
    const queue = await open(given)
    await pass(warmUp, (work) => work())
    await pass(jobs, line.measure)
    await queue.close()
    return null

    async function pass(count: number, measure: (work: () => Promise<unknown>) => Promise<unknown>) {
      await measure(() => submit(count))
      const worker = await queue.worker(count)
      await measure(worker.run)
      await worker.stop()
    }

    async function submit(count: number): Promise<void> {
      for (let done = 0; done < count; done += chunk)
        await queue.submit(Array.from({ length: Math.min(chunk, count - done) }, (_, index) => done + index))
    }
  })
}

/** `done` resolves after `count` calls of `one`; each call stands for a job that is done. */
export function countdown(count: number): { readonly done: Promise<void>; readonly one: () => void } {
  let left = count
  const all = signal()
  return {
    done: all.promise,
    one: () => {
      left -= 1
      if (left === 0) all.give()
    },
  }
}
