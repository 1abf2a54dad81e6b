/** kalends/testing: an application's schedules on a clock that the test advances. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import {
  DeclarationError,
  type Kalends,
  NotFoundError,
  PermanentError,
  task,
  WaitTimeoutError,
} from '../../src/index.ts'
import { open, TestKalends } from '../../src/testing/index.ts'
import { gate } from '../kalends/scene.ts'

const report = task('report', { args: z.object({ of: z.string().default('all') }) })
const step = task('step', { retries: 3, retryDelay: '1min' })

const noted = (slots: string[], timer: string) => (kalends: Kalends) => {
  kalends.handle(report, ({ slot }) => void slots.push(slot?.toISOString() ?? 'none'))
  kalends.declare('set', [{ task: report, timer }])
}

test('nothing runs by itself; `advance` runs everything that becomes due, at its time [S1]', async () => {
  const slots: string[] = []
  await using app = await open(noted(slots, 'hourly'), { now: '2026-03-01T08:30:00Z' })
  expect(app.now()).toEqual(new Date('2026-03-01T08:30:00Z'))
  await app.drain()
  expect(slots).toEqual([])
  await app.advance('29min')
  expect(slots).toEqual([])
  await app.advance(60_000)
  expect(slots).toEqual(['2026-03-01T09:00:00.000Z'])
  await app.advance(new Date('2026-03-01T12:00:00Z'))
  expect(slots).toHaveLength(4)
  expect(app.now()).toEqual(new Date('2026-03-01T12:00:00Z'))
  expect(await app.kalends.schedules.elapses('report', { limit: 1 })).toEqual([
    new Date('2026-03-01T13:00:00Z'),
  ])
})

test('while a schedule is paused, a job that was running does not retry without end if its queued jobs were cancelled', async () => {
  for (const jobs of ['leave', 'cancel'] as const) {
    let attempts = 0
    await using app = await open(async (kalends) => {
      kalends.handle(step, async () => {
        attempts += 1
        if (attempts === 1) await kalends.schedules.pause('s', { jobs, reason: 'See #4711' })
        throw new Error('no such host')
      })
      await kalends.schedules.create({ id: 's', task: step, timer: 'yearly', retries: 'unlimited' })
    })
    await app.kalends.schedules.runNow('s')
    await app.advance('1h')
    const [last] = await app.kalends.schedules.history('s')
    if (jobs === 'leave') expect(attempts).toBeGreaterThan(4)
    else {
      expect(attempts).toBe(1)
      expect(last).toMatchObject({ state: 'cancelled', reason: 'paused' })
      expect(last?.error).toMatch(/no such host[^]*because the schedule was paused: See #4711$/)
    }
  }
})

test('`drain` can take longer than the lease in real time', async () => {
  let ran = 0
  await using app = await open((kalends) => kalends.handle(step, () => void (ran += 1)))
  await app.kalends.jobs.submit(step)
  let now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 20_000))
  onTestFinished(() => clock.mockRestore())
  await app.drain()
  expect(ran).toBe(1)
})

test('all instants come from the virtual clock', async () => {
  await using app = await open(
    (kalends) => {
      kalends.handle(report, ({ log }) => log.info('here'))
    },
    { now: '2031-05-06T07:08:09.123Z' },
  )
  const { schedules, jobs } = app.kalends
  const now = new Date('2031-05-06T07:08:09.123Z')
  expect(await schedules.create({ id: 's', task: report, timer: 'hourly' })).toMatchObject({ createdAt: now })
  const id = await jobs.submit(report)
  const ran = await app.waitFor(id)
  expect(ran).toMatchObject({ state: 'success', submittedAt: now, startedAt: now, finishedAt: now })
  expect(await jobs.logs(id)).toMatchObject([{ at: now, message: 'here' }])
  expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(now.getTime())
  await app.advance('52min')
  const [run] = await schedules.history('s')
  const hour = new Date('2031-05-06T08:00:00Z')
  expect(run).toMatchObject({ slot: hour, submittedAt: hour, startedAt: hour, finishedAt: hour })
  expect(await schedules.get('s')).toMatchObject({ lastRunAt: hour, lastFinishedAt: hour })
})

test('all log lines of a run are stored once it has ended, even if many lines of another run are written first', async () => {
  const logged = gate()
  await using app = await open((kalends) => {
    kalends.handle(report, async ({ args, log }) => {
      if (args.of === 'many') {
        for (let line = 0; line < 9000; line += 1) log.info('here')
        logged.open()
        return
      }
      // By the time this handler continues, the lines of the other run are being written.
      await logged.promise
      for (let turn = 0; turn < 100; turn += 1) await Promise.resolve()
      log.info('here')
    })
  })
  const { jobs } = app.kalends
  const [, id = ''] = await jobs.submitMany([
    { task: report, args: { of: 'many' } },
    { task: report, args: { of: 'one' } },
  ])
  await app.drain()
  expect(await jobs.logs(id)).toHaveLength(1)
})

test('a year of a daily schedule passes instantly, with one run per day', async () => {
  const slots: string[] = []
  await using app = await open(noted(slots, '03:00 Europe/Berlin'))
  await app.advance('365d')
  expect(new Set(slots).size).toBe(365)
  expect(slots.filter((slot) => slot.endsWith('02:00:00.000Z')).length).toBeLessThan(
    slots.filter((slot) => slot.endsWith('01:00:00.000Z')).length,
  )
})

test.each([
  ['2026-03-28T22:00:00Z', '*-*-* 02:30 Europe/Berlin', ['2026-03-30T00:30:00.000Z']],
  [
    '2026-10-24T22:00:00Z',
    '*-*-* 02:30 Europe/Berlin',
    ['2026-10-25T00:30:00.000Z', '2026-10-26T01:30:00.000Z'],
  ],
  [
    '2026-10-24T22:00:00Z',
    'cron 30 2 * * * Europe/Berlin',
    ['2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z', '2026-10-26T01:30:00.000Z'],
  ],
])('the night of a clock change: %s %s', async (now, timer, expected) => {
  const slots: string[] = []
  await using app = await open(noted(slots, timer), { now })
  await app.advance('36h')
  expect(slots).toEqual(expected)
})

test('retries wait for the virtual clock and take no real time', async () => {
  const at: string[] = []
  await using app = await open((kalends) => {
    kalends.handle(step, ({ attempt }) => {
      at.push(`${attempt} ${app.now().toISOString().slice(11, 19)}`)
      throw new Error('no')
    })
  })
  const id = await app.kalends.jobs.submit(step)
  const job = await app.waitFor(id)
  expect(job).toMatchObject({ state: 'failed', attempt: 4, finishedAt: new Date('2026-01-01T00:07:00Z') })
  expect(at).toEqual(['1 00:00:00', '2 00:01:00', '3 00:03:00', '4 00:07:00'])
  expect(app.now()).toEqual(new Date('2026-01-01T00:07:00Z'))
})

test('handlers can submit jobs, including future jobs, and wait for them', async () => {
  const order: string[] = []
  await using app = await open((kalends) => {
    kalends.handle(report, async ({ args }) => {
      order.push(`report ${args.of}`)
      if (args.of !== 'all') return 7
      const child = await kalends.jobs.submit(report, { of: 'child' })
      await kalends.jobs.submit(report, { of: 'later' }, { runAt: new Date(app.now().getTime() + 60_000) })
      const { result } = await kalends.jobs.wait(child)
      return { child: result }
    })
  })
  const job = await app.waitFor(await app.kalends.jobs.submit(report))
  expect(job.result).toEqual({ child: 7 })
  expect(order).toEqual(['report all', 'report child'])
  await app.advance('1min')
  expect(order).toEqual(['report all', 'report child', 'report later'])
})

test('each of a hundred jobs submitted at the same time runs once, even with a concurrency of one', async () => {
  let ran = 0
  const narrow = task('narrow', { concurrency: 1 })
  await using app = await open((kalends) => {
    kalends.handle(narrow, async () => {
      await new Promise((resolve) => setImmediate(resolve))
      ran += 1
    })
  })
  await app.kalends.jobs.submitMany(Array.from({ length: 100 }, () => ({ task: narrow })))
  await app.drain()
  expect(ran).toBe(100)
  expect((await app.kalends.jobs.list({ state: 'success' })).total).toBe(100)
})

test('`drain` rejects if there is always more work due', async () => {
  await using app = await open(() => {})
  let rounds = 0
  const endless = new TestKalends(app.kalends, { now: app.now() }, async () => {
    rounds += 1
    return { acted: true, next: null }
  })
  await expect(endless.drain()).rejects.toThrow('More work is always due at 2026-01-01T00:00:00.000Z')
  expect(rounds).toBeGreaterThan(1000)
})

test('the clock rejects an earlier or invalid time', async () => {
  await using app = await open(() => {}, { now: new Date('2026-01-02T00:00:00Z') })
  await expect(app.advance(new Date('2026-01-01T00:00:00Z'))).rejects.toThrow(
    'The clock is at 2026-01-02T00:00:00.000Z; it cannot go back to 2026-01-01T00:00:00.000Z',
  )
  await expect(app.advance(new Date('soon'))).rejects.toThrow(RangeError)
  await expect(app.advance('-1h')).rejects.toThrow()
  await expect(app.advance('soon')).rejects.toThrow()
  await expect(open(() => {}, { now: 'soon' })).rejects.toThrow(RangeError)
  expect(app.now()).toEqual(new Date('2026-01-02T00:00:00Z'))
  await app.advance(0)
})

test('waitFor returns the job once it is in the given state, or reports its actual state', async () => {
  await using app = await open((kalends) => {
    kalends.handle(report, () => {})
    kalends.handle(step, () => {
      throw new PermanentError('never')
    })
  })
  const { jobs } = app.kalends
  const later = await jobs.submit(report, {}, { runAt: new Date('2026-01-01T12:00:00Z') })
  expect(await app.waitFor(later, 'waiting')).toMatchObject({ state: 'waiting' })
  expect(await app.waitFor(later)).toMatchObject({ startedAt: new Date('2026-01-01T12:00:00Z') })
  const far = await jobs.submit(report, {}, { runAt: new Date('2026-02-01T00:00:00Z') })
  await expect(app.waitFor(far)).rejects.toThrow(WaitTimeoutError)
  expect(await app.waitFor(far, 'success', { within: '60d' })).toMatchObject({ state: 'success' })
  const failed = await jobs.submit(step)
  await expect(app.waitFor(failed, 'success')).rejects.toThrow(
    `The job ${failed} is failed at 2026-02-01T00:00:00.000Z, not success`,
  )
  await expect(app.waitFor('nobody')).rejects.toThrow(NotFoundError)
})

test('several applications have separate clocks and databases', async () => {
  const [a, b]: [string[], string[]] = [[], []]
  await using one = await open(noted(a, 'hourly'), { now: '2026-01-01T00:00:00Z' })
  await using other = await open(noted(b, 'daily'), { now: '2030-01-01T00:00:00Z' })
  await Promise.all([one.advance('5h'), other.advance('3d')])
  expect([a.length, b.length]).toEqual([5, 3])
  expect(b[0]).toBe('2030-01-02T00:00:00.000Z')
  expect((await one.kalends.jobs.list()).total).toBe(5)
})

/** Two problems: an unreadable timer and a task without a handler. */
function wrong(kalends: Kalends): void {
  kalends.declare('set', [
    { task: report, timer: 'somtimes' },
    { task: step, timer: 'daily' },
  ])
}

test('`open` rejects with the problems in the declarations, or with an error from the setup', async () => {
  const error: unknown = await open(wrong).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(DeclarationError)
  expect(error instanceof DeclarationError && error.problems.length).toBeGreaterThanOrEqual(2)
  await expect(
    open(() => {
      throw new Error('the setup')
    }),
  ).rejects.toThrow('the setup')
  await expect(open(async () => Promise.reject(new Error('later')))).rejects.toThrow('later')
})
