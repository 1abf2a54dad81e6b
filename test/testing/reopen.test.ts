/** A database file that a later test application reopens: restarts and downtime on the virtual clock. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Kalends, task } from '../../src/index.ts'
import { open } from '../../src/testing/index.ts'

const setup = (kalends: Kalends) => {
  kalends.handle(task('report'), () => {})
  kalends.declare('set', [{ task: task('report'), timer: 'hourly', catchUp: 2 }])
}

test('closing a test application and opening another on the same file simulates downtime', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-reopen-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const database = `sqlite:${join(folder, 'test.db')}`
  const before = await open(setup, { database, now: '2026-01-01T08:30:00Z' })
  await before.advance('1h')
  await before.close()

  const after = await open(setup, { database, now: '2026-01-01T13:30:00Z' })
  await after.drain()
  const history = await after.kalends.schedules.history('report')
  expect(
    history.map(({ slot, state, missed }) => [slot?.toISOString().slice(11, 16), state, missed]),
  ).toEqual([
    ['13:00', 'success', 0],
    ['12:00', 'success', 2],
    ['11:00', 'skipped', 2],
    ['09:00', 'success', 0],
  ])
  await after.close()
})
