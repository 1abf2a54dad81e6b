/** The checker: a correct record passes, and each single fault is detected by its rule. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { check, type Rule } from '../../bench/chaos/checker/check.ts'
import type {
  EditEntry,
  FaultEntry,
  JournalEntry,
  RowText,
  RunLine,
  RunRecord,
} from '../../bench/chaos/record.ts'
import { Times } from '../../bench/chaos/checker/times.ts'
import { Imitation } from './imitation.ts'

const NOON = Date.UTC(2026, 10, 21, 12)
/** Shortly before the clocks in Europe/Berlin go forward or back. */
const NIGHTS = [
  Date.UTC(2026, 2, 29, 0, 59, 30),
  Date.UTC(2026, 9, 25, 0, 59, 30),
  Date.UTC(2026, 9, 25, 0, 30),
]

function plain(): Imitation {
  const run = new Imitation({ begin: NOON, runMs: { slow: 1800, long: 4700 } })
  run.add('canary-1', { timer: '*:*:*', overlap: 'allow', catch_up: 1000 })
  run.add('every', { timer: 'every 1500ms', overlap: 'allow', catch_up: 5 })
  run.add('slow', { timer: '*:*:*', task: 'slow' })
  run.add('finish', { timer: 'every 1s after finish', task: 'slow' })
  run.add('long', { timer: '*:*:*', task: 'long' })
  run.add('fails', { timer: '*:*:0/5', task: 'throw' })
  return run
}

function goodRecord(): RunRecord {
  const run = plain()
  run.add('edit-1', { timer: '*:*:*', overlap: 'allow', catch_up: 5 })
  run.add('edit-2', { timer: '*:*:*', task: 'slow', overlap: 'skip' })
  run.pass(10_000)
  run.edit('edit-1', { timer: '*:*:0/2', args: '{"by":"hand"}' })
  run.edit('edit-2', { nextrun: '2000-01-01 00:00:00.000' })
  run.pass(8000)
  run.edit('edit-1', { enabled: 0 })
  run.pass(5000)
  run.outage(9000)
  run.edit('edit-1', { enabled: 1 })
  run.pass(10_000)
  run.prune('edit-1')
  run.edit('edit-1', ({ last_slot }) => ({ nextrun: last_slot ?? null }))
  run.pass(10_000)
  return run.end()
}

const rulesOf = (record: RunRecord) => [...new Set(check(record).violations.map(({ rule }) => rule))]

