/**
 * The types of the public API, tested by `npm run typecheck`. Each `@ts-expect-error` precedes a mistake that must not
 * compile; if the types allow the mistake, the directive itself is an error. This code never runs.
 */
import { expectTypeOf } from 'vitest'
import { z } from 'zod'
import { http } from '../../src/http/index.ts'
import type { Job, Schedule, SettledEvent, Task } from '../../src/index.ts'
import { Kalends, task } from '../../src/index.ts'
import { open as openTest } from '../../src/testing/index.ts'

declare const kalends: Kalends

const cleanup = task('cleanup', { args: z.object({ days: z.number() }) })
const optional = task('optional', { args: z.object({ days: z.number().default(30) }) })
const remind = task('remind', { args: z.object({ on: z.coerce.date<string>() }) })
const nothing = task('nothing', { args: z.object({}) })
const plain = task('plain')

export function tasks(): void {
  expectTypeOf<typeof cleanup>().toEqualTypeOf<Task<{ days: number }, { days: number }>>()
  expectTypeOf<typeof optional>().toEqualTypeOf<Task<{ days?: number | undefined }, { days: number }>>()
  expectTypeOf<typeof remind>().toEqualTypeOf<Task<{ on: string }, { on: Date }>>()
  expectTypeOf<typeof plain>().toEqualTypeOf<Task<Record<string, unknown>, Record<string, unknown>>>()
  // @ts-expect-error a function is not a schema
  task('wrong', { args: () => true })
  // @ts-expect-error unknown backoff
  task('wrong', { retryBackoff: 'linear' })
  // @ts-expect-error an option that does not exist
  task('wrong', { retry: 3 })
}

/** A call with a misspelt option must not compile. */
export async function misspelt(): Promise<void> {
  const { schedules, jobs } = kalends
  // @ts-expect-error lease
  await Kalends.open('sqlite::memory:', { leas: '1min' })
  // @ts-expect-error retention.perSchedule
  await Kalends.open('sqlite::memory:', { retention: { perschedule: 1 } })
  // @ts-expect-error concurrency
  await kalends.start({ concurency: 3 })
  // @ts-expect-error grace
  await kalends.stop({ grce: 0 })
  // @ts-expect-error submitter
  kalends.scope({ submiter: 'ann' })
  // @ts-expect-error onRemoved
  kalends.declare('set', [], { onRemove: 'keep' })
  // @ts-expect-error overlap
  kalends.declare('set', [{ task: plain, timer: 'daily', overlapp: 'skip' }])
  // @ts-expect-error overlap
  await schedules.create({ task: plain, timer: 'daily', overlapp: 'skip' })
  // @ts-expect-error summary
  await schedules.put('a', { task: plain, timer: 'daily', sumary: 'x' })
  // @ts-expect-error retries
  await schedules.update('a', { retrys: 3 })
  // @ts-expect-error args
  await schedules.runNow('a', { arg: {} })
  // @ts-expect-error runAt
  await jobs.submit(plain, {}, { runat: new Date() })
  // @ts-expect-error args
  await jobs.submitMany([{ task: plain, arguments: {} }])
  // @ts-expect-error perSchedule
  await kalends.prune({ perSchedul: 1 })
  // @ts-expect-error authorize
  http(kalends, { authorise: () => null })
  // @ts-expect-error now
  await openTest(() => undefined, { nwo: '2026-01-01' })
}

export function handlers(): void {
  kalends.handle(cleanup, ({ args, slot, missed, attempt, job, signal }) => {
    expectTypeOf<typeof args>().toEqualTypeOf<{ days: number }>()
    expectTypeOf<typeof slot>().toEqualTypeOf<Date | null>()
    expectTypeOf<typeof missed>().toEqualTypeOf<number>()
    expectTypeOf<typeof attempt>().toEqualTypeOf<number>()
    expectTypeOf<typeof job>().toEqualTypeOf<Job>()
    expectTypeOf<typeof signal>().toEqualTypeOf<AbortSignal>()
  })
  kalends.handle(remind, ({ args }) => {
    // The value as parsed by the schema, not the stored text.
    expectTypeOf<typeof args>().toEqualTypeOf<{ on: Date }>()
  })
  kalends.handle(optional, ({ args }) => expectTypeOf<typeof args>().toEqualTypeOf<{ days: number }>())
  kalends.handle(plain, ({ args }) => expectTypeOf<typeof args>().toEqualTypeOf<Record<string, unknown>>())
  kalends.handle(cleanup, async () => ({ any: 'JSON' }))
  // @ts-expect-error the task has no such argument
  kalends.handle(cleanup, ({ args }) => args.hours)
  // @ts-expect-error the handler expects args of another type
  kalends.handle(cleanup, ({ args }: { args: { days: string } }) => args.days)
  kalends.handle('cleanup', ({ args }) =>
    expectTypeOf<typeof args>().toEqualTypeOf<Record<string, unknown>>(),
  )
}

