/** Jobs in an external queue: how their schedules behave until the jobs are reported, and the effects of reports. */
import { inspect } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import {
  ConflictError,
  type ExternalQueueOptions,
  type HandOverContext,
  InvalidInputError,
  type Job,
  Kalends,
  NotFoundError,
  PeriodicScheduler,
  task,
} from '../../src/index.ts'
import { open, type TestKalends } from '../../src/testing/index.ts'
import { collect, collectingLogger, gate } from './scene.ts'

const work = task('work')
const other = task('other')

interface Scene {
  readonly app: TestKalends
  /** The jobs that `submit` received, in order. */
  readonly jobs: Job[]
}

/** An application whose queue accepts all jobs. */
async function scene(
  options: Partial<ExternalQueueOptions> = {},
  setup: (kalends: Kalends) => void = () => {},
): Promise<Scene> {
  const jobs: Job[] = []
  const app = await open(setup, {
    externalQueue: { submit: (some) => void jobs.push(...some), ...options },
  })
  onTestFinished(() => app[Symbol.asyncDispose]())
  return { app, jobs }
}

test('a due job is handed over with everything that a queue needs, and ends with its report [S11]', async () => {
  const { app, jobs } = await scene()
  const { schedules, external } = app.kalends
  const settings = { group: 'g', subject: 'invoice 1', submitter: 'ann', priority: 3, args: { of: 'all' } }
  await schedules.create({ id: 's', task: work, timer: 'hourly', ...settings })
  await app.advance('1h')
  const [job] = jobs
  expect(jobs).toMatchObject([
    {
      scheduleId: 's',
      task: 'work',
      slot: app.now(),
      missed: 0,
      state: 'external',
      queue: 'external',
      ...settings,
    },
  ])
  for (const internal of ['claim', 'argsText', 'policy', 'releases']) expect(job).not.toHaveProperty(internal)
  expect(await schedules.get('s')).toMatchObject({ runCount: 0, lastJobId: job?.id, lastRunAt: app.now() })
  await app.advance('10min')
  const finishedAt = app.now()
  expect(
    await external.finish(job?.id ?? '', { state: 'success', result: { pages: 3 }, finishedAt }),
  ).toMatchObject({ state: 'success', result: { pages: 3 }, finishedAt })
  expect(await schedules.get('s')).toMatchObject({ runCount: 1, errorCount: 0, lastFinishedAt: app.now() })
  await app.advance('50min')
  expect(jobs).toHaveLength(2)
})

test('while a run is unreported, the next slot is skipped, and the error of runNow names the job [X3]', async () => {
  const { app, jobs } = await scene()
  const { schedules } = app.kalends
  await schedules.create({ id: 's', task: work, timer: 'hourly' })
  await app.advance('2h')
  expect(jobs).toHaveLength(1)
  expect(await schedules.history('s')).toMatchObject([
    { state: 'skipped', reason: 'overlap' },
    { state: 'external' },
  ])
  await expect(schedules.runNow('s')).rejects.toThrow(`the job ${jobs[0]?.id} of this schedule is external`)
  const { reasons } = await schedules.explain('s')
  expect(reasons.join(' ')).toContain("has been in the external queue 'external' since")
})

test('maxRuns, onExhausted, after finish and runNow work for external jobs [S11, X3]', async () => {
  const { app, jobs } = await scene()
  const { schedules, external } = app.kalends
  await schedules.create({ id: 'two', task: work, timer: 'hourly', maxRuns: 2 })
  await schedules.create({ id: 'dies', task: work, timer: 'hourly', onExhausted: 'stop' })
  await schedules.create({ id: 'after', task: work, timer: 'every 30min after finish' })
  for (let hour = 0; hour < 5; hour += 1) {
    await app.advance('1h')
    for (const { id, scheduleId } of jobs.splice(0))
      await external.finish(
        id,
        scheduleId === 'dies' ? { state: 'failed', error: new Error('out of paper') } : { state: 'success' },
      )
  }
  expect(await schedules.get('two')).toMatchObject({ status: 'done', runCount: 2 })
  expect(await schedules.get('dies')).toMatchObject({ status: 'dead', runCount: 1, errorCount: 1 })
  expect((await schedules.get('dies'))?.lastError).toMatch(/^Error: out of paper\n/)
  expect(await schedules.get('after')).toMatchObject({ runCount: 5 })
  await schedules.reset('dies')
  const id = await schedules.runNow('two')
  await app.drain()
  expect(jobs.map((job) => job.id)).toContain(id)
})

