/** Many jobs are submitted at once: all of them or none. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { ConflictError, InvalidInputError, task } from '../../src/index.ts'
import { scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const mail = task('mail', { args: z.object({ to: z.string() }) })
const blob = task('blob')

eachDatabase((under) => {
  it('submitMany stores each job with its own options and returns the ids in order [R13]', async () => {
    const { open } = await scene(under)
    const { jobs } = await open()
    const runAt = new Date('2039-03-29T01:30:00.123Z')
    const ids = await jobs.submitMany([
      {
        task: mail,
        args: { to: 'a' },
        id: 'first',
        priority: 3,
        group: 'g',
        subject: 's',
        submitter: 'anna',
      },
      { task: blob, runAt, retries: 0, timeout: '1min', retryDelay: 5, retryBackoff: 'fixed' },
    ])
    expect(ids).toEqual(['first', expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(await jobs.get('first')).toMatchObject({
      task: 'mail',
      args: { to: 'a' },
      priority: 3,
      group: 'g',
      subject: 's',
      submitter: 'anna',
      state: 'waiting',
    })
    expect(await jobs.get(ids[1] ?? '')).toMatchObject({
      task: 'blob',
      runAt,
      retries: 0,
      timeout: 60_000,
      retryDelay: 5,
      retryBackoff: 'fixed',
    })
    expect(await jobs.submitMany([])).toEqual([])
  })

  it('10,000 jobs are stored in order', async () => {
    const { open } = await scene(under)
    const { jobs } = await open()
    const inputs = Array.from({ length: 10_000 }, (_, index) => ({ task: mail, args: { to: `${index}` } }))
    const ids = await jobs.submitMany(inputs)
    expect(new Set(ids).size).toBe(10_000)
    // The ids and the order of execution follow the given order.
    expect(ids.toSorted()).toEqual(ids)
    expect((await jobs.count()).counts).toEqual({ waiting: 10_000 })
    for (const index of [0, 4999, 9999])
      expect(await jobs.get(ids[index] ?? '')).toMatchObject({ args: { to: `${index}` } })
  })

  it('either all jobs are stored or none, even if their args need several statements [L39]', async () => {
    const { open } = await scene(under)
    const { jobs } = await open()
    const text = 'größer 😀'.repeat(20_000)
    const many = (last: string) =>
      Array.from({ length: 12 }, (_, index) => ({
        task: blob,
        args: { text, index },
        id: index === 11 ? last : `job-${last}-${index}`,
      }))
    await jobs.submitMany(many('one'))
    expect((await jobs.get('one'))?.args).toEqual({ text, index: 11 })
    // The id of the last job is already taken.
    await jobs.submit(blob, {}, { id: 'two' })
    await expect(jobs.submitMany(many('two'))).rejects.toThrow(ConflictError)
    expect((await jobs.list({ limit: 1 })).total).toBe(13)
  })

  it('if one of many jobs is invalid, the error names the field, and nothing is stored', async () => {
    const { open } = await scene(under)
    const { jobs } = await open()
    const wrong: object = { to: 7 }
    const submitted = jobs.submitMany([
      { task: mail, args: { to: 'a' } },
      // Plain JavaScript may pass this.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      { task: mail, args: wrong as never },
    ])
    await expect(submitted).rejects.toThrow(InvalidInputError)
    await expect(submitted).rejects.toMatchObject({ field: 'args' })
    await expect(
      jobs.submitMany([
        { task: blob, id: 'same' },
        { task: blob, id: 'same' },
      ]),
    ).rejects.toThrow(ConflictError)
    expect((await jobs.list()).total).toBe(0)
  })

  it('args may contain NUL, but ids, groups and similar strings may not', async () => {
    const { open } = await scene(under)
    const { jobs, schedules } = await open()
    const id = await jobs.submit(mail, { to: 'a\u0000b' })
    expect(await jobs.get(id)).toMatchObject({ args: { to: 'a\u0000b' } })
    for (const field of ['id', 'group', 'subject', 'submitter']) {
      const wrong = { [field]: 'a\u0000b' }
      await expect(jobs.submit(blob, {}, wrong)).rejects.toMatchObject({ field })
      await expect(schedules.create({ task: blob, timer: 'daily', ...wrong })).rejects.toMatchObject({
        field,
      })
    }
  })
})