describe('a correct record passes', () => {
  it('a record with edits, an outage and a prune passes', () => {
    const { violations, tally } = check(goodRecord())
    expect(violations).toEqual([])
    expect(tally).toMatchObject({ schedules: 8, edits: 5 })
    expect(tally.occurrences).toBeGreaterThan(200)
    expect(tally.pruned).toBeGreaterThan(5)
    expect(tally.skipped['overlap']).toBeGreaterThan(10)
    expect(tally.skipped['missed']).toBeGreaterThan(0)
  })

  it('a record passes if `created` is moved into the future after nextrun was set manually', () => {
    const run = new Imitation({ begin: NOON })
    run.add('every', { timer: 'every 7s', overlap: 'allow' })
    run.pass(4000)
    run.edit('every', { nextrun: new Date(run.now - 5000).toISOString().replace('T', ' ').slice(0, 23) })
    run.edit('every', { created: new Date(run.now + 3000).toISOString().replace('T', ' ').slice(0, 23) })
    run.pass(600)
    run.edit('every', { catch_up: 5 })
    run.pass(9000)
    expect(check(run.end()).violations).toEqual([])
  })

  it.each([-900, -9, 0, 9, 740, 900])(
    'a record passes if an edit of `created` moves the slots of a schedule by %i ms',
    (ms) => {
      const run = new Imitation({ begin: NOON })
      for (const offset of [0, 250, 500, 750, 1000, 1250]) {
        const created = new Date(NOON - 20_000 + offset).toISOString().replace('T', ' ').slice(0, 23)
        run.add(`every-${offset}`, { timer: 'every 1500ms', overlap: 'allow', catch_up: 5, created })
      }
      run.pass(4000)
      for (const offset of [0, 250, 500, 750, 1000, 1250]) {
        if (offset > 1000) run.pass(600)
        const created = new Date(NOON - 20_000 + offset + ms).toISOString().replace('T', ' ').slice(0, 23)
        run.edit(`every-${offset}`, { created })
        if (offset > 1000) run.edit(`every-${offset}`, { args: '{"by":"hand"}' })
      }
      run.pass(600)
      run.edit('every-0', { created: new Date(run.now + 3000).toISOString().replace('T', ' ').slice(0, 23) })
      run.pass(8000)
      expect(check(run.end()).violations).toEqual([])
    },
  )

  it('a record passes if a job of a deleted schedule runs at the same time as jobs of another schedule with the same id', () => {
    const run = new Imitation({ begin: NOON, runMs: { slow: 8000 } })
    const columns = { task: 'slow', timer: '*:*:0/5' }
    run.add('edit-1', columns)
    run.pass(7000)
    run.edit('edit-1', 'delete')
    run.edit('edit-1', { ...columns, task: 'tick' })
    run.pass(20_000)
    const record = run.end()
    expect(rulesOf(record)).toEqual([])
    const [uid] = record.schedules.map((row) => row['uid'] ?? null)
    const ofOne = record.jobs.map((job) => ({ ...job, periodic_task_uid: uid ?? null }))
    expect(rulesOf({ ...record, jobs: ofOne })).toContain('together')
  })

  it('a record passes if a job was deleted before it ended', () => {
    const record = goodRecord()
    const before = {
      ...record.jobs[0],
      id: 'by-hand',
      periodic_task_id: null,
      slot: null,
      state: 'waiting',
      claim: 0,
    }
    const deletion: JournalEntry = {
      kind: 'edit',
      table: 'job',
      id: 'by-hand',
      columns: 'delete',
      before,
      row: null,
      from: NOON,
      until: NOON,
      host: NOON,
      mono: 0,
    }
    expect(rulesOf({ ...record, jobs: [...record.jobs, before] })).toEqual(['unfinished'])
    expect(rulesOf({ ...record, journal: [...record.journal, deletion] })).toEqual([])
  })

  it('a record passes if the application queue contains exactly the jobs that were handed over', () => {
    const record = goodRecord()
    const jobs = record.jobs.map((job) =>
      job['state'] === 'skipped' || job['task'] !== 'tick' ? job : { ...job, queue: 'external' },
    )
    const queue = jobs.flatMap(({ id = '', queue: of }) =>
      of === 'external' ? [{ id, schedule: 's', state: 'taken' }] : [],
    )
    expect(queue.length).toBeGreaterThan(20)
    expect(rulesOf({ ...record, jobs, queue })).toEqual([])
    expect(rulesOf({ ...record, jobs, queue: queue.slice(1) })).toEqual(['lost'])
    expect(
      rulesOf({ ...record, jobs, queue: [...queue, { id: 'x', schedule: null, state: 'new' }] }),
    ).toEqual(['doubled'])
  })

  /** A worker was stopped for 6 s, in which another one ran its job; then it started these many of its jobs. */
  const startedLate = (count: number, hit: string): RunRecord => {
    const record = goodRecord()
    const jobs = record.jobs.filter(({ periodic_task_id: id }) => id === 'canary-1').slice(10, 10 + count)
    const ids = new Set(jobs.map(({ id }) => id))
    const lines = record.runs.filter(({ job }) => ids.has(job))
    const [first] = lines.toSorted((a, b) => a.mono - b.mono)
    if (first === undefined) throw new Error('no line')
    const late = lines
      .filter(({ event }) => event === 'start')
      .map((line, index) => ({ ...line, worker: 'w9/1', mono: first.mono + 6000 + index }))
    const host = new Times(record.journal).hostOfMono(first.mono)
    const stop: FaultEntry = {
      kind: 'fault',
      name: 'worker.stop',
      from: host - 500,
      until: host + 6000,
      hit,
      detail: '',
      trouble: null,
      seen: null,
      scope: 'worker',
      host: host + 6000,
      mono: first.mono + 6000,
    }
    return {
      ...record,
      workers: [...record.workers, { id: 'w9/1' }],
      journal: [...record.journal, stop],
      jobs: record.jobs.map((row) => (ids.has(String(row['id'])) ? { ...row, attempt: 2, claim: 2 } : row)),
      attempts: [
        ...record.attempts,
        ...late.map(({ job }) => ({ job_id: job, claim: 1, attempt: 1, worker: 'w9/1', outcome: 'lost' })),
      ],
      runs: [
        ...record.runs.map((line) => (ids.has(line.job) ? { ...line, attempt: 2 } : line)),
        {
          ...first,
          event: 'end',
          job: 'another',
          schedule: null,
          slot: null,
          worker: 'w9/1',
          mono: first.mono - 600,
        },
        ...late,
      ],
    }
  }

  it('a record passes if a worker was stopped right before the first statement of a handler, which then ran late', () => {
    const late = (record: RunRecord) => check(record).violations.filter(({ rule }) => rule === 'doubled')
    expect(late(startedLate(1, 'w9'))).toEqual([])
    expect(late(startedLate(1, 'w1'))).toHaveLength(1)
    expect(late(startedLate(2, 'w9'))).toHaveLength(1)
  })

  const startedAgain = (released: boolean): RunRecord => {
    const record = goodRecord()
    const job = record.jobs.find(({ periodic_task_id: id }) => id === 'canary-1')
    const again = (line: RunLine): RunLine[] =>
      line.job === job?.['id'] && line.event === 'start'
        ? [line, { ...line, event: 'aborted' }, { ...line, mono: line.mono + 1 }]
        : [line]
    const attempt = { job_id: job?.['id'] ?? null, claim: 1, attempt: 1, worker: 'w1/1', outcome: 'released' }
    return {
      ...record,
      jobs: record.jobs.map((row) => (row === job && released ? { ...row, claim: 2 } : row)),
      attempts: released ? [...record.attempts, attempt] : record.attempts,
      runs: record.runs
        .flatMap(again)
        .map((line) => ({ ...line, mono: line.mono + Number(line.event === 'aborted') * 0.5 })),
    }
  }

  it('a record passes if a worker lost its connection, released the job and started the same attempt again', () => {
    expect(rulesOf(startedAgain(true))).toEqual([])
    expect(rulesOf(startedAgain(false))).toEqual(['doubled'])
  })

  const timers = fc.constantFrom(
    '*:*:*',
    '*:*:* Europe/Berlin',
    '02:*:0/2 Europe/Berlin',
    '01..03:*:0/3 Europe/Berlin',
    'cron * 2 * * * Europe/Berlin',
    '*:*:0.25/1.5',
    'every 1s',
    'every 1700ms',
    'every 1s after finish',
    'cron * * * * *',
    '2026-11-21 12:00:20',
    'no timer at all',
  )
  const columns = fc.record(
    {
      timer: timers,
      enabled: fc.constantFrom(0, 1, 1, 1),
      overlap: fc.constantFrom('skip', 'queue-one', 'replace', 'allow'),
      catch_up: fc.constantFrom(0, 1, 2, 5, 1000),
      task: fc.constantFrom('tick', 'slow', 'throw'),
      jitter: fc.constantFrom(0, 700, 5000),
      max_runs: fc.constantFrom(null, 3, 20),
      on_exhausted: fc.constantFrom('continue', 'stop'),
      priority: fc.integer({ min: -5, max: 5 }),
      args: fc.constantFrom('{}', '{"n":1}', '"ß"'),
      idle: fc.constantFrom(null, 'done', 'dead'),
      run_count: fc.constant(5),
      planned_from: fc.constant(null),
    },
    { requiredKeys: [] },
  )
  const steps = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant('edit' as const), columns }) },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('nextrun' as const),
          ms: fc.option(fc.integer({ min: -5000, max: 5000 })),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          do: fc.constant('last slot' as const),
          ms: fc.option(fc.integer({ min: -5000, max: 3000 })),
        }),
      },
      { weight: 1, arbitrary: fc.constant({ do: 'set back unseen' as const }) },
      { weight: 1, arbitrary: fc.constant({ do: 'prune' as const }) },
      { weight: 1, arbitrary: fc.constant({ do: 'again' as const }) },
      {
        weight: 4,
        arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 15_000 }) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant('outage' as const), ms: fc.integer({ min: 1, max: 40_000 }) }),
      },
    ),
    { minLength: 1, maxLength: 12 },
  )

  it('a record with any number of random edits passes', () => {
    fc.assert(
      fc.property(columns, steps, fc.constantFrom(NOON, ...NIGHTS), (first, played, begin) => {
        const run = new Imitation({ begin, runMs: { slow: 1800, throw: 300 } })
        run.add('edit-x', first)
        for (const step of played) play(run, step)
        run.pass(12_000)
        expect(check(run.end()).violations).toEqual([])
      }),
      // A fixed seed, so that results before and after a change are comparable. A known limitation: with seed
      // 468726416, the checker reports a lost slot, because last_slot is moved and nextrun is then set back with a
      // forged planned_nextrun.
      { numRuns: 500, seed: Number(process.env['KALENDS_TEST_SEED'] ?? 20261121) },
    )
  })

  type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never

  function play(run: Imitation, step: Step): void {
    const at = (ms: number | null) =>
      ms === null ? null : new Date(run.now + ms).toISOString().replace('T', ' ').slice(0, 23)
    switch (step.do) {
      case 'edit':
        return run.edit('edit-x', step.columns)
      case 'nextrun':
        return run.edit('edit-x', { nextrun: at(step.ms) })
      case 'last slot':
        return run.edit('edit-x', { last_slot: at(step.ms) })
      case 'set back unseen':
        return run.edit('edit-x', ({ last_slot: slot, definition }) => ({
          nextrun: slot ?? null,
          planned_from: definition ?? null,
          planned_nextrun: slot ?? null,
        }))
      case 'prune':
        return run.prune('edit-x')
      case 'again':
        run.edit('edit-x', 'delete')
        run.pass(500)
        return run.edit('edit-x', { timer: '*:*:*', task: 'tick' })
      case 'pass':
        return run.pass(step.ms)
      case 'outage':
        return run.outage(step.ms)
    }
  }
})

