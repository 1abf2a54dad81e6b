/** Events of a process are published on node:diagnostics_channel. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, it, onTestFinished } from 'vitest'
import { task } from '../../src/index.ts'
import { ended, scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const work = task('work')

eachDatabase((under) => {
  it('submitted, started and settled are published with the same data that listeners added with `on` receive', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const published: [string, unknown][] = []
    const heard: [string, unknown][] = []
    for (const name of ['submitted', 'started', 'settled'] as const) {
      const listener = (message: unknown) => void published.push([name, message])
      subscribe(`kalends:${name}`, listener)
      onTestFinished(() => void unsubscribe(`kalends:${name}`, listener))
      kalends.on(name, (payload) => void heard.push([name, payload]))
    }
    kalends.handle(work, () => 'done')
    await kalends.start()
    await kalends.schedules.create({ id: 's', task: work, timer: 'yearly', firstRun: 'now' })
    await expect.poll(() => heard.some(([name]) => name === 'settled')).toBe(true)
    expect(published).toEqual(heard)
    expect(published.map(([name]) => name).filter((name) => name !== 'submitted')).toEqual([
      'started',
      'settled',
    ])
    expect(published).toContainEqual([
      'submitted',
      expect.objectContaining({ scheduleId: 's', task: 'work', timer: 'yearly' }),
    ])
    expect(published.at(-1)).toMatchObject([
      'settled',
      {
        task: 'work',
        scheduleId: 's',
        attempt: 1,
        state: 'success',
        startedAt: expect.any(Date),
        endedAt: expect.any(Date),
      },
    ])
  })

  it('errors are published, too', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const published: unknown[] = []
    const listener = (message: unknown) => void published.push(message)
    subscribe('kalends:error', listener)
    onTestFinished(() => void unsubscribe('kalends:error', listener))
    kalends.handle(work, () => {})
    await kalends.start()
    await ended(kalends, await kalends.jobs.submit(work))
    await database.query('ALTER TABLE job RENAME TO hidden')
    await expect.poll(() => published.length).toBeGreaterThan(0)
    await database.query('ALTER TABLE hidden RENAME TO job')
    expect(published[0]).toMatchObject({ where: expect.any(String), error: expect.any(Error) })
  })
})
