/** Lessons of docs/lessons.md that no feature test covers. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Kalends, task } from '../../src/index.ts'
import { eachDatabase } from '../support/databases.ts'
import { root } from './markdown.ts'

test('no statement suppresses database errors or merges inserts and updates [L38]', () => {
  const found = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .filter((file) =>
      /\b(?:INSERT (?:OR )?IGNORE|REPLACE INTO|ON DUPLICATE KEY|ON CONFLICT)\b/.test(
        readFileSync(join(root, 'src', file), 'utf8'),
      ),
    )
  expect(found).toEqual([])
})

eachDatabase(({ fresh }) => {
  test('handlers that end immediately leave nothing running, and stop() completes [L31]', async () => {
    const database = await fresh()
    const quick = task('quick')
    const kalends = await Kalends.open(database.url, { pollInterval: 50 })
    kalends.handle(quick, () => 'done')
    await kalends.start({ concurrency: 5 })
    const ids = await kalends.jobs.submitMany(Array.from({ length: 50 }, () => ({ task: quick })))
    const jobs = await Promise.all(ids.map((id) => kalends.jobs.wait(id, { timeout: '100s' })))
    expect(new Set(jobs.map(({ state, result }) => `${state} ${String(result)}`))).toEqual(
      new Set(['success done']),
    )
    expect(kalends.health().running).toBe(0)
    await kalends.stop()
    const [left] = await database.query("SELECT COUNT(*) AS n FROM job WHERE state = 'running'")
    expect(Number(left?.['n'])).toBe(0)
    await database.drop()
  })
})
