import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { AttemptLog } from '../../src/executor/attempt-log.ts'
import { Journal } from '../../src/executor/journal.ts'
import { task } from '../../src/index.ts'
import { Redaction } from '../../src/model/redaction.ts'
import { ended, scene, until } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'
import { claimed, executingStore } from './claimed.ts'

const flaky = task('flaky', { retries: 2, retryDelay: 20 })

it('a waiting log line does not keep alive the larger string that it was cut from', () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: unknown = runInNewContext('gc')
  if (typeof collectGarbage !== 'function') throw new Error('there is no gc')
  const heap = () => {
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const journal = new Journal({ store: executingStore, onError: () => {}, onDropped: () => {} })
  const log = new AttemptLog(claimed('j'), journal, new Redaction([]), () => new Date(0))
  const before = heap()
  // The strings are small enough for the V8 heap; larger strings may be stored outside it.
  for (let count = 0; count < 100; count += 1)
    log.logger().info(Buffer.alloc(500_000, `${count}`).toString().slice(0, 200))
  expect(heap() - before).toBeLessThan(10_000_000)
  expect(journal.unwritten().lines).toBe(100)
})

eachDatabase((under) => {
  it('the failures of earlier attempts are in the log of the job', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    kalends.handle(flaky, ({ attempt, log }) => {
      log.info(`try ${attempt}`)
      if (attempt < 3) throw new Error(`no luck on try ${attempt}\nand why`)
    })
    await kalends.start()
    const id = await kalends.jobs.submit(flaky)
    expect((await ended(kalends, id)).state).toBe('success')
    const lines = await until(async () => {
      const found = await kalends.jobs.logs(id)
      return found.length === 5 ? found : null
    })
    expect(lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      'Attempt 1 failed: Error: no luck on try 1',
      'Attempt 2 failed: Error: no luck on try 2',
    ])
  })

  it('a secret that becomes known later is removed from a line that contains NUL', async () => {
    const { open } = await scene(under)
    const kalends = await open({ redact: ['result.token'] })
    const leaky = task('leaky')
    kalends.handle(leaky, ({ log }) => {
      log.info('token topsecret99\0')
      return { token: 'topsecret99' }
    })
    await kalends.start()
    const id = await kalends.jobs.submit(leaky)
    await ended(kalends, id)
    const messages = await until(async () => {
      const found = ((await kalends.jobs.logs(id)) ?? []).map(({ message }) => message)
      return found.some((message) => message.includes('[redacted]')) ? found : null
    })
    expect(messages).toEqual(['token [redacted]␀'])
  })
})