export function declarations(): void {
  kalends.declare('set', [
    { task: cleanup, timer: 'daily', args: { days: 30 } },
    { task: optional, timer: 'daily' },
    { task: optional, timer: 'daily', args: {} },
    { task: remind, timer: 'daily', args: { on: '2030-01-01' } },
    { task: nothing, timer: 'daily' },
    { id: 'plain', task: plain, timer: 'daily', args: { whatever: [1] } },
    { id: 'named', task: 'cleanup', timer: 'daily', args: { whatever: [1] } },
  ])
  // @ts-expect-error args of the wrong type
  kalends.declare('set', [{ task: cleanup, timer: 'daily', args: { days: 'many' } }])
  // @ts-expect-error args are missing
  kalends.declare('set', [{ task: cleanup, timer: 'daily' }])
  kalends.declare('set', [
    { task: optional, timer: 'daily' },
    // @ts-expect-error the second declaration has the wrong args
    { task: cleanup, timer: 'daily', args: { hours: 1 } },
  ])
  // @ts-expect-error the stored form is a string
  kalends.declare('set', [{ task: remind, timer: 'daily', args: { on: new Date() } }])
  // @ts-expect-error the timer is missing
  kalends.declare('set', [{ task: plain }])
}

export async function schedules(): Promise<void> {
  const schedule = await kalends.schedules.create({ task: cleanup, timer: 'daily', args: { days: 30 } })
  expectTypeOf<typeof schedule>().toEqualTypeOf<Schedule>()
  await kalends.schedules.create({ id: 'a', task: 'by-name', timer: 'daily', args: { whatever: 1 } })
  await kalends.schedules.create({ task: optional, timer: 'daily' })
  await kalends.schedules.put('a', { task: cleanup, timer: 'daily', args: { days: 30 } })
  const { result } = await kalends.schedules.put('a', { task: plain, timer: 'daily' })
  expectTypeOf<typeof result>().toEqualTypeOf<'created' | 'changed' | 'unchanged'>()
  // @ts-expect-error args of the wrong type
  await kalends.schedules.create({ task: cleanup, timer: 'daily', args: { days: 'many' } })
  // @ts-expect-error args are missing
  await kalends.schedules.create({ task: cleanup, timer: 'daily' })
  // @ts-expect-error args of the wrong type
  await kalends.schedules.put('a', { task: cleanup, timer: 'daily', args: { days: 'many' } })
  // @ts-expect-error the id is the first argument of put
  await kalends.schedules.put({ task: cleanup, timer: 'daily', args: { days: 30 } })
  // @ts-expect-error an id is a string
  await kalends.schedules.get(7)
  // @ts-expect-error unknown setting
  await kalends.schedules.update('a', { nextRunAt: new Date() })
  // @ts-expect-error unknown status
  await kalends.schedules.list({ status: 'retired?' })
  const found = await kalends.schedules.get('a')
  expectTypeOf<typeof found>().toEqualTypeOf<Schedule | null>()
  const job = await kalends.schedules.runNow('a')
  expectTypeOf<typeof job>().toEqualTypeOf<string>()
}

export async function policies(): Promise<void> {
  await kalends.schedules.create({
    task: plain,
    timer: 'every 5min after finish',
    overlap: 'queue-one',
    catchUp: 3,
    maxRuns: 10,
    onExhausted: 'stop',
    jitter: '1h',
    starts: new Date(),
    ends: null,
    firstRun: 'now',
    timeout: '10min',
    retries: 3,
    retryDelay: 60_000,
    retryBackoff: 'fixed',
  })
  const changed = await kalends.schedules.update('a', { overlap: 'replace', maxRuns: null, jitter: 0 })
  expectTypeOf(changed.overlap).toEqualTypeOf<'skip' | 'queue-one' | 'replace' | 'allow'>()
  expectTypeOf(changed.status).toEqualTypeOf<
    'active' | 'retrying' | 'frozen' | 'paused' | 'done' | 'dead' | 'invalid' | 'retired'
  >()
  expectTypeOf(changed.waitingFor).toEqualTypeOf<'finish' | null>()
  kalends.declare('set', [{ task: plain, timer: 'daily', firstRun: 'if-due', overlap: 'allow' }], {
    onRemoved: 'keep',
  })
  await kalends.schedules.runNow('a', { args: { once: true } })
  // @ts-expect-error unknown policy
  await kalends.schedules.create({ task: plain, timer: 'daily', overlap: 'queue' })
  // @ts-expect-error unknown policy
  await kalends.schedules.update('a', { onExhausted: 'pause' })
  // @ts-expect-error maxRuns is a number, not a string
  await kalends.schedules.create({ task: plain, timer: 'daily', maxRuns: '10' })
  // @ts-expect-error an instant is a Date
  await kalends.schedules.create({ task: plain, timer: 'daily', starts: '2030-01-01' })
  // @ts-expect-error unknown firstRun
  await kalends.schedules.create({ task: plain, timer: 'daily', firstRun: 'tomorrow' })
  // @ts-expect-error settings that apply only to new schedules cannot be changed
  await kalends.schedules.update('a', { firstRun: 'now' })
  // @ts-expect-error unknown value of onRemoved
  kalends.declare('set', [{ task: plain, timer: 'daily' }], { onRemoved: 'remove' })
  // @ts-expect-error unknown policy in a declaration
  kalends.declare('set', [{ task: plain, timer: 'daily', overlap: 'queue' }])
  // @ts-expect-error args are part of the options
  await kalends.schedules.runNow('a', { once: true })
}

