/** A row that the database rejects costs its batch only a few extra statements, and delays no other row. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fenceOf } from '../../src/model/job.ts'
import { clock, insertAll, job, onEachStore, planned, policies, submitDue } from './conformance.ts'
import { refusal } from '../support/refusal.ts'
import { recording } from './recording.ts'

// No back-off ends during a test.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const ROWS = 32
/** Enough statements for the whole batch, both halves at each level, and the extra tries of the rejected row. */
const A_FEW = 2 * Math.log2(ROWS) + 4
const names = Array.from({ length: ROWS - 1 }, (_, index) => `good${String(index).padStart(2, '0')}`)
const sorted = (ids: readonly string[]) => ids.toSorted()

onEachStore((under) => {
  /** Imitates a trigger or a constraint that the application has added. */
  async function refuse(
    when: 'INSERT' | 'UPDATE' | 'DELETE',
    table: string,
    condition: string,
  ): Promise<void> {
    await under.query(refusal(under.kind, when, table, condition))
    under.afterwards(() => under.query('DROP TRIGGER IF EXISTS refuse'))
  }

  async function recorded() {
    const { store, statements } = await recording(under.url)
    under.afterwards(() => store.close())
    return {
      store,
      count: (start: string) => statements.filter((statement) => statement.startsWith(start)).length,
      clear: () => statements.splice(0),
    }
  }

  /** Collects the ids of rejected rows. */
  const collecting = () => {
    const refused: string[] = []
    return { refused, onRefused: (id: string) => void refused.push(id) }
  }

  it('a slot whose job is rejected is skipped as unsubmittable; once the job is accepted, a pass is a single batch again [L51, L38]', async () => {
    const { store, count, clear } = await recorded()
    const due = new Date((await clock(under)).getTime() - 1000)
    for (const id of ['bad', ...names]) await planned(under, id, due)
    await refuse('INSERT', 'job', "NEW.periodic_task_id = 'bad' AND NEW.state <> 'skipped'")
    const pass = async () => {
      clear()
      const marks = await store.scheduling.markDue('w/1', ROWS, 60_000)
      expect(marks).toHaveLength(ROWS)
      return await store.scheduling.submit('w/1', marks, submitDue)
    }
    const first = await pass()
    expect(first.refused.map(({ item }) => item.id)).toEqual(['bad'])
    expect(first.locked).toEqual([])
    expect(count('INSERT INTO `job`')).toBeLessThanOrEqual(A_FEW)
    expect(await under.query("SELECT state, reason FROM job WHERE periodic_task_id = 'bad'")).toEqual([
      { state: 'skipped', reason: 'unsubmittable' },
    ])
    expect(await under.query("SELECT COUNT(*) AS n FROM job WHERE state = 'waiting'")).toEqual([
      { n: ROWS - 1 },
    ])
    const again = async () => {
      await under.query('DELETE FROM job')
      await under.query("UPDATE periodic_task SET nextrun = '2020-01-01 00:00:00.000'")
    }
    await again()
    const second = await pass()
    expect(second.refused.map(({ item }) => item.id)).toEqual(['bad'])
    // One statement for the other rows, two for the rejected row, and one for its skip.
    expect(count('INSERT INTO `job`')).toBe(4)
    await under.query('DROP TRIGGER refuse')
    for (const inserts of [2, 1]) {
      await again()
      const { submissions, refused } = await pass()
      expect(refused).toEqual([])
      expect(submissions).toHaveLength(ROWS)
      expect(count('INSERT INTO `job`')).toBe(inserts)
    }
  })

  it('a schedule that cannot be marked is reported even if nothing else is due', async () => {
    await planned(under, 'bad', new Date((await clock(under)).getTime() - 1000))
    await refuse('UPDATE', 'periodic_task', "NEW.id = 'bad'")
    const { store } = await recorded()
    const { refused, onRefused } = collecting()
    expect(await store.scheduling.markDue('w/1', ROWS, 60_000, [], onRefused)).toEqual([])
    expect(refused).toEqual(['bad'])
  })

  it('a job that cannot be claimed does not affect other jobs [L51]', async () => {
    const { store, count, clear } = await recorded()
    for (const id of ['bad', ...names]) await job(under, id)
    await refuse('UPDATE', 'job', "NEW.id = 'bad'")
    const { refused, onRefused } = collecting()
    const claim = () => store.executing.claim('w/1', policies('task'), ROWS, '', { onRefused })
    expect(sorted((await claim()).map(({ id }) => id))).toEqual(names)
    expect(refused).toEqual(['bad'])
    expect(count('UPDATE `job`')).toBeLessThanOrEqual(A_FEW)
    clear()
    await job(under, 'later')
    expect((await claim()).map(({ id }) => id)).toEqual(['later'])
    expect(count('UPDATE `job`')).toBe(1)
    expect(await under.query("SELECT state FROM job WHERE id = 'bad'")).toEqual([{ state: 'waiting' }])
  })

  it('a claim that is split in half takes at most as many jobs without retries as can start now', async () => {
    const { store } = await recorded()
    for (const id of ['bad', ...names]) await job(under, id, { max_retries: 0 })
    await refuse('UPDATE', 'job', "NEW.id = 'bad'")
    const cursor = { turns: [], hasLeftOut: false }
    const jobs = await store.executing.claim('w/1', policies('task'), 5, '', { ahead: ROWS - 5, cursor })
    expect(jobs).toHaveLength(5)
    expect(cursor).toEqual({ turns: [], hasLeftOut: true })
  })

  it('many jobs can be left out, even if they belong to several tasks in one group', async () => {
    const { store } = await recorded()
    const tasks = Array.from({ length: 8 }, (_, index) => `task${index}`)
    for (const task of tasks) await job(under, `good ${task}`, { task })
    const [one] = await store.executing.claim('w/1', policies(...tasks), 1, '')
    if (one === undefined) throw new Error('not claimed')
    for (let index = 0; index < 5000; index += 1)
      store.executing.leaveOut({ ...one, id: `bad${index}`, task: tasks[index % 8] ?? '' })
    expect(await store.executing.claim('w/1', policies(...tasks), 8, '')).toHaveLength(7)
  })

  it.each([
    ['the only one of its group', 300, 1, 'z'],
    ['in another group', 300, 2, 'z'],
    ['in one of these groups', 300, 2, 'g150'],
    ['in a group with many tasks', 2, 100, 'g000'],
  ])('jobs that are left out do not delay a job %s', async (_, groups, tasks, ofGood) => {
    const { store } = await recorded()
    const text = (index: number) => String(index).padStart(3, '0')
    const names = [...Array.from({ length: tasks }, (__, index) => `t${text(index)}`), 'last']
    const claim = (limit: number) => store.executing.claim('w/1', policies(...names), limit, '')
    for (let group = 0; group < groups; group += 1)
      await insertAll(
        under,
        'job',
        names.slice(0, -1).map((task) => ({ id: `bad ${group} ${task}`, task, group_: `g${text(group)}` })),
      )
    for (let jobs = await claim(200); jobs.length > 0; jobs = await claim(200))
      for (const one of jobs) store.executing.leaveOut(one)
    expect(store.setAside()).toHaveLength(groups * tasks)
    await under.query("UPDATE job SET state = 'waiting', worker = NULL, started = NULL")
    await job(under, 'good', { task: 'last', group_: ofGood })
    expect((await claim(1)).map(({ id }) => id)).toEqual(['good'])
  })

  it('if the database rejects every log line, a pass takes only a few statements, and the lines behind them are written after a few passes', async () => {
    const { store, count, clear } = await recorded()
    await refuse('INSERT', 'job_log', "NEW.message = 'bad'")
    const at = new Date(0)
    const line = (message: string) => ({ jobId: 'j', at, level: 'info' as const, message })
    const lines = [...Array.from({ length: 500 }, () => line('bad')), line('good')]
    await expect(store.executing.appendLogs(lines)).rejects.toThrow(/rejected all 3 rows/)
    expect(count('INSERT INTO `job_log`')).toBeLessThanOrEqual(2 * Math.log2(lines.length) + 4)
    clear()
    for (let pass = 0; pass < 4; pass += 1) await store.executing.appendLogs(lines).catch(() => undefined)
    expect(await under.query('SELECT message FROM job_log')).toEqual([{ message: 'good' }])
  })

  it('if the user may not insert log lines, a pass takes one statement and drops no line', async () => {
    // SQLite has no users.
    if (under.kind === 'sqlite') return
    const text = "INSERT command denied to user 'app'@'localhost' for table `db`.`job_log`"
    const denied = Object.assign(new Error(text), { errno: 1142 })
    let inserts = 0
    const { store } = await recording(under.url, async (statement) => {
      if (!statement.startsWith('INSERT INTO `job_log`')) return
      inserts += 1
      throw denied
    })
    under.afterwards(() => store.close())
    const lines = Array.from({ length: 500 }, (_, index) => ({
      jobId: `j${index}`,
      at: new Date(0),
      level: 'info' as const,
      message: 'text',
    }))
    for (let pass = 1; pass < 4; pass += 1) {
      await expect(store.executing.appendLogs(lines)).rejects.toThrow('denied')
      expect(inserts).toBe(pass)
    }
  })

  it('jobs that cannot be removed do not keep other jobs, or other schedules, from being pruned', async () => {
    const { store } = await recorded()
    const ids = Array.from(
      { length: 700 },
      (_, index) => `${index < 600 ? 'bad' : 'good'}${String(index).padStart(3, '0')}`,
    )
    await insertAll(
      under,
      'job',
      ids.map((id) => ({ id, task: 'task', state: 'success', finished: '2020-01-01 00:00:00.000' })),
    )
    await refuse('DELETE', 'job', "OLD.id LIKE 'bad%'")
    expect(await store.retention.prune({ ageMs: 1000, perSchedule: 1 }, 500)).toBe(100)
    expect(await store.retention.prune({ ageMs: 1000, perSchedule: 1 }, 500)).toBe(0)
    expect(await under.query('SELECT COUNT(*) AS n FROM job')).toEqual([{ n: 600 }])
    expect(store.setAside()).toHaveLength(600)
    await under.query('DROP TRIGGER refuse')
    vi.advanceTimersByTime(600_000)
    await store.retention.prune({ ageMs: 1000, perSchedule: 1 }, 1000)
    expect([await under.query('SELECT id FROM job'), store.setAside()]).toEqual([[], []])
  })

  it('jobs behind more rejected jobs than a process remembers are pruned', async () => {
    // The limit does not depend on the database.
    if (under.kind !== 'sqlite') return
    const { store } = await recorded()
    const old = (id: string, second: number) => ({
      id,
      task: 'task',
      state: 'success',
      finished: `2020-01-01 00:${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}.000`,
    })
    for (let part = 0; part < 11; part += 1)
      await insertAll(
        under,
        'job',
        Array.from({ length: 470 }, (_, index) => old(`bad${part}-${index}`, 100 * part + (index % 100))),
      )
    await insertAll(
      under,
      'job',
      Array.from({ length: 20 }, (_, index) => old(`good${index}`, 1200 + index)),
    )
    await refuse('DELETE', 'job', "OLD.id LIKE 'bad%'")
    expect(await store.retention.prune({ ageMs: 1000, perSchedule: 1 }, 500)).toBe(20)
    expect(await under.query("SELECT id FROM job WHERE id LIKE 'good%'")).toEqual([])
  })

  describe('a pause that cancels jobs, of which the database rejects one', () => {
    const states = async () =>
      (await under.query('SELECT id, state FROM job ORDER BY id')).map(({ state }) => state)
    it.each([
      [
        'the others wait for it',
        [{ attempt: 1, run_at: '2090-01-01 00:00:00.000' }, { state: 'blocked' }, { state: 'blocked' }],
      ],
      ['the others are claimable', [{}, { state: 'blocked' }, { state: 'blocked' }]],
    ])('cancels the others, and makes none claimable: %s', async (_, jobs) => {
      await planned(under, 's', null, { overlap: 'queue-one' })
      for (const [index, columns] of jobs.entries())
        await job(under, ['a', 'b', 'bad'][index] ?? '', { periodic_task_id: 's', ...columns })
      await refuse('UPDATE', 'job', "OLD.id = 'bad'")
      const store = await under.another()
      await store.schedules.pause('s', { reason: null, jobs: 'cancel' })
      expect(await states()).toEqual(['cancelled', 'cancelled', 'blocked'])
      expect(store.setAside()).toMatchObject([{ id: 'bad' }])
    })
  })

  it('blocked jobs without a schedule do not keep each other from being unblocked', async () => {
    for (const id of ['bad', 'c', 'd'])
      await job(under, id, { state: 'blocked', periodic_task_id: id, periodic_task_uid: null })
    await refuse('UPDATE', 'job', "OLD.id = 'bad'")
    const store = await under.another()
    await store.scheduling.sweep('w/1', 60_000, 'everything')
    expect(await under.query("SELECT id FROM job WHERE state = 'waiting' ORDER BY id")).toEqual([
      { id: 'c' },
      { id: 'd' },
    ])
    expect(await store.jobs.get('c')).not.toHaveProperty('scheduleDeleted')
  })

  it('rows of different tables with the same id are named separately', async () => {
    await planned(under, 'same', null, {
      worker: 'gone/1',
      marked: '2020-01-01 00:00:00.000',
      mark_ends: '2090-01-01 00:00:00.000',
    })
    await job(under, 'same', { state: 'success', finished: '2020-01-01 00:00:00.000' })
    await refuse('UPDATE', 'periodic_task', "OLD.id = 'same'")
    const store = await under.another()
    await store.scheduling.sweep('w/1', 60_000, 'everything')
    await under.query('DROP TRIGGER refuse')
    await refuse('DELETE', 'job', "OLD.id = 'same'")
    await store.retention.prune({ ageMs: 1000, perSchedule: 1 }, 500)
    expect(store.setAside().map(({ problem }) => problem.split(' (')[0])).toEqual([
      "cannot end the mark of the schedule 'same'",
      "cannot remove the old job 'same'",
    ])
  })

  it('if the database rejects every row, a pass takes only a few statements, and no row is blamed', async () => {
    const { store, count, clear } = await recorded()
    const due = new Date((await clock(under)).getTime() - 1000)
    for (const id of names) {
      await planned(under, id, due)
      await job(under, id)
      await job(under, `later ${id}`, { run_at: '2020-01-01 00:00:00.000' })
    }
    const { refused, onRefused } = collecting()
    const few = async (statement: string, work: () => Promise<unknown>) => {
      clear()
      await expect(work()).rejects.toThrow(/rejected all 3 rows/)
      expect(count(statement)).toBeLessThanOrEqual(A_FEW)
      expect(refused).toEqual([])
    }
    await refuse('UPDATE', 'job', '1 = 1')
    await few('UPDATE `job`', () => store.executing.promoteDue(ROWS))
    await few('UPDATE `job`', () => store.executing.claim('w/1', policies('task'), ROWS, '', { onRefused }))
    await under.query('DROP TRIGGER refuse')
    await refuse('UPDATE', 'periodic_task', '1 = 1')
    await few('UPDATE `periodic_task`', () => store.scheduling.markDue('w/1', ROWS, 60_000, [], onRefused))
    await under.query('DROP TRIGGER refuse')
    const marks = await store.scheduling.markDue('w/1', ROWS, 60_000, [], onRefused)
    await refuse('INSERT', 'job', "NEW.state = 'waiting'")
    await few('INSERT INTO `job`', () => store.scheduling.submit('w/1', marks, submitDue))
    expect(await under.query("SELECT id FROM job WHERE state = 'skipped'")).toEqual([])
    await under.query('DROP TRIGGER refuse')
    const { submissions, refused: none } = await store.scheduling.submit('w/1', marks, submitDue)
    expect([submissions.length, none.length]).toEqual([names.length, 0])
  })

  it('a thousand rejected jobs at the head of the queue do not delay other jobs', async () => {
    const { store, count, clear } = await recorded()
    await refuse('UPDATE', 'job', 'NEW.priority = 1')
    const ids = Array.from({ length: 1000 }, (_, index) => `bad${String(index).padStart(4, '0')}`)
    await Promise.all(ids.map((id) => job(under, id, { priority: 1 })))
    await job(under, 'good')
    const { refused, onRefused } = collecting()
    const claim = () => store.executing.claim('w/1', policies('task'), 200, '', { onRefused })
    let passes = 0
    let claimed: readonly string[] = []
    while (claimed.length === 0 && passes < 20) {
      passes += 1
      claimed = (await claim().catch(() => [])).map(({ id }) => id)
    }
    expect(claimed).toEqual(['good'])
    expect(sorted(refused)).toEqual(ids)
    // If all rows of a batch are rejected, the server may be at fault, so the first four batches blame no row.
    expect(passes).toBeLessThanOrEqual(4 + 1000 / 200 + 1)
    for (const id of ['second', 'third']) {
      clear()
      await job(under, id)
      expect((await claim()).map((one) => one.id)).toEqual([id])
      expect(count('UPDATE `job`')).toBe(1)
    }
    expect(store.setAside()).toHaveLength(1000)
  })

  describe('the outcome of an attempt', () => {
    async function ended(bad: (of: string) => boolean) {
      const { store, count, clear } = await recorded()
      for (const id of ['bad', ...names]) await job(under, id)
      const jobs = await store.executing.claim('w/1', policies('task'), ROWS, '')
      const ends = jobs.map((of) => ({
        fence: fenceOf(of),
        job: of,
        end: { kind: 'success', result: JSON.stringify(bad(of.id) ? 'bad' : 'good') } as const,
        policy: of.policy,
      }))
      clear()
      return { store, count, clear, ends }
    }

    it('an attempt whose result is rejected fails, and does not affect other outcomes', async () => {
      const { store, count, ends } = await ended((id) => id === 'bad')
      await refuse('UPDATE', 'job', 'NEW.result = \'"bad"\'')
      const { settled, refused } = await store.executing.settle(ends)
      expect([settled.length, refused.length]).toEqual([ROWS, 0])
      expect(count('UPDATE `job`')).toBeLessThanOrEqual(A_FEW)
      expect(await under.query("SELECT id, error FROM job WHERE state = 'failed'")).toEqual([
        { id: 'bad', error: 'The result of the run could not be stored: refused' },
      ])
    })

    it('an outcome that is rejected even without its result and error is returned and tried last, and its job is not treated as an orphan for now', async () => {
      const { store, count, clear, ends } = await ended(() => false)
      await refuse('UPDATE', 'job', "NEW.id = 'bad'")
      const first = await store.executing.settle(ends)
      expect(sorted(first.settled.map(({ id }) => id))).toEqual(names)
      expect(first.refused.map(({ item }) => item.fence.id)).toEqual(['bad'])
      expect(await store.executing.orphans(10)).toHaveLength(1)
      const orphans = await store.executing.settle(await store.executing.orphans(10), true)
      expect([orphans.refused.length, await store.executing.orphans(10)]).toEqual([1, []])
      expect(store.setAside()).toHaveLength(1)
      await job(under, 'later')
      const [later] = await store.executing.claim('w/1', policies('task'), 1, '')
      if (later === undefined) throw new Error('not claimed')
      const end = { kind: 'success', result: null } as const
      const more = { fence: fenceOf(later), job: later, end, policy: later.policy }
      clear()
      const second = await store.executing.settle([...first.refused.map(({ item }) => item), more])
      expect(second.settled.map(({ id }) => id)).toEqual(['later'])
      expect(second.refused.map(({ item }) => item.fence.id)).toEqual(['bad'])
      // One statement for the other outcome, and two for the rejected one: with and without its error text.
      expect(count('UPDATE')).toBeLessThanOrEqual(3)
      await under.query('DROP TRIGGER refuse')
      const third = await store.executing.settle(second.refused.map(({ item }) => item))
      expect(third.settled).toMatchObject([{ id: 'bad', outcome: { state: 'success', result: '"good"' } }])
    })
  })
})
