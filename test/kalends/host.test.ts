/** What the process around Kalends brings along: asynchronous contexts and a time zone without a name. */
import { execFile } from 'node:child_process'
import { AsyncLocalStorage } from 'node:async_hooks'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { task } from '../../src/index.ts'
import { databases } from '../support/databases.ts'
import { ended, scene, signal } from './scene.ts'

const sqlite = databases.find(({ kind }) => kind === 'sqlite')
const root = fileURLToPath(new URL('../..', import.meta.url))

describe.runIf(sqlite !== undefined)('the context of the caller of start', () => {
  it('is not the context of handlers, hooks and listeners', async () => {
    if (sqlite === undefined) return
    const tenant = new AsyncLocalStorage<string>()
    const { open } = await scene(sqlite)
    const kalends = await open()
    const seen: Record<string, string | undefined> = {}
    const own = task('own', { retries: 0 })
    kalends.handle(own, () => {
      seen['handler'] = tenant.getStore()
    })
    kalends.on('submitted', () => (seen['submitted'] = tenant.getStore()))
    kalends.on('started', () => (seen['started'] = tenant.getStore()))
    kalends.on('settled', () => (seen['settled'] = tenant.getStore()))
    await tenant.run('first request', () => kalends.start())
    await tenant.run('second request', async () => {
      const submitted = signal(kalends, 'submitted', ({ runs }) => runs.length > 0)
      await kalends.schedules.create({ id: 's', task: own, timer: 'yearly', firstRun: 'now' })
      const [run] = (await submitted).runs
      await ended(kalends, run?.jobId ?? '')
      await ended(kalends, await kalends.jobs.submit(own))
    })
    expect(seen).toEqual({
      handler: undefined,
      submitted: undefined,
      started: undefined,
      settled: undefined,
    })
  })
})

describe.each(['', ':/etc/localtime', 'UTC+2', 'Nowhere/City'])(
  'TZ=%s, for which Intl has no name',
  (zone) => {
    /** Runs an ES module with the built package. @returns what it prints */
    const run = async (body: string) => {
      const text = `
      import { Kalends } from ${JSON.stringify(`${root}dist/index.js`)}
      import { calendar } from ${JSON.stringify(`${root}dist/calendar/index.js`)}
      ${body}`
      const args = ['--input-type=module', '--eval', text]
      const { stdout } = await promisify(execFile)(process.execPath, args, {
        env: { ...process.env, TZ: zone },
      })
      return stdout.trim()
    }

    it('commands print times in UTC', async () => {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [`${root}dist/cli/main.js`, 'calendar', '2031-01-01 12:00', '--base-time', '2030-01-01 00:00 UTC'],
        { env: { ...process.env, TZ: zone } },
      )
      expect(stdout).toContain('Wed 2031-01-01 12:00:00 UTC')
    })

    it("the error for 'local' names TZ", async () => {
      const printed = await run(`
      const text = (thrown) => thrown.message
      console.log(await Kalends.open('sqlite::memory:', { zone: 'local' }).catch(text))
      try { calendar('daily', { zone: 'local' }) } catch (thrown) { console.log(text(thrown)) }`)
      const lines = printed.split('\n')
      expect(lines).toHaveLength(2)
      for (const line of lines) expect(line).toContain('set the environment variable TZ to an IANA name')
    })
  },
)
