import { expect, it } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { Kalends, task } from '../../src/index.ts'
import { MysqlDatabase } from '../../src/store/mysql/database.ts'
import { eachDatabase } from '../support/databases.ts'
import { until } from '../support/worker-process.ts'
import { Proxy } from '../support/worker-proxy.ts'

const LONGEST_USE_MS = 700

eachDatabase(({ kind, fresh }) => {
  // A SQLite file has no connection that can die.
  it.skipIf(kind === 'sqlite')(
    'a connection that dies silently never blocks a caller forever [L25]',
    async () => {
      const server = await fresh()
      const proxy = await Proxy.open(server.url)
      const database = new MysqlDatabase(proxy.url, 1, { longestUseMs: LONGEST_USE_MS })
      await database.rows('SELECT 1')

      // This applies both to a transaction, whose ROLLBACK would also hang, and to a single statement.
      await expect(
        database.transaction(async (sql) => {
          proxy.strand()
          await sql.rows('SELECT 1')
        }),
      ).rejects.toThrow(StoreUnavailableError)
      expect(await database.rows('SELECT 1 AS one')).toEqual([{ one: 1 }])
      proxy.strand()
      await expect(database.rows('SELECT 1')).rejects.toThrow(StoreUnavailableError)
      expect(await database.transaction((sql) => sql.rows('SELECT 1 AS one'))).toEqual([{ one: 1 }])

      await database.close()
      await proxy.close()
      await server.drop()
    },
  )

  // With the default lease of one minute, this test would exceed its time limit.
  it.skipIf(kind === 'sqlite')(
    'a worker whose connections have died silently works again after the length of its lease',
    { timeout: 30_000 },
    async () => {
      const server = await fresh()
      const proxy = await Proxy.open(server.url)
      const kalends = await Kalends.open(proxy.url, { lease: '2s', retention: false })
      const tick = task('tick')
      let ran = () => {}
      kalends.handle(tick, () => ran())
      const run = () => new Promise<void>((resolve) => (ran = resolve))
      await kalends.schedules.create({ task: tick, timer: '*:*:*' })
      const before = run()
      await kalends.start({ signals: false })
      await before

      proxy.strand()
      await run()

      await kalends.stop()
      await proxy.close()
      await server.drop()
    },
  )

  // This is the state after the promotion of a replica that had not received the outcome.
  it.skipIf(kind === 'sqlite')(
    'if a new server lacks the outcome of a run, the job runs again, although its worker is alive',
    { timeout: 30_000 },
    async () => {
      const server = await fresh()
      const proxy = await Proxy.open(server.url)
      const kalends = await Kalends.open(proxy.url, { retention: false })
      let ran = () => {}
      kalends.handle(task('tick'), () => ran())
      const run = () => new Promise<void>((resolve) => (ran = resolve))
      const outage = new Promise<void>((resolve) => {
        kalends.on('error', ({ where }) => {
          if (where === 'watch') resolve()
        })
      })
      await kalends.start({ signals: false })
      const before = run()
      await server.query("INSERT INTO job (id, task) VALUES ('j', 'tick')")
      await before
      const state = async () => (await server.query("SELECT state, worker FROM job WHERE id = 'j'"))[0]
      await until('its outcome is written', async () => (await state())?.['state'] === 'success')

      proxy.cut()
      const [{ id } = {}] = await server.query('SELECT @@GLOBAL.server_id AS id')
      await server.query('SET GLOBAL server_id = ?', [Number(id) + 1])
      await server.query("UPDATE job SET state = 'running', finished = NULL, worker = ? WHERE id = 'j'", [
        kalends.health().worker,
      ])
      await outage
      const again = run()
      proxy.mend()
      await again

      await kalends.stop()
      await server.query('SET GLOBAL server_id = ?', [id])
      await proxy.close()
      await server.drop()
    },
  )
})
