/** Which settings of a schedule are rejected, and which defaults are written. */
/* oxlint-disable unicorn/consistent-function-scoping -- keep helpers inside their test */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { CalendarSyntaxError } from '../../src/calendar/index.ts'
import { InvalidInputError, Kalends, task } from '../../src/index.ts'
import { NAME_LIMIT } from '../../src/model/settings.ts'
import { scene } from '../kalends/scene.ts'
import { databases, eachDatabase } from '../support/databases.ts'

const cleanup = task('cleanup', { args: z.object({ days: z.number() }) })
const plain = task('plain')

/** Invalid values, each with the field that the error must name. */
const WRONG: readonly [field: string, value: unknown][] = [
  ['enabled', 'yes'],
  ['enabled', 0],
  ['group', 'g'.repeat(255)],
  ['group', 7],
  ['subject', 's'.repeat(256)],
  ['submitter', 's'.repeat(255)],
  ['summary', 's'.repeat(1001)],
  ['priority', 1.5],
  ['priority', 2 ** 31],
  ['priority', '3'],
  ['priority', Number.NaN],
  ['catchUp', -1],
  ['catchUp', 1001],
  ['catchUp', 0.5],
  ['timeout', 0],
  ['timeout', 'soon'],
  ['timeout', '10 fortnights'],
  ['timeout', -5],
  ['timeout', '100y'],
  ['retries', -1],
  ['retries', 1.5],
  ['retries', 1001],
  ['retryDelay', ''],
  ['retryBackoff', 'linear'],
  ['timer', 5],
  ['timer', ''],
  ['timer', `${'Mon,'.repeat(200)}Mon`],
]

describe.runIf(databases.some(({ kind }) => kind === 'sqlite'))('an invalid setting', () => {
  it.each(WRONG)(
    '%s: %j is rejected by create, put and update, and the error names the field',
    async (field, value) => {
      await using kalends = await Kalends.open('sqlite::memory:')
      const { schedules } = kalends
      await schedules.create({ id: 'there', task: plain, timer: 'daily' })
      const before = await schedules.get('there')
      // Values that JavaScript, a form or a REST API may send.
      const options: object = { [field]: value }
      for (const call of [
        () => schedules.create({ id: 'new', task: plain, timer: 'daily', ...options }),
        () => schedules.put('new', { task: plain, timer: 'daily', ...options }),
        () => schedules.update('there', options),
      ]) {
        const error: unknown = await call().catch((reason: unknown) => reason)
        if (field === 'timer' && typeof value === 'string' && error instanceof CalendarSyntaxError) continue
        expect(error).toBeInstanceOf(InvalidInputError)
        expect(error).toMatchObject({ field, code: 'KALENDS_INVALID_INPUT' })
        expect(error).toHaveProperty('message', expect.stringContaining(`${field}: `))
      }
      expect(await schedules.get('there')).toEqual(before)
      expect(await schedules.get('new')).toBeNull()
    },
  )

  it('a maximum of 0 is rejected, and the error suggests null for no limit', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    const create = kalends.schedules.create({ task: plain, timer: 'daily', maxRuns: 0 })
    await expect(create).rejects.toThrow(
      /^maxRuns: must be an integer between 1 and \d+, or null \(no limit\), got 0$/,
    )
  })

  it.each(['', '   ', 'i'.repeat(255)])('the id %j is rejected', async (id) => {
    await using kalends = await Kalends.open('sqlite::memory:')
    const input = { task: plain, timer: 'daily' }
    await expect(kalends.schedules.create({ id, ...input })).rejects.toMatchObject({ field: 'id' })
    await expect(kalends.schedules.put(id, input)).rejects.toMatchObject({ field: 'id' })
  })

  it('args that do not match the schema of the task are rejected, and the error contains the path of the invalid value', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    // With a handler, the task is also known by name.
    kalends.handle(cleanup, () => {})
    const wrong: object = { args: { days: 'many' } }
    await kalends.schedules.create({ id: 'there', task: cleanup, timer: 'daily', args: { days: 1 } })
    for (const call of [
      () => kalends.schedules.create({ task: 'cleanup', timer: 'daily', ...wrong }),
      () => kalends.schedules.put('new', { task: 'cleanup', timer: 'daily', ...wrong }),
      () => kalends.schedules.update('there', wrong),
      () => kalends.jobs.submit('cleanup', { days: 'many' }),
      () => kalends.jobs.submit('cleanup'),
    ]) {
      const promise = call()
      await expect(promise).rejects.toMatchObject({ field: 'args', code: 'KALENDS_INVALID_INPUT' })
      await expect(promise).rejects.toThrow(/args: does not match the args of the task 'cleanup': days: /)
    }
  })

  it.each([
    ['limit', 1001],
    ['after', 5],
  ])('a list rejects %s: %j', async (field, value) => {
    await using kalends = await Kalends.open('sqlite::memory:')
    const query: object = { [field]: value }
    await expect(kalends.schedules.list(query)).rejects.toMatchObject({ field })
    await expect(kalends.jobs.list(query)).rejects.toMatchObject({ field })
  })

  it('`elapses` rejects an invalid instant, and a limit that is too high', async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    await kalends.schedules.create({ id: 'a', task: plain, timer: '*:*:*' })
    await expect(kalends.schedules.elapses('a', { limit: Infinity })).rejects.toMatchObject({
      field: 'limit',
    })
    await expect(kalends.schedules.elapses('a', { after: new Date('soon') })).rejects.toMatchObject({
      field: 'after',
    })
  })
})

