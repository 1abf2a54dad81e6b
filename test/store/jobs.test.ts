/** Operations on jobs. */
import { describe, expect, it } from 'vitest'
import { ConflictError } from '../../src/errors.ts'
import { job, jobRow, newJob, onEachStore, planned, policies, schedule, WORKER } from './conformance.ts'
import { recording, START } from './recording.ts'
import { write } from './writes.ts'

onEachStore((under) => {
  describe('submitting', () => {
    it('submitting many jobs at once is all or nothing; an id in use causes a conflict error that names the id', async () => {
      await under.store.jobs.submit([])
      await under.store.jobs.submit([newJob('b')])
      await expect(under.store.jobs.submit([newJob('b')])).rejects.toThrow(ConflictError)
      await expect(under.store.jobs.submit([newJob('b')])).rejects.toThrow("'b'")
      await expect(under.store.jobs.submit([newJob('a'), newJob('b'), newJob('c')])).rejects.toThrow(
        ConflictError,
      )
      await under.store.jobs.submit(Array.from({ length: 1000 }, (_, index) => newJob(`j${index}`)))
      expect(await under.store.jobs.countOpen(2000)).toBe(1001)
    })

    it('submitting very many jobs uses statements of at most 500 rows, in one transaction', async () => {
      const begun: string[] = []
      const { store, statements } = await recording(
        under.url,
        async (statement) => void begun.push(statement),
      )
      under.afterwards(() => store.close())
      statements.length = 0
      await store.jobs.submit(Array.from({ length: 1001 }, (_, index) => newJob(`j${index}`)))
      expect(begun.filter((statement) => statement === START)).toHaveLength(1)
      // One of these statements reads the queues of the jobs' tasks.
      expect(statements).toHaveLength(4)
      expect(await under.query('SELECT COUNT(*) AS n FROM job')).toEqual([{ n: 1001 }])
    })

    it('submitting after close throws an error that states the reason', async () => {
      const stopped = await under.another()
      await stopped.close()
      await expect(stopped.jobs.submit([newJob('late')])).rejects.toThrow(ConflictError)
      await expect(stopped.jobs.get('late')).rejects.toThrow(/was stopped, so its connections are closed/)
      expect(await under.store.jobs.get('late')).toBeNull()
    })

    it('submitting a row that the table rejects throws an error and stores no job [L38]', async () => {
      await expect(under.store.jobs.submit([newJob('j', { args: '{' })])).rejects.toThrow()
      expect(await under.store.jobs.get('j')).toBeNull()
    })
  })

  describe('cancelling', () => {
    it('cancelling a waiting job, even one with a start time, ends it', async () => {
      await job(under, 'j')
      await job(under, 'later', { run_at: '2099-01-01 00:00:00.000', attempt: 1 })
      for (const id of ['j', 'later']) {
        expect(await write(under.store).cancel(id)).toMatchObject({ state: 'cancelled' })
        expect(await under.store.jobs.get(id)).toMatchObject({ state: 'cancelled' })
        expect((await jobRow(under, id))['finished']).not.toBeNull()
      }
      expect(await under.store.executing.claim(WORKER, policies('task'), 10, '')).toEqual([])
      expect((await under.store.scheduling.look([])).dueAt).toBeNull()
    })

    it('cancelling a waiting job unblocks the job behind it', async () => {
      await planned(under, 's', null)
      await job(under, 'first', { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000' })
      await job(under, 'second', { periodic_task_id: 's', slot: '2026-01-02 00:00:00.000', state: 'blocked' })
      await job(under, 'third', { periodic_task_id: 's', slot: '2026-01-03 00:00:00.000', state: 'blocked' })
      expect(await write(under.store).cancel('first')).toMatchObject({ state: 'cancelled' })
      expect(await jobRow(under, 'second')).toMatchObject({ state: 'waiting' })
      expect(await jobRow(under, 'third')).toMatchObject({ state: 'blocked' })
      expect(await schedule(under, 's')).toMatchObject({ run_count: 0 })
    })

    it('cancelling a blocked job removes it from the queue', async () => {
      await planned(under, 's', null)
      await job(under, 'first', { periodic_task_id: 's', slot: '2026-01-01 00:00:00.000' })
      await job(under, 'second', { periodic_task_id: 's', slot: '2026-01-02 00:00:00.000', state: 'blocked' })
      await job(under, 'third', { periodic_task_id: 's', slot: '2026-01-03 00:00:00.000', state: 'blocked' })
      expect(await write(under.store).cancel('second')).toMatchObject({ state: 'cancelled' })
      expect(await jobRow(under, 'first')).toMatchObject({ state: 'waiting' })
      expect(await jobRow(under, 'third')).toMatchObject({ state: 'blocked' })
    })

    it('cancelling a running job asks its worker once to stop it', async () => {
      await job(under, 'j')
      await under.store.executing.claim(WORKER, policies('task'), 1, '')
      expect(await write(under.store).cancel('j')).toMatchObject({ state: 'running' })
      const { stop_requested: first } = await jobRow(under, 'j')
      expect(first).not.toBeNull()
      const attempt = { id: 'j', worker: WORKER, claim: 1 }
      expect(await under.store.executing.stopRequests([attempt])).toEqual([attempt])
      expect(await write(under.store).cancel('j')).toMatchObject({ state: 'running' })
      expect((await jobRow(under, 'j'))['stop_requested']).toBe(first)
    })

    it.each(['success', 'failed', 'cancelled', 'skipped'])(
      'cancelling a job that is %s leaves it unchanged',
      async (state) => {
        await job(under, 'j', { state })
        const before = await jobRow(under, 'j')
        expect(await write(under.store).cancel('j')).toMatchObject({ state })
        expect(await jobRow(under, 'j')).toEqual(before)
      },
    )

    it('cancelling an unknown job reports that it does not exist', async () => {
      expect(await write(under.store).cancel('none')).toBeNull()
      expect(await under.store.jobs.get('none')).toBeNull()
    })

    it('a job whose schedule was deleted can also be cancelled', async () => {
      await job(under, 'j', { periodic_task_id: 'gone', slot: '2026-01-01 00:00:00.000' })
      expect(await write(under.store).cancel('j')).toMatchObject({ state: 'cancelled' })
    })
  })

  if (under.kind === 'sqlite')
    it('a time that SQLite cannot read is returned as the epoch, or as null if the column may be NULL', async () => {
      await job(under, 'j', { submitted: 'nonsense', started: 'nonsense' })
      expect(await under.store.jobs.get('j')).toMatchObject({ submittedAt: new Date(0), startedAt: null })
    })
})
