/** The scheduler alone, with another queue: here the application's own table. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { type ExternalJob, type Kalends, task } from '../../src/index.ts'
import { standingClock } from '../kalends/movable-timers.ts'
import { collect, collectingLogger, gate, scene, until } from '../kalends/scene.ts'
import { eachDatabase, type TestDatabase } from '../support/databases.ts'

const work = task('work')
const HOUR = 3_600_000

/** The application's queue: knows each id once. */
async function ownQueue(database: TestDatabase) {
  await database.query('CREATE TABLE own_queue (id CHAR(36) PRIMARY KEY, schedule VARCHAR(190), args TEXT)')
  return {
    add: async (job: ExternalJob) => {
      const known = await database.query('SELECT id FROM own_queue WHERE id = ?', [job.id])
      if (known.length === 0)
        await database.query('INSERT INTO own_queue (id, schedule, args) VALUES (?, ?, ?)', [
          job.id,
          job.scheduleId,
          JSON.stringify(job.args),
        ])
    },
    all: () => database.query('SELECT * FROM own_queue ORDER BY id'),
  }
}

async function moved(kalends: Kalends, id: string): Promise<Date> {
  return until(async () => {
    const { nextRunAt = null } = (await kalends.schedules.get(id)) ?? {}
    return nextRunAt !== null && nextRunAt.getTime() > Date.now() + HOUR ? nextRunAt : null
  })
}

