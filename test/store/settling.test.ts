/** Outcomes of attempts: fencing, counting, and the promotion of the next blocked job. */
import { describe, expect, it } from 'vitest'
import { type ClaimedJob, fenceOf } from '../../src/model/job.ts'
import type { AttemptEnd } from '../../src/model/settle.ts'
import { DEFAULT_POLICY, type RunPolicy } from '../../src/model/task.ts'
import type { UnsettledAttempt } from '../../src/store/executing-store.ts'
import { ADOPT } from '../support/databases.ts'
import {
  after,
  clock,
  instant,
  job,
  jobRow,
  MINUTE,
  newJob,
  onEachStore,
  planned,
  policies,
  schedule,
  WORKER,
} from './conformance.ts'
import { write } from './writes.ts'

const NOTHING = { settled: [], lost: [], locked: [], refused: [] }
const success: AttemptEnd = { kind: 'success', result: null }
const failure: AttemptEnd = { kind: 'error', error: 'boom', permanent: true }
const passing: AttemptEnd = { kind: 'error', error: 'boom', permanent: false }

onEachStore((under) => {
  const policy: RunPolicy = { ...DEFAULT_POLICY, retries: 1, retryDelay: 5000 }
  const attempt = (
    id: string,
    end: AttemptEnd = success,
    fence: Partial<UnsettledAttempt['fence']> = {},
  ): UnsettledAttempt => ({
    fence: { id, worker: WORKER, claim: 1, ...fence },
    end,
    policy,
  })
  const settle = (...attempts: UnsettledAttempt[]) => write(under.store).settle(attempts)
  const claim = (limit = 100) => under.store.executing.claim(WORKER, policies('task'), limit, '')
  const running = (id: string, more: Record<string, string | number | null> = {}) =>
    job(under, id, {
      state: 'running',
      worker: WORKER,
      attempt: 1,
      claim: 1,
      started: '2026-01-01 00:00:00.000',
      ...more,
    })

  it('settling nothing does nothing', async () => {
    expect(await settle()).toEqual(NOTHING)
  })

  const ofSchedule = async (id: string, more: Record<string, string | number | null> = {}) => {
    await planned(under, id, after(await clock(under), MINUTE), {
      run_count: 5,
      error_count: 2,
      last_run: '2025-12-31 00:00:00.000',
      last_finished: '2025-12-31 00:01:00.000',
      last_job: 'old job',
      last_error: 'old',
    })
    await running(`${id} job`, { periodic_task_id: id, slot: '2026-01-01 00:00:00.000', ...more })
  }

  const blockedBehind = async (more: Record<string, string | number | null> = {}) => {
    await planned(under, 's', after(await clock(under), MINUTE))
    await running('first', { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000', ...more })
    await job(under, 'third', { periodic_task_id: 's', slot: '2026-01-03 00:00:00.000', state: 'blocked' })
    await job(under, 'second', { periodic_task_id: 's', slot: '2026-01-02 00:00:00.000', state: 'blocked' })
  }

  describe('jobs that this process has claimed', () => {
    const succeeded = (claimed: ClaimedJob, result: string | null): UnsettledAttempt => ({
      fence: fenceOf(claimed),
      job: claimed,
      end: { kind: 'success', result },
      policy,
    })

    it.each([
      ['the same result', ['{"a":1}', '{"a":1}', '{"a":1}']],
      ['no result', [null, null, null]],
      ['different results', ['1', null, '"naïve 😀 \' \\"']],
    ])('succeed together, with %s', async (_, results) => {
      await under.store.jobs.submit(['a', 'b', 'c'].map((id) => newJob(id)))
      await under.query("UPDATE job SET error = 'of an earlier attempt', releases = 2 WHERE id = 'b'")
      const jobs = await claim()
      const before = await clock(under)
      const { settled, lost, locked } = await settle(
        ...jobs.map((one, index) => succeeded(one, results[index] ?? null)),
      )
      expect({ lost, locked }).toEqual({ lost: [], locked: [] })
      expect(settled).toMatchObject(
        jobs.map(({ id }, index) => ({
          id,
          task: 'task',
          scheduleId: null,
          attempt: 1,
          promoted: null,
          outcome: { state: 'success', result: results[index] },
        })),
      )
      for (const [index, { id, startedAt }] of jobs.entries()) {
        const row = await jobRow(under, id)
        expect(row).toMatchObject({
          state: 'success',
          result: results[index],
          error: null,
          reason: null,
          worker: WORKER,
          releases: 0,
          attempt: 1,
          claim: 1,
        })
        expect(instant(row['finished'])).toEqual(settled[index]?.endedAt)
        expect(settled[index]?.startedAt).toEqual(startedAt)
        expect(settled[index]?.endedAt.getTime()).toBeGreaterThanOrEqual(before.getTime())
      }
    })

    it('jobs that the worker no longer holds are reported in `lost`, and a job that was given a schedule in SQL is settled with that schedule', async () => {
      await planned(under, 's', after(await clock(under), MINUTE))
      await under.store.jobs.submit(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => newJob(id)))
      const jobs = await claim()
      await under.query("UPDATE job SET claim = 2 WHERE id = 'a'")
      await under.query("UPDATE job SET worker = 'other/1' WHERE id = 'b'")
      await under.query("UPDATE job SET state = 'cancelled' WHERE id = 'c'")
      await under.query(
        "UPDATE job SET periodic_task_id = 's', slot = '2026-01-01 00:00:00.000' WHERE id = 'd'",
      )
      await under.query(`${ADOPT} WHERE id = 'd'`)
      await under.query("DELETE FROM job WHERE id = 'e'")
      const { settled, lost } = await settle(...jobs.map((one) => succeeded(one, null)))
      expect(settled.map(({ id, scheduleId }) => [id, scheduleId])).toEqual([
        ['d', 's'],
        ['f', null],
      ])
      expect(lost.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'e'])
      expect(await schedule(under, 's')).toMatchObject({ run_count: 1 })
      expect(await under.query("SELECT id FROM job WHERE state = 'success' ORDER BY id")).toEqual([
        { id: 'd' },
        { id: 'f' },
      ])
    })
  })

  describe('an attempt', () => {
    it('an attempt that succeeds makes the job final and stores its result', async () => {
      await running('j', { error: 'of an earlier attempt' })
      const result = await settle(attempt('j', { kind: 'success', result: '{"a":1}' }))
      expect(result).toMatchObject({
        settled: [
          {
            id: 'j',
            task: 'task',
            scheduleId: null,
            attempt: 1,
            promoted: null,
            outcome: { state: 'success' },
          },
        ],
        lost: [],
        locked: [],
      })
      const row = await jobRow(under, 'j')
      expect(row).toMatchObject({
        state: 'success',
        result: '{"a":1}',
        error: null,
        reason: null,
        worker: WORKER,
        open_key: null,
        open_turn: null,
      })
      expect((await clock(under)).getTime() - (instant(row['finished'])?.getTime() ?? 0)).toBeLessThan(
        600_000,
      )
    })

    it('an attempt that fails is retried after the delay', async () => {
      await running('j')
      await settle(attempt('j', passing))
      const row = await jobRow(under, 'j')
      expect(row).toMatchObject({ state: 'waiting', attempt: 1, worker: null, error: 'boom', finished: null })
      expect(instant(row['run_at'])?.getTime()).toBeGreaterThan(
        after(await clock(under), -30_000 + 5000).getTime(),
      )
      expect(await claim()).toEqual([])
      await under.query("UPDATE job SET run_at = '2020-01-01 00:00:00.000'")
      await under.store.executing.promoteDue(10)
      expect(await claim()).toMatchObject([{ id: 'j', attempt: 2 }])
    })

    it('an attempt that has not started returns the job to its state before the claim, and is not reported', async () => {
      await job(under, 'j', { attempt: 1, releases: 3, error: 'before', progress: '1' })
      const [claimed] = await claim()
      expect(claimed).toMatchObject({ id: 'j', attempt: 2, claim: 1 })
      expect(await settle(attempt('j', { kind: 'unstarted' }))).toEqual(NOTHING)
      expect(await jobRow(under, 'j')).toMatchObject({
        state: 'waiting',
        attempt: 1,
        claim: 1,
        releases: 3,
        worker: null,
        run_at: null,
        error: 'before',
      })
      expect(await under.query('SELECT job_id FROM attempt')).toEqual([])
      await claim()
      expect(await settle(attempt('j', { kind: 'unstarted' }))).toEqual(NOTHING)
      await under.query("UPDATE job SET stop_requested = '2026-01-01 00:00:00.000'")
      expect(await settle(attempt('j', { kind: 'unstarted' }, { claim: 2 }))).toMatchObject({
        settled: [{ id: 'j', outcome: { state: 'cancelled' } }],
      })
      expect(await jobRow(under, 'j')).toMatchObject({ state: 'cancelled' })
      expect(await under.query('SELECT job_id FROM attempt')).toEqual([])
    })

    it('an attempt that has the largest possible number does not prevent claims', async () => {
      await job(under, 'j', { attempt: 2_147_483_647, claim: 2_147_483_647 })
      await job(under, 'k')
      expect((await claim()).map(({ id }) => id)).toEqual(['j', 'k'])
      await settle(attempt('j', success, { claim: 2_147_483_647 }), attempt('k'))
      expect(await jobRow(under, 'j')).toMatchObject({ state: 'success' })
      expect(await jobRow(under, 'k')).toMatchObject({ state: 'success' })
    })

    it('an attempt that is released is not counted', async () => {
      await running('j', { error: 'of an earlier attempt' })
      await settle(attempt('j', { kind: 'released' }))
      expect(await jobRow(under, 'j')).toMatchObject({
        state: 'waiting',
        attempt: 0,
        run_at: null,
        error: 'of an earlier attempt',
      })
      expect(await claim()).toMatchObject([{ id: 'j', attempt: 1 }])
    })

    it('an attempt that is released increases the count of consecutive releases, which any other outcome or a manual retry resets to 0', async () => {
      await job(under, 'j')
      const after = async (end: AttemptEnd) => {
        const [of] = await claim()
        await settle(attempt('j', end, { claim: of?.claim ?? 0 }))
        await under.query('UPDATE job SET run_at = NULL')
        return (await jobRow(under, 'j'))['releases']
      }
      expect(await after({ kind: 'released' })).toBe(1)
      expect(await after({ kind: 'released' })).toBe(2)
      expect(await claim()).toMatchObject([{ attempt: 1, claim: 3, releases: 2 }])
      await settle(attempt('j', { kind: 'snoozed', delayMs: 1 }, { claim: 3 }))
      expect(await jobRow(under, 'j')).toMatchObject({ attempt: 0, claim: 3, releases: 0 })
      await under.query('UPDATE job SET run_at = NULL, releases = 5')
      expect(await after(passing)).toBe(0)
      await under.query("UPDATE job SET state = 'failed', releases = 5")
      await under.store.jobs.retry('j', () => ({ exclusive: true }))
      expect(await jobRow(under, 'j')).toMatchObject({ attempt: 0, releases: 0 })
    })
  })

  describe('a zombie changes nothing [L35]', () => {
    it.each([
      ['another worker', { worker: 'w/2' }],
      ['another claim', { claim: 2 }],
      ['another job', { id: 'none' }],
    ])('%s', async (_, fence) => {
      await running('j')
      const before = await jobRow(under, 'j')
      const given = attempt('j', success, fence)
      expect(await settle(given)).toEqual({ ...NOTHING, lost: [given.fence] })
      expect(await jobRow(under, 'j')).toEqual(before)
    })

    it.each(['waiting', 'success', 'cancelled'])('a job that is %s', async (state) => {
      await running('j', { state })
      const before = await jobRow(under, 'j')
      expect((await settle(attempt('j'))).lost).toEqual([{ id: 'j', worker: WORKER, claim: 1 }])
      expect(await jobRow(under, 'j')).toEqual(before)
    })

    it('an outcome, a release or progress from an earlier claim by the same worker changes nothing [L35]', async () => {
      await job(under, 'j')
      const [first] = await claim()
      if (first === undefined) throw new Error('nothing was claimed')
      const fence = fenceOf(first)
      await settle({ fence, end: { kind: 'released' }, policy })
      // The worker and the attempt number are the same, because the first attempt did not count.
      expect(await claim()).toMatchObject([{ id: 'j', worker: first.worker, attempt: first.attempt }])
      const before = await jobRow(under, 'j')
      for (const end of [{ kind: 'released' }, success, failure, { kind: 'lost', error: 'gone' }] as const)
        expect(await settle({ fence, end, policy })).toEqual({
          settled: [],
          lost: [fence],
          locked: [],
          refused: [],
        })
      await under.store.executing.saveProgress([{ fence, json: '0.5' }])
      expect(await jobRow(under, 'j')).toEqual(before)
    })

    it('the other jobs in the batch of a zombie are settled', async () => {
      await running('a')
      await running('b', { worker: 'w/2' })
      await running('c')
      const { settled, lost } = await settle(attempt('a'), attempt('b'), attempt('c', failure))
      expect(settled.map(({ id }) => id)).toEqual(['a', 'c'])
      expect(lost.map(({ id }) => id)).toEqual(['b'])
    })
  })

  describe('the schedule', () => {
    it('a success is counted [R5]', async () => {
      await ofSchedule('s')
      const before = await schedule(under, 's')
      await settle(attempt('s job'))
      const row = await schedule(under, 's')
      expect(row).toMatchObject({
        run_count: 6,
        error_count: 2,
        last_job: 'old job',
        last_error: null,
        last_run: '2025-12-31 00:00:00.000',
      })
      expect(row['last_finished']).not.toBeNull()
      for (const column of [
        'nextrun',
        'wake_at',
        'planned_from',
        'planned_nextrun',
        'worker',
        'idle',
        'enabled',
        'last_slot',
      ]) {
        expect(row[column]).toEqual(before[column])
      }
    })

    it('a failure is counted [R5]', async () => {
      await ofSchedule('s')
      await settle(attempt('s job', failure))
      expect(await schedule(under, 's')).toMatchObject({
        run_count: 6,
        error_count: 3,
        last_error: 'boom',
        last_job: 'old job',
      })
    })

    it.each([
      ['a retry', passing],
      ['a release', { kind: 'released' }],
      ['a cancelled run', { kind: 'cancelled', error: null }],
    ] as const)('does not count %s', async (_, end) => {
      await ofSchedule('s')
      const before = await schedule(under, 's')
      await settle(attempt('s job', end))
      const { run_count: runs, error_count: errors, last_finished: finished } = before
      expect(await schedule(under, 's')).toMatchObject(
        end.kind === 'error'
          ? { run_count: runs, error_count: errors, last_finished: finished }
          : { ...before, status: 'active' },
      )
    })

    const NO_RETRY = { status: 'active', retry_at: null, retry: null, retry_limit: null }
    const again = (id: string, number: number) =>
      under.query(`UPDATE job SET state = 'running', worker = ?, attempt = ${number} WHERE id = ?`, [
        WORKER,
        id,
      ])

    it('is retrying after a failed attempt until the retry has ended [R5]', async () => {
      await ofSchedule('s', { max_retries: 1 })
      await settle(attempt('s job', passing))
      const { run_at: runAt } = await jobRow(under, 's job')
      const retrying = { status: 'retrying', retry_at: runAt, retry: 1, retry_limit: 1, failed_attempts: 1 }
      expect(runAt).not.toBeNull()
      expect(await schedule(under, 's')).toMatchObject(retrying)
      // A stopping worker has released the job, which is still being retried.
      await again('s job', 2)
      await settle(attempt('s job', { kind: 'released' }))
      expect(await schedule(under, 's')).toMatchObject({ ...retrying, retry_at: expect.anything() })
      await again('s job', 2)
      await settle(attempt('s job', { kind: 'snoozed', delayMs: 3_600_000 }))
      const { run_at: snoozedUntil } = await jobRow(under, 's job')
      expect(await schedule(under, 's')).toMatchObject({ ...retrying, retry_at: snoozedUntil })
      await again('s job', 2)
      await settle(attempt('s job', failure))
      expect(await schedule(under, 's')).toMatchObject({ ...NO_RETRY, failed_attempts: 2, error_count: 3 })
    })

    it.each([
      ['succeeds', success],
      ['is cancelled', { kind: 'cancelled', error: null }],
    ] as const)('is no longer retrying when the retry %s', async (_, end) => {
      await ofSchedule('s')
      await settle(attempt('s job', { kind: 'lost', error: 'its worker died' }))
      const before = await schedule(under, 's')
      expect(before).toMatchObject({ status: 'retrying', retry: 1, failed_attempts: 1 })
      expect(before['retry_at']).not.toBeNull()
      await again('s job', 2)
      await settle(attempt('s job', end))
      expect(await schedule(under, 's')).toMatchObject({ ...NO_RETRY, failed_attempts: 1 })
    })

    it('is no longer retrying when the waiting job is cancelled', async () => {
      await ofSchedule('s')
      await settle(attempt('s job', passing))
      await under.store.jobs.cancel('s job', () => 'cancel')
      expect(await schedule(under, 's')).toMatchObject(NO_RETRY)
    })

    it('shows no retry limit if retries are unlimited', async () => {
      await ofSchedule('s', { max_retries: -1 })
      await settle({ ...attempt('s job', passing), policy: { ...policy, retries: 'unlimited' } })
      expect(await schedule(under, 's')).toMatchObject({ status: 'retrying', retry: 1, retry_limit: null })
      expect(await claim()).toEqual([])
      await under.query('UPDATE job SET run_at = NULL')
      expect(await claim()).toMatchObject([{ retries: 'unlimited', policy: { retries: 'unlimited' } }])
    })

    it('still shows the retry of one job when the retry of another job has succeeded', async () => {
      await ofSchedule('s', { exclusive: 0, max_retries: 3 })
      await running('other', {
        periodic_task_id: 's',
        slot: '2026-01-02 00:00:00.000',
        exclusive: 0,
        attempt: 2,
      })
      await settle(attempt('other', passing), attempt('s job', passing))
      await again('other', 3)
      await settle(attempt('other'))
      const { run_at: runAt } = await jobRow(under, 's job')
      expect(await schedule(under, 's')).toMatchObject({
        status: 'retrying',
        retry_at: runAt,
        retry: 1,
        retry_limit: 3,
      })
    })

    it('a schedule that is paused, dead, invalid or retired is not shown as retrying; a done schedule is', async () => {
      await ofSchedule('s')
      await settle(attempt('s job', passing))
      for (const idle of ['dead', 'invalid', 'retired']) {
        await under.query('UPDATE periodic_task SET idle = ?', [idle])
        expect(await schedule(under, 's')).toMatchObject({ status: idle })
      }
      await under.query("UPDATE periodic_task SET idle = 'done'")
      expect(await schedule(under, 's')).toMatchObject({ status: 'retrying' })
      await under.query('UPDATE periodic_task SET enabled = 0')
      expect(await schedule(under, 's')).toMatchObject({ status: 'paused' })
    })

    it('is repaired by the sweep if its job is no longer retried after a manual edit', async () => {
      await ofSchedule('s')
      await ofSchedule('t')
      await ofSchedule('u')
      await settle(...['s', 't', 'u'].map((id) => attempt(`${id} job`, passing)))
      await under.query("DELETE FROM job WHERE id = 's job'")
      await under.query("UPDATE job SET attempt = 0 WHERE id = 't job'")
      await under.store.scheduling.sweep(WORKER, 30_000, 'everything')
      expect(await schedule(under, 's')).toMatchObject(NO_RETRY)
      expect(await schedule(under, 't')).toMatchObject(NO_RETRY)
      expect(await schedule(under, 'u')).toMatchObject({ status: 'retrying', retry: 1 })
    })

    it('counts each of several runs that are settled together', async () => {
      await ofSchedule('s')
      await running('second', { periodic_task_id: 's', slot: '2026-01-02 00:00:00.000', exclusive: 0 })
      await ofSchedule('t')
      await settle(attempt('s job', failure), attempt('second', failure), attempt('t job'))
      expect(await schedule(under, 's')).toMatchObject({ run_count: 7, error_count: 4 })
      expect(await schedule(under, 't')).toMatchObject({ run_count: 6, error_count: 2 })
    })

    it('the runs of a schedule with the largest possible counters can end', async () => {
      await ofSchedule('s')
      await ofSchedule('t')
      await under.query(
        `UPDATE periodic_task SET run_count = ${Number.MAX_SAFE_INTEGER}, error_count = ${Number.MAX_SAFE_INTEGER} WHERE id = 's'`,
      )
      await settle(attempt('s job', failure), attempt('t job'))
      expect(await jobRow(under, 's job')).toMatchObject({ state: 'failed' })
      expect(await schedule(under, 't')).toMatchObject({ run_count: 6 })
    })

    it('a retry that would be due after the last possible year is due at the end of that year', async () => {
      await ofSchedule('s')
      await under.query("UPDATE periodic_task SET timer = 'every 3500000d' WHERE id = 's'")
      const { fence, end } = attempt('s job', passing)
      await settle({ fence, end, policy: { ...policy, retryDelay: null } })
      expect(await jobRow(under, 's job')).toMatchObject({
        state: 'waiting',
        run_at: '9999-12-31 23:59:59.999',
      })
    })

    it('a deleted schedule is ignored', async () => {
      await ofSchedule('s')
      await under.query('DELETE FROM periodic_task')
      expect((await settle(attempt('s job'))).settled).toHaveLength(1)
      expect(await jobRow(under, 's job')).toMatchObject({ state: 'success' })
    })

    it('keeps its mark', async () => {
      await ofSchedule('s')
      await under.query(
        "UPDATE periodic_task SET worker = 'w/2', marked = '2026-01-01 00:00:00.000', mark_ends = '2099-01-01 00:00:00.000'",
      )
      await settle(attempt('s job'))
      expect(await schedule(under, 's')).toMatchObject({
        worker: 'w/2',
        run_count: 6,
        wake_at: '2099-01-01 00:00:00.000',
      })
    })
  })

  describe('a job that is blocked behind another [L36]', () => {
    it.each([
      ['success', success],
      ['failure', failure],
      ['cancellation', { kind: 'cancelled', error: null }],
    ] as const)('is unblocked after %s, one at a time, in order', async (_, end) => {
      await blockedBehind()
      const { settled } = await settle(attempt('first', end))
      expect(settled).toMatchObject([{ id: 'first', promoted: 'second' }])
      expect(await jobRow(under, 'second')).toMatchObject({ state: 'waiting' })
      expect(await jobRow(under, 'third')).toMatchObject({ state: 'blocked' })
    })

    it.each([
      ['a retry', passing],
      ['a release', { kind: 'released' }],
    ] as const)('stays blocked after %s', async (_, end) => {
      await blockedBehind()
      expect((await settle(attempt('first', end))).settled).toMatchObject([{ promoted: null }])
      expect(await jobRow(under, 'second')).toMatchObject({ state: 'blocked' })
    })

    it("is unblocked regardless of the schedule's history, which does not change", async () => {
      await blockedBehind()
      const slot = '2025-12-31 00:00:00.000'
      await job(under, 'a failure', { periodic_task_id: 's', slot, state: 'failed', error: 'old' })
      const before = await jobRow(under, 'a failure')
      expect((await settle(attempt('first'))).settled).toMatchObject([{ promoted: 'second' }])
      expect(await jobRow(under, 'second')).toMatchObject({ state: 'waiting' })
      expect(await jobRow(under, 'a failure')).toEqual(before)
    })

    it('stays blocked while another job of the schedule is unfinished', async () => {
      await blockedBehind({ exclusive: 0 })
      await running('other', { periodic_task_id: 's', slot: '2026-01-04 00:00:00.000' })
      expect((await settle(attempt('first'))).settled).toMatchObject([{ promoted: null }])
      expect(await jobRow(under, 'second')).toMatchObject({ state: 'blocked' })
      expect((await settle(attempt('other'))).settled).toMatchObject([{ promoted: 'second' }])
    })
  })

  describe('a stored value is read back', () => {
    const odd = 'naïve 😀 Ελλάς \' " \\ \\\\ ? ?? % _ ` $1 \n\r\t \u2028 \u0001'

    it('a value with any characters is read back unchanged', async () => {
      const results: unknown[] = [
        odd,
        { [odd]: [odd] },
        'null',
        null,
        0,
        1.5,
        true,
        [],
        {},
        '',
        '{}',
        '\\',
        "'",
        '?',
      ]
      await under.store.jobs.submit(results.map((_, index) => newJob(`j${index}`)))
      const jobs = await claim()
      await settle(
        ...jobs.map(({ id }) =>
          attempt(id, { kind: 'success', result: JSON.stringify(results[Number(id.slice(1))]) }),
        ),
      )
      for (const [index, result] of results.entries()) {
        expect((await under.store.jobs.get(`j${index}`))?.result, JSON.stringify(result)).toEqual(result)
      }
    })

    it('an error is read back unchanged', async () => {
      await planned(under, 's', null)
      await running('j', { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000' })
      await settle(attempt('j', { kind: 'error', error: odd, permanent: true }))
      expect((await under.store.jobs.get('j'))?.error).toBe(odd)
      expect((await under.store.schedules.get('s'))?.lastError).toBe(odd)
    })

    it('a value of a megabyte is read back for each of several jobs in a batch', async () => {
      const result = JSON.stringify({ text: 'ä"\n'.repeat(300_000) })
      for (const id of ['a', 'b', 'c']) await running(id)
      await settle(...['a', 'b', 'c'].map((id) => attempt(id, { kind: 'success', result })))
      for (const id of ['a', 'b', 'c']) expect((await jobRow(under, id))['result'] === result).toBe(true)
    })

    it.skipIf(under.kind === 'sqlite')(
      'an attempt fails if its result is too large for one statement of the server',
      async () => {
        const result = JSON.stringify('x'.repeat(70 * 1024 * 1024))
        await running('j')
        const { settled } = await settle(attempt('j', { kind: 'success', result }))
        expect(settled).toMatchObject([{ id: 'j', outcome: { state: 'failed' } }])
        const { error } = await jobRow(under, 'j')
        expect(error).toMatch(/^The result of the run could not be stored: .*max_allowed_packet/)
      },
    )
  })

  it('a batch of 200 jobs from 200 schedules is settled at once', async () => {
    const count = 200
    await under.query('BEGIN')
    for (let index = 0; index < count; index += 1) {
      const id = `s${String(index).padStart(3, '0')}`
      await planned(under, id, null, { idle: 'done' })
      await running(`${id} job`, { periodic_task_id: id, slot: '2026-01-01 00:00:00.000' })
    }
    await under.query('COMMIT')
    const attempts = Array.from({ length: count }, (_, index) =>
      attempt(`s${String(index).padStart(3, '0')} job`, index % 2 === 0 ? success : failure),
    )
    const { settled, lost, locked } = await settle(...attempts)
    expect([settled.length, lost.length, locked.length]).toEqual([count, 0, 0])
    expect(
      await under.query(
        'SELECT run_count AS r, error_count AS e, COUNT(*) AS n FROM periodic_task GROUP BY run_count, error_count ORDER BY 2',
      ),
    ).toEqual([
      { r: 1, e: 0, n: 100 },
      { r: 1, e: 1, n: 100 },
    ])
  })
})