test('directly submitted jobs also go to the queue, once they are due', async () => {
  const { app, jobs } = await scene()
  const id = await app.kalends.jobs.submit(work, { of: 1 }, { delay: '1h' })
  await app.drain()
  expect(jobs).toEqual([])
  await app.advance('1h')
  expect(jobs).toMatchObject([{ id, args: { of: 1 }, slot: null, scheduleId: null }])
})

test('with the option `tasks`, tasks that are not listed still run in their handlers', async () => {
  const ran: string[] = []
  const { app, jobs } = await scene({ tasks: [work] }, (kalends) =>
    kalends.handle(other, ({ job }) => void ran.push(job.task)),
  )
  for (const one of [work, other]) await app.kalends.jobs.submit(one)
  await app.drain()
  expect(jobs.map((job) => job.task)).toEqual(['work'])
  expect(ran).toEqual(['other'])
})

test('a worker without the option `externalQueue` does not run the jobs of an external queue', async () => {
  const database = `sqlite:${(await import('node:os')).tmpdir()}/external-${process.pid}-${Date.now()}.db`
  const first = await open(() => {}, { database, externalQueue: { submit: () => {}, tasks: [work] } })
  await first[Symbol.asyncDispose]()
  const ran: string[] = []
  const second = await open((kalends) => kalends.handle(work, ({ job }) => void ran.push(job.id)), {
    database,
  })
  await second.kalends.jobs.submit(work)
  await second.drain()
  expect(ran).toEqual([])
  const findings = await second.kalends.doctor()
  expect(findings.filter(({ code }) => code === 'unhandled-task')).toMatchObject([
    { subjects: ["the external queue 'external'"], fix: expect.stringContaining('Back to Kalends') },
  ])
  await second[Symbol.asyncDispose]()
})

test('a failed submit is retried with the same ids, and the error names the callback [X2]', async () => {
  const { logger, messages } = collectingLogger()
  const calls: string[][] = []
  let isAway = true
  const app = await open(() => {}, {
    logger,
    externalQueue: {
      submit: (jobs) => {
        calls.push(jobs.map(({ id }) => id))
        if (isAway) throw new Error('the queue is away')
      },
    },
  })
  onTestFinished(() => app[Symbol.asyncDispose]())
  const errors = collect(app.kalends, 'error')
  const id = await app.kalends.jobs.submit(work)
  await app.drain()
  expect(errors).toMatchObject([
    { where: `job ${id}`, error: new Error('submit of the external queue failed: the queue is away') },
  ])
  expect(messages().join()).toContain(`The job '${id}' could not be`)
  expect(await app.kalends.jobs.get(id)).toMatchObject({
    state: 'waiting',
    attempt: 0,
    error: 'submit of the external queue failed: the queue is away',
    runAt: new Date(app.now().getTime() + 1000),
  })
  isAway = false
  await app.advance('1s')
  expect(await app.kalends.jobs.get(id)).toMatchObject({ state: 'external', error: null })
  expect(new Set(calls.flat())).toEqual(new Set([id]))
})

test('without reports, the hand-over ends the job: the run counts, and the next slot runs', async () => {
  const { app, jobs } = await scene({ reports: false })
  await app.kalends.schedules.create({ id: 's', task: work, timer: 'hourly' })
  const settled = collect(app.kalends, 'settled')
  await app.advance('3h')
  expect(jobs).toHaveLength(3)
  expect(await app.kalends.schedules.get('s')).toMatchObject({ runCount: 3, errorCount: 0 })
  expect(await app.kalends.schedules.history('s')).toMatchObject([
    { state: 'success', reason: 'handed-over' },
    { state: 'success', reason: 'handed-over' },
    { state: 'success', reason: 'handed-over' },
  ])
  expect(settled).toMatchObject([{ state: 'success' }, { state: 'success' }, { state: 'success' }])
})

test('a job that is not reported within its time limit fails, and the next slot runs', async () => {
  const { app, jobs } = await scene({ timeout: '2h' })
  await app.kalends.schedules.create({ id: 's', task: work, timer: 'hourly' })
  await app.advance('1h')
  await app.advance('1h')
  expect(jobs).toHaveLength(1)
  await app.advance('1h')
  await app.advance('1h')
  expect(jobs).toHaveLength(2)
  expect(await app.kalends.schedules.get('s')).toMatchObject({ runCount: 1, errorCount: 1 })
  expect(await app.kalends.jobs.get(jobs[0]?.id ?? '')).toMatchObject({
    state: 'failed',
    reason: 'unreported',
  })
})

