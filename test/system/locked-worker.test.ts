/** An administrator's open transaction that locks the row of a worker delays only the work of that worker. */
import { createConnection } from 'mysql2/promise'
import { afterEach, expect, it } from 'vitest'
import { eachDatabase } from '../support/databases.ts'
import { killWorkers, until, WorkerProcess } from '../support/worker-process.ts'

const LEASE_MS = 3000

afterEach(killWorkers)

eachDatabase(({ kind, fresh }) => {
  // A SQLite file has a single lock.
  it.skipIf(kind === 'sqlite')(
    'while the row of a dead worker is locked for three leases, another worker continues; afterwards, it evicts the dead worker and releases its job',
    async () => {
      const database = await fresh()
      const settings = {
        url: database.url,
        leaseMs: LEASE_MS,
        tasks: { tick: 'return', hold: 'hold' },
      } as const
      const doomed = await WorkerProcess.start({ ...settings, worker: 'doomed' })
      const other = await WorkerProcess.start({ ...settings, worker: 'other', tasks: { tick: 'return' } })
      await database.query("INSERT INTO job (task) VALUES ('hold')")
      const { job } = await doomed.report('handling')
      // A busy machine may run several slots at once, but skips none.
      await database.query(
        "INSERT INTO periodic_task (id, task, timer, overlap, catch_up) VALUES ('each', 'tick', '*:*:*', 'allow', 1000)",
      )

      const admin = await createConnection({ uri: database.url })
      await admin.query('START TRANSACTION')
      await admin.query('SELECT id FROM worker WHERE id = ? FOR UPDATE', [doomed.id])
      await doomed.kill()
      const note = await until('health names the dead worker', async () =>
        (await other.health()).warnings.find(({ code }) => code === 'locked-worker'),
      )
      expect(note).toMatchObject({ subject: doomed.id })
      // Every second of the next three leases has a run.
      const { slot } = await other.report('handling', undefined, other.reports.length)
      const seconds = (3 * LEASE_MS) / 1000
      const slots = Array.from({ length: seconds }, (_, second) => (slot ?? 0) + 1000 * (second + 1))
      for (const each of slots) await other.report('handling', (report) => report.slot === each)
      expect(await other.health()).toMatchObject({ ok: true, worker: other.id })
      expect(await database.query('SELECT state, worker FROM job WHERE id = ?', [job])).toEqual([
        { state: 'running', worker: doomed.id },
      ])

      await admin.query('COMMIT')
      await admin.end()
      await other.report('workerLost', ({ worker }) => worker === doomed.id)
      await until('its job waits for another worker', async () => {
        const [row] = await database.query('SELECT state FROM job WHERE id = ?', [job])
        return row?.['state'] === 'waiting'
      })
      expect(other.told('error')).toEqual([])
      await database.drop()
    },
  )
})
