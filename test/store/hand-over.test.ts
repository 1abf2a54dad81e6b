/** Jobs of an external queue: how they are assigned, the hand-over in one transaction, reports, and missing reports. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConflictError } from '../../src/errors.ts'
import { toText } from '../../src/model/instant.ts'
import type { ClaimedJob, Job } from '../../src/model/job.ts'
import { plan } from '../../src/model/plan.ts'
import { EVERY_TASK } from '../../src/model/task.ts'
import {
  CallbackTooSlowError,
  type HandOverQueue,
  TransactionEndedError,
} from '../../src/store/executing-store.ts'
import { until } from '../kalends/scene.ts'
import type { FinishedRun } from '../../src/store/job-store.ts'
import {
  after,
  clock,
  insert,
  job,
  jobRow,
  LEASE_MS,
  MINUTE,
  newJob,
  onEachStore,
  planned,
  policies,
  schedule,
  WORKER,
} from './conformance.ts'

const HOUR = 60 * MINUTE
const QUEUE: HandOverQueue = { name: 'q', reports: true, timeoutMs: HOUR, deadlineMs: 10_000 }
const NO_TIMES = { startedAt: null, finishedAt: null }
const SUCCESS: FinishedRun = { state: 'success', error: null, result: null }

type Write = (sql: string, params?: readonly (string | number | null)[]) => Promise<unknown>

/** Returns a function that runs statements on the driver's connection. */
function writeOn(connection: object): Write {
  return async (sql, params = []) => {
    if ('prepare' in connection && 'exec' in connection && typeof connection.prepare === 'function')
      return connection.prepare(sql).run(...params)
    if ('query' in connection && typeof connection.query === 'function')
      return await connection.query(sql, params)
    throw new Error('not a connection')
  }
}

/** Ends the transaction in a way that the guard of the connection does not notice. */
async function hidden(connection: object, statement: 'COMMIT' | 'ROLLBACK'): Promise<void> {
  if ('exec' in connection && typeof connection.exec === 'function') {
    connection.exec(`SELECT 1; ${statement}`)
    return
  }
  await writeOn(connection)(`PREPARE hidden FROM '${statement}'`)
  await writeOn(connection)('EXECUTE hidden')
}

/** The error of a call, whether it throws or rejects. */
async function refusal(call: () => unknown): Promise<unknown> {
  try {
    await call()
    return null
  } catch (error) {
    return error
  }
}

