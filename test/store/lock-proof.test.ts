/** Servers that accept FOR UPDATE SKIP LOCKED but lock nothing. A proxy that removes these words stands in for them. */
import { describe, expect, it } from 'vitest'
import { ConflictError, SchemaError } from '../../src/errors.ts'
import { toText } from '../../src/model/instant.ts'
import { MysqlDatabase } from '../../src/store/mysql/database.ts'
import { openStores, storeOn } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { Proxy, type ProxyOptions } from '../support/worker-proxy.ts'
import {
  after,
  clock,
  ids,
  job,
  jobRow,
  LEASE_MS,
  onEachStore,
  planned,
  policies,
  schedule,
  submitDue,
  WORKER,
} from './conformance.ts'
import { write } from './writes.ts'

type Replace = (statement: string) => string | Promise<string>

const withoutLocks = (statement: string) => statement.replaceAll(/FOR UPDATE( SKIP LOCKED)?/g, '')
const ASKS_FOR_THE_SERVER = /^SHOW GLOBAL VARIABLES .*'hostname', 'port', 'version'\)$/

/** Holds back the first matching statement of as many connections until all of them have arrived. */
function meeting(pattern: RegExp, guests = 2): (statement: string) => Promise<void> {
  let missing = guests
  let begin: () => void = () => undefined
  const complete = new Promise<void>((resolve) => {
    begin = resolve
  })
  return async (statement) => {
    if (missing === 0 || !pattern.test(statement)) return
    missing -= 1
    if (missing === 0) begin()
    await complete
  }
}

