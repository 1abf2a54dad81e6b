/** Health during and after failures: each kind of failure is reported in its own way. */
import { setTimeout as pause } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import type { Health, HealthNote } from '../../src/index.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import { killWorkers, until, WorkerProcess, type WorkerSettings } from '../support/worker-process.ts'
import { Proxy } from '../support/worker-proxy.ts'

const LEASE_MS = 2000

afterEach(killWorkers)

const settings = (url: string): WorkerSettings => ({
  url,
  worker: 'w',
  leaseMs: LEASE_MS,
  tasks: { hold: 'hold', deaf: 'deaf' },
})

const codes = (notes: readonly HealthNote[]) => [...new Set(notes.map(({ code }) => code))]

/** The first matching health. */
function healthThat(
  worker: WorkerProcess,
  what: string,
  suits: (health: Health) => boolean,
): Promise<Health> {
  return until(what, async () => {
    const health = await worker.health()
    return suits(health) ? health : null
  })
}

const wellAgain = (worker: WorkerProcess) => healthThat(worker, 'it is well again', ({ ok }) => ok)

eachDatabase(({ kind, fresh }) => {
  async function database(): Promise<TestDatabase> {
    const made = await fresh()
    onTestFinished(() => made.drop())
    return made
  }

  describe('health', () => {
    it('the health of an idle worker stays ok for longer than the lease, although its scheduler sleeps', async () => {
      const { url } = await database()
      const worker = await WorkerProcess.start(settings(url))
      const first = await healthThat(worker, 'every loop has begun', ({ loops }) =>
        loops.every(({ lastGoodPassAt }) => lastGoodPassAt !== null),
      )
      const before = loop(first, 'scheduler').lastGoodPassAt
      // Heartbeats continue, and the scheduler has nothing to do.
      await healthThat(worker, 'a lease has passed', (health) => {
        expect(health).toMatchObject({ ok: true, live: true, reasons: [], warnings: [] })
        const beat = loop(health, 'lease').lastGoodPassAt
        return beat !== null && before !== null && instant(beat) - instant(before) > LEASE_MS
      })
      const health = await worker.health()
      expect(loop(health, 'scheduler')).toMatchObject({ nextPassAt: null, lateMs: 0 })
      expect(health.clockAheadMs).not.toBeNull()
      expect(Math.abs(health.clockAheadMs ?? Infinity)).toBeLessThan(2000)
    })

    it('reports that the process stalled, and that its worker was evicted in the meantime', async () => {
      const made = await database()
      const sleeper = await WorkerProcess.start(settings(made.url))
      const other = await WorkerProcess.start({ ...settings(made.url), worker: 'other' })
      await sleeper.standStill(made)
      // A stall must last a second to be reported. Waiting for the eviction is not enough: on a busy machine, an
      // earlier stall may have caused it.
      await Promise.all([pause(1500), other.report('workerLost', ({ worker }) => worker === sleeper.id)])
      sleeper.signal('SIGCONT')
      // Each warning is reported for the length of a lease, but the two may begin so far apart that they do not overlap.
      const told = new Set<string>()
      await healthThat(sleeper, 'both are told', ({ warnings }) => {
        for (const code of codes(warnings)) told.add(code)
        return told.has('stall') && told.has('lease-lost')
      })
      expect((await wellAgain(sleeper)).worker).not.toBe(sleeper.id)
      await healthThat(sleeper, 'it is past', ({ warnings }) => warnings.length === 0)
    })

    it('reports a handler that ignores its signal, until the handler ends', async () => {
      const made = await database()
      const worker = await WorkerProcess.start(settings(made.url))
      await made.query("INSERT INTO job (task, timeout, max_retries) VALUES ('deaf', 50, 0)")
      await worker.report('aborted')
      const health = await healthThat(
        worker,
        'the handler is abandoned',
        ({ warnings }) => warnings.length > 0,
      )
      expect(health).toMatchObject({
        ok: true,
        running: 0,
        warnings: [{ code: 'handlers-left', subject: 'deaf' }],
      })
      worker.order({ do: 'release' })
      await healthThat(worker, 'it has ended', ({ warnings }) => warnings.length === 0)
    })
  })

  // A connection to a SQLite file cannot be cut off.
  describe.skipIf(kind === 'sqlite')('health while the database cannot be used', () => {
    async function behindProxy(): Promise<{ worker: WorkerProcess; proxy: Proxy; database: TestDatabase }> {
      const made = await database()
      const proxy = await Proxy.open(made.url)
      onTestFinished(() => proxy.close())
      return { worker: await WorkerProcess.start(settings(proxy.url)), proxy, database: made }
    }

    it('reports failing loops, the lost lease, and outcomes that are not yet written', async () => {
      const { worker, proxy, database: made } = await behindProxy()
      await made.query("INSERT INTO job (task) VALUES ('hold')")
      await worker.report('handling')
      proxy.cut()
      worker.order({ do: 'release' })
      const health = await healthThat(
        worker,
        'everything is reported',
        ({ reasons, warnings }) =>
          codes(reasons).includes('no-lease') && codes(warnings).includes('unwritten'),
      )
      expect(health).toMatchObject({ ok: false, live: true, worker: null, unwritten: 1 })
      expect(codes(health.reasons)).toContain('failing')
      expect(loop(health, 'watch')).toMatchObject({ lastError: expect.stringContaining('database') })
      expect(loop(health, 'watch').lastErrorAt).not.toBeNull()
      proxy.mend()
      await healthThat(worker, 'it is written', ({ unwritten, ok }) => unwritten === 0 && ok)
    })

    it('reports stuck loops if the server neither responds nor disconnects', async () => {
      const { worker, proxy } = await behindProxy()
      proxy.stall()
      const health = await healthThat(worker, 'it is reported', ({ reasons }) =>
        codes(reasons).includes('stuck'),
      )
      expect(health).toMatchObject({ ok: false, live: true })
      const stuck = health.reasons.filter(({ code }) => code === 'stuck').map(({ subject }) => subject)
      for (const name of stuck) expect(loop(health, String(name)).busyMs).toBeGreaterThan((LEASE_MS * 3) / 5)
      proxy.mend()
      await wellAgain(worker)
    })

    it('reports failing loops if another connection has locked a table', async () => {
      const made = await database()
      const worker = await WorkerProcess.start(settings(made.url))
      const admin = await createConnection({ uri: made.url })
      onTestFinished(() => admin.end())
      await admin.query('LOCK TABLES periodic_task WRITE')
      const health = await healthThat(worker, 'it is reported', ({ reasons }) =>
        codes(reasons).includes('failing'),
      )
      expect(health.reasons.find(({ code }) => code === 'failing')?.text).toMatch(
        /Blocked by another transaction/,
      )
      await admin.query('UNLOCK TABLES')
      await wellAgain(worker)
    })
  })
})

function loop(health: Health, name: string): Health['loops'][number] {
  const found = health.loops.find((one) => one.name === name)
  if (found === undefined) throw new Error(`loop '${name}' not found`)
  return found
}

/** The milliseconds of a date, which arrives over the channel as a string. */
function instant(date: Date): number {
  return new Date(date).getTime()
}
