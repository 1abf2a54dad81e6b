/** The scheduler alone, with the application's own table as queue: exactly once by id, through a crash. */
import { expect, onTestFinished, test } from 'vitest'
import { start, temporaryFolder } from '../cli/program.ts'
import { eachDatabase } from '../support/databases.ts'
import { until } from '../support/worker-process.ts'

const MAIN = 'examples/dist/own-queue/main.js'
const PERIOD_MS: Readonly<Record<string, number>> = { measure: 2000, report: 5000 }

eachDatabase(({ fresh }) => {
  test('after a crash between submit and advance, the same job is submitted again and exists once; no slot is lost', async () => {
    const database = await fresh()
    onTestFinished(() => database.drop())
    const cwd = await temporaryFolder()
    const args = [database.url, '--lease', '2s']

    const crashed = await start(MAIN, [...args, '--worker', 'one', '--crash'], { cwd }).ended
    expect(crashed.code).toBe(1)
    const queued = crashed.stdout.split('\n').filter((line) => line.startsWith('queued'))
    const ids = queued.map((line) => line.split(' ').at(-1) ?? '')
    expect(ids.length).toBeGreaterThanOrEqual(1)
    expect(await database.query('SELECT id FROM work_item ORDER BY id')).toEqual(
      ids.toSorted().map((id) => ({ id })),
    )
    // Marked still, and not moved on.
    const stuck = await database.query('SELECT id FROM periodic_task WHERE worker IS NOT NULL')
    expect(stuck).toHaveLength(ids.length)

    const workers = ['one', 'two'].map((name) => start(MAIN, [...args, '--worker', name], { cwd }))
    const printed = () => workers.map((worker) => worker.printed()).join('')
    for (const id of ids)
      await until(`the job ${id} is submitted again`, async () => printed().includes(`${id}\n`), 45_000)
    await until('five jobs are done', async () => (printed().match(/^done/gm) ?? []).length >= 5, 45_000)
    for (const worker of workers) await worker.until(/ready/)
    for (const worker of workers) worker.child.kill('SIGTERM')
    for (const worker of workers) expect(await worker.ended).toMatchObject({ code: 0, stderr: '' })

    const items = await database.query('SELECT id, schedule, slot, state FROM work_item ORDER BY slot')
    expect(items.filter(({ id }) => ids.includes(String(id)))).toHaveLength(ids.length)
    for (const [schedule, periodMs] of Object.entries(PERIOD_MS)) {
      const slots = items.filter((item) => item['schedule'] === schedule).map(({ slot }) => Number(slot))
      expect(new Set(slots).size).toBe(slots.length)
      // What the queue refused is recorded; every other slot is in it.
      const skips = await database.query('SELECT missed, reason FROM job WHERE periodic_task_id = ?', [
        schedule,
      ])
      expect(skips.filter(({ reason }) => reason !== 'overlap')).toEqual([])
      const refused = skips.reduce((sum, { missed }) => sum + Number(missed), 0)
      const [row] = await database.query('SELECT last_slot FROM periodic_task WHERE id = ?', [schedule])
      const last = Date.parse(`${String(row?.['last_slot']).replace(' ', 'T').replace(/Z$/, '')}Z`)
      const [first = last + periodMs] = slots
      expect(slots.length + refused, schedule).toBe((last - first) / periodMs + 1)
    }
  })
})
