/**
 * A dead worker holds nothing for longer than the lease, and a worker that only seemed dead changes nothing when it
 * resumes.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'
import { instant, sqlInstant } from '../support/occurrences.ts'
import { killWorkers, until, WorkerProcess, type WorkerSettings } from '../support/worker-process.ts'
import { Proxy } from '../support/worker-proxy.ts'

const LEASE_MS = 2000
/**
 * The time that the machine may need in addition to the lease; a lost wake-up would take longer. The lease is a
 * guarantee about time, so these tests measure time.
 */
const SLACK_MS = 1000

afterEach(killWorkers)

function settings(database: TestDatabase, worker: string): WorkerSettings {
  return {
    url: database.url,
    worker,
    leaseMs: LEASE_MS,
    tasks: { hold: 'hold', tick: 'return' },
  }
}

eachDatabase(({ kind, fresh }) => {
  describe('a killed worker', () => {
    it('a killed worker never holds its running jobs for longer than the lease [R8, L25]', async () => {
      const database = await fresh()
      const doomed = await WorkerProcess.start(settings(database, 'doomed'))
      await database.query("INSERT INTO job (task) VALUES ('hold')")
      const { job } = await doomed.report('handling')
      const heir = await WorkerProcess.start({ ...settings(database, 'heir'), tasks: { hold: 'return' } })
      // The heir has seen the doomed worker alive, which is the worst case for the takeover.
      await allHaveLooked(database)

      const killed = performance.now()
      await doomed.kill()
      const again = await heir.report('handling', (report) => report.job === job)
      expect(again.attempt).toBe(2)
      expect(again.worker).toBe(heir.id)
      expect(again.at - killed).toBeLessThan(LEASE_MS + SLACK_MS)
      expect(heir.told('workerLost')).toMatchObject([{ worker: doomed.id }])
      await heir.report('settled', (report) => report.job === job && report.state === 'success')
      expect(await database.query('SELECT attempt, worker, outcome FROM attempt')).toEqual([
        { attempt: 1, worker: doomed.id, outcome: 'lost' },
      ])
      await database.drop()
    })

    it('a killed worker never holds its marks for longer than the lease [S2, L2]', async () => {
      const database = await fresh()
      const doomed = await WorkerProcess.start({ ...settings(database, 'doomed'), scheduler: false })
      const heir = await WorkerProcess.start(settings(database, 'heir'))
      // The row as the scheduler leaves it if its process is killed between marking and submitting.
      const now = await clock(database)
      await database.query(
        `INSERT INTO periodic_task (id, task, timer, worker, marked, mark_ends) VALUES ('held', 'tick', '*:*:*', '${doomed.id}', '${sqlInstant(now)}', '${sqlInstant(now + LEASE_MS)}')`,
      )
      const marked = performance.now()
      await doomed.kill()
      const submitted = await heir.report('submitted', (report) => report.schedule === 'held')
      expect(submitted.at - marked).toBeLessThan(LEASE_MS + SLACK_MS)
      await heir.report('handling', (report) => report.schedule === 'held')
      await database.drop()
    })

    it('a killed worker loses its marks at once when a worker with the same name starts', async () => {
      const database = await fresh()
      const first = await WorkerProcess.start(settings(database, 'same'))
      const now = await clock(database)
      const slot = Math.floor(now / 1000) * 1000 - 60_000
      await first.kill()
      await database.query(
        `INSERT INTO periodic_task (id, task, timer, nextrun, planned_from, worker, marked, mark_ends) VALUES ('held', 'tick', 'daily', '${sqlInstant(slot)}', '1|daily|0|||', '${first.id}', '${sqlInstant(now)}', '${sqlInstant(now + 3_600_000)}')`,
      )
      const again = await WorkerProcess.start({ ...settings(database, 'same'), leaseMs: 1_800_000 })
      expect(again.id).not.toBe(first.id)
      // The submission does not depend on the lease, which is half an hour.
      await again.report('submitted', (report) => report.schedule === 'held')
      await database.drop()
    })
  })

  describe('a worker that stalled for longer than the lease', () => {
    it('a stalled worker writes nothing when it resumes, aborts its handlers, and continues under a new id [L8, L27]', async () => {
      const database = await fresh()
      const sleeper = await WorkerProcess.start({ ...settings(database, 'sleeper'), tasks: { hold: 'deaf' } })
      await database.query("INSERT INTO job (task) VALUES ('hold')")
      const { job } = await sleeper.report('handling')
      const heir = await WorkerProcess.start({ ...settings(database, 'heir'), tasks: { hold: 'hold' } })

      const stopped = performance.now()
      await sleeper.standStill(database)
      const again = await heir.report('handling', (report) => report.job === job)
      expect(again.at - stopped).toBeLessThan(LEASE_MS + SLACK_MS)
      const [written] = await database.query(`SELECT * FROM job WHERE id = '${job}'`)

      // The handler of the stalled worker ends normally as soon as the worker resumes.
      sleeper.order({ do: 'release' })
      sleeper.signal('SIGCONT')
      await sleeper.report('leaseLost', (report) => report.worker === sleeper.id)
      await until('it is healthy again', async () => (await sleeper.health()).ok)
      const [after] = await database.query(`SELECT * FROM job WHERE id = '${job}'`)
      expect(after).toEqual(written)
      expect(after).toMatchObject({ state: 'running', attempt: 2, worker: heir.id })
      expect(sleeper.told('settled')).toEqual([])
      heir.order({ do: 'release' })
      await heir.report('settled', (report) => report.job === job && report.state === 'success')

      await heir.stop()
      await database.query("INSERT INTO job (task) VALUES ('hold')")
      const next = await sleeper.report('handling', (report) => report.job !== job)
      expect(next.worker).not.toBe(sleeper.id)
      expect(next.worker).toMatch(/^sleeper\//)
      sleeper.order({ do: 'release' })
      await sleeper.report('settled', (report) => report.job === next.job && report.state === 'success')
      await database.drop()
    })

    it('a worker that stalled aborts the signals of its handlers with a LeaseLostError', async () => {
      const database = await fresh()
      const sleeper = await WorkerProcess.start(settings(database, 'sleeper'))
      await database.query("INSERT INTO job (task) VALUES ('hold')")
      const { job } = await sleeper.report('handling')
      const heir = await WorkerProcess.start({ ...settings(database, 'heir'), tasks: { hold: 'return' } })
      await sleeper.standStill(database)
      await heir.report('settled', (report) => report.job === job && report.state === 'success')
      sleeper.signal('SIGCONT')
      expect(await sleeper.report('aborted')).toMatchObject({ job, reason: 'LeaseLostError' })
      await sleeper.stop()
      const [row] = await database.query(`SELECT state, attempt, worker, error FROM job WHERE id = '${job}'`)
      expect(row).toEqual({ state: 'success', attempt: 2, worker: heir.id, error: null })
      await database.drop()
    })

    it('the stall of a worker never makes it evict another worker [L41]', async () => {
      const database = await fresh()
      const sleeper = await WorkerProcess.start(settings(database, 'sleeper'))
      const other = await WorkerProcess.start(settings(database, 'other'))
      await allHaveLooked(database)
      // All workers sleep, as when a laptop is closed.
      const from = sleeper.reports.length
      await sleeper.standStill(database)
      await other.standStill(database)
      await pause(LEASE_MS + SLACK_MS)
      // For a while, the first worker to resume sees only its own heartbeat.
      sleeper.signal('SIGCONT')
      await hasBeaten(database, sleeper.id)
      other.signal('SIGCONT')
      await pause(LEASE_MS)
      expect(sleeper.told('workerLost')).toEqual([])
      expect(other.told('workerLost')).toEqual([])
      expect(sleeper.reports.slice(from).filter((report) => report.event === 'leaseLost')).toEqual([])
      expect((await idsOf(database)).toSorted()).toEqual([sleeper.id, other.id].toSorted())
      await database.drop()
    })
  })

  if (kind !== 'sqlite') {
    describe('a lost response', () => {
      it('if the response to a claim is lost, the claimed job still runs', async () => {
        const database = await fresh()
        const proxy = await Proxy.open(database.url)
        const worker = await WorkerProcess.start({ ...settings(database, 'w'), url: proxy.url })
        const lost = proxy.loseAnswer(/UPDATE .*SET state = 'running'/s)
        await database.query("INSERT INTO job (task) VALUES ('tick')")
        await lost
        const run = await worker.report('handling')
        // The attempt that never started does not count.
        expect(run.attempt).toBe(1)
        await worker.report('settled', (report) => report.job === run.job && report.state === 'success')
        await worker.stop()
        await proxy.close()
        await database.drop()
      })

      it('if the response to an outcome write is lost, the run is not repeated', async () => {
        const database = await fresh()
        const proxy = await Proxy.open(database.url)
        const worker = await WorkerProcess.start({ ...settings(database, 'w'), url: proxy.url })
        await database.query("INSERT INTO job (task) VALUES ('hold')")
        const { job } = await worker.report('handling')
        const lost = proxy.loseAnswer(/UPDATE .*'success'/s)
        worker.order({ do: 'release' })
        await lost
        await until('the worker is healthy', async () => (await worker.health()).ok)
        await worker.stop()
        expect(worker.told('handling')).toHaveLength(1)
        expect(await database.query('SELECT state, attempt FROM job WHERE id = ?', [job])).toEqual([
          { state: 'success', attempt: 1 },
        ])
        await proxy.close()
        await database.drop()
      })

      it.each([
        ['that does not start its job', /INSERT INTO .*JSON_TABLE/s],
        ['that also starts its job', /UPDATE .*SET state = 'running'/s],
      ])('a submission %s is not lost or repeated if its response is lost [L7]', async (_, statement) => {
        const database = await fresh()
        const proxy = await Proxy.open(database.url)
        const worker = await WorkerProcess.start({ ...settings(database, 'w'), url: proxy.url })
        const lost = proxy.loseAnswer(statement)
        await database.query(
          "INSERT INTO periodic_task (id, task, timer, nextrun) VALUES ('once', 'tick', 'yearly', '2020-01-01 00:00:00')",
        )
        await lost
        await worker.report('settled', (report) => report.state === 'success')
        await until('the worker is healthy', async () => (await worker.health()).ok)
        await worker.stop()
        expect(await database.query('SELECT state, attempt FROM job')).toEqual([
          { state: 'success', attempt: 1 },
        ])
        expect(worker.told('handling')).toHaveLength(1)
        expect(await database.query('SELECT worker FROM periodic_task')).toEqual([{ worker: null }])
        await proxy.close()
        await database.drop()
      })
    })

    for (const [how, outage] of [
      ['cuts and refuses connections', (proxy: Proxy) => proxy.cut()],
      ['holds every packet back', (proxy: Proxy) => proxy.stall()],
    ] as const) {
      describe(`an outage that ${how} for longer than the lease`, () => {
        it('after an outage, no live worker is reported as lost, and each loop resumes by itself [L41]', async () => {
          const database = await fresh()
          const proxy = await Proxy.open(database.url)
          const workers: WorkerProcess[] = []
          for (const name of ['a', 'b', 'c']) {
            workers.push(await WorkerProcess.start({ ...settings(database, name), url: proxy.url }))
          }
          const [a, b, c] = workers
          if (a === undefined || b === undefined || c === undefined) throw new Error('three were started')
          await database.query("INSERT INTO periodic_task (id, task, timer) VALUES ('tick', 'tick', '*:*:*')")
          await database.query("INSERT INTO job (task) VALUES ('hold')")
          const holder = await Promise.any(
            workers.map(async (worker) => ({
              worker,
              job: (await worker.report('handling', (report) => report.task === 'hold')).job,
            })),
          )

          const from = workers.map((worker) => worker.reports.length)
          outage(proxy)
          // This worker cannot know that the others are also cut off.
          expect(await holder.worker.report('aborted')).toMatchObject({
            job: holder.job,
            reason: 'LeaseLostError',
          })
          await pause(LEASE_MS * 2)
          proxy.mend()
          await until('every loop of every worker works again', async () => {
            const healths = await Promise.all(workers.map((worker) => worker.health()))
            return healths.every((health) => health.ok)
          })
          const now = await clock(database)
          await until(
            'the schedule continues',
            async () =>
              (
                await database.query(
                  `SELECT id FROM job WHERE state = 'success' AND slot > '${sqlInstant(now)}'`,
                )
              ).length > 2,
          )
          await pause(LEASE_MS)
          for (const worker of workers) {
            expect(worker.told('workerLost')).toEqual([])
            expect(worker.told('leaseLost')).toEqual([])
            expect(worker.exitCode).toBeNull()
          }
          expect((await idsOf(database)).toSorted()).toEqual(workers.map((worker) => worker.id).toSorted())
          // No other worker has taken over the aborted job in the meantime: it went back to the queue, and the attempt
          // does not count.
          const again = await Promise.any(
            workers.map(async (worker, index) => {
              await worker.report('handling', (report) => report.job === holder.job, from[index])
              return worker
            }),
          )
          again.order({ do: 'release' })
          await again.report('settled', (report) => report.job === holder.job && report.state === 'success')
          const [row] = await database.query(`SELECT attempt FROM job WHERE id = '${holder.job}'`)
          expect(row).toEqual({ attempt: 1 })
          for (const worker of workers) await worker.stop()
          await proxy.close()
          await database.drop()
        })
      })
    }
  }
})

/** The time of the database's clock, in Unix milliseconds. */
async function clock(database: TestDatabase): Promise<number> {
  const [row] = await database.query(
    database.kind === 'sqlite'
      ? "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now') AS clock"
      : 'SELECT UTC_TIMESTAMP(3) AS clock',
  )
  return instant(row?.['clock']) ?? 0
}

/** Waits until every worker has observed all others. */
async function allHaveLooked(database: TestDatabase): Promise<void> {
  for (const id of await idsOf(database)) await hasBeaten(database, id)
}

/** Waits for two heartbeats of the worker, between which it observes the others. */
async function hasBeaten(database: TestDatabase, id: string): Promise<void> {
  const heartbeat = async () =>
    (await database.query('SELECT heartbeat FROM worker WHERE id = ?', [id]))[0]?.['heartbeat']
  for (const time of ['once', 'twice']) {
    const before = await heartbeat()
    await until(`${id} has sent heartbeat ${time}`, async () => (await heartbeat()) !== before)
  }
}

async function idsOf(database: TestDatabase): Promise<string[]> {
  return (await database.query('SELECT id FROM worker')).map((row) => String(row['id']))
}
