/** The database rejects writes to some rows: other rows are not affected, and one error is reported per back-off. */
import { expect, it } from 'vitest'
import { task } from '../../src/index.ts'
import { eachDatabase } from '../support/databases.ts'
import { LEASE_MS, movableTimers, standingClock } from './movable-timers.ts'
import { aborted, collect, collectingLogger, ended, scene, signal, until } from './scene.ts'

const quick = task('quick')

eachDatabase((under) => {
  it('a schedule that cannot be marked and a job that cannot be made claimable are each reported once, and health shows a warning', async () => {
    standingClock()
    const { open, database } = await scene(under)
    const { logger, messages } = collectingLogger()
    const kalends = await open({ logger })
    const errors = collect(kalends, 'error')
    kalends.handle(quick, () => 'done')
    await kalends.schedules.create({ id: 'bad', task: quick, timer: '*:*:*' })
    const badJob = await kalends.jobs.submit(quick, {}, { runAt: new Date(Date.now() + 3_600_000) })
    for (const [table, condition] of [
      ['periodic_task', "NEW.id = 'bad' AND NEW.worker IS NOT NULL"],
      ['job', `NEW.id = '${badJob}' AND NEW.run_at IS NULL`],
    ]) {
      const head = `CREATE TRIGGER refuse_${table} BEFORE UPDATE ON ${table}`
      await database.query(
        under.kind === 'sqlite'
          ? `${head} WHEN ${condition} BEGIN SELECT RAISE(ABORT, 'refused'); END`
          : `${head} FOR EACH ROW BEGIN IF ${condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END`,
      )
    }
    await database.query("UPDATE job SET run_at = '2020-01-01 00:00:00.000' WHERE id = ?", [badJob])
    await kalends.start()
    const told = () => errors.map(({ where }) => where).toSorted()
    await until(async () => (told().length >= 2 ? true : null))
    // Two more passes over due and waiting rows.
    for (const id of ['good', 'better']) {
      const submitted = signal(kalends, 'submitted', ({ runs }) => runs.length > 0)
      await kalends.schedules.create({ id, task: quick, timer: 'yearly', firstRun: 'now' })
      expect((await submitted).scheduleId).toBe(id)
      const job = await kalends.jobs.submit(quick, {}, { runAt: new Date(Date.now() + 10) })
      expect(await ended(kalends, job)).toMatchObject({ state: 'success' })
    }
    expect(told()).toEqual([`job ${badJob}`, 'schedule bad'].toSorted())
    expect(messages().filter((message) => message.startsWith('error'))).toHaveLength(2)
    expect(kalends.health()).toMatchObject({
      ok: true,
      warnings: [{ code: 'set-aside', text: expect.stringContaining('2 schedules or jobs') }],
    })
  })

  it('a worker that is too old for the tables still forwards stop requests to its handlers', async () => {
    const on = await scene(under)
    const { beatUntil } = movableTimers(on)
    const { open, database } = on
    const kalends = await open({ lease: LEASE_MS })
    const long = task('long')
    kalends.handle(long, ({ signal: stop }) => aborted(stop))
    await kalends.start()
    const job = await kalends.jobs.submit(long)
    await until(async () => ((await kalends.jobs.get(job))?.state === 'running' ? true : null))
    await database.query(
      "INSERT INTO kalends_migration (name, applied, lowest) VALUES ('next', '', '99.0.0')",
    )
    await beatUntil(async () => (kalends.health().worker === null ? true : null))
    await database.query("UPDATE job SET stop_requested = '2026-01-01 00:00:00.000' WHERE id = ?", [job])
    expect(await ended(kalends, job)).toMatchObject({ state: 'cancelled' })
  })
})
