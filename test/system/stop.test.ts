/** A clean stop: no partial writes, no leftovers, and no takeover of running jobs. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import { expectNoFault } from '../support/fault.ts'
import { occurrenceProblems, occurrenceRows, scheduleEnds, sqlInstant } from '../support/occurrences.ts'
import { killWorkers, until, WorkerProcess, type WorkerSettings } from '../support/worker-process.ts'

const LEASE_MS = 1500

afterEach(killWorkers)

function settings(database: TestDatabase, worker: string): WorkerSettings {
  return {
    url: database.url,
    worker,
    leaseMs: LEASE_MS,
    signals: true,
    tasks: { hold: 'hold', tick: 'return' },
  }
}

eachDatabase(({ fresh }) => {
  describe('SIGTERM', () => {
    it('ends an idle worker at once and leaves no row in the worker table', async () => {
      const database = await fresh()
      const worker = await WorkerProcess.start(settings(database, 'idle'))
      const asked = performance.now()
      worker.signal('SIGTERM')
      expect(await worker.ended()).toBe('SIGTERM')
      // If the worker waited for anything, the stop would take the whole grace period of 30 s.
      expect(performance.now() - asked).toBeLessThan(10_000)
      expect(await database.query('SELECT * FROM worker')).toEqual([])
      await database.drop()
    })

    it('SIGTERM lets a run complete, even if it takes longer than the lease, and no other worker takes it over [L26]', async () => {
      const database = await fresh()
      const worker = await WorkerProcess.start(settings(database, 'leaving'))
      await database.query("INSERT INTO job (task) VALUES ('hold')")
      const { job } = await worker.report('handling')
      const other = await WorkerProcess.start(settings(database, 'staying'))
      worker.signal('SIGTERM')

      // The stopping worker claims no more jobs.
      await database.query("INSERT INTO job (task) VALUES ('tick'), ('tick'), ('tick')")
      await until('the other worker has run them', async () => other.told('settled').length === 3)
      await pause(LEASE_MS * 2)
      expect(other.told('workerLost')).toEqual([])
      expect(await database.query('SELECT id FROM worker WHERE id = ?', [worker.id])).toHaveLength(1)
      expect(worker.exitCode).toBeNull()

      worker.order({ do: 'release' })
      expect(await worker.ended()).toBe('SIGTERM')
      expect(await database.query('SELECT state, attempt, worker FROM job WHERE id = ?', [job])).toEqual([
        { state: 'success', attempt: 1, worker: worker.id },
      ])
      expect(await database.query('SELECT id FROM worker')).toEqual([{ id: other.id }])
      expect(other.told('handling').filter((report) => report.job === job)).toEqual([])
      expect(worker.told('error')).toEqual([])
      await database.drop()
    })
  })

  it('a worker still stops cleanly if several signals arrive within a second, for example from npm and the terminal', async () => {
    const database = await fresh()
    const worker = await WorkerProcess.start(settings(database, 'leaving'))
    await database.query("INSERT INTO job (task) VALUES ('hold')")
    const { job } = await worker.report('handling')
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGINT'] as const) {
      worker.signal(signal)
      // Pending signals of the same kind are merged, so wait until the worker has received this one.
      await worker.health()
    }
    worker.order({ do: 'release' })
    expect(await worker.ended()).toBe('SIGINT')
    expect(await database.query('SELECT state, attempt FROM job WHERE id = ?', [job])).toEqual([
      { state: 'success', attempt: 1 },
    ])
    await database.drop()
  })

  it('a signal that arrives more than a second after the first ends the process without waiting for the grace period', async () => {
    const database = await fresh()
    const worker = await WorkerProcess.start(settings(database, 'leaving'))
    await database.query("INSERT INTO job (task) VALUES ('hold')")
    await worker.report('handling')
    worker.signal('SIGTERM')
    await pause(1200)
    worker.signal('SIGTERM')
    expect(await worker.ended()).toBe(143)
    await database.drop()
  })

  for (const behaviour of ['hold', 'deaf'] as const) {
    it(`a run whose handler ${behaviour === 'hold' ? 'heeds' : 'does not heed'} its signal is released after the grace period and runs on another worker`, async () => {
      const database = await fresh()
      const worker = await WorkerProcess.start({
        ...settings(database, 'leaving'),
        tasks: { hold: behaviour },
      })
      await database.query("INSERT INTO job (task) VALUES ('hold')")
      const { job } = await worker.report('handling')
      const other = await WorkerProcess.start({ ...settings(database, 'staying'), tasks: { hold: 'return' } })
      worker.order({ do: 'stop', graceMs: 300 })
      expect(await worker.report('aborted')).toMatchObject({ job, reason: 'StoppedError' })
      // The attempt does not count, because the job is not at fault.
      const again = await other.report('handling', (report) => report.job === job)
      expect(again.attempt).toBe(1)
      await other.report('settled', (report) => report.job === job && report.state === 'success')
      expect(await worker.ended()).toBe(0)
      expect(await database.query('SELECT id FROM worker')).toEqual([{ id: other.id }])
      expect(other.told('workerLost')).toEqual([])
      await database.drop()
    })
  }

  it('a rolling restart loses nothing, duplicates nothing and leaves nothing behind [R11]', async () => {
    const database = await fresh()
    const start = async (name: string) =>
      await WorkerProcess.start({
        ...settings(database, name),
        // If anything waited for the end of a lease, the test would exceed its time limit.
        leaseMs: 600_000,
        quiet: true,
        concurrency: 30,
      })
    let worker = await start('r0')
    const from = Math.ceil(Date.now() / 1000 + 3) * 1000
    // On a busy machine, a run may overlap with the next one, and several slots may be due at the same time.
    const values = Array.from(
      { length: 50 },
      (_, index) => `('s${index}', 'tick', '*:*:*', '${sqlInstant(from)}', 'allow', 100)`,
    )
    await database.query(
      `INSERT INTO periodic_task (id, task, timer, nextrun, overlap, catch_up) VALUES ${values.join(', ')}`,
    )
    await pause(from - Date.now())
    for (const name of ['r1', 'r2', 'r3', 'r4']) {
      const next = await start(name)
      // The worker is stopped just after a second begins, when it is busiest.
      await pause(1000 - (Date.now() % 1000) + Math.random() * 40)
      worker.signal('SIGTERM')
      expect(await worker.ended()).toBe('SIGTERM')
      worker = next
    }
    const stopped = Date.now()
    await database.query('UPDATE periodic_task SET enabled = 0')
    await until('all has ended', async () => {
      const busy = await database.query(
        "SELECT id FROM periodic_task WHERE wake_at IS NOT NULL UNION ALL SELECT id FROM job WHERE state IN ('waiting', 'blocked', 'running')",
      )
      return busy.length === 0
    })
    worker.signal('SIGTERM')
    expect(await worker.ended()).toBe('SIGTERM')

    const rows = await occurrenceRows(database)
    const expected = { from, until: stopped - 2000, stepMs: 1000 }
    expectNoFault(occurrenceProblems(await scheduleEnds(database), rows, expected))
    expect(rows.filter((row) => row.state !== 'success' || row.attempt !== 1)).toEqual([])
    expect(await database.query('SELECT id FROM worker')).toEqual([])
    await database.drop()
  })
})
