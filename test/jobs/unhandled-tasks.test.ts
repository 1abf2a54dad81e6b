/** Warnings about tasks that no worker has ever handled. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { Kalends, type Logger, task } from '../../src/index.ts'
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

  it('a dead worker handles nothing, even while its row remains', async () => {
    const { database, kalends } = await apiScene(under)
    await database.query(
      `INSERT INTO worker (id, name, host, pid, tasks, heartbeat) VALUES ('w', 'w', 'h', 1, '["mail"]', '2020-01-01 00:00:00')`,
    )
    const id = await kalends.jobs.submit(mail)
    expect(await kalends.jobs.explain(id)).toContain("no live worker handles the task 'mail'")
    expect(await kalends.jobs.taskWarning('mail')).toContain("No known worker handles the task 'mail'")
    await kalends.schedules.create({ id: 'a', task: mail, timer: 'yearly' })
    await database.query(`UPDATE periodic_task SET nextrun = '2020-01-01 00:00:00'`)
    expect((await kalends.schedules.explain('a')).reasons.join(' ')).toContain('no worker is alive')
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

it('handlers of this process count only while it runs jobs', async () => {
  const { logger, messages } = collectingLogger()
  await using kalends = await Kalends.open('sqlite::memory:', { logger })
  kalends.handle(mail, () => undefined)
  const warning =
    "No known worker handles the task 'mail'. This process has a handler for it, but runs no jobs: has kalends.start() been called?"
  expect(await kalends.jobs.taskWarning('mail')).toBe(warning)
  expect(messages()).toEqual([`warn: ${warning}`])
  await kalends.start({ signals: false })
  expect(await kalends.jobs.taskWarning('mail')).toBeNull()
  await using web = await Kalends.open('sqlite::memory:', { logger: false })
  web.handle(mail, () => undefined)
  await web.start({ signals: false, concurrency: 0 })
  expect(await web.jobs.taskWarning('mail')).toBe(warning)
})

it('stop begins at once, and the warnings about all tasks of the last submit are logged [E4]', async () => {
  const { logger, messages } = collectingLogger()
  const kalends = await Kalends.open('sqlite::memory:', { logger })
  await kalends.jobs.submitMany(['a', 'b', 'c'].map((name) => ({ task: task(name) })))
  const stopping = kalends.stop()
  expect(() => kalends.handle(mail, () => undefined)).toThrow('already stopped')
  await stopping
  expect(messages()).toMatchObject(
    ['a', 'b', 'c'].map((name) =>
      expect.stringContaining(`warn: No known worker handles the task '${name}'`),
    ),
  )
})

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

it('a database error causes no warning, and the next submission repeats the check', async () => {
  const tasks = new UnhandledTasks(new Map(), () => true, silent)
  const lists = { hasRun: () => Promise.resolve(false) }
  const broken = () => Promise.reject(new Error('gone'))
  expect(await tasks.find('mail', { liveWorkers: broken, lists })).toBeNull()
  const liveWorkers = () => Promise.resolve([])
  expect(await tasks.find('mail', { liveWorkers, lists })).toEqual({ hasHandler: false, nearest: undefined })
})

it('a handled task is looked up once, and an unhandled task at most once a minute', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let lookups = 0
  const tasks = new UnhandledTasks(new Map([['own', null]]), () => true, silent)
  const stores = {
    lists: { hasRun: () => Promise.resolve(false) },
    liveWorkers: () => {
      lookups += 1
      return Promise.resolve([{ tasks: ['mail'] }])
    },
  }
  const names = ['own', 'own', 'mail', 'mail', 'mial', 'mial', 'mial']
  const findAll = () => Promise.all(names.map((name) => tasks.find(name, stores)))
  await findAll()
  expect(lookups).toBe(2)
  expect(await tasks.find('mial', stores)).toEqual({ hasHandler: false, nearest: 'mail' })
  vi.advanceTimersByTime(59_999)
  await findAll()
  expect(lookups).toBe(2)
  vi.advanceTimersByTime(1)
  await findAll()
  expect(lookups).toBe(3)
})

it('the tasks of a submit share one list of workers, and a look-up that hangs holds nothing up for long', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const tasks = new UnhandledTasks(new Map(), () => true, silent)
  let lists = 0
  const liveWorkers = () => {
    lists += 1
    return Promise.resolve([])
  }
  tasks.check(['a', 'b', 'a'], { liveWorkers, lists: { hasRun: () => Promise.resolve(false) } })
  await tasks.settled()
  expect(lists).toBe(1)
  tasks.check(['c'], { liveWorkers, lists: { hasRun: () => new Promise(() => undefined) } })
  const settled = tasks.settled()
  vi.advanceTimersByTime(1000)
  await settled
})
