import { describe, expect, test } from 'vitest'
import { InvalidInputError, type Kalends, NotFoundError, task } from '../../src/index.ts'
import { open } from '../../src/testing/index.ts'

const NOW = '2026-03-02T09:00:30Z'
const at = (time: string) => new Date(`2026-03-02T${time}Z`)
const work = task('work', { retries: 2, retryDelay: '10min' })

async function life(setUp: (kalends: Kalends) => unknown = () => {}, fails = false) {
  const runs: string[] = []
  const app = await open(
    async (kalends) => {
      kalends.handle(work, ({ slot }) => {
        runs.push(
          `${app.now().toISOString().slice(11, 16)} ${slot?.toISOString().slice(11, 16) ?? 'no slot'}`,
        )
        if (fails) throw new Error('no')
      })
      await setUp(kalends)
    },
    { now: NOW },
  )
  return { app, kalends: app.kalends, runs, [Symbol.asyncDispose]: () => app.close() }
}

test('during a freeze, nothing starts; afterwards, everything continues, and skipped slots are not made up [X6]', async () => {
  await using on = await life((kalends) =>
    kalends.schedules.create({ id: 's', task: work, timer: '*:0/15', catchUp: 10 }),
  )
  const { app, kalends, runs } = on
  await app.advance('20min')
  const freeze = await kalends.freeze({ all: true, until: at('11:05'), reason: 'Maintenance' })
  expect(await kalends.freezes()).toEqual([freeze])
  await app.advance('30min')
  expect(await kalends.schedules.get('s')).toMatchObject({ status: 'frozen', frozenUntil: at('11:05') })
  expect((await kalends.schedules.explain('s')).reasons).toEqual([
    'It is frozen until Mon 2026-03-02 11:05:00 +00:00 (UTC): its jobs wait, and its slots are skipped. Reason: Maintenance.',
    expect.any(String),
  ])
  await app.advance('2h')
  expect(runs).toEqual(['09:15 09:15', '11:15 11:15', '11:30 11:30', '11:45 11:45'])
  const history = (await kalends.schedules.history('s')).toReversed()
  expect(history.map(({ state, reason, missed }) => [state, reason, missed])).toEqual([
    ['success', null, 0],
    ['skipped', 'frozen', 7],
    ['success', null, 0],
    ['success', null, 0],
    ['success', null, 0],
  ])
  expect((await kalends.schedules.explain('s', { at: at('10:00') })).reasons[0]).toContain(
    'a freeze was in force',
  )
  expect(await kalends.schedules.get('s')).toMatchObject({
    status: 'active',
    frozenUntil: null,
    enabled: true,
  })
  expect(await kalends.freezes()).toEqual([])
})

test('waiting jobs, retries and manual runs are held until the freeze ends', async () => {
  await using on = await life(
    (kalends) => kalends.schedules.create({ id: 's', task: work, timer: 'yearly' }),
    true,
  )
  const { app, kalends, runs } = on
  await kalends.jobs.submit(work)
  await app.drain()
  expect(runs).toEqual(['09:00 no slot'])
  await kalends.freeze({ task: 'work', until: at('12:00') })
  await kalends.jobs.submit(work)
  const byHand = await kalends.schedules.runNow('s')
  await app.advance('1h')
  expect(runs).toHaveLength(1)
  expect(await kalends.jobs.get(byHand)).toMatchObject({ state: 'waiting', frozenUntil: at('12:00') })
  expect((await kalends.schedules.explain('s')).reasons.join('\n')).toContain('It is frozen until')
  await app.advance('2h 30min')
  expect(runs.map((run) => run.slice(0, 5)).slice(1, 4)).toEqual(['12:00', '12:00', '12:00'])
})

test('a job cancelled during a freeze is no longer held', async () => {
  await using on = await life()
  const { app, kalends } = on
  await kalends.freeze({ all: true, until: at('12:15') })
  const id = await kalends.jobs.submit(work)
  await app.drain()
  expect(await kalends.jobs.get(id)).toMatchObject({ frozenUntil: at('12:15') })
  await kalends.jobs.cancel(id)
  expect(await kalends.jobs.get(id)).toMatchObject({ state: 'cancelled', frozenUntil: null })
})

test('explain names the freeze that ends last', async () => {
  await using on = await life((kalends) => kalends.schedules.create({ id: 's', task: work, timer: 'hourly' }))
  const { kalends } = on
  await kalends.freeze({ all: true, until: at('12:00'), reason: 'short' })
  await kalends.freeze({ task: 'work', until: at('18:00'), reason: 'long' })
  await kalends.freeze({ scheduleId: 's', until: at('11:00'), reason: 'shortest' })
  const { reasons } = await kalends.schedules.explain('s')
  expect(reasons.filter((reason) => reason.includes('frozen'))).toEqual([
    'It is frozen until Mon 2026-03-02 18:00:00 +00:00 (UTC): its jobs wait, and its slots are skipped. Reason: long.',
  ])
})

