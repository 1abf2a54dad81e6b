/** Schedules with each policy over long periods, on the virtual clock. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Job, type Kalends, PermanentError, type Schedule, task } from '../../src/index.ts'
import type { AnyScheduleInput } from '../../src/schedules/settings.ts'
import { open, type TestKalends } from '../../src/testing/index.ts'
import { databases } from '../support/databases.ts'

const work = task('work')
const NOW = '2026-01-01T00:00:00Z'

interface Existence {
  readonly test: TestKalends
  readonly kalends: Kalends
  /** The start of each attempt, in seconds after `NOW`. */
  readonly attempts: number[]
  readonly schedule: () => Promise<Schedule>
  /** Oldest first. */
  readonly history: () => Promise<Job[]>
}

/** @param handler  called with the number of the attempt, starting at 1 */
async function live(
  settings: Omit<AnyScheduleInput, 'task'>,
  handler: (attempt: number) => unknown = () => {},
): Promise<Existence> {
  const attempts: number[] = []
  const test: TestKalends = await open(
    (kalends) => {
      kalends.handle(work, () => {
        attempts.push((test.now().getTime() - Date.parse(NOW)) / 1000)
        return handler(attempts.length)
      })
    },
    { now: NOW },
  )
  onTestFinished(() => test.close())
  const { kalends } = test
  await kalends.schedules.create({ id: 's', ...settings, task: 'work' })
  const schedule = async () => {
    const found = await kalends.schedules.get('s')
    if (found === null) throw new Error('schedule not found')
    return found
  }
  const history = async () => (await kalends.schedules.history('s', { limit: 1000 })).toReversed()
  return { test, kalends, attempts, schedule, history }
}

const told = ({ state, reason, missed, attempt }: Job) => [state, reason, missed, attempt]
const fails = () => {
  throw new Error('no such host')
}

