import { describe, expect, it } from 'vitest'
import { dueAtOnce } from '../../src/model/first-run.ts'
import { FINAL_STATES, OPEN_STATES } from '../../src/model/states.ts'
import { cancel, type OpenJob, retry, runNow, type ScheduleToRun } from '../../src/model/manual-runs.ts'
import { DEFAULT_SETTINGS } from '../../src/model/schedule.ts'

const NOW = new Date('2026-01-01T12:00:30Z')
const OPEN: OpenJob = { id: 'other', state: 'running', number: 2 }

describe('a manual run', () => {
  const schedule = (changes: Partial<ScheduleToRun> = {}): ScheduleToRun => ({
    id: 's',
    task: 'task',
    overlap: 'skip',
    lastSlot: null,
    runCount: 3,
    latestRun: 0,
    open: null,
    ...changes,
  })

  it('has the current time as its slot or, if the last slot is not in the past, the millisecond after that slot', () => {
    expect(runNow(schedule(), NOW).slot).toEqual(NOW)
    expect(runNow(schedule({ lastSlot: new Date(NOW.getTime() - 5000) }), NOW).slot).toEqual(NOW)
    const lastSlot = new Date(NOW.getTime() + 5000)
    expect(runNow(schedule({ lastSlot }), NOW).slot).toEqual(new Date(NOW.getTime() + 5001))
    expect(runNow(schedule({ lastSlot: NOW }), NOW).slot).toEqual(new Date(NOW.getTime() + 1))
  })

  it('has the current time as its slot even if the last slot was decided while the clock was far ahead', () => {
    expect(runNow(schedule({ lastSlot: new Date('2098-01-01') }), NOW).slot).toEqual(NOW)
  })

  it('has a higher number than all ended, open and counted runs, up to the largest safe integer', () => {
    expect(runNow(schedule(), NOW).run).toBe(4)
    expect(runNow(schedule({ overlap: 'allow', open: OPEN }), NOW).run).toBe(6)
    expect(runNow(schedule({ latestRun: 9 }), NOW).run).toBe(10)
    expect(runNow(schedule({ latestRun: Number.MAX_SAFE_INTEGER }), NOW).run).toBe(Number.MAX_SAFE_INTEGER)
  })

  it('is rejected while another run is open, unless runs may overlap', () => {
    expect(() => runNow(schedule({ open: OPEN }), NOW)).toThrow(
      expect.objectContaining({
        code: 'KALENDS_CONFLICT',
        jobId: 'other',
        message:
          "The schedule 's' cannot run now: the job other of this schedule is running; wait until it finishes, or cancel it",
      }),
    )
    expect(() => runNow(schedule({ open: { ...OPEN, id: null } }), NOW)).toThrow('that you cannot see')
  })
})

describe('a retry', () => {
  const job = {
    id: 'j',
    task: 'task',
    state: 'failed',
    queue: null,
    scheduleId: 's',
    overlap: 'skip',
    open: null,
  } as const

  it('is exclusive unless runs of the schedule may overlap', () => {
    expect(retry(job)).toEqual({ exclusive: true })
    expect(retry({ ...job, state: 'cancelled' })).toEqual({ exclusive: true })
    expect(retry({ ...job, overlap: 'allow', open: OPEN })).toEqual({ exclusive: false })
    expect(retry({ ...job, scheduleId: null, overlap: null })).toEqual({ exclusive: true })
  })

  it('is rejected for a job of an external queue, which already has the id', () => {
    expect(() => retry({ ...job, queue: 'q' })).toThrow("run the schedule 's' now")
    expect(() => retry({ ...job, queue: 'q', scheduleId: null })).toThrow('submit another job')
  })

  it('is rejected while another job of the schedule is open', () => {
    expect(() => retry({ ...job, open: OPEN })).toThrow(
      "The job j of the schedule 's' cannot run again now: the job other",
    )
    expect(() => retry({ ...job, overlap: null, open: OPEN })).toThrow(
      'the job other of this schedule is running',
    )
  })

  it.each([...OPEN_STATES, 'success', 'skipped'] as const)(
    'is rejected for a job in the state %s',
    (state) => {
      expect(() => retry({ ...job, state })).toThrow(
        `The job j is ${state}; only a failed or cancelled job can be retried`,
      )
    },
  )
})

it.each([
  ...(['waiting', 'blocked'] as const).map((state) => [state, 'cancel'] as const),
  ['running', 'request stop'] as const,
  ...FINAL_STATES.map((state) => [state, null] as const),
])('cancelling a job that is %s: %s', (state, what) => {
  expect(cancel({ state })).toBe(what)
})

it.each([
  ['if-due', 'minutely', true],
  ['if-due', '*:*:15', true],
  ['if-due', '*:*:45', false],
  ['if-due', '*:*:30', true],
  ['if-due', 'daily', false],
  ['if-due', '2020-01-01', false],
  ['now', 'daily', true],
] as const)(
  'a new schedule with firstRun %s and the timer %s is due at once: %s',
  (firstRun, timer, isDue) => {
    expect(dueAtOnce(firstRun, { ...DEFAULT_SETTINGS, task: 'task', timer })?.('s', NOW)).toBe(isDue)
  },
)

it('with firstRun next, which is the default, a new schedule waits for its timer', () => {
  expect(dueAtOnce('next', { ...DEFAULT_SETTINGS, task: 'task', timer: 'minutely' })).toBeNull()
})
