/** Every feature and every lesson has a test that would fail without it. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './markdown.ts'

test('every row of docs/features.md and docs/lessons.md is there, and names tests that are there', () => {
  const { stderr, status } = spawnSync(process.execPath, [join(root, 'scripts/check-features.mjs')], {
    encoding: 'utf8',
  })
  expect(stderr.split('\n').filter((line) => line !== '')).toEqual([])
  expect(status).toBe(0)
})
