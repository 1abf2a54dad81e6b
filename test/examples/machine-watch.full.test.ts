/** Machine watch in several processes. */
import { expect, test } from 'vitest'
import { start, temporaryFolder } from '../cli/program.ts'
import { eachDatabase } from '../support/databases.ts'
import { OccurrenceFault } from '../support/fault.ts'

const MAIN = 'examples/dist/machine-watch/main.js'

eachDatabase(({ fresh }) => {
  test('two processes share the work: every slot runs once', async () => {
    const cwd = await temporaryFolder()
    const database = await fresh()
    const watches = [1, 2].map(() => start(MAIN, ['--database', database.url], { cwd }))
    for (const watch of watches) await watch.until(/SCHEDULE +TIMER/)
    // Runs are frequent enough that both processes must get a share.
    await database.query(
      "UPDATE periodic_task SET timer = '*:*:0/1' WHERE id IN ('load', 'disks', 'disk-alarm')",
    )
    for (const watch of watches) await watch.until(/(done[^]*){6}/)
    for (const watch of watches) watch.child.kill('SIGINT')
    for (const watch of watches) expect(await watch.ended).toMatchObject({ code: 0, stderr: '' })
    const jobs = await database.query(
      "SELECT COUNT(*) AS jobs, COUNT(DISTINCT worker) AS workers, COUNT(DISTINCT CONCAT(periodic_task_id, ' ', slot)) AS slots FROM job WHERE state = 'success'",
    )
    expect(jobs).toMatchObject([{ workers: 2 }])
    if (jobs[0]?.['slots'] !== jobs[0]?.['jobs']) throw new OccurrenceFault(JSON.stringify(jobs))
    await database.drop()
  })
})
