/** The submission of due schedules by a worker that starts their jobs itself. */
import { expect, it, onTestFinished } from 'vitest'
import { Emitter } from '../../src/events.ts'
import type { Logger } from '../../src/logger.ts'
import { Redaction } from '../../src/model/redaction.ts'
import { DEFAULT_SETTINGS } from '../../src/model/schedule.ts'
import { DEFAULT_ARGS_LIMIT, task } from '../../src/model/task.ts'
import { openStore } from '../support/open-store.ts'
import type { SchedulingStore } from '../../src/store/scheduling-store.ts'
import type { KalendsEvents } from '../../src/worker/reporter.ts'
import { Worker } from '../../src/worker/worker.ts'

/** A worker with capacity for one job, on a database with one due schedule. */
async function started(
  submitOf: (store: SchedulingStore) => SchedulingStore['submit'],
  log: Logger['debug'],
) {
  const store = await openStore('sqlite::memory:')
  onTestFinished(() => store.close())
  const inner = submitOf(store.scheduling)
  const limits: (number | undefined)[] = []
  const submit: SchedulingStore['submit'] = async (worker, marks, decide, startLimits) => {
    limits.push(startLimits?.limit)
    return await inner(worker, marks, decide, startLimits)
  }
  let foundNothing = () => {}
  const isEmpty = new Promise<void>((resolve) => (foundNothing = resolve))
  const claim: typeof store.executing.claim = async (...of) => {
    const jobs = await store.executing.claim(...of)
    if (jobs.length === 0) foundNothing()
    return jobs
  }
  const errors: string[] = []
  const runs: unknown[] = []
  const events = new Emitter<KalendsEvents>((error) => void errors.push(String(error)))
  events.on('error', ({ error }) => void errors.push(String(error)))
  const settled = new Promise<void>((resolve) => events.on('settled', () => resolve()))
  const worker = new Worker({
    store: {
      ...store,
      scheduling: { ...store.scheduling, submit },
      executing: { ...store.executing, claim },
    },
    declaredAtStart: store.declared,
    name: 'w',
    leaseMs: 60_000,
    // The worker must notice the schedule by polling, because any other wake-up would make it claim first.
    pollIntervalMs: 20,
    handlers: new Map([
      ['task', { task: task('task'), handler: ({ job }) => void runs.push(job.scheduleId) }],
    ]),
    sets: [],
    schedules: true,
    externalQueue: null,
    concurrency: 1,
    middleware: null,
    delayFactor: () => 1,
    redaction: new Redaction([]),
    argsLimit: DEFAULT_ARGS_LIMIT,
    now: () => new Date(),
    logger: { debug: log, info: log, warn: log, error: log },
    events,
  })
  await worker.start()
  onTestFinished(() => worker.stop(0))
  // Jobs are started on submission only if the worker knows that its queue is empty.
  await isEmpty
  await new Promise(setImmediate)
  const settings = { ...DEFAULT_SETTINGS, task: 'task', timer: 'yearly', args: '{}' }
  await store.schedules.create({ id: 's', settings, isDue: () => true })
  await settled
  expect(limits).toContain(1)
  return { runs, errors }
}

it('a failed submission releases the capacity that it reserved', async () => {
  const failures = [new Error('first'), new Error('second')]
  const { runs } = await started(
    (store) =>
      async (...of) => {
        const failure = failures.shift()
        if (failure !== undefined) throw failure
        return await store.submit(...of)
      },
    () => {},
  )
  expect(runs).toEqual(['s'])
})

it('jobs that are started on submission still run if the submission cannot be reported', async () => {
  const { runs, errors } = await started(
    (store) =>
      (...of) =>
        store.submit(...of),
    (_, text) => {
      if (text === 'Submitted') throw new Error('disk full')
    },
  )
  expect(runs).toEqual(['s'])
  expect(errors).toEqual(['Error: disk full'])
})
