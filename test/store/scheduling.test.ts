/** Scheduling: mark → plan → submit. */
import { describe, expect, it } from 'vitest'
import { occurrenceId } from '../../src/model/occurrence.ts'
import type { Plan } from '../../src/model/planning.ts'
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import { toText } from '../../src/model/instant.ts'
import type { Decide, Mark, SweepExtent } from '../../src/store/scheduling-store.ts'
import {
  after,
  clock,
  ids,
  instant,
  job,
  jobRow,
  LEASE_MS,
  MINUTE,
  onEachStore,
  one,
  planned,
  policies,
  schedule,
  type StoreUnderTest,
  submitDue,
  uidOf,
  WORKER,
} from './conformance.ts'
import { recording, START } from './recording.ts'
import { write } from './writes.ts'
import { refusal } from '../support/refusal.ts'

const never: Decide = () => {
  throw new Error('planning was not expected')
}

const count = async (under: StoreUnderTest, from: string) =>
  Number((await one(under, `SELECT COUNT(*) AS n FROM ${from}`))['n'])

onEachStore((under) => {
  const mark = (limit = 1000, worker = WORKER) => under.store.scheduling.markDue(worker, limit, LEASE_MS)
  const submit = (marks: readonly Mark[], decide: Decide = submitDue, worker = WORKER) =>
    under.store.scheduling.submit(worker, marks, decide)
  const sweep = (extent: SweepExtent = 'everything') => under.store.scheduling.sweep(WORKER, LEASE_MS, extent)
  const ago = async (ms: number) => after(await clock(under), -ms)

  const marked = async (id: string, worker: string) => {
    const now = await clock(under)
    await planned(under, id, after(now, -MINUTE), {
      worker,
      marked: toText(now),
      mark_ends: toText(after(now, LEASE_MS)),
    })
  }
  const stillMarked = async () =>
    (await under.query('SELECT id FROM periodic_task WHERE worker IS NOT NULL ORDER BY id')).map(
      (row) => row['id'],
    )
  const register = (id: string) =>
    under.store.workers.register({
      id,
      name: id.slice(0, id.lastIndexOf('/')),
      host: 'h',
      pid: 1,
      tasks: [],
    })

  describe('a poll', () => {
    it('a poll of empty tables returns only the time', async () => {
      expect(await under.store.scheduling.look(['task'])).toMatchObject({
        wakeAt: null,
        dueAt: null,
        claimable: false,
      })
    })

    it('returns when the next schedule and the next job are due, and whether there is a job to claim', async () => {
      const soon = after(await clock(under), MINUTE)
      await planned(under, 'a', after(soon, 1))
      await planned(under, 'b', soon)
      await planned(under, 'off', null, { enabled: 0 })
      await job(under, 'waits', { run_at: toText(after(soon, 5)) })
      await job(under, 'waits longer', { run_at: toText(after(soon, 6)) })
      await job(under, 'is done', { state: 'success', run_at: toText(soon) })
      await job(under, 'claimable', { task: 'other', group_: 'g' })
      expect(await under.store.scheduling.look(['task'])).toMatchObject({
        wakeAt: soon,
        dueAt: after(soon, 5),
        claimable: false,
      })
      expect((await under.store.scheduling.look(['task', 'other'])).claimable).toBe(true)
      expect((await under.store.scheduling.look([])).claimable).toBe(false)
    })
  })

  describe('schedules with many slots to make up', () => {
    const SLOTS = 300
    /** Decides 300 slots of each schedule. */
    const catchUp: Decide = (schedule, now, open) => {
      const single = submitDue(schedule, now, open)
      const from = schedule.nextRunAt ?? now
      const slots = Array.from({ length: SLOTS }, (_, index) => after(from, index * 1000))
      return {
        ...single,
        runs: slots.map((slot, index) => ({ slot, missed: 0, state: index === 0 ? 'waiting' : 'blocked' })),
        lastSlot: slots.at(-1) ?? null,
      }
    }

    it('are submitted in transactions of about 500 jobs, each slot once [L67]', async () => {
      for (const id of ['a', 'b', 'c', 'd', 'e']) await planned(under, id, await ago(SLOTS * 1000))
      const marks = await mark()
      const transactions: string[][] = []
      for (let left: readonly Mark[] = marks; left.length > 0; ) {
        const result = await submit(left, catchUp)
        expect(result).toMatchObject({ locked: [], refused: [] })
        transactions.push(ids(result.submissions))
        expect(await stillMarked()).toEqual(ids(result.left))
        left = result.left
      }
      expect(transactions).toEqual([['a', 'b'], ['c', 'd'], ['e']])
      expect(await count(under, 'job')).toBe(5 * SLOTS)
    })

    it('schedules that missed very many slots are planned in transactions of about 10,000 slots', async () => {
      for (const id of ['a', 'b', 'c', 'd']) await planned(under, id, await ago(MINUTE))
      const missed: Decide = (schedule, now, open) => ({
        ...submitDue(schedule, now, open),
        skips: [{ slot: after(now, -2 * MINUTE), reason: 'missed', count: 6000, error: null }],
      })
      const { left, submissions } = await submit(await mark(), missed)
      expect(ids(submissions)).toEqual(['a', 'b'])
      expect(ids(left)).toEqual(['c', 'd'])
    })
  })

  it('an invalid instant in one row does not hide other due rows from a poll', async () => {
    await planned(under, 'due', new Date('2020-01-01'))
    // A session in strict mode could not write this value.
    if (under.kind !== 'sqlite') await under.query("SET SESSION sql_mode = ''")
    await under.query(
      "INSERT INTO periodic_task (id, task, timer, worker, mark_ends) VALUES ('bad', 'task', 'daily', 'w/0', '0000-00-00 00:00:00')",
    )
    expect((await under.store.scheduling.look([])).wakeAt).toEqual(new Date(0))
    await under.store.scheduling.markDue(WORKER, 10, LEASE_MS)
    expect((await under.store.scheduling.look([])).wakeAt?.getTime()).toBeGreaterThan(
      Date.parse('2026-01-01'),
    )
  })

  /** Imitates a connection that ignores constraints. */
  async function withoutChecks(): Promise<void> {
    if (under.kind !== 'sqlite') return
    await under.query('PRAGMA ignore_check_constraints = 1')
    under.afterwards(() => under.query('PRAGMA ignore_check_constraints = 0'))
  }

  it('a row with a BLOB as its id, which only SQLite stores, is skipped and delays nothing', async () => {
    const { executing } = under.store
    await withoutChecks()
    await planned(under, 'good', await ago(1000))
    await job(under, 'good')
    await under.query(
      "INSERT INTO periodic_task (id, task, timer, nextrun) VALUES (x'626164', 'task', 'daily', '2020-01-01 00:00:00.000')",
    )
    await under.query("INSERT INTO job (id, task, priority) VALUES (x'626164', 'task', 100)")
    const claim = async () => (await executing.claim(WORKER, policies('task'), 1, '')).map(({ id }) => id)
    // MySQL and MariaDB convert the value to text.
    const bad = under.kind === 'sqlite' ? [] : ['bad']
    expect(ids(await mark(10))).toEqual([...bad, 'good'])
    expect(ids(await mark(10))).toEqual([])
    expect([...(await claim()), ...(await claim())]).toEqual([...bad, 'good'])
    expect(await claim()).toEqual([])
    const late = 'INSERT INTO job (id, task, run_at) VALUES'
    await under.query(`${late} (x'6c617465', 'task', '2020-01-01 00:00:00.000')`)
    expect(await executing.promoteDue(10)).toBe(bad.length)
  })

  it('text in numeric columns, which only SQLite stores, counts as unset', async () => {
    const isTaken = under.kind === 'sqlite'
    const columns = ['jitter', 'max_runs', 'run_count', 'error_count']
    const insert = `INSERT INTO periodic_task (id, task, timer, ${columns.join(', ')}) VALUES ('odd', 'task', '*:*:*', ${columns.map(() => "'many'").join(', ')})`
    await expect(under.query(insert)).rejects.toThrow()
    if (!isTaken) return
    await withoutChecks()
    await under.query(insert)
    const { submissions } = await under.store.scheduling.submit(WORKER, await mark(10), submitDue)
    expect(submissions.map(({ id }) => id)).toEqual(['odd'])
    expect(await schedule(under, 'odd')).toMatchObject({ idle: null })
  })

  describe('marking', () => {
    it('takes the earliest due schedules, up to the limit', async () => {
      await planned(under, 'future', after(await clock(under), MINUTE))
      await planned(under, 'third', await ago(1000))
      await planned(under, 'first', await ago(3000))
      await planned(under, 'second', await ago(2000))
      expect(ids(await mark(2))).toEqual(['first', 'second'])
      expect(ids(await mark(2))).toEqual(['third'])
      expect(await mark(2)).toEqual([])
    })

    it('writes the worker, the time and the end of the mark', async () => {
      await planned(under, 's', await ago(1000))
      const [made] = await mark()
      const row = await schedule(under, 's')
      expect(row).toMatchObject({ worker: WORKER })
      expect(instant(row['marked'])).toEqual(made?.marked)
      expect(instant(row['mark_ends'])).toEqual(made && after(made.marked, LEASE_MS))
      expect((await under.store.schedules.get('s'))?.markedBy).toBe(WORKER)
    })

    it('marking skips schedules that are disabled, idle or already marked [L2]', async () => {
      const past = await ago(1000)
      await planned(under, 'disabled', past, { enabled: 0 })
      await planned(under, 'idle', past, { idle: 'done' })
      await planned(under, 'marked', past, {
        worker: 'other/1',
        marked: toText(past),
        mark_ends: toText(after(past, LEASE_MS)),
      })
      expect(await mark()).toEqual([])
    })

    it('a schedule that is due at this exact millisecond is marked [L5]', async () => {
      await planned(under, 's', await clock(under))
      expect(ids(await mark())).toEqual(['s'])
    })

    it('continues after the given marks with schedules that are due at the same time, or, if there are none, with later ones', async () => {
      const past = await ago(60_000)
      const times = { a: 0, b: 0, c: 0, d: 10, e: 20, f: 30 }
      for (const [id, ms] of Object.entries(times)) await planned(under, id, after(past, ms))
      const behind = async (limit: number, marks: readonly Mark[]) =>
        await under.store.scheduling.markDue(WORKER, limit, LEASE_MS, marks)
      const first = await behind(2, [])
      expect(ids(first)).toEqual(['a', 'b'])
      // These schedules are inserted later, but are due before the first two or at the same time.
      await planned(under, 'z', after(past, -10))
      await planned(under, 'aa', past)
      const second = await behind(10, first)
      expect(ids(second)).toEqual(['c'])
      const third = await behind(2, [])
      expect(ids(third)).toEqual(['z', 'aa'])
      const fourth = await behind(2, third)
      expect(ids(fourth)).toEqual(['d', 'e'])
      await planned(under, 'y', past)
      expect(ids(await behind(10, fourth))).toEqual(['f'])
      expect(ids(await behind(10, fourth))).toEqual([])
      expect(ids(await behind(10, []))).toEqual(['y'])
    })

    it('includes a schedule that is due again because its mark has expired', async () => {
      const past = await ago(LEASE_MS + 1)
      await planned(under, 's', past, {
        worker: 'dead/1',
        marked: toText(past),
        mark_ends: toText(await ago(1)),
      })
      expect(ids(await mark())).toEqual(['s'])
      expect(await schedule(under, 's')).toMatchObject({ worker: WORKER })
    })

    it('two workers mark different schedules at the same time, during an insert [L1]', async () => {
      const past = await ago(1000)
      for (let index = 0; index < 40; index += 1) await planned(under, `s${index}`, past)
      const other = await under.another()
      const [mine, theirs] = await Promise.all([
        mark(20),
        other.scheduling.markDue('w/2', 20, LEASE_MS),
        under.query("INSERT INTO periodic_task (id, task, timer) VALUES ('new', 't', 'daily')"),
      ])
      const all = ids([...mine, ...theirs])
      expect(new Set(all).size).toBe(all.length)
      expect(await count(under, 'periodic_task WHERE worker IS NOT NULL')).toBe(all.length)
    })
  })

  describe('submitting', () => {
    it('a submission inserts the job with all settings of the schedule, advances the schedule and clears the mark [S1]', async () => {
      const slot = await ago(1000)
      const more = {
        task: 'Täsk 😀',
        group_: 'g ?',
        args: '{"a":"\\"quoted\\" \\\\ ? 😀 \'"}',
        subject: "it's",
        submitter: 'me\\',
        priority: -7,
        timeout: 1,
        max_retries: 2,
        retry_delay: 3,
        retry_backoff: 'fixed',
        run_count: 41,
      }
      await planned(under, 's', slot, more)
      const marks = await mark()
      const result = await submit(marks)
      const id = occurrenceId(await uidOf(under, 's'), slot)
      expect(result).toMatchObject({
        submissions: [{ id: 's', task: 'Täsk 😀', timer: 'minutely', jobs: [id] }],
        locked: [],
        refused: [],
      })
      const { run_count: _, ...copied } = more
      expect(await jobRow(under, id)).toMatchObject({
        ...copied,
        periodic_task_id: 's',
        slot: toText(slot),
        missed: 0,
        run: 42,
        state: 'waiting',
        reason: null,
        worker: null,
        attempt: 0,
        run_at: null,
        finished: null,
        exclusive: 1,
      })
      const next = toText(after(slot, MINUTE))
      expect(await schedule(under, 's')).toMatchObject({
        worker: null,
        marked: null,
        mark_ends: null,
        nextrun: next,
        wake_at: next,
        last_slot: toText(slot),
        planned_from: '1|minutely|0|||',
        planned_nextrun: next,
        planned_by_hand: 0,
        idle: null,
        enabled: 1,
        last_job: id,
        last_run: expect.any(String),
      })
      expect(await mark()).toEqual([])
    })

    it.each([
      [
        'shares the row of an earlier skip that has the same reason and is for the last slot',
        '2026-01-03',
        'overlap',
        { newer: 4, rows: 2 },
      ],
      [
        'does not share the row of an earlier skip that has another reason',
        '2026-01-03',
        'missed',
        { newer: 3, rows: 3 },
      ],
      [
        'does not share the row of an earlier skip that is for a slot before the last slot',
        '2026-01-04',
        'overlap',
        { newer: 3, rows: 3 },
      ],
    ])('a skip %s', async (_, lastSlot, reason, { newer, rows }) => {
      await planned(under, 's', await ago(MINUTE), { last_slot: `${lastSlot} 00:00:00.000` })
      await job(under, 'run', { periodic_task_id: 's', slot: '2026-01-04 00:00:00.000', state: 'running' })
      for (const [id, day, missed] of [
        ['older', '2026-01-01', 7],
        ['newer', '2026-01-03', 3],
      ] as const) {
        const slot = `${day} 00:00:00.000`
        await job(under, id, {
          periodic_task_id: 's',
          slot,
          state: 'skipped',
          reason,
          missed,
          finished: slot,
        })
      }
      await submit(await mark())
      expect(await jobRow(under, 'older')).toMatchObject({ missed: 7 })
      expect(await jobRow(under, 'newer')).toMatchObject({ missed: newer })
      expect(await count(under, "job WHERE state = 'skipped'")).toBe(rows)
    })

    it('a submission inserts rows for consecutive runs and for skips, with the reasons [S4, L3]', async () => {
      const slot = await ago(3000)
      await planned(under, 's', slot, { args: '{"large":1}', run_count: 3 })
      const decided: Plan = {
        runs: [
          { slot, missed: 7, state: 'waiting' },
          { slot: after(slot, 1000), missed: 0, state: 'blocked' },
        ],
        skips: [
          { slot: after(slot, -1000), reason: 'missed', count: 7, error: null },
          { slot: after(slot, -2000), reason: 'unsubmittable', count: 1, error: "it's \\ ?" },
        ],
        replaces: false,
        yields: false,
        frozenUntil: null,
        nextRunAt: null,
        isByHand: false,
        idle: 'done',
        lastSlot: after(slot, 1000),
        lastError: 'e',
      }
      await submit(await mark(), () => decided)
      const rows = await under.query('SELECT * FROM job ORDER BY slot')
      expect(rows).toMatchObject([
        { state: 'skipped', reason: 'unsubmittable', missed: 1, error: "it's \\ ?", run: null, args: '{}' },
        { state: 'skipped', reason: 'missed', missed: 7, error: null, run: null },
        { state: 'waiting', missed: 7, run: 4, args: '{"large":1}' },
        { state: 'blocked', missed: 0, run: 5 },
      ])
      expect(rows.map((row) => row['finished'] !== null)).toEqual([true, true, false, false])
      expect(await schedule(under, 's')).toMatchObject({
        nextrun: null,
        idle: 'done',
        status: 'done',
        wake_at: null,
        last_error: 'e',
      })
    })

    it('a submission plans the current row: edits between mark and submit take effect [L11, L16]', async () => {
      await planned(under, 's', await ago(1000))
      const marks = await mark()
      await under.query(
        "UPDATE periodic_task SET timer = 'daily', args = '{\"new\":1}', catch_up = 5, nextrun = '2020-01-01 00:00:00.000'",
      )
      const seen: unknown[] = []
      await submit(marks, (row, now, active) => {
        seen.push(row)
        return submitDue(row, now, active)
      })
      expect(seen).toMatchObject([
        {
          timer: 'daily',
          catchUp: 5,
          definition: '1|daily|0|||',
          plannedDefinition: '1|minutely|0|||',
          nextRunAt: new Date('2020-01-01T00:00:00Z'),
        },
      ])
      expect(await one(under, 'SELECT args FROM job')).toEqual({ args: '{"new":1}' })
    })

    it('an edit right after a submission is detected [L16]', async () => {
      await planned(under, 's', await ago(1000))
      await submit(await mark())
      await under.query("UPDATE periodic_task SET timer = 'hourly'")
      expect(ids(await mark())).toEqual(['s'])
    })

    it('a marked schedule that is not due only loses its mark [L4, L34]', async () => {
      const slot = await ago(1000)
      await planned(under, 's', slot)
      const before = await schedule(under, 's')
      expect(await submit(await mark(), () => null)).toMatchObject({
        submissions: [],
        locked: [],
        refused: [],
      })
      expect(await schedule(under, 's')).toEqual(before)
      expect(await count(under, 'job')).toBe(0)
    })

    it.each([
      ['was taken over by another worker', "UPDATE periodic_task SET worker = 'w/2'"],
      [
        'was marked again, even by the same worker',
        "UPDATE periodic_task SET marked = '2026-01-01 00:00:00.000'",
      ],
      ['was unmarked manually', 'UPDATE periodic_task SET worker = NULL, marked = NULL, mark_ends = NULL'],
    ])('a row that %s is not changed [L35]', async (_, edit) => {
      await planned(under, 's', await ago(1000))
      const marks = await mark()
      await under.query(edit)
      const before = await schedule(under, 's')
      expect(await submit(marks, never)).toEqual({
        submissions: [],
        started: [],
        locked: [],
        left: [],
        refused: [],
      })
      expect(await schedule(under, 's')).toEqual(before)
    })

    it('ignores a deleted row and submits the rest', async () => {
      const past = await ago(1000)
      await planned(under, 'a', past)
      await planned(under, 'b', past)
      const marks = await mark()
      await under.query("DELETE FROM periodic_task WHERE id = 'a'")
      const result = await submit(marks)
      expect(ids(result.submissions)).toEqual(['b'])
      expect(result).toMatchObject({ locked: [], left: [], refused: [] })
    })

    describe('if the worker has capacity', () => {
      const startLimits = (limit: number, limits: Readonly<Record<string, number>> = {}) => ({
        limit,
        tasks: policies('other', ['task', { timeout: 7000, retries: 2 }]),
        taskLimits: new Map(Object.entries(limits)),
      })
      const begin = async (
        limit: number,
        limits?: Readonly<Record<string, number>>,
        decide: Decide = submitDue,
      ) => under.store.scheduling.submit(WORKER, await mark(), decide, startLimits(limit, limits))
      const states = async () =>
        (await under.query('SELECT state FROM job ORDER BY periodic_task_id')).map((row) => row['state'])

      it('a job starts when it is submitted, as if it had been claimed', async () => {
        const slot = await ago(1000)
        await planned(under, 's', slot, { args: '{"to": "a@b"}', max_retries: 9 })
        const { started, submissions } = await begin(1)
        const policy = { ...DEFAULT_POLICY, timeout: 7000, retries: 9 }
        expect(started).toMatchObject([
          { scheduleId: 's', slot, run: 1, attempt: 1, claim: 1, worker: WORKER, state: 'running', policy },
        ])
        expect(started[0]?.args).toEqual({ to: 'a@b' })
        expect(submissions[0]?.jobs).toEqual([started[0]?.id])
        expect(await jobRow(under, started[0]?.id ?? '')).toMatchObject({
          state: 'running',
          worker: WORKER,
          attempt: 1,
          claim: 1,
          timeout: 7000,
          max_retries: 9,
        })
        expect(instant((await jobRow(under, started[0]?.id ?? ''))['started'])).toEqual(started[0]?.startedAt)
        // The slot is decided as usual, and when the run ends, the schedule is as it would be after a claim.
        expect(await schedule(under, 's')).toMatchObject({ worker: null, last_slot: toText(slot) })
        const { settled } = await write(under.store).settle(
          started.map(({ id, claim }) => ({
            fence: { id, worker: WORKER, claim },
            end: { kind: 'success', result: null },
            policy,
          })),
        )
        expect(settled).toHaveLength(1)
        expect(await schedule(under, 's')).toMatchObject({ run_count: 1 })
      })

      it('with more jobs than capacity, none starts, because the queue decides the order', async () => {
        const slot = await ago(1000)
        for (const id of ['a', 'b', 'c']) await planned(under, id, slot)
        expect((await begin(2)).started).toEqual([])
        expect(await states()).toEqual(['waiting', 'waiting', 'waiting'])
      })

      it('with more jobs of a task than its limit allows, none starts', async () => {
        const slot = await ago(1000)
        for (const id of ['a', 'b']) await planned(under, id, slot)
        await planned(under, 'c', slot, { task: 'other' })
        expect((await begin(9, { task: 1, other: 1 })).started).toEqual([])
        expect(await states()).toEqual(['waiting', 'waiting', 'waiting'])
      })

      it('a job waits if the worker does not handle its task, and the other jobs start', async () => {
        const slot = await ago(1000)
        await planned(under, 'a', slot)
        await planned(under, 'b', slot, { task: 'of somebody else' })
        expect((await begin(1)).started.map((one) => one.scheduleId)).toEqual(['a'])
        expect(await states()).toEqual(['running', 'waiting'])
      })

      it('blocked jobs stay blocked, and a skip starts nothing', async () => {
        const slot = await ago(1000)
        await planned(under, 'blocked', slot)
        await planned(under, 'skips', slot)
        await job(under, 'before', { periodic_task_id: 'skips' })
        const decide: Decide = (row, now, open) => {
          const plan = submitDue(row, now, open)
          return { ...plan, runs: plan.runs.map((run) => ({ ...run, state: 'blocked' })) }
        }
        expect((await begin(9, {}, decide)).started).toEqual([])
        expect((await states()).map(String).toSorted((a, b) => a.localeCompare(b))).toEqual([
          'blocked',
          'skipped',
          'waiting',
        ])
      })

      it('if a row must be written again on its own, the jobs of all rows wait for a claim', async () => {
        const slot = await ago(1000)
        for (const id of ['a', 'b']) await planned(under, id, slot)
        // An unrelated row already has the id of the job of schedule a.
        await job(under, occurrenceId(await uidOf(under, 'a'), slot))
        const { started, submissions } = await begin(9)
        expect(started).toEqual([])
        expect(ids(submissions)).toEqual(['a', 'b'])
        expect(await states()).toEqual(['waiting', 'waiting', 'waiting'])
      })
    })

    it('submitting the same marks twice changes nothing the second time [L1]', async () => {
      await planned(under, 's', await ago(1000))
      const marks = await mark()
      await submit(marks)
      expect(await submit(marks, never)).toEqual({
        submissions: [],
        started: [],
        locked: [],
        left: [],
        refused: [],
      })
      expect(await count(under, 'job')).toBe(1)
    })

    it.each(['waiting', 'running', 'waiting for a retry'])(
      'while a job is %s, the next slot of its schedule is skipped',
      async (state) => {
        const past = await ago(1000)
        await planned(under, 's', past)
        await planned(under, 'free', past)
        await job(under, 'active', {
          periodic_task_id: 's',
          slot: toText(after(past, -MINUTE)),
          state: state === 'running' ? 'running' : 'waiting',
          run_at: state === 'waiting for a retry' ? toText(after(past, 2 * MINUTE)) : null,
        })
        await submit(await mark())
        expect(
          await under.query(
            "SELECT state, reason, missed FROM job WHERE periodic_task_id = 's' AND id <> 'active'",
          ),
        ).toEqual([{ state: 'skipped', reason: 'overlap', missed: 1 }])
        expect(await under.query("SELECT state FROM job WHERE periodic_task_id = 'free'")).toEqual([
          { state: 'waiting' },
        ])
      },
    )

    it('500 schedules with 60 KB of args each are submitted in one batch [S10, L39]', async () => {
      const past = await ago(1000)
      const args = JSON.stringify({ text: 'ä'.repeat(30_000) })
      await planned(under, 's0', past, { args })
      for (let index = 1; index < 500; index += 1) {
        await under.query(
          `INSERT INTO periodic_task (id, task, timer, nextrun, planned_from, planned_nextrun, args) SELECT 's${index}', task, timer, nextrun, planned_from, planned_nextrun, args FROM periodic_task WHERE id = 's0'`,
        )
      }
      const marks = await mark(500)
      expect(marks).toHaveLength(500)
      const result = await submit(marks)
      expect(result.submissions).toHaveLength(500)
      expect(result.refused).toEqual([])
      expect(
        await under.query(
          'SELECT COUNT(*) AS n, COUNT(DISTINCT args) AS a, MIN(LENGTH(args)) > 30000 AS l FROM job',
        ),
      ).toEqual([{ n: 500, a: 1, l: 1 }])
      expect(await mark(500)).toEqual([])
    })
  })

  describe('a row that cannot be submitted as planned does not affect other schedules [S8, L17]', () => {
    it('a slot that already has a job is not submitted again, but the schedule advances', async () => {
      const slot = await ago(1000)
      for (const id of ['a', 'b', 'c']) await planned(under, id, slot)
      await job(under, 'mine', { periodic_task_id: 'b', slot: toText(slot), state: 'success' })
      const result = await submit(await mark())
      expect(ids(result.submissions).toSorted()).toEqual(['a', 'b', 'c'])
      expect(result.submissions.find(({ id }) => id === 'b')).toMatchObject({ jobs: [] })
      expect(result.refused).toEqual([])
      expect(await count(under, "job WHERE periodic_task_id = 'b'")).toBe(1)
      expect(await schedule(under, 'b')).toMatchObject({
        worker: null,
        last_slot: toText(slot),
        nextrun: toText(after(slot, MINUTE)),
      })
    })

    it('an unrelated job that has the id of the occurrence does not change, and the occurrence gets another id [V3, L65]', async () => {
      const slot = await ago(1000)
      for (const id of ['a', 'b', 'c']) await planned(under, id, slot)
      await job(under, occurrenceId(await uidOf(under, 'b'), slot), { task: 'foreign' })
      const { submissions } = await submit(await mark())
      expect(await jobRow(under, occurrenceId(await uidOf(under, 'b'), slot))).toMatchObject({
        task: 'foreign',
      })
      expect(await count(under, 'job')).toBe(4)
      const [id = ''] = submissions.find((one) => one.id === 'b')?.jobs ?? []
      expect(await jobRow(under, id)).toMatchObject({ periodic_task_id: 'b', slot: toText(slot) })
      expect(await mark()).toEqual([])
    })

    it('the first remaining run of a catch-up is claimable', async () => {
      const slot = await ago(1000)
      await planned(under, 's', slot)
      await job(under, 'mine', { periodic_task_id: 's', slot: toText(slot), state: 'success' })
      const runs = [0, 1, 2].map((index) => ({
        slot: after(slot, index),
        missed: 0,
        state: index === 0 ? ('waiting' as const) : ('blocked' as const),
      }))
      await submit(await mark(), (row, now, active) => ({ ...submitDue(row, now, active), runs }))
      expect(await under.query("SELECT state FROM job WHERE id <> 'mine' ORDER BY slot")).toEqual([
        { state: 'waiting' },
        { state: 'blocked' },
      ])
    })

    it('a row that cannot be written keeps its mark as a back-off', async () => {
      const slot = await ago(1000)
      for (const id of ['a', 'b', 'c']) await planned(under, id, slot)
      await under.query(refusal(under.kind, 'INSERT', 'job', "NEW.periodic_task_id = 'b'"))
      under.afterwards(() => under.query('DROP TRIGGER refuse'))
      const result = await submit(await mark())
      expect(result.refused).toMatchObject([{ item: { id: 'b' } }])
      expect(ids(result.submissions).toSorted()).toEqual(['a', 'c'])
      expect(await schedule(under, 'b')).toMatchObject({
        worker: WORKER,
        nextrun: toText(slot),
        last_slot: null,
      })
      expect(await mark()).toEqual([])
    })

    it('a row whose planning throws does not affect other rows', async () => {
      const slot = await ago(1000)
      for (const id of ['a', 'b', 'c']) await planned(under, id, slot)
      const result = await submit(await mark(), (row, now, active) => {
        if (row.id === 'b') throw new Error('cannot plan this')
        return submitDue(row, now, active)
      })
      expect(result.refused).toMatchObject([{ item: { id: 'b' } }])
      expect(ids(result.submissions).toSorted()).toEqual(['a', 'c'])
    })
  })

  describe('marks that no worker will clear', () => {
    it('stale marks of an earlier process with the same name and of lost workers are cleared; the marks of live workers stay [S2]', async () => {
      await register('w/2')
      await register('other/1')
      await register('web/eu/1')
      await marked('earlier', 'w/1')
      await marked('own', 'w/2')
      await marked('dead', 'gone/1')
      await marked('living', 'other/1')
      await marked('longer name', 'web/eu/1')
      expect(await under.store.scheduling.clearStaleMarks('w/2', LEASE_MS)).toBe(2)
      expect(await stillMarked()).toEqual(['living', 'longer name', 'own'])
      expect(await under.store.scheduling.clearStaleMarks('web/2', LEASE_MS)).toBe(0)
      expect(await schedule(under, 'dead')).toMatchObject({ worker: null, marked: null, mark_ends: null })
      expect(ids(await mark()).toSorted()).toEqual(['dead', 'earlier'])
    })

    it.each(['100%', 'a_b', 'Ünï😀', "o'neil", 'back\\slash', 'q?'])(
      'stale marks of a worker named %s are cleared',
      async (name) => {
        await register(`${name}/2`)
        await register('axb/1')
        await register('100x/1')
        await marked('earlier', `${name}/1`)
        await marked('look-alike', 'axb/1')
        await marked('another', '100x/1')
        expect(await under.store.scheduling.clearStaleMarks(`${name}/2`, LEASE_MS)).toBe(1)
        expect(await stillMarked()).toEqual(['another', 'look-alike'])
      },
    )
  })

  describe('a mark made between the search for stale marks and their removal', () => {
    it.each([
      ['by another worker', 'other/1'],
      ['by the same worker', 'gone/1'],
    ])('%s stays', async (_, worker) => {
      await marked('s', 'gone/1')
      const later = toText(after(await clock(under), 1000))
      const { store } = await recording(under.url, async (statement) => {
        if (statement === START)
          await under.query('UPDATE periodic_task SET worker = ?, marked = ?', [worker, later])
      })
      under.afterwards(() => store.close())
      expect(await store.scheduling.clearStaleMarks(WORKER, LEASE_MS)).toBe(0)
      const row = await schedule(under, 's')
      expect(row['worker']).toBe(worker)
      expect(instant(row['marked'])).toEqual(instant(later))
    })
  })

  describe('the sweep', () => {
    it('changes nothing if everything is consistent', async () => {
      await planned(under, 's', await ago(0), {
        worker: WORKER,
        mark_ends: toText(after(await clock(under), LEASE_MS)),
      })
      await job(under, 'a', { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000', state: 'running' })
      await job(under, 'b', { periodic_task_id: 's', slot: '2026-01-02 00:00:00.000', state: 'blocked' })
      expect(await sweep()).toEqual({ repaired: [], orphans: false })
      expect(await jobRow(under, 'b')).toMatchObject({ state: 'blocked' })
    })

    it('clears marks with an end that is too far in the future', async () => {
      const far = toText(after(await clock(under), 100 * LEASE_MS))
      await planned(under, 's', await ago(0), { worker: WORKER, marked: far, mark_ends: far })
      await planned(under, 'unmarked', after(await clock(under), 100 * LEASE_MS))
      await planned(under, 'without', await ago(0), { worker: WORKER, marked: null, mark_ends: far })
      const { repaired } = await sweep()
      expect(repaired).toHaveLength(1)
      expect(repaired[0]).toContain('s')
      expect(await schedule(under, 's')).toMatchObject({ worker: null, mark_ends: null })
      expect(await schedule(under, 'without')).toMatchObject({ worker: null, mark_ends: null })
    })

    it('clears stale marks silently, and keeps the marks of live workers', async () => {
      await register('other/1')
      await marked('earlier', `${WORKER.slice(0, WORKER.indexOf('/'))}/earlier`)
      await marked('dead', 'gone/1')
      await marked('living', 'other/1')
      expect(await sweep('left by workers')).toEqual({ repaired: [], orphans: false })
      expect(await stillMarked()).toEqual(['living'])
    })

    it('always reports orphans', async () => {
      await register('other/1')
      await job(under, 'living', { state: 'running', worker: 'other/1' })
      expect(await sweep()).toEqual({ repaired: [], orphans: false })
      await marked('stale', 'gone/1')
      for (const id of ['a', 'b']) await job(under, id, { state: 'running', worker: 'gone/1' })
      expect(await sweep('left by workers')).toEqual({ repaired: [], orphans: true })
      expect(await sweep()).toEqual({ repaired: [], orphans: true })
      expect((await under.store.executing.orphans(10)).map(({ fence }) => fence.id).toSorted()).toEqual([
        'a',
        'b',
      ])
    })

    it('keeps marks with an end that is too far in the future if restricted to what lost workers have left', async () => {
      const far = toText(after(await clock(under), 100 * LEASE_MS))
      await planned(under, 's', await ago(0), { worker: WORKER, marked: far, mark_ends: far })
      expect(await sweep('left by workers')).toEqual({ repaired: [], orphans: false })
      expect(await stillMarked()).toEqual(['s'])
    })

    it('the sweep unblocks the first blocked job if no other job blocks it any longer [L36]', async () => {
      await planned(under, 's', after(await clock(under), MINUTE))
      for (const id of ['s', 'deleted']) {
        await job(under, `${id}1`, {
          periodic_task_id: id,
          slot: '2026-01-01 00:00:00.000',
          state: 'blocked',
        })
        await job(under, `${id}2`, {
          periodic_task_id: id,
          slot: '2026-01-02 00:00:00.000',
          state: 'blocked',
        })
      }
      expect((await sweep()).repaired).toHaveLength(2)
      expect(await under.query('SELECT id FROM job WHERE state = ? ORDER BY id', ['waiting'])).toEqual([
        { id: 'deleted1' },
        { id: 's1' },
      ])
      expect(await sweep()).toEqual({ repaired: [], orphans: false })
    })
  })
})
