/** Permissions of a caller: tasks and limits. For scopes and the API, see test/schedules and test/http. */
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { CalendarEvent } from '../../src/calendar/index.ts'
import {
  checkedLimits,
  checkedTasks,
  checkOpenJobs,
  checkPeriod,
  checkWithin,
  FULL_AUTHORITY,
  type LimitedSettings,
  type OwnerLimits,
  requireTask,
} from '../../src/model/authority.ts'
import { timer } from '../../src/timer/index.ts'

const NOW = new Date('2026-11-22T12:34:00Z')

describe('tasks', () => {
  const scope = { ...FULL_AUTHORITY, builtInTasks: false, tasks: checkedTasks(['mail', 'Mail 2']) }

  it('with a list, only its tasks are allowed, and names must match exactly', () => {
    for (const task of ['mail', 'Mail 2']) requireTask(scope, task)
    for (const task of ['Mail', 'mail ', ' mail', 'mail 2', '', 'constructor', 'command', 'kalends.prune'])
      expect(() => requireTask(scope, task), task).toThrow('This scope may not use the task')
  })

  it('without a list, every task except the built-in ones is allowed', () => {
    const api = { ...scope, tasks: null }
    requireTask(api, 'anything')
    requireTask(api, 'kalends')
    for (const task of ['command', 'command  ', 'kalends.prune', 'kalends.', ' kalends.x'])
      expect(() => requireTask(api, task), task).toThrow('built in')
    requireTask(FULL_AUTHORITY, 'command')
  })
})

describe('granted tasks', () => {
  it('can be given as tasks or names; by default there are none, so the scope can only read', () => {
    expect([...checkedTasks([{ name: 'mail' }, 'report', 'mail'])]).toEqual(['mail', 'report'])
    expect([...checkedTasks()]).toEqual([])
    expect(() => requireTask({ ...FULL_AUTHORITY, tasks: checkedTasks() }, 'mail')).toThrow('read-only')
  })

  it('are listed in the error that rejects another task', () => {
    const scope = { ...FULL_AUTHORITY, tasks: checkedTasks(['mail', 'report']) }
    expect(() => requireTask(scope, 'tidy')).toThrow(/'tidy'; it may use mail, report$/)
  })

  it.each<[unknown, string]>([
    ['mail', 'must be a list of tasks or their names, got "mail"'],
    [null, 'got null'],
    [[''], 'a name of 1 to 254 characters'],
    [[null], 'got null'],
    [['mail', 'kalends.prune'], "'kalends.prune' is a built-in task"],
    // MySQL may ignore trailing spaces when it compares strings.
    [['command '], 'a name of 1 to 254 characters'],
    [[{ name: 'command' }], "'command' is a built-in task"],
  ])('may not be %j', (tasks, why) => {
    // @ts-expect-error -- plain JavaScript may pass this
    expect(() => checkedTasks(tasks)).toThrow(
      expect.objectContaining({ field: 'tasks', message: expect.stringContaining(why) }),
    )
  })
})

describe('limits', () => {
  it('have defaults', () => {
    expect(checkedLimits()).toEqual({
      schedules: 100,
      shortestPeriodMs: 60_000,
      openJobs: 1000,
      argsBytes: 65_536,
      priority: [-100, 0],
      timeoutMs: 3_600_000,
      retries: 10,
    })
  })

  it('are kept unchanged, down to the lowest allowed values', () => {
    const lowest = { schedules: 0, openJobs: 0, argsBytes: 2, priority: [5, 5], retries: 0 } as const
    expect(checkedLimits({ ...lowest, shortestPeriod: 1, timeout: '1s' })).toEqual({
      ...lowest,
      shortestPeriodMs: 1,
      timeoutMs: 1000,
    })
  })

  it.each<OwnerLimits>([
    { schedules: -1 },
    { shortestPeriod: 0 },
    { openJobs: -1 },
    { argsBytes: 1 },
    { priority: [1, 0] },
    { priority: [-(2 ** 31), 0] },
    { priority: [0, 2 ** 31] },
    { timeout: 0 },
    { timeout: 2 ** 31 },
    { retries: -1 },
    { retries: 1001 },
  ])('must not be %j, and the error names the limit', (limits) => {
    const [name] = Object.keys(limits)
    expect(() => checkedLimits(limits)).toThrow(expect.objectContaining({ field: `limits.${name}` }))
  })

  const limits = checkedLimits({ argsBytes: 10, priority: [-5, 5], timeout: 1000, retries: 2 })

  it.each<LimitedSettings>([
    {},
    { priority: -5 },
    { priority: 5 },
    { timeout: 1000 },
    { retries: 2 },
    { timeout: null, retries: null },
    { args: '"ä567890"' },
    { catchUp: 10, overlap: 'queue-one' },
  ])('%j is within them', (settings) => {
    checkWithin(limits, settings)
  })

  it.each<[LimitedSettings, string, string]>([
    [{ priority: -6 }, 'priority', 'must be from -5 to 5 (limits.priority), got -6'],
    [{ priority: 6 }, 'priority', 'must be from -5 to 5 (limits.priority), got 6'],
    [{ timeout: 1001 }, 'timeout', 'must be at most 1000 ms (limits.timeout), got 1001 ms'],
    [{ retries: 3 }, 'retries', 'must be at most 2 (limits.retries), got 3'],
    [{ retries: 'unlimited' }, 'retries', 'must be at most 2 (limits.retries), got unlimited'],
    [{ args: '"ä5678901"' }, 'args', 'must have at most 10 bytes of JSON (limits.argsBytes), got 11 bytes'],
    [{ catchUp: 11 }, 'catchUp', 'must be at most 10 for an owner with limits, got 11'],
    [{ overlap: 'allow' }, 'overlap', "must not be 'allow'"],
  ])('%j is beyond them', (settings, field, why) => {
    expect(() => checkWithin(limits, settings)).toThrow(
      expect.objectContaining({ field, message: expect.stringContaining(why) }),
    )
  })

  it('without limits, everything is allowed', () => {
    checkWithin(null, { overlap: 'allow', catchUp: 1000, priority: 1e9, timeout: 1e9, retries: 1000 })
    checkPeriod(null, '*:*:*', NOW)
  })
})

