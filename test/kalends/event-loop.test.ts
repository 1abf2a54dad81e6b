/** A schedule that is always due, on a database with a synchronous driver. */
import { expect, it } from 'vitest'
import { task } from '../../src/index.ts'
import { scene, signal, until } from './scene.ts'
import { eachDatabase } from '../support/databases.ts'

eachDatabase((under) => {
  it.each(['allow', 'replace'])(
    'a schedule that is always due (overlap %s) leaves the event loop free for jobs, timers and the shutdown, and a warning names it [L67]',
    async (overlap) => {
      const { open, database } = await scene(under)
      const kalends = await open()
      kalends.handle(task('busy'), async () => undefined)
      kalends.handle(task('other'), async () => undefined)
      await database.query(
        'INSERT INTO periodic_task (id, task, timer, overlap) VALUES (?, ?, ?, ?), (?, ?, ?, ?)',
        ['always', 'busy', 'every 1ms', overlap, 'other', 'other', '*:*:*', 'skip'],
      )
      const ran = signal(kalends, 'settled', ({ task }) => task === 'other')
      await kalends.start()
      await ran
      await new Promise((resolve) => setTimeout(resolve, 1))
      const found = { code: 'cannot-keep-up', subject: 'always' }
      await until(
        async () =>
          kalends
            .health()
            .warnings.some(({ code, subject }) => code === found.code && subject === found.subject) || null,
      )
      await until(async () => {
        const findings = await kalends.doctor()
        return (
          findings.some(({ code, subjects }) => code === found.code && subjects.join() === 'always') || null
        )
      })
      await kalends.stop()
      const [row] = await database.query("SELECT COUNT(*) AS n FROM job WHERE periodic_task_id = 'always'")
      expect(Number(row?.['n'])).toBeGreaterThan(0)
    },
  )
})
