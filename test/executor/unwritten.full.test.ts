/** Runs whose outcome is not in the database when their process is killed. */
import { afterEach, expect, it } from 'vitest'
import { task } from '../../src/index.ts'
import { scene, until } from '../kalends/scene.ts'
import { eachDatabase } from '../support/databases.ts'
import { killWorkers, WorkerProcess } from '../support/worker-process.ts'

const quick = task('quick')

afterEach(killWorkers)

eachDatabase((under) => {
  const { kind } = under

  it('after a process is killed, at most as many runs are repeated as its concurrency allows [L53]', async () => {
    const { open, database } = await scene(under)
    const web = await open({ worker: 'web' })
    const concurrency = 20
    await web.jobs.submitMany(Array.from({ length: 500 }, () => ({ task: quick })))
    // Slows down the writes of outcomes, not the claims. SQLite writes one outcome at a time anyway.
    if (kind !== 'sqlite')
      await database.query(
        'CREATE TRIGGER slow_end BEFORE UPDATE ON job FOR EACH ROW IF NEW.finished IS NOT NULL THEN DO SLEEP(0.01); END IF',
      )
    const worker = await WorkerProcess.start({
      url: database.url,
      worker: 'w',
      leaseMs: 60_000,
      concurrency,
      scheduler: false,
      tasks: { quick: 'return' },
    })
    const handling = () => worker.reports.filter(({ event }) => event === 'handling')
    await until(async () => (handling().length > 5 * concurrency ? true : null))
    await worker.kill()
    const begun = new Set(worker.reports.flatMap((report) => (report.event === 'handling' ? report.job : [])))
    const rows = await database.query("SELECT id FROM job WHERE state <> 'success'")
    const repeated = rows.filter(({ id }) => begun.has(String(id)))
    expect(begun.size).toBeGreaterThan(5 * concurrency)
    expect(repeated.length).toBeLessThanOrEqual(concurrency)
  })
})