describe('detects a record with one fault:', () => {
  const good = goodRecord()
  type Spoiler = (record: RunRecord) => RunRecord

  const rowsOf = (id: string) => good.jobs.filter((job) => job['periodic_task_id'] === id)
  const middle = (id: string): RowText => {
    const rows = rowsOf(id).toSorted((a, b) => String(a['slot']).localeCompare(String(b['slot'])))
    const row = rows[Math.min(6, rows.length - 2)]
    if (row === undefined) throw new Error(`no job of ${id}`)
    return row
  }
  const later = (value: RowText[string] | undefined, ms: number) =>
    new Date(Date.parse(`${String(value).replace(' ', 'T')}Z`) + ms)
      .toISOString()
      .replace('T', ' ')
      .slice(0, 23)
  const changed =
    (job: RowText, columns: RowText | null): Spoiler =>
    (record) => ({
      ...record,
      jobs: record.jobs.flatMap((row) =>
        row['id'] !== job['id'] ? [row] : columns === null ? [] : [{ ...row, ...columns }],
      ),
    })
  const scheduled =
    (id: string, columns: (row: RowText) => RowText): Spoiler =>
    (record) => ({
      ...record,
      schedules: record.schedules.map((row) => (row['id'] === id ? { ...row, ...columns(row) } : row)),
    })
  const without =
    (job: RowText): Spoiler =>
    (record) => ({
      ...scheduled(String(job['periodic_task_id']), (row) => ({ run_count: Number(row['run_count']) - 1 }))(
        changed(job, null)(record),
      ),
      runs: record.runs.filter((line) => line.job !== job['id']),
    })
  const edits = (record: RunRecord, columns: (edit: EditEntry) => Partial<EditEntry>): RunRecord => ({
    ...record,
    journal: record.journal.map(
      (entry): JournalEntry => (entry.kind === 'edit' ? { ...entry, ...columns(entry) } : entry),
    ),
  })
  const skip = () => {
    const row = good.jobs.find((job) => job['reason'] === 'overlap' && job['periodic_task_id'] === 'long')
    if (row === undefined) throw new Error('no skip')
    return row
  }

  const spoilers: readonly (readonly [string, Rule, Spoiler])[] = [
    [
      'two rows with the same id for one occurrence',
      'doubled',
      (record) => ({ ...record, jobs: [...record.jobs, middle('canary-1')] }),
    ],
    [
      'a slot that is decided again after its job was pruned',
      'doubled',
      (record) => ({
        ...record,
        journal: [...record.journal, { kind: 'prune', jobs: [middle('canary-1')], host: 0, mono: 0 }],
      }),
    ],
    [
      'an attempt that two workers started and one of them ended',
      'doubled',
      (record) => ({
        ...record,
        runs: record.runs.flatMap((line) =>
          line.job === middle('canary-1')['id'] && line.event === 'end'
            ? [line, { ...line, event: 'start', mono: line.mono + 1, worker: 'w2/1' }]
            : [line],
        ),
      }),
    ],
    ['a slot that was never decided', 'lost', without(middle('canary-1'))],
    ['an interval slot that was never decided', 'lost', without(middle('every'))],
    [
      'a skip that counts one slot too few',
      'lost',
      changed(skip(), { missed: Number(skip()['missed']) - 1 }),
    ],
    [
      'a skip that counts one slot too many',
      'doubled',
      changed(skip(), { missed: Number(skip()['missed']) + 1 }),
    ],
    [
      'a schedule that does not continue after it was resumed',
      'lost',
      (record) => {
        const last = record.journal.findLast(
          (entry) => entry.kind === 'edit' && entry.columns !== 'delete' && entry.columns['enabled'] === 1,
        )
        const at = last?.kind === 'edit' ? last.from : 0
        const isLater = (job: RowText) =>
          job['periodic_task_id'] === 'edit-1' && Date.parse(`${String(job['slot']).replace(' ', 'T')}Z`) > at
        return {
          ...record,
          // Removes later edits of the schedule, and its later jobs from all prunes.
          journal: record.journal
            .filter((entry) => !(entry.kind === 'edit' && entry.id === 'edit-1' && entry.from > at))
            .map((entry) =>
              entry.kind === 'prune' ? { ...entry, jobs: entry.jobs.filter((job) => !isLater(job)) } : entry,
            ),
          jobs: record.jobs.filter((job) => !isLater(job)),
          runs: record.runs.filter((line) => line.schedule !== 'edit-1' || (line.slot ?? 0) <= at),
          schedules:
            last?.kind !== 'edit'
              ? []
              : record.schedules.map((row) => (row['id'] === 'edit-1' ? { ...last.row, enabled: 0 } : row)),
        }
      },
    ],
    [
      'a slot that was due before the timer was edited and was never decided',
      'lost',
      changed(middle('edit-1'), { slot: later(middle('edit-1')['slot'], 1) }),
    ],
    [
      'a submission before its slot',
      'early',
      changed(middle('canary-1'), { submitted: later(middle('canary-1')['slot'], -1) }),
    ],
    [
      'a start before the submission',
      'early',
      changed(middle('canary-1'), { started: later(middle('canary-1')['submitted'], -3000) }),
    ],
    [
      'a handler that starts before the slot',
      'early',
      (record) => ({
        ...record,
        runs: record.runs.map((line) =>
          line.job === middle('canary-1')['id'] ? { ...line, mono: line.mono - 2000 } : line,
        ),
      }),
    ],
    [
      'a slot that is submitted after a later one',
      'backwards',
      changed(middle('canary-1'), {
        submitted: later(middle('canary-1')['submitted'], 3000),
        started: later(middle('canary-1')['submitted'], 3000),
        finished: later(middle('canary-1')['submitted'], 3000),
      }),
    ],
    ['a run that records too many missed slots', 'missed', changed(middle('canary-1'), { missed: 1 })],
    [
      'a skip for overlap although overlaps are allowed',
      'missed',
      (record) => ({
        ...edits(record, () => ({})),
        journal: record.journal.map((entry) =>
          entry.kind === 'schedule' && entry.id === 'slow'
            ? { ...entry, columns: { ...entry.columns, overlap: 'allow' } }
            : entry,
        ),
        jobs: record.jobs.map((job) => (job['periodic_task_id'] === 'slow' ? { ...job, exclusive: 0 } : job)),
      }),
    ],
    [
      'a run that starts while another is running',
      'together',
      changed(middle('slow'), { finished: later(middle('slow')['finished'], 30_000) }),
    ],
    [
      'a handler that starts while another is running',
      'together',
      (record) => {
        const runs = rowsOf('slow')
          .filter((job) => job['state'] === 'success')
          .toSorted((a, b) => String(a['slot']).localeCompare(String(b['slot'])))
        const [first, second] = runs
        const end = record.runs.find((line) => line.job === first?.['id'] && line.event === 'end')
        return {
          ...record,
          runs: record.runs.map((line) =>
            line.job === second?.['id'] && line.event === 'start' && end !== undefined
              ? { ...line, mono: end.mono - 1 }
              : line,
          ),
        }
      },
    ],
    [
      'a success before its handler has ended',
      'zombie',
      (record) => ({
        ...record,
        runs: record.runs.map((line) =>
          line.job === middle('canary-1')['id'] && line.event === 'end'
            ? { ...line, mono: line.mono + 5000 }
            : line,
        ),
      }),
    ],
    [
      'a handler that continues after another worker started the next attempt',
      'zombie',
      (record) => ({
        ...changed(middle('canary-1'), { attempt: 2, worker: 'w2/1' })(record),
        runs: record.runs.flatMap((line) => {
          if (line.job !== middle('canary-1')['id']) return [line]
          const other = { ...line, mono: line.mono + 1, worker: 'w2/1', attempt: 2 }
          return line.event === 'start' ? [line, other] : [other, { ...line, mono: line.mono + 60_000 }]
        }),
      }),
    ],
    [
      'a mark that remains',
      'mark',
      scheduled('canary-1', () => ({
        worker: 'w9/1',
        marked: '2026-11-21 12:00:00.000',
        mark_ends: '2026-11-21 12:00:04.000',
      })),
    ],
    [
      'a mark that is longer than the lease',
      'mark',
      (record) =>
        edits(record, ({ before }) => ({
          before: before && {
            ...before,
            worker: 'w1/1',
            marked: '2026-11-21 12:00:00.000',
            mark_ends: '2026-11-21 12:01:00.000',
          },
        })),
    ],
    [
      'a worker that is registered twice',
      'mark',
      (record) => ({ ...record, workers: [{ id: 'w1/1' }, { id: 'w1/2' }] }),
    ],
    [
      'a counter that is off by one',
      'counter',
      scheduled('canary-1', (row) => ({ run_count: Number(row['run_count']) + 1 })),
    ],
    [
      'a failure that is not counted',
      'counter',
      scheduled('fails', (row) => ({ error_count: Number(row['error_count']) - 1 })),
    ],
    [
      'a last_slot that is not the last slot',
      'counter',
      scheduled('canary-1', (row) => ({ last_slot: later(row['last_slot'], -1000) })),
    ],
    [
      'a last_job that is not the last job',
      'counter',
      scheduled('canary-1', () => ({
        last_job: middle('canary-1')['id'] ?? null,
        last_run: middle('canary-1')['started'] ?? null,
        last_finished: middle('canary-1')['finished'] ?? null,
      })),
    ],
    [
      'args that the schedule did not have when the job was submitted',
      'copy',
      changed(middle('edit-1'), { args: '{"spoiled":true}' }),
    ],
    ['a wrong priority', 'copy', changed(middle('canary-1'), { priority: 1 })],
    [
      'a failed attempt that is not stored',
      'attempt',
      (record) => ({
        ...record,
        attempts: record.attempts.filter((row) => row['job_id'] !== middle('fails')['id']),
      }),
    ],
    [
      'a successful attempt that is stored',
      'attempt',
      (record) => ({
        ...record,
        attempts: [...record.attempts, { job_id: middle('canary-1')['id'] ?? null, claim: 1 }],
      }),
    ],
    ['too many deadlocks', 'deadlock', (record) => ({ ...record, deadlocks: 6 })],
    [
      'a job that never started',
      'unfinished',
      (record) => ({
        ...changed(middle('canary-1'), { state: 'waiting', claim: 0, started: null, finished: null })(
          scheduled('canary-1', (row) => ({ run_count: Number(row['run_count']) - 1 }))(record),
        ),
        runs: record.runs.filter((line) => line.job !== middle('canary-1')['id']),
      }),
    ],
    [
      'a success although the handler never ran',
      'unfinished',
      (record) => ({
        ...record,
        runs: record.runs.filter((line) => line.job !== middle('canary-1')['id']),
      }),
    ],
    ['a handler that exceeds its timeout', 'unfinished', changed(middle('long'), { timeout: 1000 })],
    ['a final failure although retries remain', 'unfinished', changed(middle('fails'), { max_retries: 2 })],
  ]

  it.each(spoilers)('%s', (_, rule, spoil) => {
    expect(rulesOf(good)).toEqual([])
    expect(rulesOf(spoil(good))).toEqual([rule])
  })

  it('the removal of any single run is detected', () => {
    const runs = good.jobs.filter((job) => job['state'] === 'success' || job['state'] === 'failed')
    const escaped = runs.filter(
      (job) =>
        !check(changed(job, null)(good)).violations.some(({ rule }) => rule === 'lost' || rule === 'counter'),
    )
    expect(escaped).toEqual([])
  })
})

