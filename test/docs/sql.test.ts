/** Runs the SQL of the documentation on every database while a worker is running. */
import { join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { Kalends, task } from '../../src/index.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import { type Block, blocksOf, pages, root } from './markdown.ts'

const withSql = pages()
  .map((page) => ({ page: relative(root, page), blocks: blocksOf(page, ['sql']) }))
  .filter(({ blocks }) => blocks.length > 0)

function statements(blocks: readonly Block[]): string[] {
  return blocks
    .flatMap(({ text }) => text.split(/;$/m))
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

/** The rows that the pages mention. */
async function seed(database: TestDatabase): Promise<void> {
  for (const id of ['greet', 'load'])
    await database.query("INSERT INTO periodic_task (id, task, timer) VALUES (?, ?, '*:*:0/2')", [id, id])
  // This schedule has been planned and is done, so no worker changes it.
  await database.query(
    "INSERT INTO periodic_task (id, task, timer, idle, last_slot, planned_from) VALUES ('early', 'load', 'daily', 'done', '2098-01-01 00:00:00', '1|daily|0|||')",
  )
  await database.query(
    "INSERT INTO job (id, task, state, queue) VALUES ('019a0000-0000-7000-8000-000000000004', 'mail', 'waiting', 'external'), ('019a0000-0000-7000-8000-000000000005', 'mail', 'external', 'external')",
  )
  for (const [number, state] of ['waiting', 'running', 'failed'].entries()) {
    const id = `019a0000-0000-7000-8000-00000000000${number + 1}`
    await database.query('INSERT INTO job (id, task, state) VALUES (?, ?, ?)', [id, 'mail', state])
    await database.query("INSERT INTO job_log (job_id, message) VALUES (?, 'hello')", [id])
    await database.query(
      "INSERT INTO attempt (job_id, claim, attempt, worker, started, ended, outcome) VALUES (?, 1, 1, 'w/1', '2026-01-01 00:00:00', '2026-01-01 00:00:01', 'failed')",
      [id],
    )
  }
}

test('there is SQL to run', () => {
  expect(withSql.map(({ page }) => page)).toEqual(expect.arrayContaining(['README.md', 'docs/tables.md']))
})

eachDatabase(({ kind, fresh, bare }) => {
  test.each(withSql)('$page: every statement runs and finds its rows', async ({ blocks }) => {
    const database = await fresh()
    const kalends = await Kalends.open(database.url)
    await seed(database)
    // Nothing changes the rows between two statements.
    kalends.handle(task('other'), () => {})
    await kalends.start({ scheduler: false })
    for (const statement of statements(blocks.filter(({ flags }) => flags.length === 0))) {
      const where = /^(?:UPDATE|DELETE FROM|INSERT INTO) (\w+)[^]*?( WHERE [^]*)?$/.exec(statement)
      const count = async () => {
        const [row] = await database.query(`SELECT COUNT(*) AS n FROM ${where?.[1]}${where?.[2] ?? ''}`)
        return Number(row?.['n'])
      }
      if (statement.startsWith('UPDATE')) expect(await count(), statement).toBe(1)
      await database.query(statement)
    }
    await kalends.stop()
    await database.drop()
  })

  test.skipIf(kind === 'sqlite')('the documented privileges suffice; a worker cannot migrate', async () => {
    const database = await bare()
    const name = new URL(database.url).pathname.slice(1)
    const users = { app_worker: `w_${name.slice(-20)}`, app_deploy: `d_${name.slice(-20)}` }
    const grants = statements(
      blocksOf(join(root, 'docs/databases.md'), ['sql']).filter(({ flags }) => flags.includes('mysql')),
    )
    const url = (user: string, password: string) => {
      const one = new URL(database.url)
      one.username = user
      one.password = password
      return one.href
    }
    try {
      for (const grant of grants) {
        await database.query(
          grant
            .replace('app.*', `\`${name}\`.*`)
            .replace('app_worker', users.app_worker)
            .replace('app_deploy', users.app_deploy),
        )
      }
      const worker = url(users.app_worker, 'a-long-secret')
      await expect(Kalends.open(worker)).rejects.toThrow(/denied/)
      expect(await Kalends.migrate(url(users.app_deploy, 'another-secret'))).not.toEqual([])
      const kalends = await Kalends.open(worker, { migrate: false })
      await kalends.start()
      const id = await kalends.jobs.submit('mail', { to: 'x' })
      expect(await kalends.jobs.cancel(id)).toMatchObject({ state: 'cancelled' })
      await kalends.stop()
    } finally {
      for (const user of Object.values(users)) await database.query(`DROP USER IF EXISTS '${user}'@'%'`)
      await database.drop()
    }
  })
})