test('pausing and resuming a schedule during a freeze does not make it run', async () => {
  await using on = await life((kalends) => kalends.schedules.create({ id: 's', task: work, timer: 'hourly' }))
  const { app, kalends, runs } = on
  await kalends.freeze({ all: true, until: at('12:30') })
  await app.advance('1h 10min')
  expect(await kalends.schedules.pause('s')).toMatchObject({ status: 'paused', frozenUntil: null })
  expect(await kalends.schedules.resume('s')).toMatchObject({ status: 'active', nextRunAt: at('11:00') })
  await app.advance('4h')
  expect(runs).toEqual(['13:00 13:00', '14:00 14:00'])
})

describe('a preview', () => {
  test('lists the slots and counts the jobs, and changes nothing [R15, X6]', async () => {
    await using on = await life(async (kalends) => {
      await kalends.schedules.create({ id: 's', task: work, timer: 'hourly' })
      await kalends.schedules.create({ id: 'paused', task: work, timer: 'hourly', enabled: false })
      await kalends.schedules.create({ id: 'other', task: 'other', timer: '*:30' })
      await kalends.jobs.submit('other')
    })
    const { kalends } = on
    const shown = async (target: Parameters<Kalends['previewFreeze']>[0]) => {
      const { slots, ...rest } = await kalends.previewFreeze(target)
      return {
        slots: slots.map((slot) => `${slot.at.toISOString().slice(11, 16)} ${slot.scheduleId}`),
        ...rest,
      }
    }
    expect(await shown({ all: true, until: at('11:00:01') })).toEqual({
      slots: ['09:30 other', '10:00 s', '10:30 other', '11:00 s'],
      isComplete: true,
      jobs: 1,
    })
    expect(await shown({ scheduleId: 's', until: at('11:00') })).toEqual({
      slots: ['10:00 s'],
      isComplete: true,
      jobs: 0,
    })
    expect(await shown({ scheduleId: 'paused', until: at('11:00') })).toMatchObject({ slots: [] })
    expect(await shown({ task: 'other', until: at('10:00') })).toMatchObject({
      slots: ['09:30 other'],
      jobs: 1,
    })
    expect(await kalends.freezes()).toEqual([])
  })

  test('shows no slots if the schedule does not have the given task or group, and requires a time in the future', async () => {
    await using on = await life((kalends) =>
      kalends.schedules.create({ id: 's', task: work, timer: 'hourly', group: 'a' }),
    )
    const { kalends } = on
    const shown = async (target: object) =>
      (await kalends.previewFreeze({ scheduleId: 's', until: at('12:00'), ...target })).slots.length
    expect(await shown({ task: 'work', group: 'a' })).toBe(2)
    expect(await shown({ task: 'other' })).toBe(0)
    expect(await shown({ group: 'b' })).toBe(0)
    await expect(shown({ until: at('09:00') })).rejects.toThrow('until: must be an instant in the future')
  })
})

test.each([
  [
    'nothing to freeze',
    {},
    'all: name a scheduleId, a task or a group, or set all: true to freeze everything',
  ],
  ['everything and a task', { all: true, task: 'x' }, 'all: freezes everything; leave out'],
  ['an unknown option', { taks: 'x' }, 'taks: unknown; did you mean task?'],
  ['a time that has passed', { all: true, until: at('09:00:30') }, 'until: must be an instant in the future'],
  ['no time', { all: true, until: undefined }, 'until: must be a valid Date'],
  ['an invalid time', { all: true, until: new Date('soon') }, 'until: must be a valid Date'],
  [
    'a long reason',
    { all: true, reason: 'x'.repeat(1001) },
    'reason: must be a string of at most 1000 characters',
  ],
  ['a task with a leading space', { task: ' x' }, 'task: must be a name'],
])('%s is an error, and freezes nothing', async (_, options, message) => {
  await using on = await life()
  const given = { until: at('12:00'), ...options }
  // @ts-expect-error only plain JavaScript may pass some of these
  const error: unknown = await on.kalends.freeze(given).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(InvalidInputError)
  expect(String(error)).toContain(message)
  expect(await on.kalends.freezes()).toEqual([])
})

test('an unknown schedule or freeze is an error', async () => {
  await using on = await life()
  await expect(on.kalends.freeze({ scheduleId: 'x', until: at('12:00') })).rejects.toThrow(NotFoundError)
  await expect(on.kalends.thaw('x')).rejects.toThrow("There is no freeze with the id 'x'")
})