describe('the shortest period', () => {
  const within = (shortestPeriod: string, text: string, now = NOW) =>
    checkPeriod(checkedLimits({ shortestPeriod }), text, now)

  it.each([
    ['1min', '*:0/1'],
    ['1min', 'every 1min'],
    ['1min', 'every 90s after finish'],
    ['1min', 'cron * * * * *'],
    ['1h', 'hourly'],
    ['1d', 'daily Europe/Berlin'],
    ['1h', '2099-01-01 00:00:00'],
    ['1h', '2001-01-01 00:00:00'],
    ['250ms', '*:*:0/0.25'],
    // Days when the clocks go forward are an hour shorter.
    ['12h', '00,12:00 Europe/Berlin'],
    ['1d', 'every 1d'],
  ])('%s: %s is allowed', (period, text) => {
    within(period, text)
  })

  it.each([
    ['1min', '*:*:*'],
    ['1min', '*:*:0,59'],
    // The next two fire too often only on rare days.
    ['1min', '2099-12-31 23:00:00,30'],
    ['1h', '*-02-29 08:00,30:00'],
    ['1h', 'cron 0,30 * * * *'],
    ['2d', 'Mon,Wed,Fri,Sat 00:00'],
    ['1h', 'every 59min'],
    // Time spans, and periods of less than 12 hours, have no tolerance for clock changes.
    ['1d', 'every 23h 30min'],
    ['11h', '00,10:30 Europe/Berlin'],
    ['1h', 'every 1s after finish'],
    ['1s', '*:*:0/0.25'],
    // Fires too often only between the last run of a minute and the first run of the next minute.
    ['100ms', '*:*:0/0.11'],
  ])('%s: %s fires too often', (period, text) => {
    timer(text)
    expect(() => within(period, text)).toThrow(
      expect.objectContaining({ field: 'timer', message: expect.stringContaining('limits.shortestPeriod') }),
    )
  })

  it.each([
    ['1s', '*:*:*', 20_000],
    ['1min', '*:0/1', 2880],
    ['1d', 'daily', 400],
  ])('%s: the check of %s computes at most %s elapses', (period, text, most) => {
    const next = vi.spyOn(CalendarEvent.prototype, 'next')
    within(period, text)
    expect(next.mock.calls.length).toBeLessThanOrEqual(most + 1)
    next.mockRestore()
  })

  it("the error contains the allowed period and the timer's period", () => {
    for (const text of ['*:0/10', 'every 10min'])
      expect(() => within('1h', text)).toThrow(/at least 3600000 ms between two runs .*, got 600000 ms$/)
  })

  it('runs that are too close together are found, regardless of when the check runs [V2]', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('2000-01-01'), max: new Date('2090-01-01'), noInvalidDate: true }),
        fc.integer({ min: 0, max: 58 }),
        fc.integer({ min: 1, max: 12 }),
        (now, minute, month) => {
          const text = `*-${month}-01 03:${minute},${minute + 1}:00`
          expect(() => within('2min', text, now)).toThrow('limits.shortestPeriod')
          within('1min', text, now)
        },
      ),
    )
  })
})

it('open jobs are allowed up to the limit, but no more', () => {
  const limits = checkedLimits({ openJobs: 3 })
  checkOpenJobs(limits, 2, 1)
  expect(() => checkOpenJobs(limits, 2, 2)).toThrow(/at most 3 open jobs are allowed, and 2 are open already/)
  expect(() => checkOpenJobs(limits, 3, 1)).toThrow('limits.openJobs')
  expect(() => checkOpenJobs(limits, 0, 4)).toThrow('limits.openJobs')
})
