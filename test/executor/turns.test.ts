/** The order of jobs: priorities, groups, and tasks without a handler in this worker. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { task } from '../../src/index.ts'
import { ended, gate, scene, signal } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const noted = task('noted', { args: z.object({ name: z.string() }) })

eachDatabase((under) => {
  it('jobs with a higher priority run first, and older jobs first within a priority [R9]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const order: string[] = []
    kalends.handle(noted, ({ args }) => void order.push(args.name))
    const ids: string[] = []
    for (const [name, priority] of [
      ['a', 0],
      ['b', 5],
      ['c', -3],
      ['d', 5],
      ['e', 2_147_483_647],
      ['f', -2_147_483_647],
    ] as const)
      ids.push(await kalends.jobs.submit(noted, { name }, { priority }))
    await kalends.start({ concurrency: 1 })
    await Promise.all(ids.map((id) => ended(kalends, id)))
    expect(order).toEqual(['e', 'b', 'd', 'a', 'c', 'f'])
  })

  it('groups take turns, regardless of how many jobs each of them has [R9]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const order: string[] = []
    kalends.handle(noted, ({ args }) => void order.push(args.name))
    const ids: string[] = []
    for (let i = 0; i < 20; i += 1)
      ids.push(await kalends.jobs.submit(noted, { name: 'big' }, { group: 'big' }))
    for (const group of ['small', 'tiny'])
      ids.push(await kalends.jobs.submit(noted, { name: group }, { group }))
    await kalends.start({ concurrency: 1 })
    await Promise.all(ids.map((id) => ended(kalends, id)))
    expect(order.slice(0, 4)).toEqual(['big', 'small', 'tiny', 'big'])
  })

  it('a worker never exceeds its concurrency [R9]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    let now = 0
    let most = 0
    const full = gate()
    kalends.handle(noted, async () => {
      now += 1
      most = Math.max(most, now)
      if (now === 3) full.open()
      await full.promise
      now -= 1
    })
    const ids: string[] = []
    for (let i = 0; i < 10; i += 1) ids.push(await kalends.jobs.submit(noted, { name: `${i}` }))
    await kalends.start({ concurrency: 3 })
    await Promise.all(ids.map((id) => ended(kalends, id)))
    expect(most).toBe(3)
  })

  it('jobs of unknown tasks wait, are never claimed, and do not block a worker with a concurrency of one [L28]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(noted, ({ args }) => args.name)
    const unknown = await kalends.jobs.submit('somebody-elses', {}, { priority: 100 })
    await kalends.start({ concurrency: 1 })
    const id = await kalends.jobs.submit(noted, { name: 'mine' })
    expect(await ended(kalends, id)).toMatchObject({ state: 'success', result: 'mine' })
    expect(await kalends.jobs.get(unknown)).toMatchObject({ state: 'waiting', attempt: 0, worker: null })
  })

  it('a schedule of an unknown task submits jobs, which run once a worker handles the task [S8]', async () => {
    const { open } = await scene(under)
    const old = await open({ worker: 'old' })
    old.handle(noted, () => {})
    await old.start()
    const submitted = signal(old, 'submitted', ({ runs }) => runs.length > 0)
    await old.schedules.create({ id: 'later', task: 'of-the-next-version', timer: '*:*:*' })
    const [{ jobId: id } = { jobId: '' }] = (await submitted).runs
    expect(await old.jobs.get(id)).toMatchObject({ state: 'waiting', scheduleId: 'later' })

    const next = await open({ worker: 'next' })
    next.handle(task('of-the-next-version'), () => 'ran')
    await next.start()
    expect(await ended(next, id)).toMatchObject({ state: 'success', result: 'ran' })
  })

  it('a job from another process is found within the poll interval', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    kalends.handle(noted, ({ args }) => args.name)
    await kalends.start()
    await database.query(`INSERT INTO job (id, task, args) VALUES ('by-hand', 'noted', '{"name":"SQL"}')`)
    expect(await ended(kalends, 'by-hand')).toMatchObject({ state: 'success', result: 'SQL' })
  })

  it('a worker without free capacity leaves jobs to other workers', async () => {
    const { open } = await scene(under)
    const [busy, free] = [await open({ worker: 'busy' }), await open({ worker: 'free' })]
    const release = gate()
    busy.handle(noted, () => release.promise)
    free.handle(noted, () => {})
    await busy.start({ concurrency: 1 })
    const started = signal(busy, 'started')
    const first = await busy.jobs.submit(noted, { name: 'first' })
    await started
    await free.start({ concurrency: 1 })
    const second = await busy.jobs.submit(noted, { name: 'second' })
    expect((await ended(busy, second)).worker).toMatch(/^free\//)
    release.open()
    expect((await ended(busy, first)).worker).toMatch(/^busy\//)
  })
})