describe.runIf(databases.some(({ kind }) => kind === 'sqlite'))('over a long time', () => {
  it('a failing run of `every 60s` is retried after 60, 120, 240 … 600 s; the slots in between are recorded as one row [R3]', async () => {
    const { test, attempts, history, schedule } = await live({ timer: 'every 60s', retries: 6 }, fails)
    await test.advance('2160s')
    expect(attempts.slice(0, 7)).toEqual([60, 120, 240, 480, 960, 1560, 2160])
    expect((await history()).slice(0, 2).map(told)).toEqual([
      ['failed', 'exhausted', 0, 7],
      ['skipped', 'overlap', 35, 0],
    ])
    expect(await schedule()).toMatchObject({ status: 'active', runCount: 1, errorCount: 1 })
  })

  it('a success resets the retries: the next run has all of them, and starts with the first delay [R3]', async () => {
    const { test, attempts, schedule } = await live({ timer: 'every 60s', retries: 2 }, (attempt) => {
      if (attempt % 3 !== 0) throw new Error('not yet')
    })
    await test.advance('1h')
    const gaps = attempts.slice(1, 6).map((at, index) => at - (attempts[index] ?? 0))
    expect(gaps).toEqual([60, 120, 60, 60, 120])
    expect(await schedule()).toMatchObject({ status: 'active', errorCount: 0, lastError: null })
  })

  it('with timers other than `every`, a failing run is retried after a minute, and the delay doubles each time', async () => {
    const { test, attempts } = await live({ timer: 'daily' }, fails)
    await test.advance('2d')
    expect(attempts.slice(0, 4).map((at) => at - 86_400)).toEqual([0, 60, 180, 420])
  })

  it('a schedule with onExhausted stop is dead after the last retry; reset starts it again', async () => {
    const { test, attempts, schedule, kalends } = await live(
      { timer: 'every 1h', retries: 1, onExhausted: 'stop' },
      fails,
    )
    await test.advance('30d')
    expect(attempts).toEqual([3600, 7200])
    expect(await schedule()).toMatchObject({
      status: 'dead',
      lastError: expect.stringContaining('no such host'),
    })
    await kalends.schedules.reset('s')
    await test.advance('30d')
    expect(attempts.map((at) => at - 30 * 86_400).slice(2)).toEqual([3600, 7200])
    expect(await schedule()).toMatchObject({ status: 'dead', runCount: 1, errorCount: 1 })
  })

  it('a schedule with onExhausted continue keeps running, even if every run fails', async () => {
    const { test, attempts, schedule } = await live({ timer: 'weekly', retries: 0 }, () => {
      throw new PermanentError('no')
    })
    await test.advance(new Date('2026-12-31T12:00Z'))
    expect(attempts).toHaveLength(52)
    expect(await schedule()).toMatchObject({ status: 'active', runCount: 52, errorCount: 52 })
  })

  it('a schedule with maxRuns is done after that many successes; failures do not count [R2]', async () => {
    const { test, attempts, schedule } = await live(
      { timer: 'daily', maxRuns: 10, retries: 0 },
      (attempt) => {
        if (attempt % 2 === 0) throw new Error('every other')
      },
    )
    await test.advance('365d')
    expect(attempts).toHaveLength(19)
    expect(await schedule()).toMatchObject({ status: 'done', runCount: 19, errorCount: 9, nextRunAt: null })
  })

  it('with overlap queue-one, one run waits for the retried run and follows it', async () => {
    const { test, history } = await live(
      { timer: 'every 1h', overlap: 'queue-one', retryDelay: '5h', retryBackoff: 'fixed' },
      (attempt) => {
        if (attempt === 1) throw new Error('once')
      },
    )
    await test.advance('6h 30min')
    expect((await history()).map(told)).toEqual([
      ['success', null, 0, 2],
      ['success', null, 0, 1],
      ['skipped', 'overlap', 4, 0],
    ])
  })

  it('with overlap replace, a slot replaces the run that is waiting for its retry', async () => {
    const { test, history } = await live(
      { timer: 'every 1h', overlap: 'replace', retryDelay: '90min' },
      (attempt) => {
        if (attempt < 4) throw new Error('not yet')
      },
    )
    await test.advance('4h')
    expect((await history()).map(told)).toEqual([
      ['cancelled', 'replaced', 0, 1],
      ['cancelled', 'replaced', 0, 1],
      ['cancelled', 'replaced', 0, 1],
      ['success', null, 0, 1],
    ])
  })

  it('with overlap allow, slots do not wait for the retries of other runs', async () => {
    const { test, history, schedule } = await live(
      { timer: 'every 1h', overlap: 'allow', retryDelay: '5h', retryBackoff: 'fixed' },
      (attempt) => {
        if (attempt <= 3) throw new Error('not yet')
      },
    )
    await test.advance('8h')
    expect((await history()).map(told)).toEqual([
      ...Array.from({ length: 3 }, () => ['success', null, 0, 2]),
      ...Array.from({ length: 5 }, () => ['success', null, 0, 1]),
    ])
    expect(await schedule()).toMatchObject({ runCount: 8, errorCount: 0 })
  })

  it('with `every … after finish`, retries belong to the run, and the interval starts when the run ends', async () => {
    const { test, attempts } = await live(
      { timer: 'every 10min after finish', retryDelay: '1h' },
      (attempt) => {
        if (attempt === 2) throw new Error('once')
      },
    )
    await test.advance('100min')
    expect(attempts).toEqual([600, 1200, 4800, 5400, 6000])
  })

  it('a schedule with jitter keeps the same minute of the hour through a whole year [T9]', async () => {
    const { test, history, kalends } = await live({ timer: 'weekly Europe/Berlin', jitter: '1h' })
    const [first] = await kalends.schedules.elapses('s', { after: test.now(), limit: 1 })
    const minute = (first?.getTime() ?? 0) % 3_600_000
    await test.advance('365d')
    const slots = (await history()).map(({ slot }) => slot?.getTime() ?? 0)
    expect(slots).toHaveLength(52)
    expect(new Set(slots.map((slot) => slot % 3_600_000))).toEqual(new Set([minute]))
    expect(
      (await history()).every(({ slot, submittedAt: submitted }) => slot?.getTime() === submitted.getTime()),
    ).toBe(true)
  })

  it('a schedule with starts and ends is active between them and done afterwards [T9]', async () => {
    const { test, history, schedule } = await live({
      timer: 'daily',
      starts: new Date('2026-02-01T00:00Z'),
      ends: new Date('2026-02-10T00:00Z'),
    })
    expect(await schedule()).toMatchObject({ status: 'active' })
    await test.advance('365d')
    const slots = (await history()).map(({ slot }) => slot?.toISOString().slice(0, 10))
    expect([slots.length, slots.at(0), slots.at(-1)]).toEqual([10, '2026-02-01', '2026-02-10'])
    expect(await schedule()).toMatchObject({ status: 'done', nextRunAt: null })
  })

  it('a pause of several months is not downtime: no slot is made up or counted as missed', async () => {
    const { test, kalends, history, attempts } = await live({ timer: 'daily', catchUp: 1000 })
    await test.advance('10d')
    await kalends.schedules.pause('s')
    await test.advance('100d')
    expect(attempts).toHaveLength(10)
    await kalends.schedules.resume('s')
    await test.advance('10d')
    expect(attempts).toHaveLength(20)
    expect((await history()).every(({ state, missed }) => state === 'success' && missed === 0)).toBe(true)
  })

  it.each([
    ['2025-12-31T23:59:40Z', 0],
    ['2026-01-01T00:00:10Z', 1],
    ['2026-01-01T00:01:00Z', 0],
  ])('with firstRun if-due, a schedule first declared at %s has %i immediate runs', async (now, runs) => {
    const test = await open(
      (kalends) => {
        kalends.handle(work, () => {})
        kalends.declare('set', [{ id: 's', task: work, timer: 'daily', firstRun: 'if-due' }])
      },
      { now },
    )
    onTestFinished(() => test.close())
    await test.drain()
    expect(await test.kalends.schedules.get('s')).toMatchObject({ runCount: runs })
    await test.advance('59s')
    expect((await test.kalends.schedules.get('s'))?.runCount).toBe(now.startsWith('2025') ? 1 : runs)
  })
})
