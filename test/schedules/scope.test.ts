/** Schedules and jobs of one owner. */
import { expect, it } from 'vitest'
import { ConflictError, InvalidInputError, NotFoundError, task } from '../../src/index.ts'
import { scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const work = task('work')

eachDatabase((under) => {
  it('group and submitter are written over what comes in', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const { schedules, jobs } = kalends.scope({ group: 'shop', submitter: 'anna' })
    const theirs = { group: 'bank', submitter: 'ben' }
    const mine = { group: 'shop', submitter: 'anna' }
    expect(await schedules.create({ id: 's', task: work, timer: 'yearly', ...theirs })).toMatchObject(mine)
    expect(await schedules.update('s', { ...theirs, summary: 'mine' })).toMatchObject({
      ...mine,
      summary: 'mine',
    })
    expect((await schedules.put('s', { task: work, timer: 'monthly', ...theirs })).schedule).toMatchObject(
      mine,
    )
    expect(await jobs.get(await jobs.submit(work, {}, theirs))).toMatchObject(mine)
    const [many = ''] = await jobs.submitMany([{ task: work, ...theirs }])
    expect(await jobs.get(many)).toMatchObject(mine)
    const run = await schedules.runNow('s')
    expect(await jobs.get(run)).toMatchObject({ ...mine, scheduleId: 's' })
    expect(await jobs.wait(run, { timeout: 0 }).catch((error: unknown) => error)).toMatchObject({
      code: 'TIMEOUT',
    })
  })

  it('a scope of a group alone leaves the submitter to who calls, and the other way round', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const shop = kalends.scope({ group: 'shop' })
    expect(
      await shop.schedules.create({ id: 'a', task: work, timer: 'yearly', submitter: 'ben' }),
    ).toMatchObject({
      group: 'shop',
      submitter: 'ben',
    })
    const ben = kalends.scope({ submitter: 'ben' })
    expect(await ben.schedules.get('a')).toMatchObject({ id: 'a' })
    expect(await kalends.scope({ submitter: 'anna' }).schedules.get('a')).toBeNull()
    expect(await kalends.scope({ group: 'Shop' }).schedules.get('a')).toBeNull()
  })

  it('an id of somebody else is as if it were not there; to take it is a conflict', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const [anna, ben] = ['anna', 'ben'].map((submitter) => kalends.scope({ submitter }))
    if (anna === undefined || ben === undefined) throw new Error('two are needed')
    await anna.schedules.create({ id: 's', task: work, timer: 'yearly' })
    const job = await anna.jobs.submit(work, {}, { id: 'j' })
    await expect(ben.schedules.create({ id: 's', task: work, timer: 'daily' })).rejects.toThrow(ConflictError)
    await expect(ben.schedules.put('s', { task: work, timer: 'daily' })).rejects.toThrow(ConflictError)
    await expect(ben.jobs.submit(work, {}, { id: 'j' })).rejects.toThrow(ConflictError)
    expect(await ben.schedules.get('s')).toBeNull()
    expect((await ben.schedules.list()).total).toBe(0)
    expect((await ben.schedules.list({ submitter: 'anna' })).total).toBe(0)
    expect((await ben.jobs.list({ submitter: 'anna' })).total).toBe(0)
    for (const call of [
      'update',
      'delete',
      'pause',
      'resume',
      'reset',
      'runNow',
      'elapses',
      'history',
      'explain',
    ] as const)
      await expect(ben.schedules[call]('s', {}), call).rejects.toThrow(NotFoundError)
    for (const call of ['cancel', 'retry', 'wait'] as const)
      await expect(ben.jobs[call](job), call).rejects.toThrow(NotFoundError)
    expect(await ben.jobs.get(job)).toBeNull()
    expect(await ben.jobs.logs(job)).toEqual([])
    expect(await anna.schedules.get('s')).toMatchObject({ timer: 'yearly', submitter: 'anna' })
  })

  it('a row that changes hands by SQL is the new owner’s at once', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const [anna, ben] = [kalends.scope({ submitter: 'anna' }), kalends.scope({ submitter: 'ben' })]
    await anna.schedules.create({ id: 's', task: work, timer: 'yearly' })
    await database.query(`UPDATE periodic_task SET submitter = 'ben'`)
    expect(await anna.schedules.get('s')).toBeNull()
    await expect(anna.schedules.delete('s')).rejects.toThrow(NotFoundError)
    await ben.schedules.delete('s')
  })

  it.each([
    '*:*:0/0.25',
    '*:*:0,1,2,3.5',
    '2099-01-01 00:00:00.25',
    'every 999ms',
    'every 500ms after finish',
    '*:*:00.1',
  ])('a timer finer than a second is refused in a scope: %s', async (timer) => {
    const { open } = await scene(under)
    const kalends = await open()
    const { schedules } = kalends.scope({ submitter: 'anna' })
    await expect(schedules.create({ id: 's', task: work, timer })).rejects.toMatchObject({ field: 'timer' })
    await expect(schedules.put('s', { task: work, timer })).rejects.toThrow(InvalidInputError)
    await schedules.create({ id: 's', task: work, timer: 'yearly' })
    await expect(schedules.update('s', { timer })).rejects.toMatchObject({ field: 'timer' })
    expect(await kalends.schedules.create({ id: 'free', task: work, timer })).toMatchObject({ timer })
  })

  it.each([
    '*:*:*',
    'every 1s',
    'cron * * * * *',
    'every 90s after finish',
    'every 1.5s',
    'daily Europe/Berlin',
  ])('a timer of whole seconds is taken: %s', async (timer) => {
    const { open } = await scene(under)
    const { schedules } = (await open()).scope({ submitter: 'anna' })
    expect(await schedules.create({ task: work, timer })).toMatchObject({ timer })
  })

  it.each([
    [{}, 'scope'],
    [{ group: '' }, 'group'],
    [{ submitter: '' }, 'submitter'],
    [{ group: 'shop', submitter: '' }, 'submitter'],
    // MySQL compares without the spaces at the end.
    [{ submitter: 'anna ' }, 'submitter'],
    [{ submitter: 7 }, 'submitter'],
    [{ group: 'g'.repeat(101) }, 'group'],
  ])('a scope that would reach more than one owner is refused: %j', async (options, field) => {
    const { open } = await scene(under)
    const kalends = await open()
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what an application in JavaScript may send
    expect(() => kalends.scope(options as never)).toThrow(expect.objectContaining({ field }))
  })
})
