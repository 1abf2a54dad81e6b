/** The database rejects writes to some rows: other rows are not affected, and one error is reported per back-off. */
import mysql from 'mysql2/promise'
import { expect, it, onTestFinished } from 'vitest'
import { task } from '../../src/index.ts'
import { type DatabaseKind, eachDatabase } from '../support/databases.ts'
import { refusal } from '../support/refusal.ts'
import { openSqlite } from '../support/sqlite.ts'
import { LEASE_MS, movableTimers, standingClock } from './movable-timers.ts'
import { aborted, collect, collectingLogger, ended, scene, signal, until } from './scene.ts'

const quick = task('quick')

/** A transaction of the application. */
async function begun(kind: DatabaseKind, url: string) {
  if (kind === 'sqlite') {
    const connection = openSqlite(url.replace('sqlite:', ''))
    onTestFinished(() => void connection.close())
    connection.exec('BEGIN IMMEDIATE')
    return { tx: connection, rollback: async () => void connection.exec('ROLLBACK') }
  }
  const connection = await mysql.createConnection(url)
  onTestFinished(() => connection.end())
  await connection.beginTransaction()
  return { tx: connection, rollback: () => connection.rollback() }
}

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
    ] as const) {
      await database.query(refusal(under.kind, 'UPDATE', table, condition, { name: `refuse_${table}` }))
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
      warnings: [{ code: 'set-aside', text: expect.stringContaining('2 rows are set aside') }],
    })
  })

  it('a worker starts although the database rejects the end of a mark and a declared set; each is reported once', async () => {
    standingClock()
    const { open, database } = await scene(under)
    const { logger, messages } = collectingLogger()
    const kalends = await open({ logger, retention: false })
    kalends.handle(quick, () => 'done')
    await kalends.schedules.create({ id: 'bad', task: quick, timer: 'yearly' })
    await kalends.schedules.create({ id: 'stale', task: quick, timer: 'yearly' })
    const ends = new Date(Date.now() + 10_000).toISOString().slice(0, 19).replace('T', ' ')
    await database.query(
      "UPDATE periodic_task SET worker = 'gone/1', marked = '2020-01-01 00:00:00.000', mark_ends = ?",
      [ends],
    )
    for (const [when, condition] of [
      ['UPDATE', "OLD.id = 'bad' AND NEW.worker IS NULL"],
      ['INSERT', "NEW.id = 'worse'"],
    ] as const) {
      const name = `refuse_${when}`
      await database.query(refusal(under.kind, when, 'periodic_task', condition, { name }))
    }
    kalends.declare('first', [
      { task: quick, id: 'with worse', timer: 'yearly' },
      { task: quick, id: 'worse', timer: 'yearly' },
    ])
    kalends.declare('second', [{ task: quick, id: 'better', timer: 'yearly' }])
    await kalends.start()
    expect(await database.query('SELECT id, worker, declared_by FROM periodic_task ORDER BY id')).toEqual([
      { id: 'bad', worker: 'gone/1', declared_by: null },
      { id: 'better', worker: null, declared_by: 'second' },
      { id: 'stale', worker: null, declared_by: null },
    ])
    const job = await kalends.jobs.submit(quick)
    expect(await ended(kalends, job)).toMatchObject({ state: 'success' })
    const problems = [
      "cannot end the mark of the schedule 'bad' (refused)",
      "cannot write the declared set 'first' (refused)",
    ]
    const logged = messages().filter((message) => message.startsWith('error'))
    expect(logged).toHaveLength(2)
    for (const problem of problems) expect(logged.join()).toContain(problem)
    expect(kalends.health().warnings).toMatchObject([{ code: 'set-aside' }])
    expect(await kalends.doctor()).toContainEqual(
      expect.objectContaining({ code: 'set-aside', subjects: ['bad', 'first'], count: 2 }),
    )
  })

  it('cancelMany, retryMany and a pause change the other jobs if the database rejects one', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    await kalends.schedules.create({ id: 's', task: quick, timer: 'yearly', overlap: 'allow' })
    const ids = ['a', 'bad', 'c']
    for (const id of ids)
      await database.query(
        `INSERT INTO job (id, task, periodic_task_id, periodic_task_uid, exclusive)
         SELECT ?, task, id, uid, 0 FROM periodic_task`,
        [id],
      )
    await database.query(refusal(under.kind, 'UPDATE', 'job', "OLD.id = 'bad'"))
    const states = async () =>
      (await database.query('SELECT state FROM job ORDER BY id')).map(({ state }) => state)
    expect(await kalends.jobs.cancelMany({ ids })).toMatchObject({
      changed: ['a', 'c'],
      refused: [{ id: 'bad', error: { code: 'KALENDS_CONFLICT' } }],
    })
    expect(await states()).toEqual(['cancelled', 'waiting', 'cancelled'])
    expect(await kalends.jobs.retryMany({ ids })).toMatchObject({ changed: ['a', 'c'] })
    // In a transaction of the application, nothing is isolated.
    const { tx, rollback } = await begun(under.kind, database.url)
    await expect(kalends.schedules.pause('s', { jobs: 'cancel', tx })).rejects.toThrow('refused')
    await rollback()
    expect(await kalends.schedules.get('s')).toMatchObject({ status: 'active' })
    expect(await kalends.schedules.pause('s', { jobs: 'cancel' })).toMatchObject({ status: 'paused' })
    expect(await states()).toEqual(['cancelled', 'waiting', 'cancelled'])
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
