/** One row that the database refuses to write costs its batch a few statements, once, and no other row its turn. */
import { expect, it } from 'vitest'
import { SetAside } from '../../src/model/set-aside.ts'
import { clock, instant, job, onEachStore, planned, policies, submitDue } from './conformance.ts'
import { recording } from './recording.ts'

const ROWS = 32
/** Both halves of each half that has it, the whole batch, and the row by itself in its own way. */
const A_FEW = 2 * Math.log2(ROWS) + 4
const names = Array.from({ length: ROWS - 1 }, (_, index) => `good${String(index).padStart(2, '0')}`)
const sorted = (ids: readonly string[]) => ids.toSorted()

onEachStore((under) => {
  /** As a trigger or a constraint of the application would. */
  async function refuse(when: 'INSERT' | 'UPDATE', table: string, condition: string): Promise<void> {
    const head = `CREATE TRIGGER refuse BEFORE ${when} ON ${table}`
    await under.query(
      under.kind === 'sqlite'
        ? `${head} WHEN ${condition} BEGIN SELECT RAISE(ABORT, 'refused'); END`
        : `${head} FOR EACH ROW BEGIN IF ${condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END`,
    )
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

  const setAside = (refused: string[] = []) =>
    new SetAside({
      firstMs: 3_600_000,
      longestMs: 3_600_000,
      most: 1000,
      now: () => 0,
      onAdded: (id) => void refused.push(id),
    })

  it('a schedule whose job is rejected gets an unsubmittable slot, and the next pass is one batch again', async () => {
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
    expect(first.failed.map(({ id }) => id)).toEqual(['bad'])
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
    expect(second.failed.map(({ id }) => id)).toEqual(['bad'])
    // The others together, the row by itself, and its skip.
    expect(count('INSERT INTO `job`')).toBe(3)
    await under.query('DROP TRIGGER refuse')
    for (const inserts of [2, 1]) {
      await again()
      const { submissions, failed } = await pass()
      expect(failed).toEqual([])
      expect(submissions).toHaveLength(ROWS)
      expect(count('INSERT INTO `job`')).toBe(inserts)
    }
  })

  it('a schedule that cannot be marked does not affect others', async () => {
    const { store, count, clear } = await recorded()
    const due = new Date((await clock(under)).getTime() - 1000)
    for (const id of ['bad', ...names]) await planned(under, id, due)
    await refuse('UPDATE', 'periodic_task', "NEW.id = 'bad'")
    const refused: string[] = []
    const aside = setAside(refused)
    const marks = await store.scheduling.markDue('w/1', ROWS, 60_000, aside)
    expect(sorted(marks.map(({ id }) => id))).toEqual(names)
    expect(refused).toEqual(['bad'])
    expect(count('UPDATE `periodic_task`')).toBeLessThanOrEqual(A_FEW)
    const { submissions } = await store.scheduling.submit('w/1', marks, submitDue)
    expect(submissions).toHaveLength(ROWS - 1)
    clear()
    expect(await store.scheduling.markDue('w/1', ROWS, 60_000, aside)).toEqual([])
    expect(count('UPDATE `periodic_task`')).toBe(0)
    expect(refused).toEqual(['bad'])
  })

  it('a schedule that cannot be marked is reported where nothing else is due', async () => {
    await planned(under, 'bad', new Date((await clock(under)).getTime() - 1000))
    await refuse('UPDATE', 'periodic_task', "NEW.id = 'bad'")
    const { store } = await recorded()
    const refused: string[] = []
    expect(await store.scheduling.markDue('w/1', ROWS, 60_000, setAside(refused))).toEqual([])
    expect(refused).toEqual(['bad'])
  })

  it('a job that cannot be claimed does not affect others', async () => {
    const { store, count, clear } = await recorded()
    for (const id of ['bad', ...names]) await job(under, id)
    await refuse('UPDATE', 'job', "NEW.id = 'bad'")
    const refused: string[] = []
    const aside = setAside(refused)
    const claim = () => store.executing.claim('w/1', policies('task'), ROWS, '', { setAside: aside })
    expect(sorted((await claim()).map(({ id }) => id))).toEqual(names)
    expect(refused).toEqual(['bad'])
    expect(count('UPDATE `job`')).toBeLessThanOrEqual(A_FEW)
    clear()
    await job(under, 'later')
    expect((await claim()).map(({ id }) => id)).toEqual(['later'])
    expect(count('UPDATE `job`')).toBe(1)
    expect(await under.query("SELECT state FROM job WHERE id = 'bad'")).toEqual([{ state: 'waiting' }])
  })

  it('a job that is set aside does not delay the groups behind its own', async () => {
    await job(under, 'bad', { group_: 'a' })
    await job(under, 'good', { group_: 'b' })
    const aside = setAside()
    aside.add('bad', new Error('refused'))
    const claimed = await under.store.executing.claim('w/1', policies('task'), 1, '', { setAside: aside })
    expect(claimed.map(({ id }) => id)).toEqual(['good'])
  })

  it('a job that cannot be made claimable does not affect others', async () => {
    const { store, count, clear } = await recorded()
    for (const id of ['bad', ...names]) await job(under, id, { run_at: '2020-01-01 00:00:00.000' })
    await refuse('UPDATE', 'job', "NEW.id = 'bad'")
    const refused: string[] = []
    const aside = setAside(refused)
    expect(await store.executing.promoteDue(ROWS, aside)).toBe(ROWS - 1)
    expect(refused).toEqual(['bad'])
    expect(count('UPDATE `job`')).toBeLessThanOrEqual(A_FEW)
    const waiting = await under.query('SELECT id, run_at FROM job WHERE run_at IS NOT NULL')
    expect(waiting.map(({ id, run_at }) => [id, instant(run_at)?.getTime()])).toEqual([
      ['bad', Date.UTC(2020)],
    ])
    clear()
    expect(await store.executing.promoteDue(ROWS, aside)).toBe(0)
    expect(count('UPDATE `job`')).toBe(0)
    expect(refused).toEqual(['bad'])
  })

  it('when the database rejects every row, a pass takes a few statements, and no row is blamed', async () => {
    const { store, count, clear } = await recorded()
    const due = new Date((await clock(under)).getTime() - 1000)
    for (const id of names) {
      await planned(under, id, due)
      await job(under, id)
      await job(under, `later ${id}`, { run_at: '2020-01-01 00:00:00.000' })
    }
    const refused: string[] = []
    const aside = setAside(refused)
    const few = async (statement: string, work: () => Promise<unknown>) => {
      clear()
      await expect(work()).rejects.toThrow(/refused all 3 rows/)
      expect(count(statement)).toBeLessThanOrEqual(A_FEW)
      expect(refused).toEqual([])
    }
    await refuse('UPDATE', 'job', '1 = 1')
    await few('UPDATE `job`', () => store.executing.promoteDue(ROWS, aside))
    await few('UPDATE `job`', () =>
      store.executing.claim('w/1', policies('task'), ROWS, '', { setAside: aside }),
    )
    await under.query('DROP TRIGGER refuse')
    await refuse('UPDATE', 'periodic_task', '1 = 1')
    await few('UPDATE `periodic_task`', () => store.scheduling.markDue('w/1', ROWS, 60_000, aside))
    await under.query('DROP TRIGGER refuse')
    const marks = await store.scheduling.markDue('w/1', ROWS, 60_000, aside)
    await refuse('INSERT', 'job', "NEW.state = 'waiting'")
    await few('INSERT INTO `job`', () => store.scheduling.submit('w/1', marks, submitDue))
    expect(await under.query("SELECT id FROM job WHERE state = 'skipped'")).toEqual([])
    await under.query('DROP TRIGGER refuse')
    const { submissions, failed } = await store.scheduling.submit('w/1', marks, submitDue)
    expect([submissions.length, failed.length]).toEqual([names.length, 0])
  })

  it('a good row behind many bad ones is processed after a few passes', async () => {
    const { store } = await recorded()
    const due = new Date((await clock(under)).getTime() - 2000)
    for (const id of names) await planned(under, id, due)
    await planned(under, 'last', new Date(due.getTime() + 1000))
    await refuse('UPDATE', 'periodic_task', "NEW.id <> 'last'")
    const refused: string[] = []
    const aside = setAside(refused)
    let marked: readonly string[] = []
    let passes = 0
    while (marked.length === 0 && passes < 10) {
      passes += 1
      // Its batch has no room for the last.
      const marks = await store.scheduling.markDue('w/1', names.length, 60_000, aside).catch(() => [])
      marked = marks.map(({ id }) => id)
    }
    expect(marked).toEqual(['last'])
    expect(sorted(refused)).toEqual(names)
    expect(passes).toBeLessThanOrEqual(6)
  })
})