describe('the order of events when the database clock changes', () => {
  const clock = (host: number, offsetMs: number): JournalEntry => ({
    kind: 'clock',
    host,
    offsetMs,
    mono: host,
  })
  // The database clock is an hour behind the harness's clock from 100 s to 110 s, and otherwise equal to it.
  const times = new Times([clock(0, 0), clock(100_000, -3_600_000), clock(110_000, 0)])
  const at = (host: number, offsetMs = 0) => ({
    from: host + offsetMs - 10,
    until: host + offsetMs,
    host,
  })

  it.each([
    ['before, if the clock was not moved', 50_000, at(60_000), -1],
    ['after, if the clock was not moved', 70_000, at(60_000), 1],
    ['during the other event', 59_995, at(60_000), 0],
    ['before, although the clock then shows an earlier time', 90_000, at(105_000, -3_600_000), -1],
    ['after, while the clock still shows an earlier time', 106_000 - 3_600_000, at(105_000, -3_600_000), 1],
    ['after, once the clock is correct again', 115_000, at(105_000, -3_600_000), 1],
    ['unknown, if the clock was moved at about the same time', 101_000, at(100_500, -3_600_000), 0],
    [
      'during the other event, with a clock that went back',
      99_700,
      { ...at(100_500, -3_600_000), from: 99_500 },
      0,
    ],
  ])('%s', (_, instant, happening, order) => {
    expect(times.order(instant, happening)).toBe(order)
  })
})

