/** An endless chain of jobs is stopped only after ten thousand rounds, so this test is slow. */
import { expect, test } from 'vitest'
import { task } from '../../src/index.ts'
import { open } from '../../src/testing/index.ts'

test('an endless chain of jobs is reported', { timeout: 600_000 }, async () => {
  const step = task('step')
  let rounds = 0
  await using app = await open((kalends) => {
    kalends.handle(step, async () => {
      rounds += 1
      await kalends.jobs.submit(step)
    })
  })
  await app.kalends.jobs.submit(step)
  await expect(app.drain()).rejects.toThrow('More work is always due at 2026-01-01T00:00:00.000Z')
  expect(rounds).toBeGreaterThan(1000)
})
