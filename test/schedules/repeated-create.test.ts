/** `create` with an existing id, `update` with another task, and what operations on a single row return. */
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  Kalends,
  task,
  VersionError,
} from '../../src/index.ts'

const mail = task('mail', { args: z.object({ to: z.string() }) })
const report = task('report', { args: z.object({ to: z.string(), pages: z.number().optional() }) })
const ping = task('ping', { args: z.strictObject({}) })

async function opened(): Promise<Kalends> {
  const kalends = await Kalends.open('sqlite::memory:')
  onTestFinished(() => kalends.stop({ grace: 0 }))
  kalends.handle(mail, () => undefined)
  kalends.handle(report, () => undefined)
  kalends.handle(ping, () => undefined)
  return kalends
}

const daily = { id: 'a', task: mail, timer: 'daily', args: { to: 'ann' } } as const

test('`create` with an existing id is a conflict; with `ifExists: same`, it returns the existing schedule if it is equal', async () => {
  const { schedules } = await opened()
  const created = await schedules.create({ ...daily, ifExists: 'same' })
  expect(await schedules.create({ ...daily, ifExists: 'same' })).toEqual(created)
  const again = schedules.create(daily)
  await expect(again).rejects.toThrow(ConflictError)
  await expect(again).rejects.toThrow("A schedule with the id 'a' already exists")
  await expect(schedules.create({ ...daily, ifExists: 'error' })).rejects.toThrow(ConflictError)
  for (const other of [{ timer: 'weekly' }, { args: { to: 'ben' } }, { enabled: false }, { retries: 1 }]) {
    const different = schedules.create({ ...daily, ...other, ifExists: 'same' })
    await expect(different).rejects.toThrow("A different schedule with the id 'a' already exists")
  }
  expect(await schedules.get('a')).toEqual(created)
})

test('of several parallel calls with `ifExists: same`, one creates the schedule, and all return it', async () => {
  const kalends = await opened()
  const { schedules } = kalends
  const calls = Array.from({ length: 5 }, () => schedules.create({ ...daily, ifExists: 'same' }))
  const [first, ...others] = await Promise.all(calls)
  for (const other of others) expect(other).toEqual(first)
  const limited = kalends.scope({ submitter: 'ann', tasks: [mail], limits: { schedules: 1 } })
  const same = () => limited.schedules.create({ ...daily, ifExists: 'same' })
  expect(await same()).toEqual(await same())
})

test('`create` with `ifExists: same` can be repeated even after the timer has elapsed', async () => {
  const { schedules } = await opened()
  const once = { ...daily, timer: '2020-01-01 09:00', firstRun: 'now', ifExists: 'same' } as const
  const created = await schedules.create(once)
  expect(await schedules.create({ ...once, firstRun: 'next' })).toEqual(created)
})

test('ifExists requires an id and a valid value', async () => {
  const { schedules } = await opened()
  const { id: _, ...unnamed } = daily
  await expect(schedules.create({ ...unnamed, ifExists: 'same' })).rejects.toThrow(
    'ifExists: requires an id, to find the same schedule again',
  )
  // @ts-expect-error plain JavaScript may pass this
  await expect(schedules.create({ ...daily, ifExists: 'skip' })).rejects.toThrow(InvalidInputError)
})

test('update can change the task, but only to one that the args match', async () => {
  const { schedules } = await opened()
  await schedules.create(daily)
  expect(await schedules.update('a', { task: report })).toMatchObject({ task: 'report', args: { to: 'ann' } })
  await expect(schedules.update('a', { task: ping })).rejects.toMatchObject({ field: 'args' })
  await expect(schedules.update('a', { task: 'ping' })).rejects.toThrow(InvalidInputError)
  await expect(schedules.update('a', { task: 'mail', args: { to: 7 } })).rejects.toMatchObject({
    field: 'args',
  })
  expect(await schedules.update('a', { task: 'ping', args: {} })).toMatchObject({ task: 'ping', args: {} })
  expect(await schedules.update('a', { task: 'unknown to this process' })).toMatchObject({ args: {} })
  await expect(schedules.update('a', { task: ' ' })).rejects.toMatchObject({ field: 'task' })
})

test('a new task is not stored if the args have changed since they were checked', async () => {
  const { schedules } = await opened()
  await schedules.create(daily)
  const slow = task('slow', {
    args: z.object({ to: z.string() }).refine(async () => {
      await schedules.update('a', { args: { to: 'changed meanwhile' } })
      return true
    }),
  })
  await expect(schedules.update('a', { task: slow })).rejects.toThrow(VersionError)
  expect(await schedules.get('a')).toMatchObject({ task: 'mail', args: { to: 'changed meanwhile' } })
})

test('a scope can change the task only to one of its tasks', async () => {
  const kalends = await opened()
  const { schedules } = kalends.scope({ submitter: 'ann', tasks: [mail] })
  await schedules.create(daily)
  await expect(schedules.update('a', { task: report })).rejects.toThrow(ForbiddenError)
  expect(await schedules.get('a')).toMatchObject({ task: 'mail' })
})

test('operations on a single row return the resulting row', async () => {
  const { jobs, schedules } = await opened()
  await schedules.create(daily)
  for (const operation of ['pause', 'resume'] as const)
    expect(await schedules[operation]('a')).toEqual(await schedules.get('a'))
  const before = await schedules.get('a')
  expect(await schedules.delete('a')).toEqual(before)
  const id = await jobs.submit({ task: mail, args: { to: 'ann' }, priority: 3 })
  const cancelled = await jobs.cancel(id)
  expect(cancelled).toMatchObject({ id, state: 'cancelled', priority: 3 })
  expect(cancelled).toEqual(await jobs.get(id))
  const retried = await jobs.retry(id)
  expect(retried).toMatchObject({ id, state: 'waiting', attempt: 0 })
  expect(retried).toEqual(await jobs.get(id))
})

test('a job can be submitted with one object, but not with an object and separate arguments', async () => {
  const { jobs } = await opened()
  const id = await jobs.submit({ task: 'mail', id: 'mine', args: { to: 'ann' }, delay: '1h' })
  expect(await jobs.get(id)).toMatchObject({ id: 'mine', args: { to: 'ann' }, runAt: expect.any(Date) })
  // @ts-expect-error plain JavaScript may pass this
  await expect(jobs.submit({ task: 'mail', args: { to: 'ann' } }, { to: 'ben' })).rejects.toMatchObject({
    field: 'options',
  })
  expect((await jobs.list()).total).toBe(1)
})
