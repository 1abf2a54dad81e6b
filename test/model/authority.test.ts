/** What a caller may do: tasks and limits. Scopes and the API are tested in test/schedules and test/http. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  checkedLimits,
  checkedTasks,
  checkOpenJobs,
  checkPeriod,
  FULL_AUTHORITY,
  requireTask,
} from '../../src/model/authority.ts'
import { timer } from '../../src/timer/index.ts'

const NOW = new Date('2026-11-22T12:34:56Z')

describe('tasks', () => {
  const scope = { ...FULL_AUTHORITY, builtInTasks: false, tasks: checkedTasks(['mail', 'Mail 2']) }

  it('only those in the list, compared exactly', () => {
    for (const task of ['mail', 'Mail 2']) requireTask(scope, task)
    for (const task of ['Mail', 'mail ', ' mail', 'mail 2', '', 'constructor', 'command', 'kalends.prune'])
      expect(() => requireTask(scope, task), task).toThrow('This scope may not use the task')
  })

  it('every task except the built-in ones without a list', () => {
    const api = { ...scope, tasks: null }
    requireTask(api, 'anything')
    requireTask(api, 'kalends')
    for (const task of ['command', 'command  ', 'kalends.prune', 'kalends.', ' kalends.x'])
      expect(() => requireTask(api, task), task).toThrow('built in')
    requireTask(FULL_AUTHORITY, 'command')
  })
})

describe('the shortest period', () => {
  const within = (shortestPeriod: string, text: string, now = NOW) =>
    checkPeriod(checkedLimits({ shortestPeriod }), text, now)

  it.each([
    ['1min', '*:0/1'],
    ['1min', 'every 1min'],
    ['1h', 'hourly'],
    ['1d', 'daily Europe/Berlin'],
    ['1h', '2099-01-01 00:00:00'],
    ['1h', '2001-01-01 00:00:00'],
    ['250ms', '*:*:0/0.25'],
  ])('%s: %s is allowed', (period, text) => {
    within(period, text)
  })

  it.each([
    ['1min', '*:*:*'],
    ['1min', '*:*:0,59'],
    // On one day of the year alone.
    ['1min', '2099-12-31 23:00:00,30'],
    ['1h', '*-02-29 08:00,30:00'],
    ['1h', 'cron 0,30 * * * *'],
    ['2d', 'Mon,Wed,Fri,Sat 00:00'],
    ['1h', 'every 59min'],
    ['1h', 'every 1s after finish'],
    ['1s', '*:*:0/0.25'],
  ])('%s: %s is too often', (period, text) => {
    timer(text)
    expect(() => within(period, text)).toThrow(
      expect.objectContaining({ field: 'timer', message: expect.stringContaining('limits.shortestPeriod') }),
    )
  })

  it('repeated runs within an hour are found at any time of the check', () => {
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

it('open jobs: up to the limit, and not one more', () => {
  const limits = checkedLimits({ openJobs: 3 })
  checkOpenJobs(limits, 2, 1)
  expect(() => checkOpenJobs(limits, 3, 1)).toThrow('limits.openJobs')
  expect(() => checkOpenJobs(limits, 0, 4)).toThrow('limits.openJobs')
})