onEachStore((under) => {
  beforeEach(async () => {
    await under.query('DROP TABLE IF EXISTS own_job')
    await under.query('CREATE TABLE own_job (id VARCHAR(254) NOT NULL PRIMARY KEY)')
  })

  /** Inserts the jobs into the application's table. */
  const insertOwn = async (jobs: readonly ClaimedJob[], connection: object) => {
    const write = writeOn(connection)
    for (const { id } of jobs) await write('INSERT INTO own_job (id) VALUES (?)', [id])
  }
  const handOver = (
    submit: Parameters<typeof under.store.executing.handOver>[4] = insertOwn,
    {
      queue = QUEUE,
      limit = 100,
      refused = [] as [id: string, error: unknown][],
      leftBehind = [] as string[],
    } = {},
  ) =>
    under.store.executing.handOver(
      WORKER,
      queue,
      limit,
      '',
      submit,
      (...of) => void refused.push(of),
      (names) => void leftBehind.push(...names),
    )
  const route = (queue: string, tasks: readonly string[], worker = WORKER) =>
    under.store.executing.route(worker, queue, tasks)
  const own = async () => (await under.query('SELECT id FROM own_job ORDER BY id')).map(({ id }) => id)
  const finish = (
    id: string,
    run: FinishedRun | null = SUCCESS,
    times: Parameters<typeof under.store.jobs.finish>[2] = NO_TIMES,
  ) => under.store.jobs.finish(id, () => run, times)
  const waiting = (id: string, more: Record<string, string | number | null> = {}) =>
    job(under, id, { queue: 'q', ...more })
  const submitDue = async () => {
    const { scheduling } = under.store
    const marks = await scheduling.markDue(WORKER, 100, LEASE_MS)
    return scheduling.submit(WORKER, marks, (row, now, open, freezes) =>
      plan(row, { now, open, missedAfterMs: LEASE_MS, freezes }),
    )
  }
  /** Inserts a schedule that is due at an exact slot of `every 1h`. */
  const dueNow = async (id: string, more: Record<string, string | number | null> = {}) => {
    const slot = await clock(under)
    const created = toText(after(slot, -10 * HOUR))
    await planned(under, id, slot, { timer: 'every 1h', created, ...more })
    return slot
  }
  /** Moves the start of all jobs into the past, so that their time limits have expired. */
  const overdue = () => under.query("UPDATE job SET started = '2020-01-01 00:00:00.000'")

  describe('the queue of a job', () => {
    it('is that of its task or of all tasks; jobs of built-in tasks have none', async () => {
      await route('q', ['task'])
      await route('all', [EVERY_TASK])
      for (const task of ['task', 'other', 'kalends.prune']) {
        await dueNow(`of ${task}`, { task })
        await under.store.jobs.submit([newJob(`direct ${task}`, { task })])
      }
      const together = ['task', 'other', 'kalends.prune'].map((task) => newJob(`together ${task}`, { task }))
      await under.store.jobs.submit(together)
      await submitDue()
      const rows = await under.query(
        "SELECT task, queue FROM job WHERE state <> 'skipped' ORDER BY task, queue",
      )
      expect(rows).toEqual([
        { task: 'kalends.prune', queue: null },
        { task: 'kalends.prune', queue: null },
        { task: 'kalends.prune', queue: null },
        { task: 'other', queue: 'all' },
        { task: 'other', queue: 'all' },
        { task: 'other', queue: 'all' },
        { task: 'task', queue: 'q' },
        { task: 'task', queue: 'q' },
        { task: 'task', queue: 'q' },
      ])
    })

    it('is that of the newest routing; tasks that are no longer listed leave the queue', async () => {
      const routes = () => under.query('SELECT task, queue FROM task_queue ORDER BY task')
      await route('q', ['a', 'b'])
      await route('q', ['b', 'c'])
      expect(await route('other', ['c'])).toEqual([])
      expect(await routes()).toEqual([
        { task: 'b', queue: 'q' },
        { task: 'c', queue: 'other' },
      ])
      await Promise.all(['q', 'q', 'q'].map((queue) => route(queue, ['d'])))
      expect(await routes()).toEqual([
        { task: 'c', queue: 'other' },
        { task: 'd', queue: 'q' },
      ])
    })

    it('stays the same while that queue has a live worker; a worker that names another queue is reported', async () => {
      const worker = (id: string, tasks: readonly string[]) =>
        under.store.workers.register({ id, name: id, host: 'h', pid: 1, tasks })
      await worker('w/2', [' q', 'a', 'b'])
      await route('q', ['a', 'b'], 'w/2')
      await route('q', ['b', 'c'])
      expect(await under.query('SELECT task FROM task_queue ORDER BY task')).toEqual([
        { task: 'a' },
        { task: 'b' },
        { task: 'c' },
      ])
      expect(await route('other', ['a'])).toEqual([{ task: 'a', queue: 'q' }])
      await under.store.workers.unregister('w/2')
      await route('q', ['b', 'c'])
      expect(await route('other', ['a'])).toEqual([])
    })

    it('is assigned to waiting and blocked jobs without one: jobs submitted earlier and jobs inserted in SQL', async () => {
      for (const [id, more] of Object.entries({
        waiting: {},
        retried: { attempt: 1, run_at: '2099-01-01 00:00:00' },
        blocked: { state: 'blocked' },
        running: { state: 'running', worker: WORKER, attempt: 1, claim: 1 },
        ended: { state: 'success' },
        other: { task: 'other' },
        'built in': { task: 'kalends.prune' },
      }))
        await job(under, id, more)
      const queues = async () =>
        Object.fromEntries(
          (await under.query('SELECT id, queue FROM job WHERE queue IS NOT NULL')).map(({ id, queue }) => [
            id,
            queue,
          ]),
        )
      await route('q', ['task'])
      expect(await queues()).toEqual({ waiting: 'q', retried: 'q', blocked: 'q' })
      await route('all', [EVERY_TASK])
      expect(await queues()).toEqual({ waiting: 'q', retried: 'q', blocked: 'q', other: 'all' })
    })

    it('prevents workers from claiming or starting the job', async () => {
      await route('q', ['task'])
      await dueNow('s')
      const { scheduling, executing } = under.store
      const marks = await scheduling.markDue(WORKER, 100, LEASE_MS)
      const { started } = await scheduling.submit(
        WORKER,
        marks,
        (row, now, open) => plan(row, { now, open, missedAfterMs: LEASE_MS }),
        { limit: 10, tasks: policies('task'), taskLimits: new Map() },
      )
      expect(started).toEqual([])
      expect(await executing.claim(WORKER, policies('task', 'q'), 10, '')).toEqual([])
      expect((await scheduling.look(['task'])).claimable).toBe(false)
      expect((await scheduling.look([' q'])).claimable).toBe(true)
    })
  })

  describe('a hand-over', () => {
    /** Makes a rejected job due again at once. */
    const again = async (id: string) => {
      await under.store.executing.postpone([{ id, error: 'refused' }])
      await under.query('UPDATE job SET run_at = NULL WHERE id = ?', [id])
    }
    afterEach(() => again('a'))

    it('commits the jobs and the writes of the callback together [S11, X1]', async () => {
      await waiting('a', { priority: 1 })
      await waiting('b', { group_: 'g' })
      await job(under, 'of a worker')
      await waiting('of another queue', { queue: 'other' })
      await waiting('later', { run_at: toText(after(await clock(under), MINUTE)) })
      const seen: Job[] = []
      const jobs = await handOver(async (offered, connection) => {
        seen.push(...offered)
        await insertOwn(offered, connection)
      })
      expect(jobs.map(({ id }) => id).toSorted()).toEqual(['a', 'b'])
      expect(seen).toEqual(jobs)
      expect(await own()).toEqual(['a', 'b'])
      expect(await jobRow(under, 'a')).toMatchObject({
        state: 'external',
        worker: WORKER,
        attempt: 1,
        claim: 1,
        timeout: QUEUE.timeoutMs,
        max_retries: null,
        reason: null,
      })
      expect(await under.store.workers.running()).toEqual(new Map())
      expect(await handOver()).toEqual([])
    })

    it('a hand-over whose callback throws is rolled back, and the job at fault is isolated [X1]', async () => {
      for (const id of ['a', 'b', 'c', 'd']) await waiting(id)
      const refused: [string, unknown][] = []
      const submit: Parameters<typeof handOver>[0] = async (jobs, connection) => {
        await insertOwn(jobs, connection)
        if (jobs.some(({ id }) => id === 'c')) throw new Error('too large')
      }
      const jobs = await handOver(submit, { refused })
      expect(jobs.map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'd'])
      expect(await own()).toEqual(['a', 'b', 'd'])
      expect(refused.map(([id]) => id)).toEqual(['c'])
      expect(await jobRow(under, 'c')).toMatchObject({ state: 'waiting', attempt: 0, claim: 0, worker: null })
      expect(await handOver(submit, { refused })).toEqual([])
      expect(refused).toHaveLength(1)
      await again('c')
      expect((await handOver()).map(({ id }) => id)).toEqual(['c'])
    })

    it('a rejected hand-over stores the reason and waits longer each time; a successful one clears both', async () => {
      await waiting('a')
      const waits = async () => {
        await under.store.executing.postpone([{ id: 'a', error: 'the printer is offline' }])
        const { runAt = null } = (await under.store.jobs.get('a')) ?? {}
        const ms = (runAt?.getTime() ?? 0) - (await clock(under)).getTime()
        await under.query("UPDATE job SET run_at = NULL WHERE id = 'a'")
        return Math.ceil(ms / 1000)
      }
      expect([await waits(), await waits(), await waits()]).toEqual([1, 2, 4])
      expect(await jobRow(under, 'a')).toMatchObject({
        error: 'the printer is offline',
        attempt: 0,
        releases: 3,
      })
      await handOver()
      expect(await jobRow(under, 'a')).toMatchObject({ error: null, releases: 0 })
      await under.store.executing.postpone([{ id: 'a', error: 'too late' }])
      expect(await jobRow(under, 'a')).toMatchObject({ state: 'external', error: null })
    })

    it('a hand-over that a constraint of the application rejects is retried later', async () => {
      await waiting('a')
      await under.query("INSERT INTO own_job (id) VALUES ('a')")
      const refused: [string, unknown][] = []
      expect(await handOver(insertOwn, { refused })).toEqual([])
      expect(refused.map(([id]) => id)).toEqual(['a'])
      expect(await jobRow(under, 'a')).toMatchObject({ state: 'waiting' })
    })

    it('a hand-over whose callback hangs is rolled back at the deadline, and later writes of the callback fail [X1]', async () => {
      await waiting('a')
      const late: { write?: Write; aborted?: boolean } = {}
      const hanging = handOver(
        async (jobs, connection, signal) => {
          await insertOwn(jobs, connection)
          late.write = writeOn(connection)
          signal.addEventListener('abort', () => (late.aborted = true))
          await new Promise(() => undefined)
        },
        { queue: { ...QUEUE, deadlineMs: 1000 } },
      )
      await expect(hanging).rejects.toBeInstanceOf(CallbackTooSlowError)
      expect(late.aborted).toBe(true)
      await expect(late.write?.("INSERT INTO own_job (id) VALUES ('late')")).rejects.toBeInstanceOf(
        ConflictError,
      )
      expect(await own()).toEqual([])
      expect(await jobRow(under, 'a')).toMatchObject({ state: 'waiting', claim: 0 })
      // The server may notice the lost connection late, and holds the locks until then.
      await until(async () => ((await handOver()).length === 1 ? true : null))
    })

    it('includes a statement that the callback does not await; a later statement fails', async () => {
      await waiting('a')
      const late: { write?: Write } = {}
      await handOver(async (jobs, connection) => {
        late.write = writeOn(connection)
        void insertOwn(jobs, connection)
      })
      expect(await own()).toEqual(['a'])
      await expect(late.write?.('DELETE FROM own_job')).rejects.toThrow('This transaction has ended')
    })

    const claimsOf = async () => {
      const fences = [{ id: 'a', worker: WORKER, claim: 1 }]
      return (await under.store.executing.handedOver(WORKER, fences)).map(({ id }) => id)
    }

    it('a hand-over whose callback commits counts as done [S11, X1]', async () => {
      await waiting('a')
      const committed = handOver(async (jobs, connection) => {
        await insertOwn(jobs, connection)
        await hidden(connection, 'COMMIT')
      })
      await expect(committed).rejects.toBeInstanceOf(TransactionEndedError)
      expect(await claimsOf()).toEqual(['a'])
      expect(await own()).toEqual(['a'])
      expect(await handOver()).toEqual([])
    })

    it('a hand-over whose callback commits, and then times out on a lock or hangs, counts as done', async () => {
      await waiting('a')
      const throwing = handOver(async (jobs, connection) => {
        await insertOwn(jobs, connection)
        await hidden(connection, 'COMMIT')
        // Imitates a lock timeout, which a transaction survives.
        throw Object.assign(new Error('Lock wait timeout exceeded'), { errno: 1205 })
      })
      await expect(throwing).rejects.toBeInstanceOf(TransactionEndedError)
      expect(await claimsOf()).toEqual(['a'])
      await under.query("UPDATE job SET state = 'waiting', claim = 0")
      const hanging = handOver(
        async (_, connection) => {
          await hidden(connection, 'COMMIT')
          await new Promise(() => undefined)
        },
        // The callback commits long before its deadline, even on a busy machine.
        { queue: { ...QUEUE, deadlineMs: 1000 } },
      )
      await expect(hanging).rejects.toBeInstanceOf(CallbackTooSlowError)
      expect(await claimsOf()).toEqual(['a'])
    })

    it('a hand-over whose callback times out on a lock is retried, and its error is reported', async () => {
      await waiting('a')
      const refused: [string, unknown][] = []
      await handOver(
        () => Promise.reject(Object.assign(new Error('Lock wait timeout exceeded'), { errno: 1205 })),
        { refused },
      )
      expect(refused).toMatchObject([['a', { name: 'CallbackError', message: 'Lock wait timeout exceeded' }]])
      expect(await jobRow(under, 'a')).toMatchObject({ state: 'waiting', claim: 0 })
    })

    it('a hand-over whose callback runs DDL still has a known outcome', async () => {
      await waiting('a')
      const handing = handOver(async (jobs, connection) => {
        await insertOwn(jobs, connection)
        await writeOn(connection)('CREATE TABLE own_ddl (id INT)')
      })
      // On SQLite, DDL is part of the transaction.
      if (under.kind === 'sqlite') await handing
      else await expect(handing).rejects.toBeInstanceOf(TransactionEndedError)
      await under.query('DROP TABLE own_ddl')
      expect(await claimsOf()).toEqual(['a'])
      expect(await own()).toEqual(['a'])
    })

    it.each(['rolls back and continues', 'rolls back, continues and throws'])(
      'a hand-over whose callback %s counts as not done',
      async (how) => {
        await waiting('a')
        const handing = handOver(async (jobs, connection) => {
          await hidden(connection, 'ROLLBACK')
          await insertOwn(jobs, connection)
          if (how.endsWith('throws')) throw new Error('at last')
        })
        await expect(handing).rejects.toBeInstanceOf(TransactionEndedError)
        expect(await claimsOf()).toEqual([])
        // The row was written outside any transaction, and the application's key detects the duplicate later.
        expect(await own()).toEqual(['a'])
        expect(await jobRow(under, 'a')).toMatchObject({ state: 'waiting' })
      },
    )

    it('passes a connection whose methods and statements cannot end the transaction', async () => {
      await waiting('a')
      for (const statement of [
        'COMMIT',
        ' begin',
        'START TRANSACTION',
        'rollback',
        'ROLLBACK WORK',
        'END;',
        'END TRANSACTION',
        '/* hidden */ COMMIT',
        '-- hidden\nCOMMIT',
        ' ; COMMIT',
        ...(under.kind === 'sqlite' ? [] : ['/*!50000 COMMIT */', '# hidden\nCOMMIT']),
      ]) {
        const refused: [string, unknown][] = []
        const handing = handOver((_, connection) => writeOn(connection)(statement).then(() => undefined), {
          refused,
        })
        expect(await handing, statement).toEqual([])
        expect(refused, statement).toMatchObject([['a', { name: 'CallbackError' }]])
        await again('a')
      }
      expect(await jobRow(under, 'a')).toMatchObject({ state: 'waiting', claim: 0 })
      const throwing = under.kind === 'sqlite' ? ['close'] : ['release', 'destroy', 'close']
      const rejecting =
        under.kind === 'sqlite'
          ? []
          : ['commit', 'rollback', 'beginTransaction', 'end', 'changeUser', 'reset', Symbol.asyncDispose]
      await handOver(async (_, connection) => {
        for (const name of throwing)
          expect(() => Reflect.get(connection, name).call(connection), name).toThrow(ConflictError)
        for (const name of rejecting)
          expect(await refusal(() => Reflect.get(connection, name).call(connection))).toBeInstanceOf(
            ConflictError,
          )
        const write = writeOn(connection)
        for (const statement of [
          'SAVEPOINT a',
          'ROLLBACK TO SAVEPOINT a',
          'ROLLBACK TO a',
          'RELEASE SAVEPOINT a',
        ])
          await write(statement)
      })
      expect(await jobRow(under, 'a')).toMatchObject({ state: 'external' })
    })

    it('refuses each use of the connection after submit has returned: mysql2 rejects, SQLite throws', async () => {
      await waiting('a')
      const sql = "INSERT INTO own_job (id) VALUES ('late')"
      const late: Record<string, () => unknown> = {}
      const lateUses = (target: object, names: readonly string[], given: unknown = sql) => {
        for (const name of names)
          late[`${name} of ${target.constructor.name}`] = () => Reflect.get(target, name).call(target, given)
      }
      await handOver(async (_, connection) => {
        if (under.kind === 'sqlite') {
          lateUses(connection, ['exec', 'prepare'])
          lateUses(Reflect.get(connection, 'prepare').call(connection, sql), ['run', 'all'], undefined)
          return
        }
        lateUses(connection, ['query', 'execute', 'prepare', 'commit', 'ping'])
        late['query of an object'] = () => Reflect.get(connection, 'query').call(connection, { sql })
        lateUses(await Reflect.get(connection, 'prepare').call(connection, sql), ['execute'], [])
        // mysql2's own connection, with callbacks, and another one with promises that it creates.
        const inner = Reflect.get(connection, 'connection')
        expect(() => inner.query('COMMIT')).toThrow(ConflictError)
        lateUses(inner.promise(), ['query', 'execute'])
      })
      for (const [name, call] of Object.entries(late)) {
        expect(await refusal(call), name).toMatchObject({
          message: expect.stringContaining('This transaction has ended'),
        })
        if (under.kind === 'sqlite') expect(call, name).toThrow(ConflictError)
        else expect(() => void Promise.resolve(call()).catch(() => null), name).not.toThrow()
      }
      expect(await own()).toEqual([])
    })

    const CHANGES: Readonly<Record<string, readonly string[]>> =
      under.kind === 'sqlite'
        ? {
            'PRAGMA query_only = 1': ['query_only'],
            'PRAGMA main.ignore_check_constraints(1)': ['ignore_check_constraints'],
            'PRAGMA recursive_triggers = ON': ['recursive_triggers'],
            'PRAGMA query_only': [],
            'PRAGMA/**/query_only = 1': ['query_only'],
            'CREATE TEMP TABLE own_job (other INT)': ['the temporary table own_job'],
          }
        : {
            'SET autocommit = 0': ['autocommit'],
            '/* set */ SET @@SESSION.autocommit = OFF': ['autocommit'],
            "SET sql_mode = '', SESSION sql_select_limit = 1": ['sql_mode', 'sql_select_limit'],
            "SET time_zone = '+13:00'": ['time_zone'],
            "SET completion_type = 'CHAIN'": ['completion_type'],
            'SET foreign_key_checks = 0, unique_checks = 0': ['foreign_key_checks', 'unique_checks'],
            'SET sql_safe_updates = 1': ['sql_safe_updates'],
            'SET timestamp = 100': ['timestamp'],
            'SET /* c */ `autocommit` = 0,sql_safe_updates=1': ['autocommit', 'sql_safe_updates'],
            'SET @@session . autocommit = 0': ['autocommit'],
            'SELECT GET_LOCK/**/("left behind", 0)': [],
            "SELECT /* it's */ GET_LOCK('left behind', 0)": [],
            "SELECT 'a /*', GET_LOCK('left behind', 0), '*/'": [],
            'SELECT 1 INTO /**/ @left': [],
            "SELECT 'a; SET sql_mode = 1, autocommit = 0'": [],
            'SET NAMES latin1': ['character_set_client'],
            'SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE': ['transaction_isolation'],
            'USE information_schema': ['the current database'],
            'CREATE TEMPORARY TABLE job (id INT)': [],
            "SELECT GET_LOCK('left behind', 0)": [],
            'SET @left = 1': [],
            [`SET autocommit = 1`]: [],
          }
    const STATE =
      under.kind === 'sqlite'
        ? ['query_only', 'ignore_check_constraints', 'recursive_triggers'].map((name) => `PRAGMA ${name}`)
        : [
            `SELECT @@autocommit, @@sql_mode, @@completion_type, @@foreign_key_checks, @@unique_checks,
               @@sql_safe_updates, @@character_set_client, @left, DATABASE(), IS_USED_LOCK('left behind') AS held,
               ABS(TIMESTAMPDIFF(SECOND, NOW(), SYSDATE())) > 60 AS is_off`,
          ]
    const AS_NEW =
      under.kind === 'sqlite'
        ? /^\[(\[\{"\w+":0\}\],?){3}\]$/
        : /^\[\[\{"@@autocommit":1,"@@sql_mode":"STRICT_TRANS_TABLES","@@completion_type":"NO_CHAIN","@@foreign_key_checks":1,"@@unique_checks":1,"@@sql_safe_updates":0,"@@character_set_client":"utf8mb4","@left":null,"DATABASE\(\)":"(?!information_schema)\w+","held":null,"is_off":0\}\]\]$/
    it.each(Object.entries(CHANGES))(
      'hands the jobs over, and names and undoes what the callback leaves behind: %s',
      async (statement, names) => {
        await waiting('a')
        const leftBehind: string[] = []
        const submit: Parameters<typeof handOver>[0] = async (jobs, connection) => {
          await insertOwn(jobs, connection)
          await writeOn(connection)(statement)
        }
        expect(await handOver(submit, { leftBehind })).toMatchObject([{ id: 'a' }])
        expect(leftBehind).toEqual(names)
        expect(await own()).toEqual(['a'])
        // The next hand-over works, on a connection that is as good as new.
        await waiting('b')
        const state: unknown[] = []
        await handOver(async (jobs, connection) => {
          await insertOwn(jobs, connection)
          for (const sql of STATE)
            state.push(
              under.kind === 'sqlite'
                ? Reflect.get(connection, 'prepare').call(connection, sql).all()
                : (await Reflect.get(connection, 'query').call(connection, sql))[0],
            )
        })
        expect(await own()).toEqual(['a', 'b'])
        expect(JSON.stringify(state)).toMatch(AS_NEW)
      },
    )

    it.runIf(under.kind === 'sqlite')('a callback that takes too long leaves no setting behind', async () => {
      await waiting('a')
      const late = { ...QUEUE, deadlineMs: 50 }
      const handing = handOver(
        async (_, connection) => {
          await writeOn(connection)('PRAGMA query_only = 1')
          await new Promise(() => {})
        },
        { queue: late },
      )
      await expect(handing).rejects.toThrow(CallbackTooSlowError)
      expect((await handOver()).map(({ id }) => id)).toEqual(['a'])
    })

    it.runIf(under.kind === 'sqlite')('what a method of the connection returns is guarded, too', async () => {
      await waiting('a')
      const kept: unknown[] = []
      await handOver(async (jobs, connection) => {
        await insertOwn(jobs, connection)
        kept.push(Reflect.get(connection, 'exec').call(connection, 'SELECT 1'))
        kept.push(Reflect.get(Reflect.get(connection, 'prepare').call(connection, 'SELECT 1'), 'database'))
      })
      for (const one of kept)
        if (typeof one === 'object' && one !== null)
          expect(() => Reflect.get(one, 'prepare').call(one, 'SELECT 1')).toThrow(ConflictError)
    })

    it('names nothing if the callback restores the value itself', async () => {
      await waiting('a')
      const setting = under.kind === 'sqlite' ? 'PRAGMA query_only' : 'SET sql_safe_updates'
      const leftBehind: string[] = []
      await handOver(
        async (_, connection) => {
          for (const value of [1, 0]) await writeOn(connection)(`${setting} = ${value}`)
        },
        { leftBehind },
      )
      expect(leftBehind).toEqual([])
      expect(await jobRow(under, 'a')).toMatchObject({ state: 'external' })
    })

    it('names and undoes what a callback leaves behind that throws', async () => {
      await waiting('a')
      const leftBehind: string[] = []
      const [statement, name] =
        under.kind === 'sqlite'
          ? ['PRAGMA query_only = 1', 'query_only']
          : ['SET autocommit = 0', 'autocommit']
      await handOver(
        async (_, connection) => {
          await writeOn(connection)(statement)
          throw new Error('at last')
        },
        { leftBehind },
      )
      expect(leftBehind).toContain(name)
      await again('a')
      expect((await handOver()).map(({ id }) => id)).toEqual(['a'])
      expect(await own()).toEqual(['a'])
    })

    it('respects freezes and the limit, and lets groups take turns', async () => {
      for (let index = 0; index < 5; index += 1) await waiting(`a${index}`, { group_: 'a' })
      await waiting('b', { group_: 'b' })
      await waiting('frozen', { task: 'other' })
      const until = toText(after(await clock(under), 60 * MINUTE))
      await insert(under, 'schedule_freeze', { task: 'other', until })
      const jobs = await handOver(insertOwn, { limit: 2 })
      expect(jobs.map(({ group }) => group).toSorted()).toEqual(['a', 'b'])
      await handOver()
      expect(await own()).not.toContain('frozen')
    })
  })

  describe('a schedule whose run is in an external queue', () => {
    let slot = new Date(0)
    const handedOver = async (more: Record<string, string | number | null> = {}) => {
      await route('q', ['task'])
      slot = await dueNow('s', more)
      await submitDue()
      const [first] = await handOver()
      return first?.id ?? ''
    }
    /** Moves the first slot an hour back, so that the next one is due. */
    const dueAgain = async () => {
      const [first, next] = [toText(after(slot, -HOUR)), toText(slot)]
      await under.query('UPDATE job SET slot = ?', [first])
      await under.query(
        'UPDATE periodic_task SET last_slot = ?, nextrun = ?, planned_nextrun = ?, planned_from = definition',
        [first, next, next],
      )
    }

    it('counts the outcome of the job once and promotes the next job [X3]', async () => {
      const id = await handedOver({ overlap: 'queue-one' })
      await dueAgain()
      const { submissions } = await submitDue()
      const next = submissions[0]?.jobs[0] ?? ''
      expect(await jobRow(under, next)).toMatchObject({ state: 'blocked', queue: 'q' })
      const finished = await finish(id, { state: 'success', error: null, result: '{"ok":true}' })
      expect(finished).toMatchObject({
        job: { id, state: 'success', result: { ok: true }, attempt: 1, worker: WORKER },
        settled: { id, scheduleId: 's', promoted: next, outcome: { state: 'success' } },
      })
      expect(await jobRow(under, next)).toMatchObject({ state: 'waiting' })
      expect(await under.query('SELECT outcome FROM attempt')).toEqual([])
      expect(await schedule(under, 's')).toMatchObject({ run_count: 1, error_count: 0 })
      expect(await handOver()).toMatchObject([{ id: next }])
    })

    it('counts a failure, and stores its attempt, error and times [X3]', async () => {
      const id = await handedOver()
      const now = await clock(under)
      const times = { startedAt: after(now, -5000), finishedAt: after(now, -2000) }
      await finish(id, { state: 'failed', error: 'out of paper', result: null }, times)
      expect(await under.store.jobs.get(id)).toMatchObject({
        state: 'failed',
        error: 'out of paper',
        ...times,
      })
      expect(await schedule(under, 's')).toMatchObject({
        run_count: 1,
        error_count: 1,
        failed_attempts: 1,
        last_error: 'out of paper',
      })
      expect(await under.query('SELECT outcome, error FROM attempt')).toEqual([
        { outcome: 'failed', error: 'out of paper' },
      ])
    })

    it('future times in a report are replaced with the current time', async () => {
      const id = await handedOver()
      const now = await clock(under)
      await finish(id, SUCCESS, { startedAt: after(now, MINUTE), finishedAt: after(now, HOUR) })
      const { startedAt, finishedAt } = (await under.store.jobs.get(id)) ?? {}
      expect(finishedAt?.getTime()).toBeLessThan(after(now, MINUTE).getTime())
      expect(startedAt).toEqual(finishedAt)
    })

    it('a job that is replaced is asked to stop, and the next job stays blocked until an outcome is reported', async () => {
      const id = await handedOver({ overlap: 'replace' })
      await dueAgain()
      const { submissions } = await submitDue()
      expect(await jobRow(under, id)).toMatchObject({ state: 'external', stop_requested: expect.any(String) })
      const next = submissions[0]?.jobs[0] ?? ''
      expect(await jobRow(under, next)).toMatchObject({ state: 'blocked' })
      await finish(id)
      expect(await jobRow(under, next)).toMatchObject({ state: 'waiting' })
    })

    it('a job that is cancelled ends at once; a later report has no effect', async () => {
      const id = await handedOver()
      await under.store.jobs.cancel(id, ({ state }) => (state === 'external' ? 'cancel' : null))
      expect(await jobRow(under, id)).toMatchObject({ state: 'cancelled' })
      expect(await finish(id, null)).toMatchObject({ job: { state: 'cancelled' }, settled: null })
      expect(await schedule(under, 's')).toMatchObject({ run_count: 0 })
    })
  })

  it('a report before the commit of the hand-over ends the job, which is then not handed over [X2]', async () => {
    await waiting('a')
    expect(await finish('a')).toMatchObject({ job: { state: 'success', attempt: 1 } })
    expect(await handOver()).toEqual([])
    expect(await finish('unknown')).toBeNull()
  })

  describe('a job whose outcome is not reported', () => {
    const settleOrphans = async () => {
      const orphans = await under.store.executing.orphans(10)
      return (await under.store.executing.settle(orphans)).settled
    }

    it('is listed by doctor after an hour', async () => {
      await waiting('old')
      await waiting('new')
      await handOver()
      await under.query("UPDATE job SET started = '2020-01-01 00:00:00.000' WHERE id = 'old'")
      const { unreported, orphans } = await under.store.inspection.inspect()
      expect(unreported).toEqual([{ id: 'old' }])
      expect(orphans).toEqual([])
    })

    it('fails once its time limit has passed and the sweep has found it [S11, X3]', async () => {
      await waiting('a')
      await waiting('own limit', { timeout: 1 })
      await job(under, 'by hand', { queue: 'q', state: 'external' })
      await handOver()
      expect((await under.store.executing.orphans(10)).filter(({ fence }) => fence.id === 'a')).toEqual([])
      // Rows without a limit or a start, as after a manual edit, still get a time limit.
      await under.query("UPDATE job SET timeout = NULL WHERE id = 'a'")
      expect(
        (await under.store.executing.orphans(10)).filter(({ fence }) => fence.id !== 'own limit'),
      ).toEqual([])
      await under.query(`UPDATE job SET timeout = ${QUEUE.timeoutMs} WHERE id = 'a'`)
      await under.query("UPDATE job SET submitted = '2020-01-01 00:00:00' WHERE id = 'by hand'")
      await overdue()
      expect(await under.store.scheduling.sweep(WORKER, LEASE_MS, 'left by workers')).toMatchObject({
        orphans: true,
      })
      const settled = await settleOrphans()
      expect(settled.map(({ id }) => id).toSorted()).toEqual(['a', 'by hand', 'own limit'])
      expect(await jobRow(under, 'a')).toMatchObject({
        state: 'failed',
        reason: 'unreported',
        error: "The queue 'q' did not report the outcome of this job within 1 hour of the hand-over",
      })
      expect(await under.store.scheduling.sweep(WORKER, LEASE_MS, 'left by workers')).toMatchObject({
        orphans: false,
      })
      expect(await finish('a', null)).toMatchObject({ job: { state: 'failed' }, settled: null })
    })

    it('succeeds if its queue sends no reports, because the hand-over then ends the job', async () => {
      await waiting('a')
      const [handed] = await handOver(insertOwn, { queue: { ...QUEUE, reports: false } })
      expect(handed).toMatchObject({ id: 'a' })
      expect(await jobRow(under, 'a')).toMatchObject({ state: 'external', reason: 'handed-over' })
      // The worker that handed the job over has crashed.
      expect(await settleOrphans()).toMatchObject([{ id: 'a', outcome: { state: 'success' } }])
      expect(await jobRow(under, 'a')).toMatchObject({ state: 'success', reason: 'handed-over', error: null })
    })
  })
})
