/** Every write plans the schedule and returns its next run, even without a worker. */
import { expect, onTestFinished, test } from 'vitest'
import { type Schedule, type Schedules, task } from '../../src/index.ts'
import { Kalends } from '../../src/kalends.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'

const work = task('work')
const NOW = '2026-03-02T10:20:30.000Z'

async function opened(): Promise<Schedules> {
  const kalends = await Kalends.open('sqlite::memory:', { clock: () => new Date(NOW) })
  onTestFinished(() => kalends.stop())
  return kalends.schedules
}

const nextOf = ({ nextRunAt, status }: Schedule) => [status, nextRunAt?.toISOString() ?? null]

test('create, put, update, pause and resume return the next run, as get does', async () => {
  const schedules = await opened()
  const same = async (returned: Schedule) => {
    expect(await schedules.get(returned.id)).toEqual(returned)
    return nextOf(returned)
  }
  const create = (id: string, timer: string, more: object = {}) =>
    schedules.create({ id, task: work, timer, ...more }).then(same)
  expect(await create('a', 'hourly')).toEqual(['active', '2026-03-02T11:00:00.000Z'])
  expect(await create('b', 'cron */15 * * * *')).toEqual(['active', '2026-03-02T10:30:00.000Z'])
  expect(await create('c', 'every 5min after finish')).toEqual(['active', '2026-03-02T10:25:30.000Z'])
  expect(await create('d', 'daily', { enabled: false })).toEqual(['paused', null])
  expect(await create('e', 'daily', { starts: new Date('2027-01-01') })).toEqual([
    'active',
    '2027-01-01T00:00:00.000Z',
  ])
  // This schedule is due at once, so that a scheduler submits it.
  expect(await create('f', 'daily', { firstRun: 'now' })).toEqual(['active', NOW])
  const put = await schedules.put('a', { task: work, timer: 'daily' })
  expect([put.result, await same(put.schedule)]).toEqual(['changed', ['active', '2026-03-03T00:00:00.000Z']])
  expect(await same((await schedules.put('g', { task: work, timer: 'weekly' })).schedule)).toEqual([
    'active',
    '2026-03-09T00:00:00.000Z',
  ])
  expect(await same(await schedules.update('a', { timer: 'monthly' }))).toEqual([
    'active',
    '2026-04-01T00:00:00.000Z',
  ])
  expect(await same(await schedules.update('a', { summary: 'the same times' }))).toEqual([
    'active',
    '2026-04-01T00:00:00.000Z',
  ])
  expect(await same(await schedules.update('a', { ends: new Date('2026-03-15') }))).toEqual(['done', null])
  expect(await same(await schedules.update('a', { ends: null }))).toEqual([
    'active',
    '2026-04-01T00:00:00.000Z',
  ])
  expect(await same(await schedules.pause('a'))).toEqual(['paused', null])
  expect(await same(await schedules.resume('a'))).toEqual(['active', '2026-04-01T00:00:00.000Z'])
})

test('a due run stays due after an edit that does not change the timer', async () => {
  const schedules = await opened()
  await schedules.create({ id: 'a', task: work, timer: 'daily', firstRun: 'now' })
  expect(nextOf(await schedules.update('a', { summary: 'still due' }))).toEqual(['active', NOW])
  expect(nextOf(await schedules.update('a', { jitter: '1h' }))).toEqual(['active', NOW])
})

/** Schedules without a worker, on a clock that the test sets. */
async function withClock(start: string) {
  const clock = { now: new Date(start) }
  const kalends = await Kalends.open('sqlite::memory:', { clock: () => clock.now })
  onTestFinished(() => kalends.stop())
  kalends.handle(work, () => undefined)
  const step = async () => (await kalends.startByHand())()
  return {
    schedules: kalends.schedules,
    at: (time: string) => (clock.now = new Date(`2026-03-02T${time}Z`)),
    step,
  }
}

test('a due one-off stays due after an edit, and runs late', async () => {
  const { schedules, at, step } = await withClock('2026-03-02T10:20:00Z')
  await schedules.create({ id: 'a', task: work, timer: '2026-03-02 12:00' })
  at('12:05')
  expect(nextOf(await schedules.update('a', { maxRuns: 5 }))).toEqual(['active', '2026-03-02T12:00:00.000Z'])
  await step()
  expect(await schedules.history('a')).toMatchObject([{ slot: new Date('2026-03-02T12:00:00Z') }])
})

test('a due row with a new timer is planned from now, and so is a resumed row', async () => {
  const { schedules, at, step } = await withClock('2026-03-02T10:20:00Z')
  for (const id of ['a', 'b']) await schedules.create({ id, task: work, timer: 'hourly', catchUp: 100 })
  at('13:05')
  expect(nextOf(await schedules.update('a', { timer: 'daily' }))).toEqual([
    'active',
    '2026-03-03T00:00:00.000Z',
  ])
  expect(nextOf(await schedules.pause('b'))).toEqual(['paused', null])
  expect(
    nextOf(await schedules.create({ id: 'c', task: work, timer: 'hourly', enabled: false, firstRun: 'now' })),
  ).toEqual(['paused', null])
  at('17:05')
  expect(nextOf(await schedules.resume('b'))).toEqual(['active', '2026-03-02T18:00:00.000Z'])
  await step()
  for (const id of ['a', 'b', 'c']) expect(await schedules.history(id)).toEqual([])
})

eachDatabase((under) => {
  test('after the timer of a schedule is changed, a worker never submits a slot early', async () => {
    const database: TestDatabase = await under.fresh()
    const kalends = await Kalends.open(database.url)
    onTestFinished(() => kalends.stop())
    kalends.handle(work, () => undefined)
    await kalends.schedules.create({ id: 'a', task: work, timer: '2199-01-01' })
    await kalends.start()
    const { nextRunAt } = await kalends.schedules.update('a', { timer: 'yearly' })
    expect(nextRunAt?.getTime()).toBeGreaterThan(Date.now())
    expect(await kalends.schedules.update('a', { timer: '*:*:*' })).toMatchObject({ status: 'active' })
    await expect.poll(async () => (await kalends.schedules.history('a')).length).toBeGreaterThan(1)
    for (const { slot, submittedAt } of await kalends.schedules.history('a'))
      expect(submittedAt.getTime()).toBeGreaterThanOrEqual(slot?.getTime() ?? Infinity)
  })
})
