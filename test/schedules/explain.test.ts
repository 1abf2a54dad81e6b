/** The sentences with which `explain` describes a schedule, and says why it ran or did not run. */
import { expect, it } from 'vitest'
import { type Kalends, NotFoundError, task } from '../../src/index.ts'
import { standsFor } from '../../src/schedules/explain.ts'
import { timer } from '../../src/timer/index.ts'
import { ended, gate, scene, signal } from '../kalends/scene.ts'
import { ADOPT, eachDatabase, type TestDatabase } from '../support/databases.ts'

const work = task('work', { retries: 0 })
const CREATED = '2026-01-01 00:00:00.000'

/** Creates a schedule that appears to have been created at the beginning of 2026. */
async function schedule(
  { database, kalends }: { database: TestDatabase; kalends: Kalends },
  timer: string,
  columns: Record<string, string | number | null> = {},
): Promise<void> {
  // No scheduler runs here, so the schedule is not planned again after the UPDATE.
  await kalends.schedules.create({ id: 's', task: work, timer: 'yearly' })
  const all: Record<string, string | number | null> = { created: CREATED, timer, ...columns }
  const assignments = Object.keys(all).map((column) => `${column} = ?`)
  await database.query(
    `UPDATE periodic_task SET ${assignments.join(', ')} WHERE id = 's'`,
    Object.values(all),
  )
}

async function job(
  database: TestDatabase,
  slot: string,
  state: string,
  more: Record<string, string | number | null> = {},
): Promise<void> {
  const columns = {
    id: 'the-job',
    task: 'work',
    periodic_task_id: 's',
    slot,
    state,
    submitted: slot,
    ...more,
  }
  await database.query(
    `INSERT INTO job (${Object.keys(columns).join(', ')}) VALUES (${Object.keys(columns).fill('?').join(', ')})`,
    Object.values(columns),
  )
  await database.query(ADOPT)
}

async function worker(database: TestDatabase, tasks: readonly string[]): Promise<void> {
  await database.query(`INSERT INTO worker (id, name, host, pid, tasks) VALUES ('w/1', 'w', 'h', 1, ?)`, [
    JSON.stringify(tasks),
  ])
}

