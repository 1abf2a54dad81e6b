/** The effects of a schedule's policies on its jobs, with the real planner on every database. */
/* oxlint-disable unicorn/consistent-function-scoping -- keep helpers inside their test */
import { describe, expect, it } from 'vitest'
import { occurrenceId } from '../../src/model/occurrence.ts'
import { plan } from '../../src/model/plan.ts'
import type { AttemptEnd } from '../../src/model/settle.ts'
import { DEFAULT_POLICY, type RunPolicy } from '../../src/model/task.ts'
import { fromStored, toText } from '../../src/model/instant.ts'
import type { Decide } from '../../src/store/scheduling-store.ts'
import {
  after,
  clock,
  instant,
  job,
  jobRow,
  LEASE_MS,
  MINUTE,
  onEachStore,
  planned,
  policies,
  schedule,
  settings,
  uidOf,
  WORKER,
} from './conformance.ts'
import { write } from './writes.ts'
import { refusal } from '../support/refusal.ts'

const decide: Decide = (row, now, open) => plan(row, { now, open, missedAfterMs: LEASE_MS + 1000 })
const success: AttemptEnd = { kind: 'success', result: null }
const failure: AttemptEnd = { kind: 'error', error: 'boom', permanent: true }

onEachStore((under) => {
  /** Marks, plans and submits due schedules. */
  const pass = async () => {
    const marks = await under.store.scheduling.markDue(WORKER, 100, LEASE_MS)
    return under.store.scheduling.submit(WORKER, marks, decide)
  }
  const repaired = async () => (await under.store.scheduling.sweep(WORKER, LEASE_MS, 'everything')).repaired
  const planOf = async (id: string) => {
    const result = await pass()
    const found = result.submissions.find((submission) => submission.id === id)
    if (found === undefined) throw new Error(`${id} was not due: ${JSON.stringify(result)}`)
    return found
  }

  /** Sets nextrun manually to this many seconds ago, so that the schedule is due. */
  const come = async (id: string, seconds: number): Promise<Date> => {
    const slot = after(await clock(under), -1000 * seconds)
    const text = toText(slot)
    await under.query(
      'UPDATE periodic_task SET planned_from = definition, planned_nextrun = ?, planned_by_hand = 1, nextrun = ? WHERE id = ?',
      [text, text, id],
    )
    return slot
  }
  /** Inserts a schedule whose timer adds no slots to those of the test. */
  const withPolicy = (overlap: string, more: Record<string, string | number | null> = {}) =>
    planned(under, 's', new Date('2199-01-01T00:00Z'), { overlap, timer: '2199-01-01', ...more })

  const claim = (limit = 100) => under.store.executing.claim(WORKER, policies('task'), limit, '')
  const ends = (id: string, end: AttemptEnd = success, policy: RunPolicy = DEFAULT_POLICY) =>
    write(under.store).settle([{ fence: { id, worker: WORKER, claim: 1 }, end, policy }])
  /** The state, reason, number of missed slots and run number of each job, ordered by slot. */
  const jobs = async () =>
    (await under.query('SELECT state, reason, missed, run FROM job ORDER BY slot, id')).map((row) =>
      [row['state'], row['reason'], row['missed'], row['run']].join(' ').replaceAll(/ {2,}/g, ' ').trim(),
    )
  const first = (ids: readonly string[]) => ids[0] ?? ''

  describe('queue-one', () => {
    it('queue-one lets one job wait behind the running job; it starts when that job has ended [S4, L36]', async () => {
      await withPolicy('queue-one', { run_count: 4 })
      await come('s', 30)
      const one = first((await planOf('s')).jobs)
      await claim()
      await come('s', 20)
      const two = first((await planOf('s')).jobs)
      await come('s', 10)
      await pass()
      await come('s', 5)
      await pass()
      expect(await jobs()).toEqual(['running 0 5', 'blocked 0 6', 'skipped overlap 2'])
      expect(await claim()).toEqual([])
      expect(await ends(one)).toMatchObject({ settled: [{ id: one, promoted: two }] })
      expect((await claim()).map(({ id }) => id)).toEqual([two])
    })

    it('a job id that is already in use does not make the slots of other schedules unsubmittable', async () => {
      await withPolicy('queue-one')
      await planned(under, 'bad', await clock(under))
      await come('s', 30)
      await under.store.scheduling.submit(
        WORKER,
        (await under.store.scheduling.markDue(WORKER, 100, LEASE_MS)).filter(({ id }) => id === 's'),
        decide,
      )
      await claim()
      await come('s', 10)
      await under.query(
        "UPDATE periodic_task SET worker = NULL, marked = NULL, mark_ends = NULL WHERE id = 'bad'",
      )
      // Another job already has the id of the occurrence, so the whole batch fails and is repeated row by row.
      const slot = instant((await schedule(under, 'bad'))['nextrun'])
      if (slot === null) throw new Error('bad is due')
      await job(under, occurrenceId(await uidOf(under, 'bad'), slot), { state: 'success' })
      const { submissions, refused } = await pass()
      expect(submissions.find(({ id }) => id === 's')?.plan.runs).toMatchObject([{ state: 'blocked' }])
      expect(refused).toEqual([])
      expect(
        (await under.query("SELECT state FROM job WHERE periodic_task_id = 's' ORDER BY slot")).map(
          ({ state }) => state,
        ),
      ).toEqual(['running', 'blocked'])
    })
  })

  describe('yields', () => {
    const passing: AttemptEnd = { kind: 'error', error: 'boom', permanent: false }
    const retried = async (overlap: string, more: Record<string, string | number> = {}) => {
      await withPolicy(overlap, { yields: 1, on_exhausted: 'stop', ...more })
      await come('s', 30)
      const one = first((await planOf('s')).jobs)
      await claim()
      await ends(one, passing)
      return one
    }

    it.each(['skip', 'queue-one'])(
      'with %s, a waiting retry yields to the next slot [R3, X7]',
      async (overlap) => {
        const one = await retried(overlap)
        await come('s', 20)
        const two = first((await planOf('s')).jobs)
        expect(await jobs()).toEqual(['failed yielded 0 1', 'waiting 0 2'])
        const given = await jobRow(under, one)
        expect(given).toMatchObject({ error: 'boom', attempt: 1 })
        expect(given['finished']).not.toBeNull()
        const row = await schedule(under, 's')
        expect(row).toMatchObject({
          // The job has not used up its retries, so the schedule continues.
          status: 'active',
          run_count: 1,
          error_count: 1,
          failed_attempts: 1,
          last_error: 'boom',
          retry_at: null,
        })
        expect(row['last_finished']).not.toBeNull()
        expect((await claim()).map(({ id }) => id)).toEqual([two])
      },
    )

    it('a running handler is not stopped, not even in a retry [X7]', async () => {
      const one = await retried('skip')
      await under.query("UPDATE job SET run_at = NULL WHERE state = 'waiting'")
      await claim()
      await come('s', 20)
      await pass()
      expect(await jobs()).toEqual(['running 0 1', 'skipped overlap 1'])
      expect(await jobRow(under, one)).toMatchObject({ stop_requested: null, attempt: 2 })
    })

    it('with queue-one, a failed attempt yields to the queued job at once', async () => {
      await withPolicy('queue-one', { yields: 1, on_exhausted: 'stop' })
      await come('s', 30)
      const one = first((await planOf('s')).jobs)
      await claim()
      await come('s', 20)
      const two = first((await planOf('s')).jobs)
      const { settled } = await ends(one, passing)
      expect(settled).toMatchObject([{ outcome: { state: 'failed', reason: 'yielded' }, promoted: two }])
      expect(await jobs()).toEqual(['failed yielded 0 1', 'waiting 0 2'])
      expect(await schedule(under, 's')).toMatchObject({
        status: 'active',
        failed_attempts: 1,
        retry_at: null,
      })
    })

    it('a retry does not yield if a worker claims it before the submission', async () => {
      const one = await retried('skip')
      await come('s', 20)
      const marks = await under.store.scheduling.markDue(WORKER, 100, LEASE_MS)
      await under.query('UPDATE job SET run_at = NULL WHERE id = ?', [one])
      await claim()
      await under.store.scheduling.submit(WORKER, marks, decide)
      expect(await jobs()).toEqual(['running 0 1', 'skipped overlap 1'])
    })
  })

  describe('replace', () => {
    it('replace cancels a waiting job and stores the reason [S4]', async () => {
      await withPolicy('replace')
      await come('s', 30)
      const one = first((await planOf('s')).jobs)
      await come('s', 20)
      const two = first((await planOf('s')).jobs)
      expect(await jobs()).toEqual(['cancelled replaced 0 1', 'waiting 0 2'])
      expect((await jobRow(under, one))['finished']).not.toBeNull()
      expect((await claim()).map(({ id }) => id)).toEqual([two])
    })

    it('replace sends a running job one stop request; the newest job waits until that job ends, and the jobs in between are cancelled [S4]', async () => {
      await withPolicy('replace')
      await come('s', 30)
      const one = first((await planOf('s')).jobs)
      await claim()
      await come('s', 20)
      await pass()
      const asked = (await jobRow(under, one))['stop_requested']
      expect(asked).not.toBeNull()
      await come('s', 10)
      const three = first((await planOf('s')).jobs)
      expect(await jobs()).toEqual(['running 0 1', 'cancelled replaced 0 2', 'blocked 0 3'])
      expect((await jobRow(under, one))['stop_requested']).toBe(asked)
      expect(await claim()).toEqual([])
      // The handler stops, so the job is cancelled and does not count as a failure of the schedule.
      await ends(one, failure)
      expect(await jobs()).toEqual(['cancelled 0 1', 'cancelled replaced 0 2', 'waiting 0 3'])
      expect(await schedule(under, 's')).toMatchObject({ run_count: 0, error_count: 0 })
      expect((await claim()).map(({ id }) => id)).toEqual([three])
    })

    it('replace also cancels a retry that is not yet due', async () => {
      await withPolicy('replace')
      await come('s', 30)
      const one = first((await planOf('s')).jobs)
      await claim()
      await ends(one, { kind: 'error', error: 'boom', permanent: false })
      await come('s', 20)
      await pass()
      expect(await jobs()).toEqual(['cancelled replaced 0 1', 'waiting 0 2'])
      expect((await under.store.scheduling.look([])).dueAt).toBeNull()
    })
  })

  describe('allow', () => {
    it.each(['skip', 'queue-one', 'replace'])(
      'after overlap is changed to %s, concurrent jobs count as running [L43]',
      async (overlap) => {
        await withPolicy('allow')
        for (const seconds of [30, 20]) {
          await come('s', seconds)
          await pass()
        }
        const claimed = await claim()
        await under.query('UPDATE periodic_task SET overlap = ?', [overlap])
        await come('s', 10)
        await pass()
        const last = overlap === 'skip' ? 'skipped overlap 1' : 'blocked 0 3'
        expect(await jobs()).toEqual(['running 0 1', 'running 0 2', last])
        await expect(write(under.store).runNow('s')).rejects.toThrow(/cannot run now/)
        // The job starts only when both running jobs have ended.
        await ends(claimed[0]?.id ?? '')
        expect((await jobs()).at(-1)).toBe(last)
        await ends(claimed[1]?.id ?? '')
        if (overlap !== 'skip') expect((await jobs()).at(-1)).toBe('waiting 0 3')
      },
    )
  })

  describe('consecutive skips', () => {
    it('consecutive skips stay separate if a run between them is submitted together with the second one', async () => {
      const timer = '*:*:0/10'
      const ofTwo = {
        timer,
        max_runs: 2,
        run_count: 1,
        catch_up: 10,
        planned_from: `1|${timer}|0|||2`,
      }
      await planned(under, 's', new Date('2199-01-01T00:00Z'), { overlap: 'allow', ...ofTwo })
      // Whatever the current time, there are no more slots than catch_up keeps.
      await come('s', 45)
      const one = first((await planOf('s')).jobs)
      await claim()
      await ends(one, failure)
      // Moves the skips to a time before the run that max_runs now allows.
      const earlier = toText(after(await clock(under), -43_000))
      await under.query("UPDATE job SET id = 'skip', slot = ?, missed = 7 WHERE state = 'skipped'", [earlier])
      await under.query('UPDATE periodic_task SET last_slot = ?', [earlier])
      await come('s', 40)
      expect((await planOf('s')).plan.runs).toHaveLength(1)
      expect((await jobs()).map((row) => row.replace(/\d \d$|[1-6]$/, 'n'))).toEqual([
        'failed permanent n',
        'skipped max-runs 7',
        'waiting n',
        'skipped max-runs n',
      ])
    })
  })

  describe('max_runs', () => {
    it('the success that reaches max_runs makes the schedule done; when max_runs is increased in SQL, the schedule is planned from now [T9, R2]', async () => {
      await write(under.store).create('s', settings({ timer: 'hourly', maxRuns: 1 }))
      await pass()
      await come('s', 10)
      const one = first((await planOf('s')).jobs)
      expect(await schedule(under, 's')).toMatchObject({ status: 'active', idle: null })
      await claim()
      await ends(one)
      expect(await schedule(under, 's')).toMatchObject({
        status: 'done',
        idle: 'done',
        nextrun: null,
        wake_at: null,
        run_count: 1,
      })
      expect(await pass()).toMatchObject({ submissions: [] })
      await under.query('UPDATE periodic_task SET max_runs = 2')
      expect((await planOf('s')).plan).toMatchObject({ runs: [], skips: [], idle: null })
      expect(instant((await schedule(under, 's'))['nextrun'])?.getTime()).toBeGreaterThan(
        (await clock(under)).getTime(),
      )
    })

    it('a one-off that has run is done, regardless of the counters [T5]', async () => {
      await write(under.store).create('s', settings({ timer: '2020-01-01', onExhausted: 'stop' }), 'now')
      const one = first((await planOf('s')).jobs)
      expect(await schedule(under, 's')).toMatchObject({ status: 'done' })
      await claim()
      await ends(one)
      expect(await schedule(under, 's')).toMatchObject({ status: 'done', run_count: 1, nextrun: null })
      expect(await pass()).toMatchObject({ submissions: [] })
    })
  })

  describe('on_exhausted stop', () => {
    const dead = async (timer: string) => {
      await write(under.store).create('s', settings({ timer, onExhausted: 'stop' }), 'now')
      const one = first((await planOf('s')).jobs)
      await claim()
      await ends(one, failure)
    }

    it.each(['hourly', 'every 1h after finish', '2020-01-01'])(
      '%s: a run that failed permanently makes the schedule dead [R2]',
      async (timer) => {
        await dead(timer)
        expect(await schedule(under, 's')).toMatchObject({
          status: 'dead',
          nextrun: null,
          wake_at: null,
          last_error: 'boom',
          error_count: 1,
        })
        expect(await pass()).toMatchObject({ submissions: [] })
      },
    )

    it('reset reactivates a dead schedule, clears its counters and has it planned from now [R1]', async () => {
      await dead('hourly')
      const reset = await under.store.schedules.reset('s')
      expect(reset).toEqual(await under.store.schedules.get('s'))
      expect(reset).toMatchObject({ status: 'active', nextRunAt: null, runCount: 0 })
      await pass()
      expect(await schedule(under, 's')).toMatchObject({
        status: 'active',
        run_count: 0,
        error_count: 0,
        last_error: null,
      })
      expect(instant((await schedule(under, 's'))['nextrun'])?.getTime()).toBeGreaterThan(
        (await clock(under)).getTime(),
      )
    })
  })

  describe('every … after finish', () => {
    const inserted = async () => {
      await under.query(
        "INSERT INTO periodic_task (id, task, timer) VALUES ('s', 'task', 'every 90min after finish')",
      )
      await pass()
    }

    it('an `after finish` timer has no next run until the current run ends, and counts from that time [T4]', async () => {
      await inserted()
      const row = await schedule(under, 's')
      expect(instant(row['nextrun'])?.getTime()).toBeGreaterThan((await clock(under)).getTime() + 80 * MINUTE)
      await come('s', 5)
      const one = first((await planOf('s')).jobs)
      expect(await schedule(under, 's')).toMatchObject({
        idle: 'awaiting-finish',
        status: 'active',
        nextrun: null,
      })
      await claim()
      await ends(one)
      const finished = instant((await jobRow(under, one))['finished'])
      const next = await schedule(under, 's')
      expect(instant(next['nextrun'])).toEqual(finished && after(finished, 90 * MINUTE))
      expect(next).toMatchObject({ idle: null, wake_at: next['nextrun'] })
    })

    it('counts the next run from the end of a manual run', async () => {
      await inserted()
      await write(under.store).runNow('s')
      await come('s', 5)
      await pass()
      expect(await schedule(under, 's')).toMatchObject({ idle: 'awaiting-finish', nextrun: null })
      const [claimed] = await claim()
      await ends(claimed?.id ?? '')
      const finished = instant((await jobRow(under, claimed?.id ?? ''))['finished'])
      expect(instant((await schedule(under, 's'))['nextrun'])).toEqual(
        finished && after(finished, 90 * MINUTE),
      )
    })

    it('is planned from now by the sweep if its job was deleted manually', async () => {
      await inserted()
      await come('s', 5)
      await pass()
      await under.query('DELETE FROM job')
      expect(await pass()).toMatchObject({ submissions: [] })
      expect(await repaired()).toEqual([expect.stringContaining('schedule s')])
      expect((await planOf('s')).plan).toMatchObject({ runs: [], idle: null })
      expect(await repaired()).toEqual([])
    })

    it("a schedule manually set to 'awaiting-finish' continues with its current slot, not with the time of the sweep", async () => {
      await inserted()
      const slot = await come('s', 5)
      await under.query("UPDATE periodic_task SET idle = 'awaiting-finish'")
      expect(await pass()).toMatchObject({ submissions: [] })
      expect(await repaired()).toEqual([expect.stringContaining('schedule s')])
      expect((await planOf('s')).plan).toMatchObject({ runs: [{ slot }], skips: [], idle: 'awaiting-finish' })
    })

    it('is not changed by the sweep while its job is running', async () => {
      await inserted()
      await come('s', 5)
      await pass()
      expect(await repaired()).toEqual([])
      expect(await schedule(under, 's')).toMatchObject({ idle: 'awaiting-finish' })
    })

    it('is planned again without waiting if its run cannot be written', async () => {
      await inserted()
      await come('s', 5)
      const message = 'not on my watch'
      await under.query(refusal(under.kind, 'INSERT', 'job', "NEW.state = 'waiting'", { message }))
      under.afterwards(() => under.query('DROP TRIGGER refuse'))
      expect((await pass()).refused).toHaveLength(1)
      expect(await jobs()).toEqual(['skipped unsubmittable 1'])
      const { plan: made } = await planOf('s')
      expect(made).toMatchObject({ runs: [], idle: null, nextRunAt: expect.any(Date) })
      expect((await schedule(under, 's'))['last_error']).toContain('not on my watch')
    })
  })

  describe('an edit in SQL', () => {
    it.each([
      ['jitter = 600000', 600_000],
      ["starts = '2189-01-01 00:00:00'", null],
      ['ends = NULL', 0],
      ["ends = '2199-01-01 00:00:00'", 0],
    ])('of %s plans the schedule again, from now', async (assignment, spread) => {
      await write(under.store).create('s', settings({ timer: 'hourly', ends: new Date('2190-01-01T00:00Z') }))
      await pass()
      const before = instant((await schedule(under, 's'))['nextrun'])?.getTime() ?? 0
      await under.query(`UPDATE periodic_task SET ${assignment}`)
      const { plan: made } = await planOf('s')
      expect(made).toMatchObject({ runs: [], skips: [] })
      const next = made.nextRunAt?.getTime() ?? Infinity
      const now = (await clock(under)).getTime()
      expect(next).toBeGreaterThan(now)
      if (spread === null) expect(made.nextRunAt).toEqual(new Date('2189-01-01T00:00Z'))
      else expect((next - before + 3_600_000) % 3_600_000).toBeLessThanOrEqual(spread)
      expect(await pass()).toMatchObject({ submissions: [] })
    })
  })

  it('the slots of an `every` timer are counted from the creation of the row [T4]', async () => {
    await under.query("INSERT INTO periodic_task (id, task, timer) VALUES ('s', 'task', 'every 7min')")
    await pass()
    const row = await schedule(under, 's')
    const [created, next] = [fromStored(String(row['created'])), instant(row['nextrun'])]
    expect(next).toEqual(after(created, 7 * MINUTE))
    await come('s', 10)
    await under.query("UPDATE periodic_task SET created = '2026-01-01 00:00:00.000'")
    await pass()
    const later = instant((await schedule(under, 's'))['nextrun'])?.getTime() ?? 0
    expect((later - Date.parse('2026-01-01T00:00Z')) % (7 * MINUTE)).toBe(0)
  })

  describe('the displayed status', () => {
    it.each([
      ['active', 1, null],
      ['active', 1, 'awaiting-finish'],
      ['done', 1, 'done'],
      ['dead', 1, 'dead'],
      ['invalid', 1, 'invalid'],
      ['retired', 1, 'retired'],
      ['paused', 0, null],
      ['paused', 0, 'dead'],
    ])('status %s: enabled %i, idle %s [R1]', async (status, enabled, idle) => {
      await planned(under, 's', null, { enabled, idle })
      expect(await schedule(under, 's')).toMatchObject({ status })
      expect((await under.store.lists.scheduleCounts({})).counts).toEqual({ [status]: 1 })
    })
  })
})
