/** The API for operators: workers, doctor, prune. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Kalends, task } from '../../src/index.ts'
import { eachDatabase } from '../support/databases.ts'
import { gate, scene } from './scene.ts'

eachDatabase((under) => {
  test('workers lists all workers, with the number of their running jobs and whether they are alive', async () => {
    const { open, database } = await scene(under)
    const kalends = await open({ worker: 'busy' })
    const begun = gate()
    const end = gate()
    kalends.handle(task('wait'), async () => {
      begun.open()
      await end.promise
    })
    await kalends.start()
    await database.query(
      "INSERT INTO worker (id, name, host, pid, tasks, started, heartbeat) VALUES ('gone/1', 'gone', 'h', 1, '[]', '2026-01-01 00:00:00.000', '2026-01-01 00:00:00.000')",
    )
    await kalends.jobs.submit('wait')
    await begun.promise
    const [busy, gone] = await kalends.workers()
    expect(busy).toMatchObject({ name: 'busy', alive: true, running: 1, tasks: ['wait'] })
    expect(gone).toMatchObject({ id: 'gone/1', alive: false, running: 0 })
    expect(gone?.silentMs).toBeGreaterThan(86_400_000)
    end.open()
  })

  test('prune removes final jobs that are older than the given age', async () => {
    const { open, database } = await scene(under)
    const kalends = await open()
    const ids = await Promise.all(Array.from({ length: 5 }, () => kalends.jobs.submit('x')))
    await database.query(
      "UPDATE job SET state = 'failed', finished = '2026-01-01 00:00:00.000' WHERE id <> ?",
      [ids[0]],
    )
    expect(await kalends.prune({ age: '7d' })).toBe(4)
    expect((await kalends.jobs.list()).items.map(({ id }) => id)).toEqual([ids[0]])
    await expect(kalends.prune({ age: 'old' })).rejects.toThrow(/^age: /)
  })

  test('doctor checks the database of an open Kalends or, by URL, any database, even one without tables', async () => {
    const { open, database } = await scene({ fresh: under.bare })
    expect((await Kalends.doctor(database.url)).map(({ code }) => code)).toEqual(['schema'])
    const kalends = await open()
    expect(await kalends.doctor()).toEqual([])
    await kalends.jobs.submit('nobody')
    expect((await kalends.doctor()).map(({ code }) => code)).toEqual(['no-worker', 'unhandled-task'])
    expect(await Kalends.doctor(database.url)).toHaveLength(2)
    expect((await Kalends.doctor(database.url, { tablePrefix: 'k_' })).map(({ code }) => code)).toEqual([
      'schema',
    ])
  })
})

test('doctor does not create a missing database file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-doctor-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  expect((await Kalends.doctor(`sqlite:${join(folder, 'missing.db')}`)).map(({ code }) => code)).toEqual([
    'schema',
  ])
  expect(await readdir(folder)).toEqual([])
})
