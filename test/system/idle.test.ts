import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { eachDatabase } from '../support/databases.ts'
import { killWorkers, until, WorkerProcess } from '../support/worker-process.ts'
import { Proxy } from '../support/worker-proxy.ts'

const SECONDS = 6

afterEach(killWorkers)

eachDatabase(({ kind, fresh }) => {
  // Statements on a SQLite file cannot be counted from outside.
  it.skipIf(kind === 'sqlite')(
    'an idle worker queries its database about once a second [S1, L32]',
    async () => {
      const database = await fresh()
      const proxy = await Proxy.open(database.url)
      const worker = await WorkerProcess.start({
        url: proxy.url,
        worker: 'idle',
        leaseMs: 60_000,
        tasks: { tick: 'return', tock: 'return' },
      })
      // The database contains future runs, and jobs for other workers.
      await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('later', 'tick', 'yearly')")
      await database.query(
        "INSERT INTO job (task, run_at) VALUES ('tick', '2100-01-01'), ('of another service', NULL)",
      )
      await until(
        'it is planned',
        async () => (await database.query('SELECT id FROM periodic_task WHERE nextrun = wake_at'))[0],
      )
      await pause(1000)

      const before = proxy.statements.length
      await pause(SECONDS * 1000)
      const statements = proxy.statements.slice(before)
      console.log(
        `${kind}: an idle worker sends ${(statements.length / SECONDS).toFixed(2)} statements per second`,
      )
      expect(statements.length / SECONDS, statements.join('\n')).toBeLessThanOrEqual(1.5)
      expect(statements.length).toBeGreaterThanOrEqual(SECONDS * 0.8)
      await worker.stop()
      await proxy.close()
      await database.drop()
    },
  )
})
