/** From waiting to running: due jobs, turns, claims, and the writes for a running job. */
import { describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { toText } from '../../src/model/instant.ts'
import type { ClaimCursor } from '../../src/store/executing-store.ts'
import {
  after,
  clock,
  instant,
  job,
  jobRow,
  MINUTE,
  newJob,
  onEachStore,
  one,
  policies,
  WORKER,
} from './conformance.ts'
import { recording } from './recording.ts'
import { write } from './writes.ts'

const ODD = 'naïve 😀 Ελλάς \' " \\ \\\\ ? ?? % _ ` $1 \n\r\t \u2028 {prefix}'

onEachStore((under) => {
  const claim = (limit: number, tasks = policies('task'), afterGroup = '', worker = WORKER) =>
    under.store.executing.claim(worker, tasks, limit, afterGroup)
  const claimed = async (...given: Parameters<typeof claim>) => (await claim(...given)).map(({ id }) => id)

  /** A store whose first UPDATE is too long. Its first half is written; for the second, the database is unavailable. */
  const failingBetweenHalves = async () => {
    const failures = [new Error('too long'), null, new StoreUnavailableError('lost')]
    const { store } = await recording(under.url, async (statement) => {
      if (!/^\s*UPDATE/.test(statement)) return
      const failure = failures.shift() ?? null
      if (failure !== null) throw failure
    })
    under.afterwards(() => store.close())
    return store
  }

  describe('due jobs', () => {
    it('become claimable, earliest first, up to the limit', async () => {
      const now = await clock(under)
      await job(under, 'future', { run_at: toText(after(now, MINUTE)) })
      await job(under, 'second', { run_at: toText(after(now, -1000)) })
      await job(under, 'first', { run_at: toText(after(now, -2000)) })
      await job(under, 'blocked', { run_at: toText(after(now, -2000)), state: 'blocked' })
      expect(await claimed(10)).toEqual([])
      expect(await under.store.executing.promoteDue(1)).toBe(1)
      expect(await claimed(10)).toEqual(['first'])
      expect(await under.store.executing.promoteDue(10)).toBe(1)
      expect(await under.store.executing.promoteDue(10)).toBe(0)
      expect(await claimed(10)).toEqual(['second'])
      expect(await under.query('SELECT id FROM job WHERE run_at IS NOT NULL ORDER BY id')).toEqual([
        { id: 'blocked' },
        { id: 'future' },
      ])
    })
  })

  describe('a claim', () => {
    it('assigns a job to this worker as a new attempt with the policy in effect', async () => {
      await under.store.jobs.submit([
        newJob('j', { args: '{"b": 1, "a": [1.0, null]}', timeout: 5, retryBackoff: 'fixed' }),
      ])
      await under.query('UPDATE job SET attempt = 2, claim = 6, progress = ?', ['50'])
      const policy = { timeout: 5, retries: 7, retryDelay: 8, retryBackoff: 'fixed' } as const
      const [first] = await claim(
        1,
        policies(['task', { ...policy, timeout: 99, retryBackoff: 'exponential' }]),
      )
      expect(first).toMatchObject({
        id: 'j',
        state: 'running',
        worker: WORKER,
        attempt: 3,
        claim: 7,
        argsText: '{"b": 1, "a": [1.0, null]}',
        args: { b: 1, a: [1, null] },
        progress: null,
        policy,
      })
      const row = await jobRow(under, 'j')
      expect(row).toMatchObject({
        state: 'running',
        worker: WORKER,
        attempt: 3,
        claim: 7,
        timeout: 5,
        max_retries: 7,
        retry_delay: 8,
        retry_backoff: 'fixed',
        progress: null,
        held_by: null,
        ready: 0,
      })
      expect(instant(row['started'])).toEqual(first?.startedAt)
      expect(await claim(1)).toEqual([])
    })

    it('takes only jobs of tasks that this worker handles [L28]', async () => {
      await under.store.jobs.submit([
        newJob('a', { task: 'Task' }),
        newJob('b', { task: 'other' }),
        newJob('c'),
      ])
      expect(await claimed(10)).toEqual(['c'])
      expect(await claimed(10, policies())).toEqual([])
      expect(await claimed(10, policies('other', 'Task'))).toEqual(['b', 'a'].toSorted())
    })

    it('takes higher priorities first, then lower ids, up to the limit', async () => {
      await under.store.jobs.submit([
        newJob('1 low', { priority: -5 }),
        newJob('4 normal'),
        newJob('3 normal'),
        newJob('9 high', { priority: 10 }),
      ])
      expect(await claimed(0)).toEqual([])
      expect(await claimed(3)).toEqual(['9 high', '3 normal', '4 normal'])
      expect(await claimed(3)).toEqual(['1 low'])
    })

    it("with capacity for one job, compares the first jobs of a group's tasks and takes the one with the highest priority", async () => {
      await under.store.jobs.submit([
        newJob('1', { task: 'another', priority: -5 }),
        newJob('2', { task: 'task', priority: 5 }),
        newJob('3', { task: 'not handled here', priority: 10 }),
      ])
      const tasks = policies('another', 'task')
      expect(await claimed(1, tasks)).toEqual(['2'])
      expect(await claimed(1, tasks)).toEqual(['1'])
    })

    it('gives all groups, and all tasks of a group, equal shares, regardless of queue length', async () => {
      await under.store.jobs.submit([
        ...Array.from({ length: 100 }, (_, index) =>
          newJob(`huge ${index}`, { group: 'huge', priority: 100 }),
        ),
        newJob('small', { group: 'small' }),
        newJob('tiny', { group: 'tiny' }),
        newJob('other', { group: 'huge', task: 'other' }),
      ])
      const taken = await claimed(8, policies('task', 'other'))
      expect(taken).toEqual(expect.arrayContaining(['small', 'tiny', 'other']))
      expect(taken.length).toBeLessThanOrEqual(8)
    })

    it('with capacity for one job, continues with the group after the one that had the last turn', async () => {
      await under.store.jobs.submit(
        ['a', 'b', 'c', 'a2', 'b2', 'c2'].map((id) => newJob(id, { group: id.slice(0, 1) })),
      )
      const order: string[] = []
      for (let last = ''; order.length < 6; ) {
        const [next] = await claim(1, policies('task'), last)
        if (next === undefined) throw new Error('nothing to claim')
        last = next.group
        order.push(next.id)
      }
      expect(order).toEqual(['a', 'b', 'c', 'a2', 'b2', 'c2'])
    })

    it('beyond the free capacity, takes only jobs with retries left', async () => {
      await under.store.jobs.submit(['a', 'b', 'c', 'd', 'e'].map((id) => newJob(id, { retries: 0 })))
      await under.query("UPDATE job SET max_retries = 2 WHERE id IN ('c', 'd')")
      await under.query("UPDATE job SET max_retries = NULL WHERE id = 'e'")
      await under.query("UPDATE job SET attempt = 2 WHERE id = 'd'")
      const cursor: ClaimCursor = { turns: [], hasLeftOut: false }
      const of = async (limit: number, ahead: number) => {
        const jobs = await under.store.executing.claim(WORKER, policies('task'), limit, '', { ahead, cursor })
        return jobs.map(({ id }) => id)
      }
      expect(await of(1, 10)).toEqual(['a', 'c', 'e'])
      expect(cursor.hasLeftOut).toBe(true)
      expect(await of(0, 10)).toEqual([])
      expect(cursor.hasLeftOut).toBe(true)
      expect(await of(2, 0)).toEqual(['b', 'd'])
      expect(cursor.hasLeftOut).toBe(false)
      cursor.hasLeftOut = true
      expect(await of(2, 10)).toEqual([])
      expect(cursor.hasLeftOut).toBe(false)
    })

    const jobsOf = (groups: readonly string[], numbers: readonly number[]) =>
      groups.flatMap((group) => numbers.map((number) => newJob(`${group}${number}`, { group })))

    it('continues after the previous claim if that claim found as many jobs as requested and every turn had at least one', async () => {
      const { executing, jobs } = under.store
      await jobs.submit(jobsOf(['a', 'b'], [1, 2, 3, 4, 5]))
      await jobs.submit([newJob('c1', { group: 'a', priority: -1 })])
      const cursor: ClaimCursor = { turns: [], hasLeftOut: false }
      const of = async (limit: number) => {
        const claimed = await executing.claim(WORKER, policies('task'), limit, '', { cursor })
        return claimed.map(({ id }) => id)
      }
      expect(await of(4)).toEqual(['a1', 'b1', 'a2', 'b2'])
      expect(cursor.turns.map(({ in_group: group, behind }) => [group, behind])).toEqual([
        ['a', 'a2'],
        ['b', 'b2'],
      ])
      await jobs.submit([
        newJob('a0', { group: 'a' }),
        newJob('a9', { group: 'a', priority: 1 }),
        newJob('b6', { group: 'b' }),
        newJob('d1', { group: 'd' }),
      ])
      expect(await of(4)).toEqual(['a3', 'b3', 'a4', 'b4'])
      expect(cursor.turns).toHaveLength(2)
      expect(await of(10)).toEqual(['a5', 'b5', 'b6'])
      // The previous claim found fewer jobs than requested.
      expect(cursor.turns).toEqual([])
      expect(await of(10)).toEqual(['a9', 'd1', 'a0', 'c1'])
      expect(cursor.turns).toEqual([])
    })

    it('does not continue if a turn had no job, if there may be more turns, or if a task is no longer claimed', async () => {
      const { executing, jobs } = under.store
      await jobs.submit(jobsOf(['a', 'b', 'c'], [1, 2, 3, 4, 5, 6]))
      const cursor: ClaimCursor = { turns: [], hasLeftOut: false }
      const of = async (limit: number, tasks = policies('task')) => {
        const claimed = await executing.claim(WORKER, tasks, limit, '', { cursor })
        return [claimed.map(({ id }) => id), cursor.turns.length]
      }
      // The third group gets none.
      expect(await of(2)).toEqual([['a1', 'b1'], 0])
      expect(await of(6)).toEqual([['a2', 'b2', 'c1', 'a3', 'b3', 'c2'], 3])
      expect(await of(6, policies('other'))).toEqual([[], 0])
    })

    it('a claim that continues begins with the group after the one that had the last turn', async () => {
      const { executing, jobs } = under.store
      await jobs.submit(jobsOf(['a', 'b', 'c'], [1, 2, 3, 4]))
      const cursor: ClaimCursor = { turns: [], hasLeftOut: false }
      const claimed: string[] = []
      for (let turn = 0; turn < 3; turn += 1) {
        const last = claimed.at(-1)?.slice(0, 1) ?? ''
        const some = await executing.claim(WORKER, policies('task'), 4, last, { cursor })
        claimed.push(...some.map(({ id }) => id))
      }
      expect(claimed.join(' ')).toBe('a1 b1 c1 a2 b2 c2 a3 b3 c3 a4 b4 c4')
    })

    it('covers more groups than one statement can take', async () => {
      await under.store.jobs.submit(
        Array.from({ length: 600 }, (_, index) => newJob(`j${index}`, { group: `g${index}` })),
      )
      const all = new Set<string>()
      for (let round = 0; round < 10 && all.size < 600; round += 1)
        for (const id of await claimed(600)) all.add(id)
      expect(all.size).toBe(600)
    })

    it('never takes a job that a concurrent claim takes, even during a submission', async () => {
      await under.store.jobs.submit(Array.from({ length: 40 }, (_, index) => newJob(`j${index}`)))
      const other = await under.another()
      const [mine, theirs] = await Promise.all([
        claimed(20),
        other.executing.claim('w/2', policies('task'), 20, ''),
        under.store.jobs.submit([newJob('new')]),
      ])
      const all = [...mine, ...theirs.map(({ id }) => id)]
      expect(new Set(all).size).toBe(all.length)
      expect(await one(under, "SELECT COUNT(*) AS n FROM job WHERE state = 'running'")).toEqual({
        n: all.length,
      })
    })

    it('returns strings unchanged', async () => {
      const text = JSON.stringify({ text: ODD })
      await under.store.jobs.submit([
        newJob('j', { args: text, group: ODD, task: ODD, subject: ODD, submitter: ODD }),
      ])
      const [first] = await claim(1, policies(ODD))
      expect(first).toMatchObject({
        argsText: text,
        args: { text: ODD },
        group: ODD,
        task: ODD,
        subject: ODD,
        submitter: ODD,
      })
    })

    it('does not fail because of args that JavaScript cannot parse', async () => {
      const bad = '{"a":"line\nbreak"}'
      const accepted = await job(under, 'bad', { args: bad }).then(
        () => true,
        () => false,
      )
      await under.store.jobs.submit([newJob('good')])
      const all = await claim(10)
      expect(all.map(({ id }) => id)).toEqual(accepted ? ['bad', 'good'] : ['good'])
      if (accepted) expect(all[0]?.argsText).toBe(bad)
    })
  })

  describe('while a job runs', () => {
    it('a stop request is reported only for its claim', async () => {
      await under.store.jobs.submit([newJob('a'), newJob('b'), newJob('c')])
      await claim(3)
      await under.query("UPDATE job SET stop_requested = '2026-01-01 00:00:00.000' WHERE id <> 'b'")
      const own = { id: 'a', worker: WORKER, claim: 1 }
      const { executing } = under.store
      expect(await executing.stopRequests([own, { ...own, id: 'b' }])).toEqual([own])
      const others = [
        { ...own, worker: 'w/2' },
        { ...own, claim: 2 },
        { ...own, id: 'none' },
      ]
      expect(await executing.stopRequests(others)).toEqual([])
      await under.query("UPDATE job SET state = 'cancelled' WHERE id = 'a'")
      expect(await executing.stopRequests([own])).toEqual([])
      expect(await executing.stopRequests([])).toEqual([])
    })

    it('progress is stored only if the attempt still belongs to its worker', async () => {
      await under.store.jobs.submit(['j', 'k', 'l', 'm'].map((id) => newJob(id)))
      await claim(4)
      await under.query(
        "UPDATE job SET state = 'success', finished = '2026-01-01 00:00:00.000' WHERE id = 'm'",
      )
      const fence = (id: string) => ({ id, worker: WORKER, claim: 1 })
      const locked = await under.store.executing.saveProgress([
        { fence: { ...fence('k'), worker: 'w/2' }, json: '1' },
        { fence: { ...fence('l'), claim: 2 }, json: '2' },
        { fence: fence('m'), json: '3' },
        { fence: fence('gone'), json: '4' },
        { fence: fence('j'), json: JSON.stringify({ text: ODD }) },
      ])
      expect(locked).toEqual({ left: [], refused: [] })
      expect(await under.store.executing.saveProgress([])).toEqual({ left: [], refused: [] })
      for (const id of ['k', 'l', 'm']) expect((await under.store.jobs.get(id))?.progress).toBeNull()
      expect((await under.store.jobs.get('j'))?.progress).toEqual({ text: ODD })
    })

    it('if the database fails during a batch, the unwritten progress is returned, to be written later', async () => {
      await under.store.jobs.submit(['j', 'k', 'l', 'm'].map((id) => newJob(id)))
      await claim(4)
      const store = await failingBetweenHalves()
      const progress = ['j', 'k', 'l', 'm'].map((id) => ({
        fence: { id, worker: WORKER, claim: 1 },
        json: '1',
      }))
      expect(await store.executing.saveProgress(progress)).toEqual({ left: progress.slice(2), refused: [] })
      const saved = ['j', 'k', 'l', 'm'].map((id) => under.store.jobs.get(id))
      expect((await Promise.all(saved)).map((job) => job?.progress)).toEqual([1, 1, null, null])
    })

    it('log lines are stored in order', async () => {
      const at = new Date('2026-01-02T03:04:05.678Z')
      const lines = Array.from({ length: 50 }, (_, index) => ({
        jobId: 'j',
        at,
        level: index % 2 === 0 ? ('info' as const) : ('error' as const),
        message: `${index} ${ODD}`,
      }))
      await under.store.executing.appendLogs([])
      await under.store.executing.appendLogs(lines.slice(0, 30))
      await under.store.executing.appendLogs([
        { jobId: 'k', at, level: 'debug', message: '' },
        ...lines.slice(30),
      ])
      await job(under, 'j')
      const read = await under.store.lists.logs('j', 0, 1000)
      expect(read?.map(({ at, level, message }) => ({ jobId: 'j', at, level, message }))).toEqual(lines)
      const [first] = read ?? []
      expect(await under.store.lists.logs('j', first?.id ?? 0, 10)).toEqual(read?.slice(1, 11))
      expect(await under.store.lists.logs('nobody', 0, 10)).toBeNull()
    })

    it('log lines are replaced even if they do not all fit into one statement', async () => {
      await job(under, 'long')
      const long = Array.from({ length: 300 }, (_, index) => `${index} ${'"\u0001'.repeat(8000)}`)
      const at = new Date('2026-01-02T03:04:05.678Z')
      for (let start = 0; start < long.length; start += 50)
        await under.store.executing.appendLogs(
          long.slice(start, start + 50).map((message) => ({ jobId: 'long', at, level: 'info', message })),
        )
      await under.store.executing.replaceLogs(
        'long',
        new Map(long.map((message) => [message, `${message} hidden`])),
      )
      const read = (await under.store.lists.logs('long', 0, 1000)) ?? []
      expect(read.filter(({ message }) => message.endsWith(' hidden'))).toHaveLength(300)
    })

    it('replacing log lines can be repeated after the database has failed between the halves of a batch', async () => {
      await job(under, 'halved')
      const at = new Date('2026-01-02T03:04:05.678Z')
      const messages = ['one', 'two', 'three', 'four']
      await under.store.executing.appendLogs(
        messages.map((message) => ({ jobId: 'halved', at, level: 'info', message })),
      )
      const store = await failingBetweenHalves()
      const replacements = new Map(messages.map((message) => [message, 'hidden']))
      const replace = () => store.executing.replaceLogs('halved', replacements)
      await expect(replace()).rejects.toThrow(StoreUnavailableError)
      const read = async () => (await under.store.lists.logs('halved', 0, 10))?.map(({ message }) => message)
      expect(await read()).toEqual(['hidden', 'hidden', 'three', 'four'])
      await replace()
      expect(await read()).toEqual(['hidden', 'hidden', 'hidden', 'hidden'])
    })

    it('messages of a job are replaced wherever they occur in its log, and in no other log', async () => {
      await job(under, 'replaced')
      await job(under, 'other')
      const at = new Date('2026-01-02T03:04:05.678Z')
      const line = (jobId: string, message: string) => ({ jobId, at, level: 'info' as const, message })
      const messages = [ODD, `${ODD} `, 'kept', ODD]
      await under.store.executing.appendLogs(
        ['replaced', 'other'].flatMap((id) => messages.map((message) => line(id, message))),
      )
      const replacements = new Map([ODD, 'gone'].map((message) => [message, 'hidden']))
      await under.store.executing.replaceLogs('replaced', replacements)
      await under.store.executing.replaceLogs('nobody', replacements)
      const read = async (id: string) =>
        (await under.store.lists.logs(id, 0, 10))?.map(({ message }) => message)
      expect(await read('replaced')).toEqual(['hidden', `${ODD} `, 'kept', 'hidden'])
      expect(await read('other')).toEqual(messages)
    })
  })

  it('a running job whose worker is not registered is an orphan and keeps its stored policy', async () => {
    await under.store.workers.register({ id: 'w/2', name: 'w', host: 'h', pid: 1, tasks: [] })
    await under.store.jobs.submit([newJob('a'), newJob('b'), newJob('c')])
    await claim(1, policies(['task', { timeout: 1, retries: 2, retryDelay: 3, retryBackoff: 'fixed' }]))
    await claim(1, policies('task'), '', 'w/2')
    const orphans = await under.store.executing.orphans(10)
    expect(orphans).toMatchObject([
      {
        fence: { id: 'a', worker: WORKER, claim: 1 },
        end: { kind: 'lost' },
        policy: { timeout: 1, retries: 2, retryDelay: 3, retryBackoff: 'fixed' },
      },
    ])
    expect(await under.store.executing.orphans(0)).toEqual([])
    await write(under.store).settle(orphans)
    expect(await jobRow(under, 'a')).toMatchObject({
      state: 'waiting',
      attempt: 1,
      worker: null,
      run_at: null,
    })
    expect(await under.store.executing.orphans(10)).toEqual([])
  })
})