test('only the first report counts [X3]', async () => {
  const { app, jobs } = await scene()
  const settled = collect(app.kalends, 'settled')
  const id = await app.kalends.jobs.submit(work)
  const waited = app.kalends.jobs.wait(id)
  await app.drain()
  expect(jobs).toHaveLength(1)
  const { external } = app.kalends
  await external.finish(id, { state: 'failed', error: 'no' })
  expect(await external.finish(id, { state: 'success' })).toMatchObject({ state: 'failed', error: 'no' })
  expect(await waited).toMatchObject({ state: 'failed' })
  expect(settled).toMatchObject([{ jobId: id, state: 'failed', error: 'no' }])
  expect(await app.kalends.jobs.attempts(id)).toMatchObject([{ outcome: 'failed', error: 'no' }])
})

test('an invalid report is rejected with the reason', async () => {
  const { app } = await scene({ tasks: [work] })
  const { external, jobs, schedules } = app.kalends
  const id = await jobs.submit(work)
  const own = await jobs.submit('other')
  await expect(external.finish('unknown', { state: 'success' })).rejects.toThrow(NotFoundError)
  await expect(external.finish(own, { state: 'success' })).rejects.toThrow(
    'does not belong to an external queue',
  )
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- plain JavaScript may pass this
  const wrong = { state: 'done' } as never
  await expect(external.finish(id, wrong)).rejects.toThrow(
    /^state: must be one of success, failed, cancelled/,
  )
  await expect(external.finish(id, { state: 'failed', result: 1 })).rejects.toThrow(/^result: /)
  await expect(external.finish(id, { state: 'success', error: 'x' })).rejects.toThrow(/^error: /)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- plain JavaScript may pass this
  await expect(external.finish(undefined as never, { state: 'success' })).rejects.toThrow(/^id: /)
  await schedules.create({ id: 's', task: work, timer: 'every 1h', overlap: 'queue-one' })
  await app.advance('2h')
  const blocked = (await jobs.list({ state: 'blocked' })).items[0]?.id ?? ''
  await expect(external.finish(blocked, { state: 'success' })).rejects.toThrow(ConflictError)
})

test('a failed job cannot be retried, because the queue already has its id', async () => {
  const { app } = await scene()
  const id = await app.kalends.jobs.submit(work)
  await app.drain()
  await app.kalends.external.finish(id, { state: 'failed' })
  await expect(app.kalends.jobs.retry(id)).rejects.toThrow(/external queue 'external'.*submit another job/)
})

test('a report for a cancelled job has no effect', async () => {
  const { app } = await scene()
  const id = await app.kalends.jobs.submit(work)
  await app.drain()
  expect(await app.kalends.jobs.cancel(id)).toMatchObject({ state: 'cancelled' })
  expect(await app.kalends.external.finish(id, { state: 'success' })).toMatchObject({ state: 'cancelled' })
})

test.each(['throws', 'ends the transaction'])(
  'the error of a submit that %s is reported without the secrets of any of its jobs',
  async (what) => {
    const { logger, lines } = collectingLogger()
    const app = await open(() => {}, {
      logger,
      redact: ['args.password'],
      externalQueue: {
        submit: (some, { tx }) => {
          const passwords = some
            .map(({ args }) => String(Reflect.get(Object(args), 'password')))
            .join(' and ')
          for (const { args } of some) Object.assign(Object(args), { password: '' })
          if (what === 'ends the transaction') endTransaction(tx)
          throw new Error(`no login with ${passwords}`, { cause: new Error(`of ${passwords}`) })
        },
      },
    })
    onTestFinished(() => app[Symbol.asyncDispose]())
    const errors = collect(app.kalends, 'error')
    for (const password of ['hunter-a', 'hunter-b', 'hunter-c'])
      await app.kalends.jobs.submit(work, { password })
    await app.drain().catch(() => undefined)
    await app.advance('1m').catch(() => undefined)
    const { items } = await app.kalends.jobs.list()
    const seen = inspect([errors, lines, items.map(({ error }) => error)], { depth: 9 })
    expect(seen).toContain('no login with [redacted]')
    if (what === 'throws') expect(seen).toContain('Caused by: Error: of [redacted]')
    expect(seen).not.toContain('hunter')
  },
)

function isConnection(tx: unknown): tx is { prepare: (sql: string) => { run: () => void } } {
  return typeof tx === 'object' && tx !== null && 'prepare' in tx
}

/** Ends the transaction with a SQLite error that rolls it back and that `submit` ignores. */
function endTransaction(tx: unknown): void {
  const run = (sql: string) => {
    if (!isConnection(tx)) throw new TypeError('A connection to SQLite')
    tx.prepare(sql).run()
  }
  run('CREATE TABLE IF NOT EXISTS other (id TEXT PRIMARY KEY)')
  run("INSERT INTO other VALUES ('x')")
  expect(() => run("INSERT OR ROLLBACK INTO other VALUES ('x')")).toThrow()
}

