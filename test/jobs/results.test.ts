import { expect, it } from 'vitest'
import { z } from 'zod'
import { task } from '../../src/index.ts'
import { scene } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const counting = task('counting', { result: z.object({ done: z.number() }), retries: 3 })

eachDatabase((under) => {
  it("`wait` returns a result of the task's declared type [R10]", async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(counting, () => ({ done: 3 }))
    await kalends.start()
    const { state, result } = await kalends.jobs.wait(await kalends.jobs.submit(counting))
    expect({ state, done: result?.done }).toEqual({ state: 'success', done: 3 })
  })

  it('a job whose handler returns a result of the wrong type fails and is not retried', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(counting, () => JSON.parse('{"done":"three"}'))
    await kalends.start()
    const job = await kalends.jobs.wait(await kalends.jobs.submit(counting))
    expect(job).toMatchObject({ state: 'failed', reason: 'permanent', attempt: 1, result: null })
    expect(job.error).toContain("does not match the result of the task 'counting': done: ")
  })

  it('characters that no database can store are replaced in a result instead of failing the run', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(task('cutting'), ({ progress }) => {
      progress('half \ud83d')
      return 'half \ud83d'
    })
    await kalends.start()
    const job = await kalends.jobs.wait(await kalends.jobs.submit('cutting'))
    expect(job).toMatchObject({ state: 'success', result: 'half \ufffd', progress: 'half \ufffd' })
  })
})