describe('a worker that starts no runs for 12 s', () => {
  const run = new Imitation({ begin: NOON })
  run.add('only-w1', { timer: '*:*:*' })
  run.pass(60_000)
  const record = run.end()
  const begin = record.journal[0]?.host ?? 0
  const { mono: beginMono = 0 } = record.journal[0] ?? {}
  const isStopped = ({ mono }: RunLine) => mono > beginMono + 20_000 && mono < beginMono + 32_000
  const stopped = { ...record, runs: record.runs.filter((line) => !isStopped(line)) }

  const stalledWith = (fault: Partial<FaultEntry>) => {
    const entry: FaultEntry = {
      kind: 'fault',
      name: 'locks.row-worker',
      from: begin + 19_000,
      until: begin + 31_000,
      hit: 'worker',
      detail: 'a row was locked',
      trouble: null,
      seen: null,
      scope: 'single',
      host: begin + 31_000,
      mono: beginMono + 31_000,
      ...fault,
    }
    const { violations } = check({ ...stopped, journal: [...record.journal, entry] })
    return violations.filter(({ rule }) => rule === 'stalled').map(({ text }) => text)
  }
  const rows = { schedules: ['another'], jobs: ['another'] }

  it.each([
    ['another worker', { reach: { workers: ['w2'], rows } }],
    ['another worker and the rows that it held', { reach: { workers: ['w2'] } }],
    ['rows', { reach: { workers: [], rows } }],
    ['only edited schedules', { scope: 'rows' as const }],
    ['this worker, but ended long before', { from: begin, until: begin + 5000 }],
  ])('is reported if the fault affected %s [L80]', (_, fault) => {
    expect(stalledWith(fault)).toEqual([expect.stringMatching(/^w1 started no run for 1[12]\d{3} ms/)])
  })

  it('is reported with the faults during that time', () => {
    expect(stalledWith({ reach: { workers: ['w2'] } })).toEqual([
      expect.stringContaining('faults during that time: locks.row-worker worker (a row was locked)'),
    ])
  })

  it.each([
    ['this worker', { reach: { workers: ['w1'] } }],
    [
      'the schedule that only it runs',
      { reach: { workers: [], rows: { schedules: ['only-w1'], jobs: [] } } },
    ],
    ['everything', {}],
  ])('is not reported if the fault affected %s', (_, fault) => {
    expect(stalledWith(fault)).toEqual([])
  })

  it('a worker that starts runs is not reported', () => {
    expect(check(record).violations).toEqual([])
  })
})
