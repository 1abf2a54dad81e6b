/** On each database, a worker submits and runs jobs and is killed; its replacement finishes the lost job and stops. */
import { afterEach, expect, it } from 'vitest'
import { eachDatabase } from './support/databases.ts'
import { OccurrenceFault } from './support/fault.ts'
import { killWorkers, WorkerProcess } from './support/worker-process.ts'

afterEach(killWorkers)

eachDatabase(({ fresh }) => {
  it('a killed worker loses no occurrence and repeats none: its replacement takes over the job and stops cleanly', async () => {
    const database = await fresh()
    const settings = {
      url: database.url,
      worker: 'smoke',
      leaseMs: 60_000,
      tasks: { tick: 'return', hold: 'hold' },
    } as const
    const first = await WorkerProcess.start(settings)
    await database.query(
      "INSERT INTO periodic_task (id, task, timer, nextrun) VALUES ('quick', 'tick', 'yearly', '2020-01-01 00:00:00'), ('long', 'hold', 'yearly', '2020-01-01 00:00:00')",
    )
    await first.report('settled', ({ task, state }) => task === 'tick' && state === 'success')
    const { job } = await first.report('handling', ({ schedule }) => schedule === 'long')

    await first.kill()
    // Does what another worker would do after a lease without a heartbeat (docs/decisions.md#death-is-a-deleted-row).
    await database.query('DELETE FROM worker WHERE id = ?', [first.id])
    const second = await WorkerProcess.start(settings)
    const again = await second.report('handling', (report) => report.job === job)
    expect(again).toMatchObject({ attempt: 2, worker: second.id })
    second.order({ do: 'release' })
    await second.report('settled', (report) => report.job === job && report.state === 'success')
    second.order({ do: 'stop', graceMs: 60_000 })
    expect(await second.ended()).toBe(0)

    expect(await database.query('SELECT * FROM worker')).toEqual([])
    const jobs = await database.query(
      'SELECT periodic_task_id AS id, state, attempt FROM job ORDER BY periodic_task_id',
    )
    if (jobs.length !== 2)
      throw new OccurrenceFault(`the two occurrences do not have one job each: ${JSON.stringify(jobs)}`)
    expect(jobs).toEqual([
      { id: 'long', state: 'success', attempt: 2 },
      { id: 'quick', state: 'success', attempt: 1 },
    ])
    expect(await database.query('SELECT id FROM periodic_task WHERE worker IS NOT NULL')).toEqual([])
    await database.drop()
  })
})
