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
      await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('each', 'tick', '*:*:*')")

      const admin = await createConnection({ uri: database.url })
      await admin.query('START TRANSACTION')
      await admin.query('SELECT id FROM worker WHERE id = ? FOR UPDATE', [doomed.id])
      await doomed.kill()
      const note = await until('health names the dead worker', async () =>
        (await other.health()).warnings.find(({ code }) => code === 'locked-worker'),
      )
      expect(note).toMatchObject({ subject: doomed.id })
      // Every second of the next three leases has a run.
      const from = other.reports.length
      const [first, ...rest] = await slotsOf(other, from, (3 * LEASE_MS) / 1000)
      expect(rest).toEqual(rest.map((_, index) => (first ?? 0) + 1000 * (index + 1)))
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

/** The slots of the worker's next runs. */
async function slotsOf(worker: WorkerProcess, from: number, count: number): Promise<number[]> {
  const slots = new Set<number>()
  while (slots.size < count) {
    const { slot } = await worker.report(
      'handling',
      (report) => report.slot !== null && !slots.has(report.slot),
      from,
    )
    slots.add(slot ?? 0)
  }
  return [...slots]
}
