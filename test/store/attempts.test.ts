/** The stored attempts of jobs. */
import { createConnection, createPool } from 'mysql2/promise'
import { describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import type { Attempt, AttemptOutcome } from '../../src/model/attempt.ts'
import type { AttemptEnd } from '../../src/model/settle.ts'
import { DEFAULT_POLICY } from '../../src/model/task.ts'
import type { UnsettledAttempt } from '../../src/store/executing-store.ts'
import type { Listed } from '../../src/store/list-store.ts'
import { openStore } from '../support/open-store.ts'
import { clock, insert, job, jobRow, newJob, onEachStore, policies, WORKER } from './conformance.ts'
import { recording } from './recording.ts'
import { write } from './writes.ts'
import { refusal } from '../support/refusal.ts'

const success: AttemptEnd = { kind: 'success', result: null }
const failure: AttemptEnd = { kind: 'error', error: 'Error: boom\n    at work', permanent: false }
const STARTED = '2026-01-01 00:00:00.000'

onEachStore((under) => {
  const ended = (id: string, end: AttemptEnd, claim = 1): UnsettledAttempt => ({
    fence: { id, worker: WORKER, claim },
    end,
    policy: { ...DEFAULT_POLICY, retries: 1, retryDelay: 0 },
  })
  const settle = (...ends: UnsettledAttempt[]) => write(under.store).settle(ends)
  const running = (id: string, more: Record<string, string | number | null> = {}) =>
    job(under, id, { state: 'running', worker: WORKER, attempt: 1, claim: 1, started: STARTED, ...more })
  const claim = async (worker = WORKER) => {
    await under.store.executing.promoteDue(10)
    return await under.store.executing.claim(worker, policies('task'), 100, '')
  }
  const attempts = async (id: string, limit = 100): Promise<Listed<Attempt>[]> => {
    const found = await under.store.lists.attempts(id, limit)
    if (found === null) throw new Error(`job ${id} not found`)
    return found
  }
  const stored = () => under.query('SELECT job_id, claim FROM attempt ORDER BY job_id, claim')

  describe('attempts in the database', () => {
    it.each<[string, AttemptEnd, AttemptOutcome, string | null]>([
      ['failed', failure, 'failed', 'Error: boom\n    at work'],
      ['failed permanently', { kind: 'error', error: 'no', permanent: true }, 'failed', 'no'],
      ['timed out', { kind: 'timeout', error: 'too long' }, 'timeout', 'too long'],
      ['was cancelled', { kind: 'cancelled', error: 'on request' }, 'cancelled', 'on request'],
      ['was released', { kind: 'released' }, 'released', null],
      ['was snoozed', { kind: 'snoozed', delayMs: 1 }, 'snoozed', null],
      ['was lost', { kind: 'lost', error: 'The worker w/1 was lost' }, 'lost', 'The worker w/1 was lost'],
    ])(
      'an attempt that %s is stored with its worker, times and error [R14]',
      async (_, end, outcome, error) => {
        await running('j', { error: 'of an earlier attempt' })
        const { settled } = await settle(ended('j', end))
        const started = new Date('2026-01-01T00:00:00.000Z')
        expect(await attempts('j')).toEqual([
          { attempt: 1, worker: WORKER, startedAt: started, endedAt: settled[0]?.endedAt, outcome, error },
        ])
      },
    )

    it('a running or successful attempt is derived from the job and not stored', async () => {
      const { store, statements } = await recording(under.url)
      under.afterwards(() => store.close())
      await running('now')
      await running('done')
      await write(store).settle([ended('done', success)])
      expect(statements.filter((text) => text.includes('`attempt`'))).toEqual([])
      const started = new Date('2026-01-01T00:00:00.000Z')
      expect(await attempts('now')).toEqual([
        { attempt: 1, worker: WORKER, startedAt: started, endedAt: null, outcome: null, error: null },
      ])
      expect(await attempts('done')).toEqual([
        {
          attempt: 1,
          worker: WORKER,
          startedAt: started,
          endedAt: expect.any(Date),
          outcome: 'success',
          error: null,
        },
      ])
    })

    it('a lost attempt names the lost worker, not the worker that took over [R14]', async () => {
      await job(under, 'j')
      await claim('gone/1')
      await settle(...(await under.store.executing.orphans(10)))
      await claim('heir/1')
      expect(await attempts('j')).toMatchObject([
        {
          attempt: 1,
          worker: 'gone/1',
          outcome: 'lost',
          error: 'The worker gone/1 was lost during attempt 1',
        },
        { attempt: 2, worker: 'heir/1', outcome: null },
      ])
    })

    it('an attempt whose fence no longer matches is not stored', async () => {
      await running('j', { claim: 2 })
      await settle(ended('j', failure))
      expect(await stored()).toEqual([])
    })
  })

  it('all attempts of a job are listed in order, including released attempts and those before a manual retry', async () => {
    await job(under, 'j')
    for (const [number, end] of ([{ kind: 'released' }, failure, failure] as const).entries()) {
      await claim()
      await settle(ended('j', end, number + 1))
    }
    expect(await write(under.store).retry('j')).toMatchObject({ state: 'waiting', attempt: 0 })
    expect((await attempts('j')).map(({ attempt }) => attempt)).toEqual([1, 1, 2])
    await claim()
    await settle(ended('j', success, 4))
    expect((await attempts('j')).map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, 'released'],
      [1, 'failed'],
      [2, 'failed'],
      [1, 'success'],
    ])
    expect((await attempts('j', 2)).map(({ outcome }) => outcome)).toEqual(['failed', 'success'])
  })

  it('a job that has not started has no attempt, and cancelling it while it waits does not add one', async () => {
    await under.store.jobs.submit([newJob('j')])
    expect(await attempts('j')).toEqual([])
    await write(under.store).cancel('j')
    expect(await attempts('j')).toEqual([])
    expect(await under.store.lists.attempts('none', 100)).toBeNull()
  })

  it('one statement writes the attempts of a batch', async () => {
    const { store, statements } = await recording(under.url)
    under.afterwards(() => store.close())
    const ids = Array.from({ length: 200 }, (_, index) => `j${String(index).padStart(3, '0')}`)
    for (const id of ids) await running(id)
    await write(store).settle(ids.map((id, index) => ended(id, index % 2 === 0 ? success : failure)))
    expect(statements.filter((text) => text.includes('`attempt`'))).toHaveLength(1)
    expect((await stored()).map((row) => row['job_id'])).toEqual(ids.filter((_, index) => index % 2 === 1))
  })

  it.skipIf(under.kind === 'sqlite')(
    'a transaction that locks the attempt table does not prevent jobs from ending',
    async () => {
      const admin = await createConnection({ uri: under.url })
      under.afterwards(() => admin.end())
      await running('failing')
      await running('succeeding')
      // As in an ordinary SQL client: under REPEATABLE READ, the DELETE locks every gap in the table.
      await admin.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
      await admin.query('START TRANSACTION')
      await admin.query("DELETE FROM attempt WHERE ended < '2100-01-01'")
      // Sessions wait at most one second for a lock.
      const pool = createPool({ uri: under.url, connectionLimit: 2 })
      pool.pool.on('connection', (connection) => {
        connection.query('SET innodb_lock_wait_timeout = 1', () => {})
      })
      under.afterwards(() => pool.end())
      const store = await openStore(pool, { migrate: false })
      const { settled } = await write(store).settle([ended('failing', failure), ended('succeeding', success)])
      expect(settled.map(({ id }) => id)).toEqual(['failing', 'succeeding'])
      await admin.query('COMMIT')
      expect(await stored()).toEqual([])
    },
  )

  it.skipIf(under.kind === 'sqlite')(
    'while another transaction locks the attempt table, a batch with rejected rows waits for the lock only once',
    async () => {
      let waits = 0
      const ids = Array.from({ length: 16 }, (_, index) => `j${String(index).padStart(2, '0')}`)
      for (const id of ids) await running(id)
      const { store } = await recording(under.url, async (statement) => {
        if (!/INSERT INTO `attempt`/.test(statement)) return
        waits += 1
        throw new StoreUnavailableError('Lock wait timeout exceeded', { isLockWait: true })
      })
      under.afterwards(() => store.close())
      await under.query(refusal(under.kind, 'UPDATE', 'job', "NEW.id = 'j15' AND NEW.error = 'odd'"))
      under.afterwards(() => under.query('DROP TRIGGER IF EXISTS refuse'))
      // The trigger rejects the last job, so the batch is halved after it has waited for the lock.
      const { settled, refused } = await write(store).settle(
        ids.map((id) => ended(id, { kind: 'error', error: 'odd', permanent: true })),
      )
      expect(settled.map(({ id }) => id).toSorted()).toEqual(ids)
      expect(refused).toEqual([])
      expect(waits).toBe(1)
    },
  )

  it('a string with many bytes is not shortened if its number of characters is within the limit', async () => {
    await running('wide')
    const error = 'ä'.repeat(9000)
    await settle(ended('wide', { kind: 'error', error, permanent: true }))
    const [wide] = await attempts('wide')
    expect(wide).toMatchObject({ error })
    expect(wide).not.toHaveProperty('truncated')
  })

  it('an error is stored unchanged, and lists truncate a long one at the end of a line', async () => {
    await running('odd')
    await running('long')
    const odd = 'naïve 😀 \' " \\ ? %s ` $1 \n\r\t \u2028 \u0001'
    const line = `${'ä'.repeat(999)}\n`
    await settle(
      ended('odd', { kind: 'error', error: odd, permanent: true }),
      ended('long', { kind: 'error', error: line.repeat(20), permanent: true }),
    )
    expect((await attempts('odd'))[0]?.error).toBe(odd)
    const [long] = await attempts('long')
    expect(long?.error).toBe(line.repeat(16).trimEnd())
    expect(long?.truncated).toEqual({ error: 20 * (999 * 2 + 1) })
    const [row] = await under.query("SELECT error FROM attempt WHERE job_id = 'long'")
    expect(row?.['error']).toBe(line.repeat(20))
  })

  describe('rows that were written manually', () => {
    it('an attempt of an earlier job with the same id is replaced', async () => {
      const at = { started: STARTED, ended: STARTED }
      await insert(under, 'attempt', {
        job_id: 'j',
        claim: 1,
        attempt: 9,
        worker: 'old/1',
        outcome: 'lost',
        ...at,
      })
      await running('j')
      await settle(ended('j', failure))
      expect(await attempts('j')).toMatchObject([{ attempt: 1, worker: WORKER, outcome: 'failed' }])
    })

    it('an attempt with the largest possible claim number can end', async () => {
      const largest = 2_147_483_647
      await job(under, 'j', { claim: largest })
      for (const end of [failure, { kind: 'released' }] as const) {
        await claim()
        expect((await settle(ended('j', end, largest))).settled).toHaveLength(1)
      }
      expect(await attempts('j')).toMatchObject([{ outcome: 'released' }])
    })

    it('the attempt of a running job without a start time counts as started at the time it ended', async () => {
      await running('j', { started: null })
      expect(await attempts('j')).toEqual([])
      await settle(ended('j', failure))
      const [attempt] = await attempts('j')
      expect(attempt?.startedAt).toEqual(attempt?.endedAt)
      expect((await clock(under)).getTime() - (attempt?.startedAt.getTime() ?? 0)).toBeLessThan(600_000)
    })
  })

  describe('an outcome and its attempt are written together or not at all:', () => {
    it.each([
      ['INSERT', 'attempt'],
      ['UPDATE', 'job'],
    ] as const)('the %s of the %s is rejected', async (when, table) => {
      await running('j')
      await running('k')
      await under.query(refusal(under.kind, when, table, '1 = 1'))
      under.afterwards(() => under.query('DROP TRIGGER IF EXISTS refuse'))
      const { settled, refused } = await settle(ended('j', failure), ended('k', failure))
      expect([settled, refused.map(({ item }) => item.fence.id)]).toEqual([[], ['j', 'k']])
      for (const id of ['j', 'k'])
        expect(await jobRow(under, id)).toMatchObject({ state: 'running', error: null })
      expect(await stored()).toEqual([])
      await under.query('DROP TRIGGER refuse')
      await settle(ended('j', failure), ended('k', failure))
      expect((await stored()).map((row) => row['job_id'])).toEqual(['j', 'k'])
    })
  })
})