eachDatabase((under) => {
  const opened = async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    return {
      kalends,
      database,
      reasons: async (at?: string) =>
        (await kalends.schedules.explain('s', at === undefined ? {} : { at: new Date(at) })).reasons,
    }
  }

  it.each<[string, string, Record<string, string | number | null>, RegExp[]]>([
    [
      'paused',
      'hourly',
      { enabled: 0 },
      [
        /^It is paused \(enabled = 0\): only manual runs are submitted until it is resumed/,
        /^It has not run yet\.$/,
      ],
    ],
    [
      'an invalid timer',
      'somtimes',
      { idle: 'invalid', last_error: 'Not a calendar event: "somtimes"' },
      [
        /^Its timer 'somtimes' cannot be read: Not a calendar event: "somtimes"\.$/,
        /^It continues as soon as the timer is edited\.$/,
        /^It has not run yet\.$/,
      ],
    ],
    [
      'an invalid timer after a run',
      'somtimes',
      {
        idle: 'invalid',
        last_error: 'Not a calendar event: "somtimes"',
        run_count: 1,
        last_finished: '2026-01-05 10:00:00.000',
      },
      [
        /^Its timer 'somtimes' cannot be read/,
        /^It continues as soon as the timer is edited\.$/,
        /^Its last run ended at Mon 2026-01-05 10:00:00 \+00:00 \(UTC\)\.$/,
      ],
    ],
    [
      'dead',
      'hourly',
      {
        idle: 'dead',
        last_error: 'Error: no\n  at line 1',
        run_count: 4,
        error_count: 1,
        last_finished: '2026-01-05 10:00:00.000',
      },
      [
        /^It is dead: a run failed permanently, and on_exhausted is 'stop'\. Reset it to reactivate it\.$/,
        /^The last error was: Error: no\.$/,
        /^Its last run ended at Mon 2026-01-05 10:00:00 \+00:00 \(UTC\) and failed: Error: no\.$/,
      ],
    ],
    [
      'done by max_runs',
      'hourly',
      { idle: 'done', max_runs: 3, run_count: 4, error_count: 1, last_finished: '2026-01-05 10:00:00.000' },
      [
        /^It is done: it has succeeded 3 times, and max_runs is 3\. Reset it, or raise max_runs, to reactivate it\.$/,
        /^Its last run ended at .* without a recorded error\.$/,
      ],
    ],
    [
      'a past one-off',
      '2026-02-03 04:05:00',
      { idle: 'done' },
      [
        /^It is done: its timer '2026-02-03 04:05:00' does not elapse again\. A new timer reactivates it\.$/,
        /not run/,
      ],
    ],
    [
      'ended',
      'hourly Europe/Berlin',
      { idle: 'done', ends: '2026-02-03 04:05:00.000' },
      [
        /^It is done: it ended at Tue 2026-02-03 05:05:00 \+01:00 \(Europe\/Berlin\)\. A later end reactivates it\.$/,
        /not run/,
      ],
    ],
    [
      'retired',
      'hourly',
      { idle: 'retired', declared_by: 'reports' },
      [
        /^It is retired: no live worker declares it any longer in the set 'reports'\. It continues when it is declared again\.$/,
        /not run/,
      ],
    ],
    [
      'after finish',
      'every 5min after finish',
      { idle: 'awaiting-finish' },
      [/^Its next run is counted from the end of the current run, which has not finished\.$/, /not run/],
    ],
    [
      'due, without a worker',
      'hourly',
      { nextrun: '2026-01-01 01:00:00.000' },
      [
        /^It has been due since Thu 2026-01-01 01:00:00 \+00:00 \(UTC\), and no worker is alive to submit it\.$/,
        /not run/,
      ],
    ],
    [
      'not planned, without a worker',
      'hourly',
      { planned_from: null, nextrun: null },
      [/^It has not been planned yet, and no worker is alive to submit it\.$/, /not run/],
    ],
    [
      'being submitted',
      'hourly',
      {
        nextrun: '2026-01-01 01:00:00.000',
        worker: 'w/2',
        marked: CREATED,
        mark_ends: '2099-01-01 00:00:00.000',
      },
      [/^It has been due since .*: the worker w\/2 is submitting it\.$/, /not run/],
    ],
    [
      'all well',
      'Mon..Fri 09:00 Europe/Berlin',
      { nextrun: '2099-01-05 08:00:00.000', starts: '2099-01-05 00:00:00.000' },
      [
        /^It runs at 09:00, Monday to Friday \(Europe\/Berlin\); next at Mon 2099-01-05 09:00:00 \+01:00 \(Europe\/Berlin\)\.$/,
        /not run/,
      ],
    ],
    [
      'a last slot decided while the clock was ahead',
      'hourly',
      { nextrun: '2098-01-01 02:00:00.000', last_slot: '2098-01-01 01:00:00.000' },
      [
        /; next at Wed 2098-01-01 02:00:00 \+00:00 \(UTC\)\.$/,
        /^Its timer elapses earlier: .* Pause and resume it, or set nextrun = NULL, to plan it from now\.$/,
      ],
    ],
    [
      'a last slot decided while the clock was ahead, with a next run that matches the timer',
      '2099-01-01 02:00',
      { nextrun: '2099-01-01 02:00:00.000', last_slot: '2098-01-01 01:00:00.000' },
      [
        /next at Thu 2099-01-01/,
        /^Its last slot, Wed 2098-01-01 01:00:00 \+00:00 \(UTC\), is in the future, because the database's clock was ahead\. Pause/,
      ],
    ],
  ])('explains the state: %s [S12]', async (_, timer, columns, expected) => {
    const stage = await opened()
    await schedule(stage, timer, columns)
    const reasons = await stage.reasons()
    expect(reasons).toEqual(expected.map((pattern) => expect.stringMatching(pattern)))
  })

  it.each<[string, string, Record<string, string | number | null>, string[], RegExp]>([
    [
      'running',
      'running',
      { worker: 'w/1', attempt: 2, started: '2026-01-01 01:00:01.000' },
      ['work'],
      /^The job the-job has been running since Thu 2026-01-01 01:00:01 \+00:00 \(UTC\) on w\/1, on its second attempt\.$/,
    ],
    [
      'running, with a stop request',
      'running',
      { worker: 'w/1', attempt: 1, started: CREATED, stop_requested: CREATED },
      ['work'],
      /on its first attempt; it was asked to stop\.$/,
    ],
    [
      'waiting for its retry',
      'waiting',
      { attempt: 1, max_retries: 3, run_at: '2099-01-01 00:00:00.000', error: 'Error: no\nat x' },
      ['work'],
      /^The job the-job will be retried at Thu 2099-01-01 00:00:00 \+00:00 \(UTC\); attempt 1 of 4 failed: Error: no\.$/,
    ],
    [
      'snoozed before any failure',
      'waiting',
      { run_at: '2099-01-01 00:00:00.000' },
      ['work'],
      /^The job the-job waits until Thu 2099-01-01 00:00:00 \+00:00 \(UTC\), as its submitter or handler requested\.$/,
    ],
    [
      'held by a freeze',
      'waiting',
      { frozen_until: '2099-01-01 00:00:00.000' },
      ['work'],
      /^The job the-job is held by a freeze until Thu 2099-01-01 00:00:00 \+00:00 \(UTC\)\.$/,
    ],
    [
      'waiting because no worker handles its task',
      'waiting',
      {},
      ['other'],
      /^The job the-job waits because no live worker handles the task 'work'\.$/,
    ],
    [
      'waiting for capacity',
      'waiting',
      {},
      ['work'],
      /^The job the-job has been waiting since .* for a worker with free capacity: one live worker handles its task and runs 0 jobs\.$/,
    ],
    ['blocked', 'blocked', {}, ['work'], /^The job the-job waits until the previous job finishes\.$/],
  ])('explains an unfinished job: %s [S12]', async (_, state, columns, tasks, expected) => {
    const stage = await opened()
    await schedule(stage, '2099-01-05 08:00', { nextrun: '2099-01-05 08:00:00.000' })
    await job(stage.database, '2026-01-01 01:00:00.000', state, columns)
    await worker(stage.database, tasks)
    expect((await stage.reasons())[1]).toMatch(expected)
  })

  it('explains that no live worker handles a task, even before a job of the task waits [S8]', async () => {
    const stage = await opened()
    await schedule(stage, '2099-01-05 08:00', { nextrun: '2099-01-05 08:00:00.000' })
    await worker(stage.database, ['other'])
    expect((await stage.reasons())[1]).toBe("No live worker handles the task 'work': its jobs will wait.")
  })

  it.each<[string, string, Record<string, string | number | null>, RegExp]>([
    [
      'success',
      '2026-01-01 10:00:00.000',
      { finished: '2026-01-01 10:00:07.000' },
      /^It ran for Thu 2026-01-01 10:00:00 \+00:00 \(UTC\): the job the-job succeeded at Thu 2026-01-01 10:00:07/,
    ],
    [
      'failed',
      '2026-01-01 10:00:00.000',
      { attempt: 22, error: 'Error: no\n at x' },
      /: the job the-job failed on its 22nd attempt: Error: no\.$/,
    ],
    [
      'cancelled',
      '2026-01-01 10:00:00.000',
      {},
      /^It was submitted for .*: the job the-job was cancelled\.$/,
    ],
    [
      'cancelled',
      '2026-01-01 10:00:00.000',
      { reason: 'replaced' },
      /was replaced by a newer one \(overlap = 'replace'\)\.$/,
    ],
    ['running', '2026-01-01 10:00:00.000', {}, /^It was submitted for .*: the job the-job is running\.$/],
    [
      'success',
      '2026-01-01 10:00:31.500',
      { reason: 'run-now' },
      /^It ran for Thu 2026-01-01 10:00:31 .*, because it was requested manually: the job the-job succeeded/,
    ],
    [
      'success',
      '2026-01-01 10:00:00.000',
      { reason: 'retried' },
      /^It ran for Thu 2026-01-01 10:00:00 \S+ \(UTC\), and was retried manually: the job the-job succeeded/,
    ],
    [
      'skipped',
      '2026-01-01 10:00:00.000',
      { reason: 'overlap', missed: 1 },
      /^It did not run for Thu 2026-01-01 10:00:00 \+00:00 \(UTC\): the previous run had not finished \(overlap = 'skip'\)\.$/,
    ],
    // A row that stands for several skipped slots stores the newest one.
    [
      'skipped',
      '2026-01-01 12:00:00.000',
      { reason: 'overlap', missed: 5 },
      /had not finished \(overlap = 'skip'\)\. This applies to 5 consecutive slots, up to Thu 2026-01-01 12:00:00 \+00:00 \(UTC\)\.$/,
    ],
    [
      'skipped',
      '2026-01-01 11:00:00.000',
      { reason: 'missed', missed: 2 },
      /later slots were due before a scheduler submitted it, or it was late, and catch_up limits the number of missed slots that run to 1\. This applies to 2 consecutive slots/,
    ],
    [
      'skipped',
      '2026-01-01 10:00:00.000',
      { reason: 'max-runs', missed: 1 },
      /as many runs as max_runs allows/,
    ],
    [
      'skipped',
      '2026-01-01 10:00:00.000',
      { reason: 'unsubmittable', missed: 1, error: 'Data too long\nmore' },
      /: it could not be submitted: Data too long\.$/,
    ],
    [
      'success',
      '2026-01-01 13:00:00.000',
      { missed: 3 },
      /^It did not run for Thu 2026-01-01 10:00:00 .*: no scheduler submitted it in time\. The job the-job for Thu 2026-01-01 13:00:00 \+00:00 \(UTC\) stands for all 3 missed slots\.$/,
    ],
    // A skip of two slots up to 12:00 does not cover 10:00.
    [
      'skipped',
      '2026-01-01 12:00:00.000',
      { reason: 'overlap', missed: 2 },
      /^Nothing is recorded for Thu 2026-01-01 10:00:00/,
    ],
    [
      'success',
      '2026-01-01 13:00:00.000',
      { missed: 2 },
      /^Nothing is recorded for .*: it was paused or retired then, it had another timer, its history was pruned/,
    ],
    ['success', '2026-01-01 09:00:00.000', {}, /^Nothing is recorded for/],
  ])(
    'explains a time if the history has a row in the state %s for %s %j [S12]',
    async (state, slot, columns, expected) => {
      const stage = await opened()
      await schedule(stage, 'hourly', { nextrun: '2099-01-05 08:00:00.000' })
      await job(stage.database, slot, state, columns)
      for (const at of ['2026-01-01T10:00:00Z', '2026-01-01T10:00:59.999Z'])
        expect(
          (await stage.reasons(columns['reason'] === 'run-now' ? '2026-01-01T10:00:59.999Z' : at))[0],
        ).toMatch(expected)
    },
  )

  it('explains a time for which there is no job [S12]', async () => {
    const stage = await opened()
    await schedule(stage, 'hourly', {
      nextrun: '2026-01-01 10:00:00.000',
      created: '2026-01-01 05:30:00.000',
    })
    const first = async (at: string) => (await stage.reasons(at))[0]
    expect(await first('2026-01-01T10:17:00Z')).toBe(
      'Its timer does not elapse at Thu 2026-01-01 10:17:00 +00:00 (UTC); the next time after that is Thu 2026-01-01 11:00:00 +00:00 (UTC).',
    )
    expect(await first('2026-01-01T04:00:00Z')).toBe(
      'It did not run at Thu 2026-01-01 04:00:00 +00:00 (UTC): it was created later, at Thu 2026-01-01 05:30:00 +00:00 (UTC).',
    )
    expect(await first('2099-01-01T04:00:00Z')).toBe('Thu 2099-01-01 04:00:00 +00:00 (UTC) is in the future.')
    expect(await first('2026-01-01T10:00:00Z')).toBe(
      'Thu 2026-01-01 10:00:00 +00:00 (UTC) is due, but has not been submitted yet.',
    )
    await changed(stage.database, { starts: '2026-01-02 00:00:00.000', ends: '2026-01-03 00:00:00.000' })
    expect(await first('2026-01-01T10:00:00Z')).toMatch(/^It does not run at .*: it starts at Fri 2026-01-02/)
    expect(await first('2026-01-04T10:00:00Z')).toMatch(/^It does not run at .*: it ended at Sat 2026-01-03/)
  })

  it('explains each run time separately, to the second', async () => {
    const stage = await opened()
    await schedule(stage, '*:*:*', { nextrun: '2099-01-05 08:00:00.000' })
    await job(stage.database, '2026-01-01 10:00:10.000', 'success')
    await job(stage.database, '2026-01-01 10:00:20.000', 'skipped', {
      id: 'skip',
      reason: 'overlap',
      missed: 10,
    })
    expect((await stage.reasons('2026-01-01T10:00:10Z'))[0]).toContain('the-job succeeded')
    for (const second of [11, 15, 20])
      expect((await stage.reasons(`2026-01-01T10:00:${second}Z`))[0]).toContain('10 consecutive slots')
    expect((await stage.reasons('2026-01-01T10:00:09Z'))[0]).toContain('Nothing is recorded')
    expect((await stage.reasons('2026-01-01T10:00:21Z'))[0]).toContain('Nothing is recorded')
  })

  it('names a running job of a deleted schedule with the same id', async () => {
    const stage = await opened()
    await schedule(stage, 'minutely', { nextrun: '2099-01-05 08:00:00.000' })
    await job(stage.database, '2026-01-01 01:00:00.000', 'running', { attempt: 1, worker: 'w/1' })
    await stage.database.query("DELETE FROM periodic_task WHERE id = 's'")
    await schedule(stage, 'minutely', { nextrun: '2099-01-05 08:00:00.000' })
    await worker(stage.database, ['work'])
    expect((await stage.reasons()).slice(2)).toEqual([
      expect.stringMatching(
        /^The job the-job of a deleted schedule with the same id has been running since .*, on its first attempt\. It neither delays this schedule nor counts for it\.$/,
      ),
      'It has not run yet.',
    ])
  })

  it('explains a time that is far back in a long history', async () => {
    const stage = await opened()
    await schedule(stage, 'minutely', { nextrun: '2099-01-05 08:00:00.000' })
    const rows = Array.from({ length: 600 }, (_, index) => {
      const at = new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString().replace('T', ' ').replace('Z', '')
      return `('j${index}', 'work', 's', '${at}', 'success')`
    })
    await stage.database.query(
      `INSERT INTO job (id, task, periodic_task_id, slot, state) VALUES ${rows.join(', ')}`,
    )
    await stage.database.query(ADOPT)
    expect((await stage.reasons('2026-01-01T00:00:00Z'))[0]).toContain('the job j0 succeeded')
    expect((await stage.reasons('2026-01-01T09:59:00Z'))[0]).toContain('the job j599 succeeded')
  })

  it('explains a live schedule while its job runs, and afterwards [S12]', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const hold = gate()
    kalends.handle(work, () => hold.promise)
    await kalends.start()
    await kalends.schedules.create({ id: 's', task: work, timer: 'yearly' })
    const started = signal(kalends, 'started')
    const id = await kalends.schedules.runNow('s')
    await started
    const during = await kalends.schedules.explain('s')
    expect(during).toMatchObject({ scheduleId: 's', status: 'active' })
    expect(during.reasons.join('\n')).toContain(`The job ${id} has been running since`)
    hold.open()
    await ended(kalends, id)
    const after = await kalends.schedules.explain('s', { at: new Date() })
    expect(after.reasons.join('\n')).toMatch(/because it was requested manually: the job .* succeeded/)
    expect(after.nextRunAt).toEqual((await kalends.schedules.get('s'))?.nextRunAt)
    await expect(kalends.schedules.explain('nobody')).rejects.toThrow(NotFoundError)
    await expect(kalends.schedules.explain('s', { at: new Date('soon') })).rejects.toMatchObject({
      field: 'at',
    })
  })
})

