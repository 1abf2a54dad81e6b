/** BullMQ as the queue: its job ids prevent duplicates after kill -9. */
import { Queue } from 'bullmq'
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest'
import { start, temporaryFolder } from '../cli/program.ts'
import { eachDatabase } from '../support/databases.ts'
import { orNotTested } from '../support/not-tested.ts'
import { occurrenceRows } from '../support/occurrences.ts'
import { until } from '../support/worker-process.ts'
import { findRedis, type Redis, startRedis } from './redis.ts'

const SCHEDULER = 'examples/dist/bullmq/scheduler.js'
const WORKER = 'examples/dist/bullmq/worker.js'

const found = orNotTested(inject('testRun'), 'BullMQ', await findRedis())
let redis: Redis | null = null
beforeAll(async () => {
  if (found !== null) redis = await startRedis(found.program)
}, 120_000)
afterAll(() => redis?.stop())

eachDatabase(({ kind, fresh }) => {
  test.skipIf(found === null)(
    'after kill -9 between the hand-over to BullMQ and the COMMIT, BullMQ gets the same job again and runs it once, and the outcome is reported [S11, X2, L7]',
    async () => {
      const url = redis?.url ?? ''
      const database = await fresh()
      onTestFinished(() => database.drop())
      const cwd = await temporaryFolder()
      const args = [database.url, '--lease', '2s', '--queue', kind, '--redis', url]

      const crashed = await start(SCHEDULER, [...args, '--crash'], { cwd }).ended
      expect(crashed.code, crashed.stderr).not.toBe(0)
      const ids = crashed.stdout
        .split('\n')
        .filter((line) => line.startsWith('queued'))
        .map((line) => line.split(' ').at(-1) ?? '')
      expect(ids.length).toBeGreaterThanOrEqual(1)
      const queue = new Queue(kind, { connection: { url } })
      onTestFinished(() => queue.close())
      expect((await queue.getWaiting()).map((job) => String(job.id)).toSorted()).toEqual(ids.toSorted())

      const schedulers = ['one', 'two'].map((name) => start(SCHEDULER, [...args, '--worker', name], { cwd }))
      const workers: ReturnType<typeof start>[] = []
      const printed = () => [...schedulers, ...workers].map((one) => one.printed()).join('')
      const done = () => [...printed().matchAll(/^done \w+ (\S+) for (\S+)$/gm)].map(([, id]) => String(id))
      for (const id of ids)
        await until(`the job ${id} is queued again`, async () =>
          new RegExp(`queued \\w+ ${id}\n`).test(printed()),
        )
      // Start the workers only now, because a job that ended earlier would not be handed over again.
      workers.push(...[1, 2].map(() => start(WORKER, args, { cwd })))
      await until('six jobs are done', async () => done().length >= 6)
      for (const id of ids)
        await until(`the end of ${id} is reported`, async () => {
          const [job] = await database.query('SELECT state FROM job WHERE id = ?', [id])
          return job?.['state'] === 'success'
        })
      for (const scheduler of schedulers) scheduler.child.kill('SIGTERM')
      const stderr = expect.stringMatching(/^(?:kalends: (?:Slots skipped|A worker is dead)[^\n]*\n)*$/)
      for (const scheduler of schedulers) expect(await scheduler.ended).toMatchObject({ code: 0, stderr })
      await until('the queue is empty', async () => (await queue.getJobCountByTypes('wait', 'active')) === 0)
      for (const worker of workers) worker.child.kill('SIGTERM')
      for (const worker of workers) expect(await worker.ended).toMatchObject({ code: 0, stderr: '' })

      expect(done()).toEqual([...new Set(done())])
      expect(done()).toEqual(expect.arrayContaining(ids))
      const jobs = await queue.getCompleted(0, 1000)
      expect(jobs.map((job) => String(job.id)).toSorted()).toEqual(done().toSorted())
      // On a slow machine, slots are skipped while the previous job is not final.
      const skips = (await occurrenceRows(database)).filter(({ state }) => state === 'skipped')
      // No slot between the first and the last is missing or appears twice.
      for (const [name, periodMs] of Object.entries({ measure: 2000, report: 5000 })) {
        const ran = jobs.filter((job) => job.name === name).map((job) => Date.parse(String(job.data.slot)))
        const skipped = skips
          .filter(({ schedule }) => schedule === name)
          .flatMap(({ slot, missed }) =>
            Array.from({ length: missed }, (_, index) => slot - index * periodMs),
          )
        const slots = [...ran, ...skipped].toSorted((one, other) => one - other)
        expect(slots).toEqual(slots.map((_, index) => (slots[0] ?? 0) + index * periodMs))
      }
      const lost = await database.query(
        "SELECT id FROM job WHERE state NOT IN ('success', 'external', 'skipped')",
      )
      expect(lost).toEqual([])
    },
  )
})