test('secrets in the args are hidden in the reported error', async () => {
  const app = await open(() => {}, { redact: ['args.password'], externalQueue: { submit: () => {} } })
  onTestFinished(() => app[Symbol.asyncDispose]())
  const id = await app.kalends.jobs.submit(work, { password: 'hunter22' })
  await app.drain()
  await app.kalends.external.finish(id, { state: 'failed', error: 'wrong password hunter22' })
  expect(await app.kalends.jobs.get(id)).toMatchObject({ error: 'wrong password [redacted]' })
})

test('secrets in the args and the result are hidden in the settled event that follows a report', async () => {
  const redact = ['args.password', 'result.token']
  const app = await open(() => {}, { redact, externalQueue: { submit: () => {} } })
  onTestFinished(() => app[Symbol.asyncDispose]())
  const events: unknown[] = []
  app.kalends.on('settled', ({ result }) => void events.push(result))
  const id = await app.kalends.jobs.submit(work, { password: 'hunter22' })
  await app.drain()
  const result = { token: 'the-token', note: 'of hunter22', 'the-token': 1 }
  await app.kalends.external.finish(id, { state: 'success', result })
  expect(events).toEqual([{ token: '[redacted]', note: 'of [redacted]', '[redacted]': 1 }])
  expect(await app.kalends.jobs.get(id)).toMatchObject({ result })
})

test('a task of the queue needs no handler, and adding one is an error', async () => {
  const submit = () => {}
  await expect(
    open((kalends) => kalends.handle(work, submit), { externalQueue: { submit } }),
  ).rejects.toThrow("handle: the task 'work' goes to the external queue")
  await expect(
    open((kalends) => kalends.handle(work, submit), { externalQueue: { submit, tasks: ['work'] } }),
  ).rejects.toThrow(InvalidInputError)
  const kalends = await Kalends.open('sqlite::memory:', { externalQueue: { submit, tasks: [work] } })
  onTestFinished(() => kalends.stop())
  kalends.declare('set', [{ task: work, timer: 'daily' }])
  await kalends.check()
  kalends.declare('more', [{ task: other, timer: 'daily' }])
  await expect(kalends.check()).rejects.toThrow("'other'")
})

test.each([
  ['externalQueue.submit', { submit: 1 }],
  ['externalQueue.tasks', { submit: () => {}, tasks: [] }],
  ['externalQueue.tasks', { submit: () => {}, tasks: ['kalends.prune'] }],
  ['externalQueue.tasks', { submit: () => {}, tasks: ['*'] }],
  ['externalQueue.reports', { submit: () => {}, reports: 'no' }],
  ['externalQueue.timeout', { submit: () => {}, timeout: 0 }],
  ['externalQueue.name', { submit: () => {}, name: '' }],
  ['externalQueue.taks', { submit: () => {}, taks: [] }],
])('%s is checked', async (name, externalQueue) => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- plain JavaScript may pass this
  const options = { externalQueue } as never
  await expect(Kalends.open('sqlite::memory:', options)).rejects.toThrow(`${name}: `)
})

test('PeriodicScheduler hands over the jobs of all tasks, and rejects options that have no effect [X4]', async () => {
  const handed = gate<{ job: Job; context: HandOverContext }>()
  const scheduler = await PeriodicScheduler.open('sqlite::memory:', {
    pollInterval: 50,
    submit: ([job], context) => {
      if (job !== undefined) handed.open({ job, context })
    },
  })
  onTestFinished(() => scheduler.stop())
  scheduler.declare('set', [{ task: work, timer: 'every 1s' }])
  await scheduler.start()
  const { job, context } = await handed.promise
  expect(context).toMatchObject({ tx: expect.any(Object), signal: expect.any(AbortSignal) })
  expect(scheduler.health()).toMatchObject({ ok: true })
  expect(await scheduler.finish(job.id, { state: 'success' })).toMatchObject({ state: 'success' })
  expect(await scheduler.schedules.get('work')).toMatchObject({ runCount: 1 })
  const submit = () => {}
  for (const name of ['externalQueue', 'middleware', 'tasks', 'sumbit'])
    await expect(PeriodicScheduler.open('sqlite::memory:', { submit, [name]: 1 })).rejects.toThrow(
      `${name}: `,
    )
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- plain JavaScript may pass this
  await expect(scheduler.start({ concurrency: 1 } as never)).rejects.toThrow('concurrency: ')
})
