import { expect, it } from 'vitest'
import { task } from '../../src/index.ts'
import { ended, scene, until } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'

const flaky = task('flaky', { retries: 2, retryDelay: 20 })

eachDatabase((under) => {
  it('the outcomes of earlier attempts are in the log of the job', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(flaky, ({ attempt, log }) => {
      log.info(`try ${attempt}`)
      if (attempt < 3) throw new Error(`no luck the ${attempt}. time\nand why`)
    })
    await kalends.start()
    const id = await kalends.jobs.submit(flaky)
    expect((await ended(kalends, id)).state).toBe('success')
    const lines = await until(async () => {
      const found = await kalends.jobs.logs(id)
      return found.length === 5 ? found : null
    })
    expect(lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      'Attempt 1 failed: Error: no luck the 1. time',
      'Attempt 2 failed: Error: no luck the 2. time',
    ])
  })
})
