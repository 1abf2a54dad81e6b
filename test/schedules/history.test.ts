/** The history of a schedule: runs and skips in one list. */
import { expect, it } from 'vitest'
import { InvalidInputError, NotFoundError, task } from '../../src/index.ts'
import { ended, scene } from '../kalends/scene.ts'
import { ADOPT, eachDatabase, type TestDatabase } from '../support/databases.ts'

const work = task('work', { retries: 0 })

async function row(
  database: TestDatabase,
  slot: string,
  state: string,
  more: Record<string, string | number> = {},
): Promise<void> {
  const columns = { id: slot, task: 'work', periodic_task_id: 's', slot, state, finished: slot, ...more }
  await database.query(
    `INSERT INTO job (${Object.keys(columns).join(', ')}) VALUES (${Object.keys(columns)
      .map(() => '?')
      .join(', ')})`,
    Object.values(columns),
  )
  await database.query(ADOPT)
}

eachDatabase((under) => {
  it('history lists runs and skips, newest slot first [S12]', async () => {
    const { open, database } = await scene(under)
    const { schedules } = await open()
    await schedules.create({ id: 's', task: work, timer: 'yearly' })
    await schedules.create({ id: 'other', task: work, timer: 'yearly' })
    await row(database, '2026-01-01 10:00:00.000', 'success', { run: 1, result: '7' })
    await row(database, '2026-01-01 11:05:00.000', 'skipped', { reason: 'overlap', missed: 5 })
    await row(database, '2026-01-01 12:00:00.000', 'failed', { run: 2, error: 'no' })
    await row(database, '2026-01-01 12:00:00.001', 'skipped', { periodic_task_id: 'other' })
    expect(
      (await schedules.history('s')).map(({ state, reason, missed, run }) => [state, reason, missed, run]),
    ).toEqual([
      ['failed', null, 0, 2],
      ['skipped', 'overlap', 5, null],
      ['success', null, 0, 1],
    ])
    const [newest] = await schedules.history('s', { limit: 1 })
    expect(newest).toMatchObject({ slot: new Date('2026-01-01T12:00:00Z'), error: 'no', scheduleId: 's' })
  })

  it('pages requested with `before` together contain each row exactly once [S12]', async () => {
    const { open, database } = await scene(under)
    const { schedules } = await open()
    await schedules.create({ id: 's', task: work, timer: 'yearly' })
    const slots = Array.from(
      { length: 25 },
      (_, index) => `2026-01-01 10:00:${String(index).padStart(2, '0')}.500`,
    )
    for (const slot of slots) await row(database, slot, 'success')
    const seen: string[] = []
    let before: Date | undefined
    for (;;) {
      const page = await schedules.history('s', { limit: 10, ...(before && { before }) })
      if (page.length === 0) break
      seen.push(...page.map(({ id }) => id))
      before = page.at(-1)?.slot ?? undefined
    }
    expect(seen).toEqual(slots.toReversed())
  })

  it('an unknown schedule, an invalid limit and an invalid instant are rejected', async () => {
    const { open } = await scene(under)
    const { schedules } = await open()
    await expect(schedules.history('nobody')).rejects.toThrow(NotFoundError)
    await schedules.create({ id: 's', task: work, timer: 'yearly' })
    expect(await schedules.history('s')).toEqual([])
    for (const limit of [0, 1001, 1.5])
      await expect(schedules.history('s', { limit })).rejects.toMatchObject({ field: 'limit' })
    await expect(schedules.history('s', { before: new Date('soon') })).rejects.toThrow(InvalidInputError)
  })

  it('each run has a unique, increasing number, even after cancelled, retried and overlapping runs', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const { schedules, jobs } = kalends
    await schedules.create({ id: 's', task: work, timer: 'yearly' })
    for (let times = 0; times < 3; times += 1) await jobs.cancel(await schedules.runNow('s'))
    kalends.handle(work, ({ args }) => {
      if (args['fails'] === true) throw new Error('as intended')
    })
    await kalends.start()
    const failed = await schedules.runNow('s', { args: { fails: true } })
    await ended(kalends, failed)
    await jobs.retry(failed)
    await ended(kalends, failed)
    await schedules.update('s', { overlap: 'allow' })
    await Promise.all([1, 2, 3].map(async () => ended(kalends, await schedules.runNow('s'))))
    // Started by its timer.
    await schedules.update('s', { timer: '*:*:*' })
    await expect
      .poll(async () => (await schedules.history('s')).length, { timeout: 100_000 })
      .toBeGreaterThanOrEqual(8)
    await schedules.pause('s')
    const history = await schedules.history('s')
    const numbers = history.flatMap(({ state, run }) => (state === 'skipped' ? [] : run)).toReversed()
    expect(numbers.slice(0, 4)).toEqual([1, 2, 3, 4])
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(numbers.toSorted((a, b) => Number(a) - Number(b))).toEqual(numbers)
    // The retried job failed twice, and each failure counts.
    expect(await schedules.get('s')).toMatchObject({ runCount: expect.any(Number), errorCount: 2 })
  })
})