eachDatabase((under) => {
  it('each due job is submitted with all that a queue needs, and does not run in this process', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    let ran = 0
    kalends.handle(work, () => void (ran += 1))
    const seen: ExternalJob[] = []
    await kalends.schedules.create({
      id: 's',
      task: work,
      timer: 'yearly',
      args: { to: 'größer 😀' },
      group: 'g',
      subject: 'about',
      submitter: 'anna',
      priority: 3,
      firstRun: 'now',
    })
    const waiting = await kalends.jobs.submit(work)
    await kalends.start({ scheduler: { submit: async (jobs) => void seen.push(...jobs) } })
    await moved(kalends, 's')
    expect(seen).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        scheduleId: 's',
        task: 'work',
        args: { to: 'größer 😀' },
        slot: expect.any(Date),
        missed: 0,
        group: 'g',
        subject: 'about',
        submitter: 'anna',
        priority: 3,
      },
    ])
    expect(await kalends.schedules.history('s')).toEqual([])
    expect(await kalends.schedules.get('s')).toMatchObject({ lastSlot: seen[0]?.slot, runCount: 0 })
    expect(await kalends.jobs.get(waiting)).toMatchObject({ state: 'waiting' })
    expect(ran).toBe(0)
    const [worker] = await database.query('SELECT tasks FROM worker')
    expect(worker).toEqual({ tasks: '[]' })
  })

  it('when a process dies between submit and advance, the same ids are submitted again, and the queue has each once', async () => {
    const { open, database } = await scene(under)
    const kalends = await open({ worker: 'crashing' })
    for (const id of ['a', 'b', 'c']) await kalends.schedules.create({ id, task: work, timer: 'yearly' })
    // Due, and planned as if by a scheduler: the slot is the row's.
    const slot = '2026-01-01 00:00:00.000'
    await database.query(`UPDATE periodic_task SET nextrun = ?, planned_from = CONCAT(definition, '|', ?)`, [
      slot,
      slot,
    ])
    const folder = await mkdtemp(join(tmpdir(), 'kalends-crash-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const file = join(folder, 'ids')
    const program = fileURLToPath(new URL('crash.mjs', import.meta.url))
    const code = await new Promise((resolve) => {
      execFile(process.execPath, [program, database.url, file], (error) => resolve(error?.code))
    })
    expect(code).toBe(7)
    const died = (await readFile(file, 'utf8')).trim().split('\n').toSorted()
    expect(died).toHaveLength(3)
    const queue = await ownQueue(database)
    const again: string[] = []
    await kalends.start({
      scheduler: {
        submit: async (jobs) => {
          for (const job of jobs) {
            again.push(job.id)
            await queue.add(job)
          }
        },
      },
    })
    for (const id of ['a', 'b', 'c']) await moved(kalends, id)
    expect(again.toSorted()).toEqual(died)
    expect((await queue.all()).map(({ id }) => id)).toEqual(died)
  })

  it('a failed submit is retried soon, with the same ids', async () => {
    const { open } = await scene(under)
    const { logger, messages } = collectingLogger()
    const kalends = await open({ logger })
    const errors = collect(kalends, 'error')
    await kalends.schedules.create({ id: 's', task: work, timer: 'yearly', firstRun: 'now' })
    await kalends.schedules.create({ id: 't', task: work, timer: 'yearly', firstRun: 'now' })
    const calls: string[][] = []
    await kalends.start({
      scheduler: {
        submit: async (jobs) => {
          calls.push(jobs.map(({ id }) => id))
          // All at once, then each by itself: the queue is away.
          if (calls.length <= 3) throw new Error('the queue is away')
        },
      },
    })
    // Long before the lease of a minute is over.
    await moved(kalends, 's')
    await moved(kalends, 't')
    expect(errors).toMatchObject([{ where: 'scheduler', error: new Error('the queue is away') }])
    expect(messages()).toContain('error: The scheduler failed; it will be retried')
    expect(calls.at(-1)?.length).toBe(2)
  })

  it('a job that the queue does not accept does not affect others', async () => {
    standingClock()
    const { open } = await scene(under)
    const kalends = await open()
    const errors = collect(kalends, 'error')
    const ids = Array.from({ length: 8 }, (_, index) => `s${index}`)
    for (const id of ids) await kalends.schedules.create({ id, task: work, timer: 'yearly', firstRun: 'now' })
    const taken: string[] = []
    await kalends.start({
      scheduler: {
        submit: async (jobs) => {
          if (jobs.some(({ scheduleId: schedule }) => schedule === 's3')) throw new Error('too large')
          taken.push(...jobs.map(({ scheduleId: schedule }) => schedule))
        },
      },
    })
    for (const id of ids) if (id !== 's3') await moved(kalends, id)
    expect(new Set(taken)).toEqual(new Set(ids.filter((id) => id !== 's3')))
    expect(taken).toHaveLength(7)
    expect(errors).toMatchObject([{ where: 'schedule s3', error: new Error('too large') }])
    expect(await kalends.schedules.get('s3')).toMatchObject({ lastSlot: null, markedBy: expect.any(String) })
  })

  it('a job that the queue rejects is recorded as skipped', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    await kalends.schedules.create({ id: 's', task: work, timer: 'yearly', firstRun: 'now' })
    const submitted: ExternalJob[] = []
    await kalends.start({
      scheduler: {
        submit: async (jobs) => {
          submitted.push(...jobs)
          return [...jobs.map(({ id }) => id), 'an id of nobody']
        },
      },
    })
    await moved(kalends, 's')
    expect(await kalends.schedules.history('s')).toMatchObject([
      { id: submitted[0]?.id, state: 'skipped', reason: 'overlap', slot: submitted[0]?.slot, missed: 1 },
    ])
  })

  it('a row that is edited while its job is submitted is planned again, and no edit is lost', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    await kalends.schedules.create({ id: 's', task: work, timer: 'yearly', firstRun: 'now' })
    const [handing, edited] = [gate(), gate()]
    let calls = 0
    await kalends.start({
      scheduler: {
        submit: async () => {
          calls += 1
          handing.open()
          await edited.promise
        },
      },
    })
    await handing.promise
    await database.query(`UPDATE periodic_task SET timer = 'monthly', nextrun = NULL WHERE id = 's'`)
    edited.open()
    const next = await moved(kalends, 's')
    expect(next.getUTCDate()).toBe(1)
    expect(await kalends.schedules.get('s')).toMatchObject({ timer: 'monthly', markedBy: null })
    expect(calls).toBe(1)
  })

  it('a row that is paused or deleted while its job is submitted stays so', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    for (const id of ['paused', 'deleted'])
      await kalends.schedules.create({ id, task: work, timer: 'yearly', firstRun: 'now' })
    const [handing, edited] = [gate(), gate()]
    await kalends.start({
      scheduler: {
        submit: async () => {
          handing.open()
          await edited.promise
        },
      },
    })
    await handing.promise
    await database.query(`UPDATE periodic_task SET enabled = 0 WHERE id = 'paused'`)
    await database.query(`DELETE FROM periodic_task WHERE id = 'deleted'`)
    edited.open()
    await until(async () => ((await kalends.schedules.get('paused'))?.markedBy === null ? true : null))
    expect(await kalends.schedules.get('paused')).toMatchObject({ status: 'paused' })
    expect(await kalends.schedules.get('deleted')).toBeNull()
  })

  it('a timer that counts from the end of a run continues from each submission', async () => {
    const { open } = await scene(under)
    const kalends = await open()
    const slots: Date[] = []
    await kalends.schedules.create({
      id: 's',
      task: work,
      timer: 'every 100ms after finish',
      firstRun: 'now',
    })
    await kalends.start({
      scheduler: { submit: async (jobs) => void slots.push(...jobs.map(({ slot }) => slot)) },
    })
    await until(async () => (slots.length >= 3 ? true : null))
    const gaps = slots.slice(1).map((slot, index) => slot.getTime() - (slots[index]?.getTime() ?? 0))
    for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(100)
  })

  it('two schedulers share the schedules: each occurrence is submitted once', async () => {
    const { open, database } = await scene(under)
    const queue = await ownQueue(database)
    const workers = [await open({ worker: 'one' }), await open({ worker: 'two' })]
    const [one = await open()] = workers
    const handed: string[] = []
    for (let index = 0; index < 40; index += 1)
      await one.schedules.create({ id: `s${index}`, task: work, timer: 'yearly', firstRun: 'now' })
    await Promise.all(
      workers.map((worker) =>
        worker.start({
          scheduler: {
            submit: async (jobs) => {
              for (const job of jobs) {
                handed.push(job.id)
                await queue.add(job)
              }
            },
          },
        }),
      ),
    )
    for (let index = 0; index < 40; index += 1) await moved(one, `s${index}`)
    expect(handed).toHaveLength(40)
    expect(await queue.all()).toHaveLength(40)
    await database.query(`UPDATE periodic_task SET nextrun = '2020-01-01 00:00:00.000' WHERE id = 's0'`)
    await until(async () => (handed.length > 40 ? true : null))
    expect(new Set(handed).size).toBe(41)
  })
})
