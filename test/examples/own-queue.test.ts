/** An application with its own job table: each job is inserted exactly once, even after kill -9. */
import { expect, onTestFinished, test } from 'vitest'
import { start, temporaryFolder } from '../cli/program.ts'
import { eachDatabase } from '../support/databases.ts'
import { until } from '../support/worker-process.ts'

const MAIN = 'examples/dist/own-queue/main.js'
const PERIOD_MS: Readonly<Record<string, number>> = { measure: 2000, report: 5000 }

eachDatabase(({ fresh }) => {
  test('kill -9 during a hand-over leaves no row; after a restart, each slot is inserted and reported once [S11, X1, X4, L7]', async () => {
    const database = await fresh()
    onTestFinished(() => database.drop())
    const cwd = await temporaryFolder()
    const args = [database.url, '--lease', '2s']

    const crashed = await start(MAIN, [...args, '--worker', 'one', '--crash'], { cwd }).ended
    expect(crashed.code).not.toBe(0)
    const queued = crashed.stdout.split('\n').filter((line) => line.startsWith('queued'))
    const ids = queued.map((line) => line.split(' ').at(-1) ?? '')
    expect(ids.length).toBeGreaterThanOrEqual(1)
    // The server may notice the lost connection late.
    await until('the transaction is rolled back', async () => {
      const jobs = await database.query("SELECT id FROM job WHERE state = 'waiting'")
      return ids.every((id) => jobs.some((job) => job['id'] === id))
    })
    expect(await database.query('SELECT id FROM work_item')).toEqual([])

    const workers = ['one', 'two'].map((name) => start(MAIN, [...args, '--worker', name], { cwd }))
    const printed = () => workers.map((worker) => worker.printed()).join('')
    await until('five jobs are done', async () => (printed().match(/^done/gm) ?? []).length >= 5, 45_000)
    for (const worker of workers) await worker.until(/ready/)
    for (const worker of workers) worker.child.kill('SIGTERM')
    const stderr = expect.stringMatching(/^(?:kalends: (?:Slots skipped|A worker is dead)[^\n]*\n)*$/)
    for (const worker of workers) expect(await worker.ended).toMatchObject({ code: 0, stderr })

    const items = await database.query('SELECT id, task, slot, state FROM work_item ORDER BY slot')
    expect(items.filter(({ id }) => ids.includes(String(id)))).toHaveLength(ids.length)
    // The table contains exactly the jobs that were handed over, and each reported job has ended.
    const jobs = await database.query(
      "SELECT id, state FROM job WHERE state IN ('external', 'success') AND queue IS NOT NULL",
    )
    expect(new Set(items.map(({ id }) => id))).toEqual(new Set(jobs.map(({ id }) => id)))
    const ended = new Set(jobs.filter(({ state }) => state === 'success').map(({ id }) => id))
    expect(ended).toEqual(new Set(items.filter(({ state }) => state === 'reported').map(({ id }) => id)))
    for (const [schedule, periodMs] of Object.entries(PERIOD_MS)) {
      const slots = items.filter(({ task }) => task === schedule).map(({ slot }) => Number(slot))
      expect(new Set(slots).size).toBe(slots.length)
      const others = await database.query(
        "SELECT missed, reason, state FROM job WHERE periodic_task_id = ? AND state NOT IN ('external', 'success')",
        [schedule],
      )
      // While a run is queued, the next slot is skipped; a job that has not been handed over yet is waiting.
      const skips = others.filter(({ state }) => state === 'skipped')
      expect(skips.filter(({ reason }) => reason !== 'overlap')).toEqual([])
      const skipped = skips.reduce((sum, { missed }) => sum + Number(missed), 0)
      const waiting = others.length - skips.length
      const [row] = await database.query('SELECT last_slot FROM periodic_task WHERE id = ?', [schedule])
      const last = Date.parse(`${String(row?.['last_slot']).replace(' ', 'T').replace(/Z$/, '')}Z`)
      const [first = last + periodMs] = slots
      expect(slots.length + skipped + waiting, schedule).toBe((last - first) / periodMs + 1)
    }
  })
})