async function changed(database: TestDatabase, columns: Record<string, string>): Promise<void> {
  for (const [column, value] of Object.entries(columns))
    await database.query(`UPDATE periodic_task SET ${column} = ? WHERE id = 's'`, [value])
}

it.each([
  // A tenth of the elapses that a skip represents, or one more than all.
  ['skipped', 300_000, 3_000_000, true],
  ['skipped', 2_999_999, 3_000_000, true],
  ['skipped', 3_000_000, 3_000_000, false],
  ['success', 3_000_000, 3_000_000, true],
  ['success', 3_100_000, 3_000_000, false],
  ['skipped', 0, 1, true],
] as const)(
  'a job in the state %s, %i slots after an elapse, of %i missed slots covers it: %s, after counting at most 10,000',
  (state, slots, missed, covers) => {
    const each = timer('*:*:*')
    let counted = 0
    const next = (after: Date) => {
      counted += 1
      return each.next(after)
    }
    const elapse = new Date('2026-01-01T10:00:00Z')
    const slot = new Date(elapse.getTime() + slots * 1000)
    expect(standsFor({ state, missed }, slot, elapse, { next })).toBe(covers)
    expect(counted).toBeLessThanOrEqual(10_000)
  },
)

it('a skip of a timer that elapses only at certain hours covers exactly its slots', () => {
  const timing = timer('Mon..Fri *-*-* 8..17:*')
  const slot = new Date('2026-01-13T17:59:00Z')
  // 600 slots on each of four days, with a weekend between them.
  const skip = { state: 'skipped', missed: 2400 } as const
  expect(standsFor(skip, slot, new Date('2026-01-08T08:00:00Z'), timing)).toBe(true)
  expect(standsFor(skip, slot, new Date('2026-01-07T17:59:00Z'), timing)).toBe(false)
})