describe.runIf(databases.some(({ kind }) => kind === 'sqlite'))('the option zone', () => {
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone

  it('the zone is added to timers without a zone [T7]', async () => {
    await using kalends = await Kalends.open('sqlite::memory:', { zone: 'America/St_Johns' })
    const timerOf = async (timer: string) =>
      (await kalends.schedules.put('a', { task: plain, timer })).schedule.timer
    expect(await timerOf('09:00')).toBe('09:00 America/St_Johns')
    expect(await timerOf('09:00 UTC')).toBe('09:00 UTC')
    expect(await timerOf('09:00 Europe/Berlin')).toBe('09:00 Europe/Berlin')
    expect(await timerOf('@4102444800')).toBe('@4102444800')
    expect((await kalends.schedules.update('a', { timer: 'daily' })).timer).toBe('daily America/St_Johns')
  })

  it("'local' is replaced by the name of the process's zone [T7]", async () => {
    await using kalends = await Kalends.open('sqlite::memory:', { zone: 'local' })
    const { timer } = await kalends.schedules.create({ task: plain, timer: '09:00' })
    expect(timer).toBe(local === 'UTC' ? '09:00' : `09:00 ${local}`)
  })

  it('keeps put idempotent', async () => {
    await using kalends = await Kalends.open('sqlite::memory:', { zone: 'Europe/Berlin' })
    const input = { task: plain, timer: '09:00' }
    await kalends.schedules.put('a', input)
    expect((await kalends.schedules.put('a', input)).result).toBe('unchanged')
  })

  it("is UTC by default, regardless of the process's time zone", async () => {
    await using kalends = await Kalends.open('sqlite::memory:')
    await kalends.schedules.create({ id: 'a', task: plain, timer: '09:00' })
    const [at] = await kalends.schedules.elapses('a', { after: new Date('2026-07-01T00:00:00Z'), limit: 1 })
    expect(at?.toISOString()).toBe('2026-07-01T09:00:00.000Z')
  })

  it.each(['Europe/Atlantis', '', 'local time'])('open rejects %j', async (zone) => {
    await expect(Kalends.open('sqlite::memory:', { zone })).rejects.toMatchObject({ field: 'zone' })
  })
})

describe.runIf(databases.some(({ kind }) => kind === 'sqlite'))('an option of open', () => {
  it.each([
    ['lease', 999],
    ['lease', '2h'],
    ['lease', 'long'],
    ['pollInterval', 1],
    ['pollInterval', '2min'],
    ['worker', ''],
    ['worker', 'a/b'],
    ['worker', 'w'.repeat(191)],
    ['tablePrefix', 'x`; --'],
  ])('%s: %j is rejected', async (field, value) => {
    const options: object = { [field]: value }
    await expect(Kalends.open('sqlite::memory:', options)).rejects.toMatchObject({
      field,
      code: 'KALENDS_INVALID_INPUT',
    })
  })

  it.each(['postgres://localhost/app', 'mysql://localhost', 'sqlite:', 'kalends.db'])(
    'the database %j is rejected with a suggested correction',
    async (url) => {
      await expect(Kalends.open(url)).rejects.toMatchObject({
        field: 'database',
        message: expect.stringMatching(/write (mysql|sqlite):/),
      })
    },
  )
})

eachDatabase((under) => {
  it('the longest strings, the largest numbers and long args fit the columns', async () => {
    const { open } = await scene(under)
    const { schedules, jobs } = await open({ argsLimit: 1_000_000 })
    // The limits count characters, not bytes or UTF-16 code units.
    const text = (length: number) => '👍'.repeat(length)
    const input = {
      task: text(NAME_LIMIT),
      timer: 'daily',
      group: text(NAME_LIMIT),
      subject: text(255),
      submitter: text(NAME_LIMIT),
      summary: text(1000),
      priority: -(2 ** 31 - 1),
      catchUp: 1000,
      timeout: 2 ** 31 - 1,
      retries: 1000,
      retryDelay: 2 ** 31 - 1,
      args: { text: '😀'.repeat(100_000) },
    }
    const schedule = await schedules.create({ id: text(NAME_LIMIT), ...input })
    expect(schedule).toMatchObject({
      task: input.task,
      group: input.group,
      subject: input.subject,
      submitter: input.submitter,
      summary: input.summary,
      priority: input.priority,
      timeout: input.timeout,
      args: input.args,
    })
    const id = await schedules.runNow(schedule.id)
    expect(await jobs.get(id)).toMatchObject({
      args: input.args,
      group: input.group,
      retryDelay: 2 ** 31 - 1,
    })
  })
})