export async function jobs(): Promise<void> {
  const id = await kalends.jobs.submit(cleanup, { days: 30 }, { id: 'mine', runAt: new Date(), priority: 1 })
  expectTypeOf<typeof id>().toExtend<string>()
  await kalends.jobs.submit(optional)
  await kalends.jobs.submit(optional, undefined, { priority: 1 })
  await kalends.jobs.submit(nothing)
  await kalends.jobs.submit(plain)
  await kalends.jobs.submit('by-name', { whatever: 1 })
  // @ts-expect-error args of the wrong type
  await kalends.jobs.submit(cleanup, { days: 'many' })
  // @ts-expect-error args are missing
  await kalends.jobs.submit(cleanup)
  // @ts-expect-error an argument that the task does not have
  await kalends.jobs.submit(cleanup, { days: 1, hours: 2 })
  // @ts-expect-error the stored form is a string
  await kalends.jobs.submit(remind, { on: new Date() })
  // @ts-expect-error a time is a Date
  await kalends.jobs.submit(plain, {}, { runAt: '2030-01-01' })
  // @ts-expect-error unknown state
  await kalends.jobs.list({ state: 'done' })
  const job = await kalends.jobs.get(id)
  expectTypeOf<typeof job>().toEqualTypeOf<Job | null>()
  expectTypeOf<Awaited<ReturnType<typeof kalends.jobs.cancel>>>().toEqualTypeOf<Job>()
  expectTypeOf<Awaited<ReturnType<typeof kalends.jobs.retry>>>().toEqualTypeOf<Job>()
  // All in one object.
  await kalends.jobs.submit({ task: cleanup, args: { days: 1 }, delay: '1min' })
  await kalends.jobs.submit({ task: 'by-name', args: { whatever: 1 } })
  // @ts-expect-error args are missing
  await kalends.jobs.submit({ task: cleanup })
  // @ts-expect-error an option that does not exist
  await kalends.jobs.submit({ task: plain, dealy: 1 })
}

export function events(): void {
  kalends.on('settled', (settled) => expectTypeOf<typeof settled>().toEqualTypeOf<SettledEvent>())
  const end = kalends.once('submitted', ({ runs }) => runs.map(({ jobId }) => jobId), {
    signal: AbortSignal.timeout(1),
  })
  expectTypeOf<typeof end>().toEqualTypeOf<() => void>()
  kalends.on('started', ({ attempt }) => expectTypeOf<typeof attempt>().toEqualTypeOf<number>())
  // @ts-expect-error unknown event
  kalends.on('finished', () => {})
}

export async function results(): Promise<void> {
  const counting = task('counting', { result: z.object({ done: z.number(), at: z.date() }) })
  kalends.handle(counting, () => ({ done: 3, at: new Date() }))
  kalends.handle(counting, async () => ({ done: 3, at: new Date() }))
  // @ts-expect-error not the declared result of the task
  kalends.handle(counting, () => ({ done: 'three', at: new Date() }))
  const id = await kalends.jobs.submit(counting)
  expectTypeOf<typeof id>().toExtend<string>()
  const { result } = await kalends.jobs.wait(id)
  // The result is parsed from JSON, so its Date is a string.
  expectTypeOf<typeof result>().toEqualTypeOf<{ done: number; at: string } | null>()
  const other = await kalends.jobs.wait('some id')
  expectTypeOf<typeof other.result>().toEqualTypeOf<unknown>()
}
