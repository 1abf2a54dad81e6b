/** Interference: open transactions, deadlocks, lock waits, lost connections, and all operations at once. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { createConnection, type Connection } from 'mysql2/promise'
import { describe, expect, it, vi } from 'vitest'
import { ConflictError, StoreUnavailableError } from '../../src/errors.ts'
import { Connections } from '../../src/store/mysql/connections.ts'
import { IMPATIENT, MysqlDatabase } from '../../src/store/mysql/database.ts'
import { toText } from '../../src/model/instant.ts'
import { openMysql } from '../../src/store/mysql/open.ts'
import type { Databases } from '../../src/store/database.ts'
import { storeOn } from '../../src/store/open.ts'
import type { OpenJobs, Plannable } from '../../src/model/planning.ts'
import type { AttemptEnd } from '../../src/model/settle.ts'
import type { Settled } from '../../src/store/executing-store.ts'
import type { Store } from '../../src/store/store.ts'
import {
  after,
  clock,
  ids,
  job,
  jobRow,
  LEASE_MS,
  newJob,
  onEachStore,
  one,
  planned,
  policies,
  schedule,
  settings,
  submitDue,
  WORKER,
  setChanges,
  setVersion,
  uidOf,
} from './conformance.ts'
import { write } from './writes.ts'
import { blocksOf, root } from '../docs/markdown.ts'
import { sessions } from '../support/databases.ts'
import { expectNoFault } from '../support/fault.ts'

const tolerate = (error: unknown) => {
  if (!(error instanceof ConflictError)) throw error
}

/** The operation whose statements are running. */
const operating = new AsyncLocalStorage<object>()

