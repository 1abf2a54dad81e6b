/** Warnings about tasks that no worker has ever handled. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { type Logger, task } from '../../src/index.ts'
import { UnhandledTasks } from '../../src/jobs/unhandled-tasks.ts'
import { apiScene } from '../http/scene.ts'
import { collectingLogger, ended, scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const mail = task('mail')

eachDatabase((under) => {
  it('a job of a misspelled task is submitted, and the log and the response suggest a handled task', async () => {
    const { call, database, kalends, lines } = await apiScene(under)
    await database.query(
      `INSERT INTO worker (id, name, host, pid, tasks) VALUES ('w', 'w', 'h', 1, '["mail","report"]')`,
    )
    const meant = "No known worker handles the task 'mial'. Did you mean 'mail'?"
    const answer = await call('POST /api/v1/jobs', { body: { task: 'mial' } })
    expect(answer).toMatchObject({ status: 201, body: { task: 'mial', state: 'waiting', warning: meant } })
    expect(await kalends.jobs.taskWarning('mial')).toBe(meant)
    expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { message: meant, fields: { task: 'mial', nearest: 'mail' } },
    ])
    const good = await call('POST /api/v1/jobs', { body: { task: 'mail' } })
    expect(good.body).toMatchObject({ task: 'mail' })
    expect(good.body).not.toHaveProperty('warning')
  })

  it('a task is known while a worker handles it and after its jobs have run', async () => {
    const { open } = await scene(under)
    const worker = await open()
    worker.handle(mail, () => undefined)
    await worker.start()
    const { logger, messages } = collectingLogger()
    const web = await open({ logger })
    await ended(web, await web.jobs.submit(mail))
    await worker.stop()
    const later = await open({ logger })
    await later.jobs.submitMany([{ task: mail }, { task: mail }])
    expect(await later.jobs.taskWarning('mail')).toBeNull()
    expect(messages()).toEqual([])
  })

  it('in a scope, the returned warning does not name tasks of other owners, but the log does', async () => {
    const { open } = await scene(under)
    const { logger, messages } = collectingLogger()
    const kalends = await open({ logger })
    kalends.handle(task('payroll'), () => undefined)
    const { jobs } = kalends.scope({ submitter: 'ann', tasks: ['payrol'] })
    await jobs.submit('payrol')
    expect(await jobs.taskWarning('payrol')).toBe(
      "No known worker handles the task 'payrol'. Its jobs wait until a worker has a handler for it",
    )
    expect(messages()).toEqual(["warn: No known worker handles the task 'payrol'. Did you mean 'payroll'?"])
  })
})

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

it('a database error causes no warning, and the next submission repeats the check', async () => {
  const tasks = new UnhandledTasks(new Map(), silent)
  const lists = { hasRun: () => Promise.resolve(false) }
  const broken = { list: () => Promise.reject(new Error('gone')) }
  expect(await tasks.find('mail', { workers: broken, lists })).toBeNull()
  const workers = { list: () => Promise.resolve({ workers: [], lowestVersion: null }) }
  expect(await tasks.find('mail', { workers, lists })).toEqual({ nearest: undefined })
})

it('a handled task is looked up once, and an unhandled task at most once a minute', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let lookups = 0
  const tasks = new UnhandledTasks(new Map([['own', null]]), silent)
  const worker = { id: 'w', name: 'w', host: 'h', pid: 1, tasks: ['mail'], sets: {} }
  const stores = {
    lists: { hasRun: () => Promise.resolve(false) },
    workers: {
      list: () => {
        lookups += 1
        return Promise.resolve({
          workers: [{ ...worker, startedAt: new Date(), heartbeatAt: new Date() }],
          lowestVersion: null,
        })
      },
    },
  }
  const names = ['own', 'own', 'mail', 'mail', 'mial', 'mial', 'mial']
  const findAll = () => Promise.all(names.map((name) => tasks.find(name, stores)))
  await findAll()
  expect(lookups).toBe(2)
  expect(await tasks.find('mial', stores)).toEqual({ nearest: 'mail' })
  vi.advanceTimersByTime(59_999)
  await findAll()
  expect(lookups).toBe(2)
  vi.advanceTimersByTime(1)
  await findAll()
  expect(lookups).toBe(3)
})
