/**
 * SQL is an interface: an administrator's statements take effect while a worker in another process is running, and
 * affect nothing else. On MariaDB and MySQL, the statements run in MariaDB's command-line client.
 */
import { setTimeout as pause } from 'node:timers/promises'
import Libsql from 'libsql'
import { createConnection } from 'mysql2/promise'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eachDatabase, type Row, type TestDatabase } from '../support/databases.ts'
import { expectNoFault } from '../support/fault.ts'
import { hasMariadbClient, mariadbClient } from '../support/mariadb-client.ts'
import {
  instant,
  occurrenceProblems,
  occurrenceRows,
  scheduleEnds,
  sqlInstant,
} from '../support/occurrences.ts'
import { killWorkers, until, WorkerProcess } from '../support/worker-process.ts'

const LEASE_MS = 2000
const hasClient = await hasMariadbClient()

eachDatabase(({ kind, fresh }) => {
  describe.skipIf(kind !== 'sqlite' && !hasClient)('manual SQL while a worker runs', () => {
    let database: TestDatabase
    let worker: WorkerProcess
    let controlFrom: number
    const now = kind === 'sqlite' ? "strftime('%Y-%m-%d %H:%M:%f', 'now')" : 'UTC_TIMESTAMP(3)'

    let typed: Promise<unknown> = Promise.resolve()
    const admin = async (sql: string): Promise<void> => {
      if (kind === 'sqlite') {
        // The statements run one at a time, because no other statement may run on their connection while one is waiting
        // for the file lock.
        typed = typed.then(() => database.query(sql))
        await typed
      } else await mariadbClient(database, sql)
    }
    const clock = async () => instant((await database.query(`SELECT ${now} AS clock`))[0]?.['clock']) ?? 0
    const schedule = async (id: string): Promise<Row> =>
      (await database.query('SELECT * FROM periodic_task WHERE id = ?', [id]))[0] ?? {}
    const jobs = (id: string) =>
      database.query('SELECT * FROM job WHERE periodic_task_id = ? ORDER BY slot', [id])
    /** Waits until the worker reports a run of a schedule for a slot after the given time. */
    const runAfter = async (id: string, after: number) =>
      await worker.report('handling', (report) => report.schedule === id && (report.slot ?? 0) > after)
    /**
     * Waits until the control schedule has run for a slot more than a second after now, so that the worker has also
     * seen slots that were due earlier.
     */
    const aSecondHasPassed = async () => void (await runAfter('control', (await clock()) + 1000))
    const isPlanned = async (id: string) => {
      const { nextrun, wake_at } = await schedule(id)
      return nextrun !== null && nextrun === wake_at
    }

    beforeAll(async () => {
      database = await fresh()
      worker = await WorkerProcess.start({
        url: database.url,
        worker: 'w',
        leaseMs: LEASE_MS,
        tasks: { tick: 'return', hold: 'hold' },
      })
      // Late enough that the schedule is planned in time even on a busy machine.
      controlFrom = Math.ceil((await clock()) / 1000 + 5) * 1000
      await admin(
        // On a busy machine, or while an administrator has locked the file, a run may take longer than a second.
        `INSERT INTO periodic_task (id, task, timer, nextrun, catch_up, overlap) VALUES ('control', 'tick', '*:*:*', '${sqlInstant(controlFrom)}', 100, 'allow')`,
      )
      return () => database.drop()
    })

    afterEach(() => expect(worker.exitCode).toBeNull())

    afterAll(killWorkers)

    // Each of these tests has its own schedules, so the tests can wait concurrently.
    it.concurrent('a row with only three columns set is a schedule', async () => {
      await admin("INSERT INTO periodic_task (id, task, timer) VALUES ('three', 'tick', '*:*:*')")
      const run = await runAfter('three', 0)
      expect(run).toMatchObject({ task: 'tick', args: {}, attempt: 1 })
    })

    it.concurrent('enabled = 0 stops the runs, and 1 restarts them from now, without a backlog [S7]', async () => {
      await admin(
        "INSERT INTO periodic_task (id, task, timer, catch_up) VALUES ('paused', 'tick', '*:*:*', 100)",
      )
      await runAfter('paused', 0)
      await admin("UPDATE periodic_task SET enabled = 0 WHERE id = 'paused'")
      await until('it has no next run', async () => (await schedule('paused'))['wake_at'] === null)
      expect(await schedule('paused')).toMatchObject({
        status: 'paused',
        nextrun: null,
        enabled: 0,
        worker: null,
      })
      const before = (await jobs('paused')).length
      await aSecondHasPassed()
      expect(await jobs('paused')).toHaveLength(before)

      const enabledAt = await clock()
      await admin("UPDATE periodic_task SET enabled = 1 WHERE id = 'paused'")
      const first = await until('it runs again', async () => (await jobs('paused'))[before])
      expect(instant(first['slot'])).toBeGreaterThan(enabledAt)
      expect(first['missed']).toBe(0)
    })

    it.concurrent('a new timer is planned from now [S6, L13]', async () => {
      await admin("INSERT INTO periodic_task (id, task, timer) VALUES ('retimed', 'tick', '2000-01-01')")
      await until('it is done before it began', async () => (await schedule('retimed'))['status'] === 'done')
      const edited = await clock()
      await admin("UPDATE periodic_task SET timer = '*:*:*' WHERE id = 'retimed'")
      await until('it runs each second', async () => (await jobs('retimed')).length > 1)
      expect(instant((await jobs('retimed'))[0]?.['slot'])).toBeGreaterThan(edited)
      await admin("UPDATE periodic_task SET timer = 'yearly' WHERE id = 'retimed'")
      await until('it waits for the new year', async () => {
        const { nextrun, wake_at } = await schedule('retimed')
        return nextrun === wake_at && String(nextrun).includes('-01-01 00:00:00')
      })
    })

    it.concurrent('a nextrun in the past causes one run now [S9]', async () => {
      await admin("INSERT INTO periodic_task (id, task, timer) VALUES ('past', 'tick', 'yearly')")
      await until('it is planned', () => isPlanned('past'))
      const { nextrun } = await schedule('past')
      const edited = await clock()
      await admin("UPDATE periodic_task SET nextrun = '2020-02-03 04:05:06' WHERE id = 'past'")
      await until('it has run', async () => (await jobs('past'))[0]?.['state'] === 'success')
      const [job] = await jobs('past')
      expect(instant(job?.['slot'])).toBeGreaterThanOrEqual(edited)
      expect(job?.['missed']).toBe(0)
      expect((await schedule('past'))['nextrun']).toBe(nextrun)
      // Setting the same value again is a second request, not a duplicate.
      await admin("UPDATE periodic_task SET nextrun = '2020-02-03 04:05:06' WHERE id = 'past'")
      await until('it has run again', async () => (await jobs('past')).length === 2)
      await aSecondHasPassed()
      expect(await jobs('past')).toHaveLength(2)
    })

    it.concurrent('a nextrun in the future is the next slot', async () => {
      await admin("INSERT INTO periodic_task (id, task, timer) VALUES ('future', 'tick', 'yearly')")
      await until('it is planned', () => isPlanned('future'))
      const at = (await clock()) + 2345
      await admin(`UPDATE periodic_task SET nextrun = '${sqlInstant(at)}' WHERE id = 'future'`)
      const run = await runAfter('future', 0)
      expect(run.slot).toBe(at)
      const [job] = await jobs('future')
      expect(instant(job?.['submitted'])).toBeGreaterThanOrEqual(at)
      await until('it waits for the new year again', () => isPlanned('future'))
      expect(await jobs('future')).toHaveLength(1)
    })

    it.concurrent('a schedule whose nextrun is set to NULL is planned again at once [L44]', async () => {
      await admin("INSERT INTO periodic_task (id, task, timer) VALUES ('nulled', 'tick', 'yearly')")
      await until('it is planned', () => isPlanned('nulled'))
      const { nextrun } = await schedule('nulled')
      await admin("UPDATE periodic_task SET nextrun = NULL WHERE id = 'nulled'")
      await until('it is planned again', () => isPlanned('nulled'))
      expect((await schedule('nulled'))['nextrun']).toBe(nextrun)
      expect(await jobs('nulled')).toEqual([])
    })

    it.concurrent('a row with an unreadable timer shows the error until the timer is edited [S8]', async () => {
      await admin("INSERT INTO periodic_task (id, task, timer) VALUES ('bad', 'tick', 'Mo..Fry 25:00')")
      await until('it is invalid', async () => (await schedule('bad'))['status'] === 'invalid')
      expect(await schedule('bad')).toMatchObject({ enabled: 1, nextrun: null, wake_at: null })
      expect(String((await schedule('bad'))['last_error'])).toMatch(/Fry/)
      await admin("UPDATE periodic_task SET timer = '*:*:*' WHERE id = 'bad'")
      await until('it runs', async () => (await jobs('bad')).length > 0)
      expect(await schedule('bad')).toMatchObject({ status: 'active', last_error: null })
    })

    it.concurrent('an inserted job runs', async () => {
      await admin(`INSERT INTO job (id, task, args) VALUES ('typed', 'tick', '{"to":"x"}')`)
      const run = await worker.report('handling', (report) => report.job === 'typed')
      expect(run.args).toEqual({ to: 'x' })
      await worker.report('settled', (report) => report.job === run.job && report.state === 'success')
    })

    it.concurrent('a deleted job does not run, or does not run again if it has already run', async () => {
      const at = sqlInstant((await clock()) + 2000)
      await admin(
        `INSERT INTO job (id, task, run_at) VALUES ('dropped', 'tick', '${at}'), ('kept', 'tick', '${at}')`,
      )
      await admin("DELETE FROM job WHERE id = 'dropped'")
      await worker.report('settled', (report) => report.job === 'kept')
      expect(worker.told('handling').filter((report) => report.job === 'dropped')).toEqual([])

      await admin(
        "INSERT INTO periodic_task (id, task, timer, nextrun) VALUES ('pruned', 'tick', 'yearly', '2020-01-01 00:00:00')",
      )
      await until('it has run', async () => (await jobs('pruned'))[0]?.['state'] === 'success')
      await admin("DELETE FROM job WHERE periodic_task_id = 'pruned'")
      await aSecondHasPassed()
      expect(await jobs('pruned')).toEqual([])
    })

    it.concurrent('clearing a mark manually frees its schedule at once', async () => {
      const later = sqlInstant((await clock()) + 3_600_000)
      await admin(
        `INSERT INTO periodic_task (id, task, timer, worker, marked, mark_ends) VALUES ('freed', 'tick', '*:*:*', 'w/gone', '${later}', '${later}')`,
      )
      await admin(
        "UPDATE periodic_task SET worker = NULL, marked = NULL, mark_ends = NULL WHERE id = 'freed'",
      )
      await until('it runs', async () => (await jobs('freed')).length > 0)
    })

    it.concurrent('a mark without an end, or with an end in the far future, does not block its schedule', async () => {
      await admin(
        "INSERT INTO periodic_task (id, task, timer) VALUES ('endless', 'tick', '*:*:*'), ('far', 'tick', '*:*:*')",
      )
      await runAfter('endless', 0)
      await runAfter('far', 0)
      const since = await clock()
      await admin("UPDATE periodic_task SET worker = 'admin', mark_ends = NULL WHERE id = 'endless'")
      await until('it continues', async () =>
        (await jobs('endless')).some((job) => (instant(job['slot']) ?? 0) > since + 1000),
      )
      await admin(
        `UPDATE periodic_task SET worker = 'admin', marked = ${now}, mark_ends = '2100-01-01 00:00:00' WHERE id = 'far'`,
      )
      // The sweep runs once per lease; a busy machine may delay it.
      await until('it continues', async () => (await schedule('far'))['worker'] === null, 10 * LEASE_MS)
      const healed = await clock()
      await until('it runs', async () =>
        (await jobs('far')).some((job) => (instant(job['slot']) ?? 0) > healed),
      )
    })

    it('a deleted schedule no longer runs, and its running job ends normally', async () => {
      await admin("INSERT INTO periodic_task (id, task, timer) VALUES ('deleted', 'hold', '*:*:*')")
      const { job } = await runAfter('deleted', 0)
      await admin("DELETE FROM periodic_task WHERE id = 'deleted'")
      worker.order({ do: 'release' })
      await worker.report('settled', (report) => report.job === job && report.state === 'success')
      const left = (await jobs('deleted')).length
      await aSecondHasPassed()
      expect(await jobs('deleted')).toHaveLength(left)
    })

    it('an open transaction delays only what it has locked [L40]', async () => {
      await admin(
        "INSERT INTO periodic_task (id, task, timer) VALUES ('locked', 'tick', '*:*:*'), ('beside', 'tick', '*:*:*')",
      )
      await runAfter('locked', 0)
      const errors = worker.told('error').length
      const transaction = await openTransaction(
        database,
        "UPDATE periodic_task SET summary = 'x' WHERE id = 'locked'",
      )
      const since = await clock()
      if (kind === 'sqlite') {
        // There is a single lock for the whole file, so all schedules wait and then catch up.
        await pause(2000)
      } else {
        // The lock is held until the other schedule has run for a later slot.
        await runAfter('beside', since + 3000)
        const slots = (await jobs('locked')).map((job) => instant(job['slot']) ?? 0)
        expect(Math.max(...slots)).toBeLessThanOrEqual(since + 1000)
      }
      await transaction.commit()
      await until('it continues', async () =>
        (await jobs('locked')).some(
          (job) => (instant(job['slot']) ?? 0) > since + 1000 && job['state'] === 'success',
        ),
      )
      expect(await schedule('locked')).toMatchObject({ summary: 'x' })
      expect(worker.told('error').slice(errors)).toEqual([])
    })

    it('deleting a running job frees its schedule', async () => {
      await admin("INSERT INTO periodic_task (id, task, timer) VALUES ('torn', 'hold', '*:*:*')")
      const { job, slot } = await runAfter('torn', 0)
      await admin(`DELETE FROM job WHERE id = '${job}'`)
      const next = await runAfter('torn', slot ?? 0)
      expect(next.job).not.toBe(job)
      await admin("DELETE FROM periodic_task WHERE id = 'torn'")
      worker.order({ do: 'release' })
      await worker.report('settled', (report) => report.job === next.job && report.state === 'success')
      expect(await database.query(`SELECT id FROM job WHERE id = '${job}'`)).toEqual([])
    })

    it('no edit affects the control schedule, which runs every second, on time [L17]', async () => {
      const stopped = await clock()
      await admin("UPDATE periodic_task SET enabled = 0 WHERE id = 'control'")
      await until('it has no next run', async () => (await schedule('control'))['wake_at'] === null)
      await until('all has ended', async () =>
        (await jobs('control')).every((job) => job['finished'] !== null),
      )
      const ends = (await scheduleEnds(database)).filter(({ id }) => id === 'control')
      const rows = (await occurrenceRows(database)).filter((row) => row.schedule === 'control')
      expectNoFault(
        occurrenceProblems(ends, rows, { from: controlFrom, until: stopped - 1500, stepMs: 1000 }),
      )
      expect(rows.filter((row) => row.state !== 'success')).toEqual([])
      expect(rows.length).toBeGreaterThan(10)
      expect(worker.told('error')).toEqual([])
      expect(worker.told('leaseLost')).toEqual([])
    })
  })
})

/** An open transaction, as if an administrator had forgotten it in another window. */
async function openTransaction(
  database: TestDatabase,
  sql: string,
): Promise<{ commit: () => Promise<void> }> {
  if (database.kind === 'sqlite') {
    const connection = new Libsql(database.url.slice('sqlite:'.length))
    await until('the file is free', async () => {
      try {
        connection.exec('BEGIN IMMEDIATE')
        return true
      } catch {
        return false
      }
    })
    connection.exec(sql)
    return {
      commit: async () => {
        connection.exec('COMMIT')
        connection.close()
      },
    }
  }
  const connection = await createConnection({ uri: database.url })
  await connection.query('START TRANSACTION')
  await connection.query(sql)
  return {
    commit: async () => {
      await connection.query('COMMIT')
      await connection.end()
    },
  }
}