onEachStore((under) => {
  const server = under.kind !== 'sqlite'

  /** An administrator's connection. */
  const administrator = async (): Promise<Connection> => {
    const connection = await createConnection({ uri: under.url })
    under.afterwards(() => connection.end())
    return connection
  }

  /** A database whose statements wait at most this long for a lock, and are tried three times. */
  const impatient = (seconds: number): MysqlDatabase => {
    const database = new MysqlDatabase(under.url, 4, { lockWaits: { seconds, tries: 3 } })
    under.afterwards(() => database.close())
    return database
  }

  /** A store with the lock timeouts of the loops. */
  const loops = (): Store => {
    const database = new MysqlDatabase(under.url, 20, { lockWaits: IMPATIENT })
    under.afterwards(() => database.close())
    return storeOn(database, '')
  }

  /** Back-offs end on demand. */
  const stoppedClock = () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    under.afterwards(async () => void vi.useRealTimers())
  }

  /** Counts the lock timeouts of statements, for the whole process or for one operation. */
  const lockWaits = (): ((operation?: object) => number) => {
    // oxlint-disable-next-line typescript/unbound-method -- called with Reflect.apply
    const { take } = Connections.prototype
    const seen = new WeakSet<object>()
    const waits: (object | undefined)[] = []
    const taking = vi.spyOn(Connections.prototype, 'take').mockImplementation(async function (
      this: Connections,
    ) {
      const connection = await Reflect.apply(take, this, [])
      if (seen.has(connection)) return connection
      seen.add(connection)
      const query = connection.query.bind(connection)
      const counting = (...statement: unknown[]) =>
        Promise.resolve(Reflect.apply(query, connection, statement)).catch((error: unknown) => {
          if (error instanceof Error && 'errno' in error && error.errno === 1205)
            waits.push(operating.getStore())
          throw error
        })
      Reflect.set(connection, 'query', counting)
      return connection
    })
    under.afterwards(async () => taking.mockRestore())
    return (operation) => waits.filter((of) => operation === undefined || of === operation).length
  }

  /** Waits until a statement that contains the text runs in this database. @returns the id of its connection */
  const untilItRuns = async (text: string): Promise<number> => {
    for (;;) {
      const running = (await sessions(under)).find(({ statement }) => statement?.includes(text))
      if (running !== undefined) return running.id
    }
  }

  describe.skipIf(!server)('an open transaction of an administrator', () => {
    it('an open transaction on a due schedule delays only that schedule [L40]', async () => {
      const past = after(await clock(under), -1000)
      for (const id of ['a', 'b', 'c']) await planned(under, id, past)
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("UPDATE periodic_task SET summary = 'mine' WHERE id = 'b'")
      expect(ids(await under.store.scheduling.markDue(WORKER, 10, LEASE_MS)).toSorted()).toEqual(['a', 'c'])
      await admin.query('COMMIT')
      expect(ids(await under.store.scheduling.markDue(WORKER, 10, LEASE_MS))).toEqual(['b'])
    })

    it('an open transaction on a marked schedule delays only that schedule [L40]', async () => {
      const past = after(await clock(under), -1000)
      for (const id of ['a', 'b', 'c']) await planned(under, id, past)
      const marks = await under.store.scheduling.markDue(WORKER, 10, LEASE_MS)
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("UPDATE periodic_task SET args = '{\"edited\":1}' WHERE id = 'b'")
      const result = await under.store.scheduling.submit(WORKER, marks, submitDue)
      expect(ids(result.submissions).toSorted()).toEqual(['a', 'c'])
      expect(ids(result.locked)).toEqual(['b'])
      await admin.query('COMMIT')
      expect(
        ids((await under.store.scheduling.submit(WORKER, result.locked, submitDue)).submissions),
      ).toEqual(['b'])
      expect(await one(under, "SELECT args FROM job WHERE periodic_task_id = 'b'")).toEqual({
        args: '{"edited":1}',
      })
    })

    it('an open transaction on a schedule or its job delays only the outcome of that job', async () => {
      const attempts = []
      for (const id of ['a', 'b', 'c', 'd']) {
        await planned(under, id, null, { idle: 'done' })
        await job(under, `${id} job`, {
          periodic_task_id: id,
          slot: '2026-01-01 00:00:00.000',
          state: 'running',
          worker: WORKER,
          attempt: 1,
          claim: 1,
        })
        attempts.push({
          fence: { id: `${id} job`, worker: WORKER, claim: 1 },
          end: { kind: 'success' as const, result: null },
          policy: { timeout: 1, retries: 0, retryDelay: 0, retryBackoff: 'fixed' as const },
        })
      }
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("UPDATE periodic_task SET summary = 'mine' WHERE id = 'b'")
      await admin.query("UPDATE job SET priority = 7 WHERE id = 'c job'")
      const result = await write(under.store).settle(attempts)
      expect(ids(result.settled)).toEqual(['a job', 'd job'])
      expect(result.locked.map(({ fence }) => fence.id)).toEqual(['b job', 'c job'])
      expect(result.lost).toEqual([])
      await admin.query('COMMIT')
      const rest = await write(under.store).settle(result.locked)
      expect(ids(rest.settled)).toEqual(['b job', 'c job'])
      expect(await jobRow(under, 'c job')).toMatchObject({ state: 'success', priority: 7 })
    })

    it('an open transaction on a job delays only the progress of that job', async () => {
      const running = { state: 'running', worker: WORKER, attempt: 1, claim: 1 }
      for (const id of ['a', 'b', 'c', 'lost']) await job(under, id, running)
      const of = (id: string, claim = 1) => ({ fence: { id, worker: WORKER, claim }, json: '0.5' })
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      for (const id of ['b', 'lost']) await admin.query('UPDATE job SET priority = 7 WHERE id = ?', [id])
      // The call would fail if it waited for the lock.
      const store = storeOn(impatient(1), '')
      const { left } = await store.executing.saveProgress([
        of('a'),
        of('b'),
        of('c'),
        of('lost', 0),
        of('gone'),
      ])
      expect(left).toEqual([of('b')])
      const stored = () => under.query("SELECT id, progress FROM job WHERE id <> 'lost' ORDER BY id")
      expect(await stored()).toEqual([
        { id: 'a', progress: '0.5' },
        { id: 'b', progress: null },
        { id: 'c', progress: '0.5' },
      ])
      await admin.query('COMMIT')
      expect(await store.executing.saveProgress(left)).toEqual({ left: [], refused: [] })
      expect(await jobRow(under, 'b')).toMatchObject({ progress: '0.5', priority: 7 })
      expect(await jobRow(under, 'lost')).toMatchObject({ progress: null })
    })

    it('an open transaction on a row of `worker` prevents the eviction of that worker, but nothing waits for the lock [S16, L76]', async () => {
      const worker = (name: string) => ({ id: `${name}/1`, name, host: 'h', pid: 1, tasks: [] })
      for (const name of ['locked', 'dead']) await under.store.workers.register(worker(name))
      const seen = new Map(
        (await under.store.workers.list()).workers.map(({ id, heartbeatAt: heartbeat }) => [id, heartbeat]),
      )
      const evict = (id: string) => under.store.workers.evict(id, seen.get(id) ?? new Date(0))
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("SELECT id FROM worker WHERE id = 'locked/1' FOR UPDATE")
      expect(await evict('locked/1')).toBe('locked')
      expect(await evict('dead/1')).toBe('evicted')
      expect(await loops().workers.heartbeat('locked/1')).toBe('locked')
      await under.store.workers.register(worker('new'))
      expect(await under.store.workers.heartbeat('new/1')).toBe('written')
      expect(ids((await under.store.workers.list()).workers)).toEqual(['locked/1', 'new/1'])
      await admin.query('COMMIT')
      expect(await evict('locked/1')).toBe('evicted')
    })

    it('an open transaction on a schedule or a job delays only the repair of that schedule or job by the sweep', async () => {
      await planned(under, 'waits', null, { idle: 'awaiting-finish' })
      await planned(under, 'unblocks', null, { idle: 'done' })
      await planned(under, 'free', null, { idle: 'awaiting-finish' })
      await job(under, 'blocked', {
        periodic_task_id: 'unblocks',
        slot: '2026-01-01 00:00:00.000',
        state: 'blocked',
      })
      const sweep = async () =>
        (await under.store.scheduling.sweep(WORKER, LEASE_MS, 'everything')).repaired.map(
          (text) => text.split(' ')[2],
        )
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      // The rows are locked one by one, because otherwise the server may scan the small table and lock all of them.
      for (const id of ['waits', 'unblocks'])
        await admin.query('SELECT id FROM periodic_task WHERE id = ? FOR UPDATE', [id])
      expect(await sweep()).toEqual(['free'])
      await admin.query('COMMIT')
      await admin.query('START TRANSACTION')
      await admin.query("SELECT id FROM job WHERE id = 'blocked' FOR UPDATE")
      expect(await sweep()).toEqual(['waits'])
      await admin.query('COMMIT')
      expect(await sweep()).toEqual(['blocked'])
    })

    it('an open transaction on a blocked job delays only the outcome of the run before it', async () => {
      const attempts = []
      for (const id of ['a', 'b']) {
        await planned(under, id, null, { idle: 'done' })
        const slot = '2026-01-01 00:00:00.000'
        const running = { state: 'running', worker: WORKER, attempt: 1, claim: 1 }
        await job(under, `${id} job`, { periodic_task_id: id, slot, ...running })
        await job(under, `${id} next`, {
          periodic_task_id: id,
          slot: '2026-01-02 00:00:00.000',
          state: 'blocked',
        })
        attempts.push({
          fence: { id: `${id} job`, worker: WORKER, claim: 1 },
          end: { kind: 'success' as const, result: null },
          policy: { timeout: 1, retries: 0, retryDelay: 0, retryBackoff: 'fixed' as const },
        })
      }
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("UPDATE job SET priority = 7 WHERE id = 'b next'")
      const result = await write(under.store).settle(attempts)
      expect(result.settled.map(({ id, promoted }) => [id, promoted])).toEqual([['a job', 'a next']])
      expect(result.locked.map(({ fence }) => fence.id)).toEqual(['b job'])
      await admin.query('COMMIT')
      const rest = await write(under.store).settle(result.locked)
      expect(rest.settled.map(({ id, promoted }) => [id, promoted])).toEqual([['b job', 'b next']])
      expect(await jobRow(under, 'b next')).toMatchObject({ state: 'waiting', priority: 7 })
    })

    it('an open transaction on a waiting job delays only that job', async () => {
      await under.store.jobs.submit([newJob('a'), newJob('b', { priority: 9 }), newJob('c')])
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("UPDATE job SET subject = 'mine' WHERE id = 'b'")
      expect(ids(await under.store.executing.claim(WORKER, policies('task'), 10, '')).toSorted()).toEqual([
        'a',
        'c',
      ])
      await admin.query('ROLLBACK')
      expect(ids(await under.store.executing.claim(WORKER, policies('task'), 10, ''))).toEqual(['b'])
    })

    it.each([
      ['without LIMIT', "DELETE FROM job_log WHERE at < '2026-01-01 00:00:00'"],
      ['in batches', "DELETE FROM job_log WHERE at < '2026-01-01 00:00:00' ORDER BY id LIMIT 1000"],
    ])(
      'an open transaction that deletes old log lines %s under REPEATABLE READ delays new lines until it ends, but does not delay outcomes or progress',
      async (_, statement) => {
        const store = storeOn(impatient(1), '')
        const running = { state: 'running', worker: WORKER, attempt: 1, claim: 1 }
        for (const id of ['a', 'b']) await job(under, id, running)
        const fence = (id: string) => ({ id, worker: WORKER, claim: 1 })
        const lines = ['one', 'two'].map((message) => ({
          jobId: 'a',
          at: new Date(0),
          level: 'info' as const,
          message,
        }))
        const admin = await administrator()
        await admin.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')
        await admin.query('START TRANSACTION')
        await admin.query(statement)
        const refused = await store.executing.appendLogs(lines).catch((error: unknown) => error)
        expect(refused).toBeInstanceOf(StoreUnavailableError)
        expect(refused).toMatchObject({ cause: { errno: 1205 } })
        await store.executing.saveProgress([{ fence: fence('b'), json: '0.5' }])
        const policy = { timeout: 1, retries: 0, retryDelay: 0, retryBackoff: 'fixed' as const }
        const { settled } = await write(store).settle([
          { fence: fence('a'), end: { kind: 'success', result: null }, policy },
        ])
        expect(ids(settled)).toEqual(['a'])
        expect(await jobRow(under, 'b')).toMatchObject({ progress: '0.5' })
        await admin.query('COMMIT')
        // Log lines can be appended to a job that is not running.
        await store.executing.appendLogs(lines)
        expect(await under.query('SELECT job_id, message FROM job_log ORDER BY id')).toEqual(
          lines.map(({ jobId, message }) => ({ job_id: jobId, message })),
        )
      },
    )

    it('an open transaction that deletes old log lines, attempts and jobs as documented does not delay new rows [L78]', async () => {
      const finished = { state: 'success', finished: '2025-01-01 00:00:00.000' }
      const slot = after(await clock(under), -1000)
      for (const id of ['s', 't']) await planned(under, id, slot)
      await job(under, 'old', { ...finished, periodic_task_id: 's', slot: '2025-01-01 00:00:00.000' })
      await job(under, 'recent', { ...finished, finished: '2026-06-01 00:00:00.000' })
      await job(under, 'a', { state: 'running', worker: WORKER, attempt: 1, claim: 1 })
      await under.query(
        "INSERT INTO attempt (job_id, claim, attempt, worker, started, ended, outcome) VALUES ('old', 1, 1, 'w/1', '2025-01-01', '2025-01-01', 'failed')",
      )
      const line = { jobId: 'a', level: 'info' as const, message: 'ran' }
      await under.store.executing.appendLogs([
        { ...line, at: new Date('2025-01-01') },
        { ...line, at: new Date('2026-06-01') },
      ])
      const admin = await administrator()
      const [documented] = blocksOf(join(root, 'docs/tables.md'), ['sql']).filter(({ flags }) =>
        flags.includes('mysql'),
      )
      const [isolation = '', ...deletions] = documented?.text.trim().split('\n') ?? []
      expect(deletions).toHaveLength(3)
      await admin.query(isolation)
      // The documentation requires autocommit, but the statements do no harm even if it is off.
      await admin.query('START TRANSACTION')
      for (const deletion of deletions) await admin.query(deletion)
      const store = storeOn(impatient(1), '')
      await store.jobs.submit([newJob('new')])
      const marks = await store.scheduling.markDue(WORKER, 10, LEASE_MS)
      const submitted = await store.scheduling.submit(WORKER, marks, submitDue)
      expect(ids(submitted.submissions).toSorted()).toEqual(['s', 't'])
      await store.executing.appendLogs([{ ...line, at: new Date('2026-06-02') }])
      const { settled } = await write(store).settle([
        {
          fence: { id: 'a', worker: WORKER, claim: 1 },
          end: { kind: 'error', error: 'x', permanent: true },
          policy: { timeout: 1, retries: 0, retryDelay: 0, retryBackoff: 'fixed' },
        },
      ])
      expect(ids(settled)).toEqual(['a'])
      await admin.query('COMMIT')
      expect(await under.query('SELECT id FROM job_log')).toHaveLength(2)
      expect(await under.query('SELECT job_id, outcome FROM attempt')).toEqual([
        { job_id: 'a', outcome: 'failed' },
      ])
      expect(await under.query("SELECT id FROM job WHERE id IN ('old', 'recent')")).toEqual([
        { id: 'recent' },
      ])
    })

    it('an open transaction on a job that would be replaced delays only its schedule [S16]', async () => {
      const past = after(await clock(under), -1000)
      for (const id of ['a', 'b']) {
        await planned(under, id, past, { overlap: 'replace' })
        await job(under, `${id} before`, { periodic_task_id: id, slot: '2026-01-01 00:00:00.000' })
      }
      const { scheduling } = storeOn(impatient(50), '')
      const marks = await scheduling.markDue(WORKER, 10, LEASE_MS)
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("SELECT id FROM job WHERE id = 'b before' FOR UPDATE")
      const replace = (row: Plannable, now: Date, open: OpenJobs) => ({
        ...submitDue(row, now, { ...open, waiting: 0 }),
        replaces: open.waiting > 0,
      })
      const result = await scheduling.submit(WORKER, marks, replace)
      expect([ids(result.submissions), ids(result.locked), result.refused]).toEqual([['a'], ['b'], []])
      expect(await jobRow(under, 'a before')).toMatchObject({ state: 'cancelled' })
      await admin.query('COMMIT')
      expect(ids((await scheduling.submit(WORKER, result.locked, replace)).submissions)).toEqual(['b'])
      expect(await jobRow(under, 'b before')).toMatchObject({ state: 'cancelled' })
    })

    it('an open transaction on the row of a skip delays nothing, because the next skip gets its own row', async () => {
      const names = ['a', 'b']
      for (const id of names) {
        await planned(under, id, after(await clock(under), -2000))
        await job(under, `${id} runs`, { periodic_task_id: id, slot: '2026-01-01 00:00:00.000' })
      }
      const { scheduling } = storeOn(impatient(50), '')
      const skip = async () => {
        const marks = await scheduling.markDue(WORKER, 10, LEASE_MS)
        return ids((await scheduling.submit(WORKER, marks, submitDue)).submissions).toSorted()
      }
      expect(await skip()).toEqual(names)
      const { id } = await one(under, "SELECT id FROM job WHERE periodic_task_id = 'b' AND state = 'skipped'")
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query('SELECT id FROM job WHERE id = ? FOR UPDATE', [id])
      await under.query('UPDATE periodic_task SET nextrun = ?', [toText(after(await clock(under), -1000))])
      expect(await skip()).toEqual(names)
      const skipped = await under.query(
        "SELECT periodic_task_id AS id, missed FROM job WHERE state = 'skipped' ORDER BY id, missed",
      )
      expect(skipped.map(({ id, missed }) => [id, Number(missed)])).toEqual([
        ['a', 2],
        ['b', 1],
        ['b', 1],
      ])
    })

    it.each(['worker', 'periodic_task', 'job', 'job_log', 'attempt'])(
      'no operation of a loop waits for the release of a lock on the table %s [S16]',
      async (table) => {
        const past = after(await clock(under), -1000)
        for (const id of ['a', 'b']) await planned(under, id, past)
        const running = { state: 'running', worker: WORKER, attempt: 1, claim: 1 }
        for (const id of ['one', 'two']) await job(under, id, running)
        await job(under, 'waiting')
        const { workers, scheduling, executing } = loops()
        const worker = { name: 'w', host: 'h', pid: 1, tasks: [] }
        await workers.register({ ...worker, id: WORKER })
        await workers.register({ ...worker, id: 'dead/1' })
        const marks = await scheduling.markDue(WORKER, 1, LEASE_MS)
        const heartbeat =
          (await workers.list()).workers.find(({ id }) => id === 'dead/1')?.heartbeatAt ?? new Date(0)
        const fence = (id: string) => ({ id, worker: WORKER, claim: 1 })
        const policy = { timeout: 1, retries: 0, retryDelay: 0, retryBackoff: 'fixed' as const }
        const end = { kind: 'error' as const, error: 'x', permanent: true }
        const operations = [
          () => workers.register({ ...worker, id: 'new/1' }),
          () => workers.heartbeat(WORKER),
          () => workers.list(),
          () => workers.evict('dead/1', heartbeat),
          () => workers.unregister('other/1'),
          () => scheduling.look(['task']),
          () => scheduling.markDue(WORKER, 10, LEASE_MS),
          () => scheduling.submit(WORKER, marks, submitDue),
          () => scheduling.clearStaleMarks(WORKER, LEASE_MS),
          () => scheduling.sweep(WORKER, LEASE_MS, 'everything'),
          () => executing.promoteDue(10),
          () => executing.claim(WORKER, policies('task'), 1, ''),
          () => executing.settle([{ fence: fence('one'), end, policy }]),
          () => executing.stopRequests([fence('one')]),
          () => executing.saveProgress([{ fence: fence('two'), json: '1' }]),
          () => executing.appendLogs([{ jobId: 'two', at: new Date(0), level: 'info', message: 'x' }]),
          () => executing.held(WORKER),
          () => executing.orphans(10),
        ]
        const waits = lockWaits()
        // A lock on the whole table also makes reads wait.
        const admin = await administrator()
        await admin.query(`LOCK TABLES ${table} WRITE`)
        const results = await Promise.allSettled(
          operations.map((operation) => operating.run<Promise<unknown>>(operation, operation)),
        )
        await admin.query('UNLOCK TABLES')
        for (const [index, result] of results.entries()) {
          if (result.status === 'fulfilled') continue
          expect(result.reason).toBeInstanceOf(StoreUnavailableError)
          expect(result.reason).toMatchObject({ cause: { errno: 1205 } })
          await operations[index]?.()
        }
        // At most one wait for the batch and two for single rows, however many rows there are. Some operations also
        // wait for locks of another operation.
        for (const operation of operations) expect(waits(operation), String(operation)).toBeLessThanOrEqual(3)
        // An outcome is written without its attempt rather than not at all.
        expect(results.some(({ status }) => status === 'rejected')).toBe(table !== 'attempt')
      },
    )

    it('an open transaction that locks a range of an index delays only the outcomes in that range', async () => {
      const { executing } = loops()
      const ended = async (id: string, end: AttemptEnd) => {
        await job(under, id, { state: 'running', worker: WORKER, attempt: 1, claim: 1 })
        const policy = { timeout: 1, retries: 0, retryDelay: 0, retryBackoff: 'fixed' as const }
        return { fence: { id, worker: WORKER, claim: 1 }, end, policy }
      }
      const success = { kind: 'success', result: null } as const
      const ends = [
        await ended('a', success),
        await ended('b', success),
        await ended('c', success),
        await ended('d', { kind: 'released' }),
      ]
      // The locked range ends at the entry of this job.
      await job(under, '0')
      const admin = await administrator()
      await admin.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')
      await admin.query('START TRANSACTION')
      await admin.query(
        "SELECT id FROM job FORCE INDEX (job_state) WHERE state = 'success' AND finished > '2000-01-01' FOR UPDATE",
      )
      const waits = lockWaits()
      stoppedClock()
      const outcome = ({ settled, locked }: Settled) => [ids(settled), locked.map(({ fence }) => fence.id)]
      // First the batch waits, then two of its rows; the other rows are left for the next call and come first in it.
      const first = await executing.settle(ends)
      expect(outcome(first)).toEqual([[], ['c', 'd', 'a', 'b']])
      // Rows that have waited do not wait again immediately.
      const second = await executing.settle(first.locked)
      expect(outcome(second)).toEqual([['d'], ['a', 'b', 'c']])
      expect(outcome(await executing.settle(second.locked))).toEqual([[], ['a', 'b', 'c']])
      expect(waits()).toBe(3 + 2)
      await admin.query('COMMIT')
      vi.advanceTimersByTime(60_000)
      const last = await executing.settle(second.locked)
      expect(outcome(last)).toEqual([['a', 'b', 'c'], []])
    })

    it("delays loops for a second at a time, and the application's calls for longer", async () => {
      const { loops: own, calls, close } = await openMysql(under.url, { longestUseMs: 1000 })
      under.afterwards(close)
      const seconds = (database: Databases['loops']) =>
        database.rows('SELECT @@innodb_lock_wait_timeout AS row_, @@lock_wait_timeout AS table_')
      expect(await seconds(own)).toEqual([{ row_: 1, table_: 1 }])
      expect(await seconds(calls)).toEqual([{ row_: 5, table_: 5 }])
      await planned(under, 'a', null)
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("SELECT id FROM periodic_task WHERE id = 'a' FOR UPDATE")
      const waits = lockWaits()
      // The statement waits only once, even if the lease is as short as the wait.
      const waiting = own.run("UPDATE periodic_task SET summary = 'x' WHERE id = 'a'")
      await expect(waiting).rejects.toThrow('Blocked by another transaction')
      expect(waits()).toBe(1)
    })

    /** Locks a job's entry in an index of `job` but not its row, so that statements cannot skip the lock. */
    const lockedEntry = async (id: string, state: string) => {
      const admin = await administrator()
      await admin.query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED')
      await admin.query('START TRANSACTION')
      await admin.query(
        'SELECT id FROM job FORCE INDEX (job_state) WHERE state = ? AND finished IS NULL AND id = CONVERT(? USING ascii) LOCK IN SHARE MODE',
        [state, id],
      )
      return admin
    }

    it('an open transaction that locks the index entry of a job delays only the claim of that job', async () => {
      const { executing } = loops()
      for (const id of ['a', 'b', 'c'])
        await job(under, id, { periodic_task_id: id, slot: '2026-01-01 00:00:00.000' })
      const admin = await lockedEntry('a', 'waiting')
      stoppedClock()
      const waits = lockWaits()
      const claim = async () => ids(await executing.claim(WORKER, policies('task'), 10, '')).toSorted()
      expect(await claim()).toEqual(['b', 'c'])
      expect(waits()).toBe(2)
      // The locked job is not claimed before its back-off ends, so that it delays no other claims.
      await job(under, 'd')
      expect(await claim()).toEqual(['d'])
      expect(waits()).toBe(2)
      await admin.query('COMMIT')
      vi.advanceTimersByTime(1000)
      expect(await claim()).toEqual(['a'])
    })

    it('an open transaction that locks a range of the claim index delays only jobs that become claimable in that range', async () => {
      const { executing } = loops()
      const past = toText(after(await clock(under), -1000))
      for (const task of ['x', 'z']) await job(under, task, { task, run_at: past })
      // The locked range ends at the entry of this job.
      await job(under, 'y', { task: 'y' })
      const admin = await administrator()
      await admin.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')
      await admin.query('START TRANSACTION')
      await admin.query(
        "SELECT id FROM job FORCE INDEX (job_claim) WHERE ready = 1 AND group_ = '' AND claim_task = 'x' FOR UPDATE",
      )
      expect(await executing.promoteDue(10)).toBe(1)
      expect(await under.query('SELECT id FROM job WHERE ready = 1 ORDER BY id')).toEqual([
        { id: 'y' },
        { id: 'z' },
      ])
    })

    it('an open transaction and a rejected row do not affect the other outcomes of a batch', async () => {
      const { executing } = loops()
      const ends = []
      for (const id of ['a', 'b', 'c']) {
        const running = { state: 'running', worker: WORKER, attempt: 1, claim: 1 }
        await job(under, id, { ...running, periodic_task_id: id, slot: '2026-01-01 00:00:00.000' })
        const policy = { timeout: 1, retries: 0, retryDelay: 0, retryBackoff: 'fixed' as const }
        const end = { kind: 'success' as const, result: null }
        ends.push({ fence: { id, worker: WORKER, claim: 1 }, end, policy })
      }
      await under.query(
        "CREATE TRIGGER rejects BEFORE UPDATE ON job FOR EACH ROW BEGIN IF NEW.id = 'c' THEN SIGNAL SQLSTATE '45000'; END IF; END",
      )
      under.afterwards(() => under.query('DROP TRIGGER rejects'))
      await lockedEntry('a', 'running')
      const { settled, lost, locked, refused } = await executing.settle(ends)
      expect([ids(settled), lost]).toEqual([['b'], []])
      expect([locked.map(({ fence }) => fence.id), refused.map(({ item }) => item.fence.id)]).toEqual([
        ['a'],
        ['c'],
      ])
    })

    it('even if an open transaction blocks a schedule of the batch, no more jobs start than the capacity allows', async () => {
      const { scheduling } = loops()
      const past = after(await clock(under), -1000)
      for (const id of ['l1', 'l2', 'l3']) await planned(under, id, past)
      const marks = await scheduling.markDue(WORKER, 10, LEASE_MS)
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query(
        "INSERT INTO job (id, task, periodic_task_uid, slot) VALUES ('x', 't', ?, '2026-01-01 00:00:00.000')",
        [await uidOf(under, 'l1')],
      )
      const startLimits = { tasks: policies('task'), limit: 1, taskLimits: new Map<string, number>() }
      const { submissions, started } = await scheduling.submit(WORKER, marks, submitDue, startLimits)
      expect(ids(submissions)).toEqual(['l2', 'l3'])
      expect(started.length).toBeLessThanOrEqual(1)
    })

    it('open transactions on some schedules delay the other schedules of the batch by at most one call', async () => {
      const { scheduling } = loops()
      const past = after(await clock(under), -1000)
      // The names differ from those in other tests, whose deleted rows the server may still check.
      for (const id of ['k1', 'k2', 'k3', 'k4']) await planned(under, id, past)
      const marks = await scheduling.markDue(WORKER, 10, LEASE_MS)
      const inserting = async (schedule: string) => {
        const admin = await administrator()
        await admin.query('START TRANSACTION')
        await admin.query(
          "INSERT INTO job (id, task, periodic_task_uid, slot) VALUES (?, 't', ?, '2026-01-01 00:00:00.000')",
          [`of ${schedule}`, await uidOf(under, schedule)],
        )
        return admin
      }
      await inserting('k1')
      await inserting('k2')
      const third = await inserting('k3')
      stoppedClock()
      const waits = lockWaits()
      const first = await scheduling.submit(WORKER, marks, submitDue)
      // First the batch waited, then two of its rows.
      expect([ids(first.submissions), ids(first.locked), waits()]).toEqual([[], ['k3', 'k4', 'k1', 'k2'], 3])
      await third.query('ROLLBACK')
      const second = await scheduling.submit(WORKER, first.locked, submitDue)
      expect([ids(second.submissions), ids(second.locked), waits()]).toEqual([['k3', 'k4'], ['k1', 'k2'], 3])
    })

    it('an open transaction on a schedule with a stale mark does not prevent a worker from starting', async () => {
      const now = await clock(under)
      for (const id of ['a', 'b']) {
        await planned(under, id, now, {
          worker: 'w/0',
          marked: toText(now),
          mark_ends: toText(after(now, LEASE_MS)),
        })
      }
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("UPDATE periodic_task SET summary = 'mine' WHERE id = 'a'")
      expect(await under.store.scheduling.clearStaleMarks(WORKER, LEASE_MS)).toBe(1)
      await admin.query('COMMIT')
      expect(await under.store.scheduling.clearStaleMarks(WORKER, LEASE_MS)).toBe(1)
    })
  })

  describe.skipIf(!server)('a transaction that is rolled back', () => {
    it('a transaction that is rolled back by a deadlock is repeated, and nothing from its first attempt remains [L24]', async () => {
      await planned(under, 'a', null, { idle: 'done' })
      await planned(under, 'b', null, { idle: 'done' })
      const database = impatient(50)
      let tries = 0
      const crossroads = new EventEmitter()
      const both = once(crossroads, 'both')
      let holding = 0
      const crossing = (first: string, second: string, weight: number) =>
        database.transaction(async (sql) => {
          tries += 1
          // The larger transaction survives.
          for (let index = 0; index < weight; index += 1)
            await sql.run("INSERT INTO job_log (job_id, message) VALUES (?, 'x')", [first])
          await sql.run('UPDATE periodic_task SET run_count = run_count + 1 WHERE id = ?', [first])
          holding += 1
          if (holding === 2) crossroads.emit('both')
          await both
          await sql.run('UPDATE periodic_task SET run_count = run_count + 1 WHERE id = ?', [second])
        })
      await Promise.all([crossing('a', 'b', 1), crossing('b', 'a', 20)])
      expect(tries).toBe(3)
      expect(await under.query('SELECT id, run_count FROM periodic_task ORDER BY id')).toEqual([
        { id: 'a', run_count: 2 },
        { id: 'b', run_count: 2 },
      ])
      expect(await one(under, 'SELECT COUNT(*) AS n FROM job_log')).toEqual({ n: 21 })
    })

    it('a transaction that is rolled back by a lock timeout is repeated, and nothing from its first attempt remains [L37]', async () => {
      await planned(under, 'a', null, { idle: 'done' })
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("UPDATE periodic_task SET summary = 'mine' WHERE id = 'a'")
      let tries = 0
      await impatient(1).transaction(async (sql) => {
        tries += 1
        await sql.run("INSERT INTO job_log (job_id, message) VALUES ('a', 'x')")
        // The row is unlocked during the second try.
        if (tries === 2) await admin.query('COMMIT')
        await sql.run("UPDATE periodic_task SET run_count = run_count + 1 WHERE id = 'a'")
      })
      expect(tries).toBe(2)
      expect(await one(under, 'SELECT COUNT(*) AS n FROM job_log')).toEqual({ n: 1 })
      expect(await schedule(under, 'a')).toMatchObject({ run_count: 1, summary: 'mine' })
    })

    it('a transaction that is rolled back each time leaves nothing behind', async () => {
      await planned(under, 'a', null, { idle: 'done' })
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("UPDATE periodic_task SET summary = 'mine' WHERE id = 'a'")
      const giving = impatient(1).transaction(async (sql) => {
        await sql.run("INSERT INTO job_log (job_id, message) VALUES ('a', 'x')")
        await sql.run("UPDATE periodic_task SET run_count = run_count + 1 WHERE id = 'a'")
      })
      await expect(giving).rejects.toThrow(StoreUnavailableError)
      await expect(giving).rejects.toMatchObject({ cause: { errno: 1205 } })
      expect(await one(under, 'SELECT COUNT(*) AS n FROM job_log')).toEqual({ n: 0 })
    })

    it('a single statement that is rolled back is also repeated', async () => {
      await write(under.store).create('a', settings())
      const admin = await administrator()
      await admin.query('START TRANSACTION')
      await admin.query("UPDATE periodic_task SET summary = 'mine' WHERE id = 'a'")
      const database = impatient(1)
      // oxlint-disable-next-line typescript/unbound-method -- called with Reflect.apply
      const { take } = Connections.prototype
      let tries = 0
      const taking = vi.spyOn(Connections.prototype, 'take').mockImplementation(async function (
        this: Connections,
      ) {
        const connection = await Reflect.apply(take, this, [])
        tries += 1
        if (tries === 1) return connection
        // The second try waits until the row is unlocked.
        await connection.query('SET innodb_lock_wait_timeout = 50')
        void admin.query('COMMIT')
        return connection
      })
      under.afterwards(async () => taking.mockRestore())
      expect(await database.run("UPDATE periodic_task SET group_ = 'g' WHERE id = 'a'")).toBe(1)
      expect(tries).toBe(2)
      expect(await schedule(under, 'a')).toMatchObject({ group_: 'g', summary: 'mine' })
    })
  })

  describe.skipIf(!server)('when a connection is lost', () => {
    it('the transaction fails as unavailable and is rolled back, and the next call works', async () => {
      await planned(under, 'a', null, { idle: 'done' })
      const database = new MysqlDatabase(under.url, 2)
      under.afterwards(() => database.close())
      const losing = database.transaction(async (sql) => {
        await sql.run("INSERT INTO job_log (job_id, message) VALUES ('a', 'x')")
        const [row] = await sql.rows<{ id: number }>('SELECT CONNECTION_ID() AS id')
        await under.query(`KILL ${row?.id}`)
        await sql.run("UPDATE periodic_task SET run_count = run_count + 1 WHERE id = 'a'")
      })
      await expect(losing).rejects.toThrow(StoreUnavailableError)
      expect(await database.rows('SELECT id FROM job_log')).toEqual([])
      expect(await database.run("UPDATE periodic_task SET run_count = 1 WHERE id = 'a'")).toBe(1)
    })

    it('after an idle pool has lost its connections, calls may fail as unavailable, but later calls work', async () => {
      const store = await under.another()
      await store.workers.register({ id: 'w/1', name: 'w', host: 'h', pid: 1, tasks: [] })
      for (const { id } of await sessions(under)) await under.query(`KILL ${id}`).catch(() => {})
      const results = []
      for (let call = 0; call < 10; call += 1) {
        results.push(await store.workers.heartbeat('w/1').catch((error: unknown) => error))
      }
      for (const result of results) {
        if (result !== 'written') expect(result).toBeInstanceOf(StoreUnavailableError)
      }
      expect(results.at(-1)).toBe('written')
    })

    it('a slot can still be submitted after the query that was inserting its job was killed', async () => {
      const slot = after(await clock(under), -1000)
      await planned(under, 'a', slot)
      const marks = await under.store.scheduling.markDue(WORKER, 10, LEASE_MS)
      const admin = await administrator()
      // The insert waits for a job that another transaction has inserted but not committed.
      await admin.query('START TRANSACTION')
      await admin.query(
        "INSERT INTO job (id, task, periodic_task_uid, slot) VALUES ('x', 't', ?, '2026-01-01 00:00:00.000')",
        [await uidOf(under, 'a')],
      )
      const submitting = under.store.scheduling
        .submit(WORKER, marks, submitDue)
        .catch((error: unknown) => error)
      await under.query(`KILL QUERY ${await untilItRuns('INSERT INTO `job`')}`)
      expect(await submitting).toBeInstanceOf(StoreUnavailableError)
      await admin.query('ROLLBACK')
      expect(ids((await under.store.scheduling.submit(WORKER, marks, submitDue)).submissions)).toEqual(['a'])
      expect(await under.query('SELECT state FROM job')).toEqual([{ state: 'waiting' }])
    })
  })

  it('all operations at once lose nothing, duplicate nothing and report no deadlock [L24]', async () => {
    const SCHEDULES = 60
    const past = after(await clock(under), -3_600_000)
    const names = Array.from({ length: SCHEDULES }, (_, index) => `s${String(index).padStart(3, '0')}`)
    for (const id of names) await planned(under, id, past)
    const deadlocks = async () => {
      if (!server) return 0
      if (under.kind === 'mariadb')
        return Number((await one(under, "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'"))['Value'])
      return Number(
        (
          await one(
            under,
            "SELECT count AS n FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'",
          )
        )['n'],
      )
    }
    const before = await deadlocks()
    const stores: Store[] = []
    // The loops' locks time out after a second, which a busy machine exceeds. Here, only deadlocks may end a wait.
    for (let index = 0; index < 4; index += 1)
      stores.push(server ? storeOn(impatient(50), '') : await under.another())
    const isFull = process.env['KALENDS_TEST_SUITE'] === 'full'
    const rounds = (server ? 13 : 5) * (isFull ? 3 : 1)
    const surfaced: unknown[] = []
    const submitted: string[] = []

    const work = async (store: Store, number: number) => {
      const worker = `w${number}/1`
      await store.workers.register({ id: worker, name: `w${number}`, host: 'h', pid: 1, tasks: ['task'] })
      let held: Awaited<ReturnType<typeof store.executing.settle>>['locked'] = []
      for (let round = 0; round < rounds; round += 1) {
        const random = names[(round * 7 + number * 13) % SCHEDULES] ?? ''
        const marks = await store.scheduling.markDue(worker, 25, LEASE_MS)
        let todo: typeof marks | undefined = marks
        while (todo !== undefined && todo.length > 0) {
          const result: Awaited<ReturnType<typeof store.scheduling.submit>> = await store.scheduling.submit(
            worker,
            todo,
            submitDue,
          )
          submitted.push(...result.submissions.flatMap(({ jobs }) => jobs))
          surfaced.push(...result.refused.map(({ error }) => error))
          todo = [...result.locked]
        }
        const claimed = await store.executing.claim(worker, policies('task'), 20, '')
        const { locked } = await write(store).settle([
          ...held,
          ...claimed.map(({ id, claim, policy }) => ({
            fence: { id, worker, claim },
            end:
              round % 3 === 0
                ? ({ kind: 'released' } as const)
                : ({ kind: 'success', result: null } as const),
            policy,
          })),
        ])
        held = locked
        await write(store).runNow(random).catch(tolerate)
        const [last] = submitted.slice(-1)
        if (last !== undefined && round % 4 === 0) await write(store).cancel(last)
        if (round % 5 === 0) {
          await store.declared.sync(
            setVersion('set', names.slice(number * 10, number * 10 + 20).toReversed()),
            ({ existing }) =>
              setChanges({
                change: existing.map(({ id }) => ({ id, settings: { summary: `${number} ${round}` } })),
              }),
          )
        }
        if (round % 6 === 0) await store.schedules.update(random, { subject: String(round) })
        await store.executing.promoteDue(50)
        await store.workers.heartbeat(worker)
      }
      while (held.length > 0) held = (await write(store).settle(held)).locked
    }
    const outcomes = await Promise.allSettled(stores.map(work))
    for (const outcome of outcomes) if (outcome.status === 'rejected') surfaced.push(outcome.reason)
    expect(surfaced).toEqual([])
    expectNoFault(submitted.filter((id, index) => submitted.indexOf(id) !== index))
    // No slot of a schedule has more than one row.
    const duplicates = await under.query(
      `SELECT periodic_task_id AS id, COUNT(*) AS jobs, COUNT(DISTINCT slot) AS slots FROM job WHERE reason IS NULL OR reason <> 'run-now' GROUP BY periodic_task_id HAVING COUNT(*) <> COUNT(DISTINCT slot)`,
    )
    expectNoFault(duplicates)
    expect(await under.query('SELECT id FROM periodic_task WHERE worker IS NOT NULL')).toEqual([])
    const seen = (await deadlocks()) - before
    // Other tests that share the server may cause a few deadlocks.
    expect(seen).toBeLessThanOrEqual(5)
  }, 120_000)

  it.skipIf(server)(
    'waiting for another connection that writes to the file does not block the process',
    async () => {
      const other = await under.another()
      let ticks = 0
      const ticking = setInterval(() => (ticks += 1), 5)
      try {
        await Promise.all(
          Array.from({ length: 100 }, async (_, index) => {
            const store = index % 2 === 0 ? under.store : other
            await store.jobs.submit([newJob(`j${index}`)])
            await store.executing.claim(WORKER, policies('task'), 1, '')
          }),
        )
      } finally {
        clearInterval(ticking)
      }
      expect(await under.store.jobs.countOpen(1000)).toBe(100)
      expect(ticks).toBeGreaterThan(0)
    },
  )
})