onEachStore((under) => {
  describe.skipIf(under.kind === 'sqlite')('a server that does not lock rows', () => {
    const proxied = async (replace: Replace, options: ProxyOptions = {}): Promise<Proxy> => {
      const proxy = await Proxy.open(under.url, { ...options, replace })
      under.afterwards(() => proxy.close())
      return proxy
    }

    const logged: string[] = []
    const logger = {
      debug: () => undefined,
      info: (_: object, message: string) => void logged.push(message),
      warn: (_: object, message: string) => void logged.push(message),
      error: () => undefined,
    }
    const open = async (url: string) => {
      logged.length = 0
      const stores = await openStores(url, { migrate: false, logger })
      await stores.close()
    }

    it.each([
      ['locks nothing', withoutLocks, 'a connection got a row that another one had locked'],
      [
        'makes other connections wait',
        (statement: string) => statement.replaceAll('SKIP LOCKED', ''),
        'a connection waited for a locked row',
      ],
      [
        'locks rows only for SELECT',
        (statement: string) => statement.replace(/^UPDATE .*kalends_migration.*/, 'DO 1'),
        'a connection got a row that another one had locked',
      ],
      [
        'does not know SKIP LOCKED',
        (statement: string) => statement.replaceAll('SKIP LOCKED', 'SKIP THEM'),
        'it does not know SKIP LOCKED',
      ],
    ])('cannot be opened if it %s', async (_, replace, reason) => {
      const proxy = await proxied(replace)
      const opening = open(proxy.url)
      await expect(opening).rejects.toThrow(SchemaError)
      await expect(opening).rejects.toThrow(reason)
      // The row is free again.
      await under.query("UPDATE kalends_migration SET applied = applied WHERE name = '0000_first/0'")
    })

    it('is proved once per process and server, with rollbacks, by a user who may only read and write rows', async () => {
      const proxy = await proxied((statement) => statement)
      await open(proxy.url)
      const proof = proxy.statements.filter((statement) => statement.includes("'0000_first/0'"))
      expect(
        proof.map((statement) =>
          statement.replaceAll(/ (FROM|SET) .*'0000_first\/0'\S*( COLLATE \w+)?/g, ''),
        ),
      ).toEqual([
        'SELECT name FOR UPDATE',
        'SELECT name FOR UPDATE SKIP LOCKED',
        'SELECT name',
        'UPDATE `kalends_migration`',
        'SELECT name FOR UPDATE SKIP LOCKED',
        'SELECT name',
      ])
      expect(proxy.statements.filter((statement) => statement === 'ROLLBACK')).toHaveLength(4)
      expect(logged).toEqual([])
      const { length } = proof
      await open(proxy.url)
      expect(proxy.statements.filter((statement) => statement.includes("'0000_first/0'"))).toHaveLength(
        length,
      )
    })

    it('is proved by several processes at once', async () => {
      const proxies = await Promise.all(Array.from({ length: 8 }, () => proxied((statement) => statement)))
      await Promise.all(proxies.map(({ url }) => open(url)))
      expect(logged).toEqual([])
    })

    it('is reported, but not refused, if the user may not lock the row', async () => {
      const name = new URL(under.url).pathname.slice(1)
      const account = `reader_${name.slice(-12)}`
      await under.query(`CREATE USER ${account}@'%' IDENTIFIED BY 'a'`)
      under.afterwards(() => under.query(`DROP USER ${account}@'%'`))
      await under.query(`GRANT SELECT ON ${name}.* TO ${account}@'%'`)
      // A new address, because the server itself is known.
      const url = new URL((await proxied((statement) => statement)).url)
      Object.assign(url, { username: account, password: 'a' })
      await open(url.href)
      expect(logged).toEqual([expect.stringContaining('GRANT SELECT, UPDATE ON `kalends_migration`')])
    })

    describe('behind a balancer', () => {
      /** Each connection reaches another server, until this many connections have asked for theirs. */
      const balanced = (different: number) => {
        let asked = 0
        return proxied((statement) => {
          if (!ASKS_FOR_THE_SERVER.test(statement.replaceAll(/\s+/g, ' '))) return statement
          asked += 1
          return `SELECT 'hostname' AS Variable_name, '${Math.min(asked, different)}' AS Value`
        })
      }

      it('is proved as soon as two connections reach the same server', async () => {
        const proxy = await balanced(9)
        await open(proxy.url)
        expect(logged).toEqual([])
        expect(proxy.statements.filter((statement) => statement.includes('SKIP LOCKED'))).not.toEqual([])
      })

      it('is reported, but not refused, if ten new connections reach other servers', async () => {
        const proxy = await balanced(1000)
        await open(proxy.url)
        expect(logged).toEqual([expect.stringContaining('no two of 12 connections reached the same server')])
        expect(proxy.statements.filter((statement) => statement.includes('SKIP LOCKED'))).toEqual([])
      })
    })
  })

  describe.skipIf(under.kind === 'sqlite')('on a server that does not lock rows, without the proof', () => {
    /** Two workers whose matching statements wait for each other. No statement waits for a lock until its timeout. */
    const workers = async (pattern: RegExp): Promise<[Store, Store]> => {
      const meet = meeting(pattern)
      const proxy = await Proxy.open(under.url, {
        replace: async (statement) => {
          await meet(statement)
          return withoutLocks(statement)
        },
      })
      under.afterwards(() => proxy.close())
      const store = () => {
        const database = new MysqlDatabase(proxy.url, 4, { lockWaits: { seconds: 50, tries: 3 } })
        under.afterwards(() => database.close())
        return storeOn(database, '')
      }
      return [store(), store()]
    }
    const STARTS = /^UPDATE `job`[^]*SET state = 'running'/
    const running = { state: 'running', worker: WORKER, attempt: 1, claim: 1 }
    const success = (id: string) => ({
      fence: { id, worker: WORKER, claim: 1 },
      end: { kind: 'success' as const, result: null },
      policy: { timeout: 1, retries: 0, retryDelay: 0, retryBackoff: 'fixed' as const },
    })
    const SLOT = '2026-01-01 00:00:00.000'

    it('two claims start no job twice', async () => {
      for (const id of ['a', 'b', 'c', 'd']) await job(under, id)
      const [one, other] = await workers(STARTS)
      const claimed = await Promise.all([
        one.executing.claim('a/1', policies('task'), 3, ''),
        other.executing.claim('b/1', policies('task'), 4, ''),
      ])
      const started = claimed.flatMap(ids)
      expect(started.length).toBeGreaterThan(0)
      expect(started).toHaveLength(new Set(started).size)
      const rows = await under.query('SELECT id, state, attempt, claim FROM job ORDER BY id')
      for (const { id, ...row } of rows) {
        const isStarted = started.includes(String(id))
        expect(row).toEqual({
          state: isStarted ? 'running' : 'waiting',
          attempt: Number(isStarted),
          claim: Number(isStarted),
        })
      }
    })

    it('two hand-overs hand over no job twice', async () => {
      for (const id of ['a', 'b']) await job(under, id, { queue: 'q' })
      const [one, other] = await workers(/^UPDATE `job`[^]*SET state = 'external'/)
      const submitted: string[] = []
      const queue = { name: 'q', reports: true, timeoutMs: 60_000, deadlineMs: 60_000 }
      const submit = async (jobs: readonly { readonly id: string }[]) => void submitted.push(...ids(jobs))
      await Promise.all(
        [one, other].map((store, index) =>
          store.executing.handOver(`${index}/1`, queue, 2, '', submit, undefined),
        ),
      )
      expect(submitted.toSorted()).toEqual(['a', 'b'])
    })

    it('two workers never mark the same schedule', async () => {
      const past = after(await clock(under), -1000)
      for (const id of ['a', 'b', 'c']) await planned(under, id, past)
      const [one, other] = await workers(/^UPDATE `periodic_task`[^]*SET worker = /)
      const marks = await Promise.all([
        one.scheduling.markDue('a/1', 2, LEASE_MS),
        other.scheduling.markDue('b/1', 3, LEASE_MS),
      ])
      const marked = marks.flatMap(ids)
      expect(marked.length).toBeGreaterThan(0)
      expect(marked).toHaveLength(new Set(marked).size)
      for (const [index, worker] of ['a/1', 'b/1'].entries())
        for (const id of ids(marks[index] ?? [])) expect(await schedule(under, id)).toMatchObject({ worker })
    })

    it.each([
      ['with a schedule', { periodic_task_id: 's', slot: SLOT }, 1],
      ['without a schedule', {}, 0],
    ])('two outcomes of the same run %s are written once', async (_, more, counted) => {
      await planned(under, 's', null, { idle: 'done' })
      await job(under, 'a', { ...running, ...more })
      const [one, other] = await workers(/^UPDATE [^]*'success'/)
      const results = await Promise.all(
        [one, other].map((store) =>
          write(store)
            .settle([success('a')])
            .catch(() => null),
        ),
      )
      expect(results.flatMap((result) => ids(result?.settled ?? []))).toEqual(['a'])
      expect(await schedule(under, 's')).toMatchObject({ run_count: counted })
    })

    it('an outcome and a takeover of the same run are not both written', async () => {
      await job(under, 'a', running)
      const [one, other] = await workers(/^UPDATE [^]*SET (t\.)?state = /)
      const lost = { ...success('a'), end: { kind: 'lost' as const, error: 'lost' } }
      const results = await Promise.all([write(one).settle([success('a')]), write(other).settle([lost])])
      expect(results.flatMap(({ settled }) => ids(settled))).toEqual(['a'])
      const isTaken = results[1]?.settled.length === 1
      expect(await jobRow(under, 'a')).toMatchObject({ state: isTaken ? 'failed' : 'success' })
      expect(await under.query('SELECT outcome FROM attempt')).toEqual(isTaken ? [{ outcome: 'lost' }] : [])
    })

    it('a job that starts is not cancelled as if it were waiting', async () => {
      await job(under, 'a')
      const [one, other] = await workers(/^UPDATE [^]*SET (t\.)?state = /)
      const [claimed] = await Promise.all([
        one.executing.claim('a/1', policies('task'), 1, ''),
        write(other).cancel('a'),
      ])
      const { state, stop_requested: stop } = await jobRow(under, 'a')
      expect([state, stop !== null]).toEqual(claimed.length === 1 ? ['running', true] : ['cancelled', false])
    })

    it('a job that starts is not replaced', async () => {
      const past = after(await clock(under), -1000)
      await planned(under, 's', past, { overlap: 'replace' })
      await job(under, 'a', { periodic_task_id: 's', slot: SLOT })
      const marks = await under.store.scheduling.markDue(WORKER, 1, LEASE_MS)
      const [one, other] = await workers(/^UPDATE `job`[^]*SET state = '(running|cancelled)'/)
      const replace: typeof submitDue = (row, now, open) => ({
        ...submitDue(row, now, { ...open, waiting: 0 }),
        replaces: open.waiting > 0,
      })
      const [claimed, { submissions }] = await Promise.all([
        one.executing.claim('a/1', policies('task'), 1, ''),
        other.scheduling.submit(WORKER, marks, replace),
      ])
      const { state } = await jobRow(under, 'a')
      // If the job was replaced, the claim may have started its successor.
      expect(state).toBe(ids(claimed).includes('a') ? 'running' : 'cancelled')
      expect(ids(submissions)).toEqual(['s'])
    })

    it('a failed job that was put back and has started in the meantime is not put back again', async () => {
      await job(under, 'a', { ...running, state: 'failed', finished: SLOT })
      const proxy = await Proxy.open(under.url, {
        replace: async (statement) => {
          if (/^UPDATE `job`[^]*SET state = 'waiting'/.test(statement))
            await under.query("UPDATE job SET state = 'running', claim = 2, finished = NULL")
          return withoutLocks(statement)
        },
      })
      under.afterwards(() => proxy.close())
      const database = new MysqlDatabase(proxy.url, 4)
      under.afterwards(() => database.close())
      await expect(write(storeOn(database, '')).retry('a')).rejects.toThrow(ConflictError)
      expect(await jobRow(under, 'a')).toMatchObject({ state: 'running', claim: 2 })
    })

    it('a schedule that another worker has marked in the meantime is not submitted', async () => {
      await planned(under, 's', after(await clock(under), -1000))
      const marks = await under.store.scheduling.markDue(WORKER, 1, LEASE_MS)
      const other = toText(after(marks[0]?.marked ?? new Date(0), 1))
      const proxy = await Proxy.open(under.url, {
        replace: async (statement) => {
          if (/^UPDATE [^]*SET t\.nextrun/.test(statement))
            await under.query("UPDATE periodic_task SET worker = 'b/1', marked = ?", [other])
          return withoutLocks(statement)
        },
      })
      under.afterwards(() => proxy.close())
      const database = new MysqlDatabase(proxy.url, 4)
      under.afterwards(() => database.close())
      const { submissions } = await storeOn(database, '').scheduling.submit(WORKER, marks, submitDue)
      expect(submissions).toEqual([])
      expect(await under.query('SELECT id FROM job')).toEqual([])
      expect(await schedule(under, 's')).toMatchObject({ worker: 'b/1', last_slot: null })
    })
  })
})
