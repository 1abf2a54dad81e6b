/** Every feature and every lesson has a test that would fail without it. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './markdown.ts'

test('docs/features.md and docs/lessons.md have every row, and name tests that exist', () => {
  const { stderr, status } = spawnSync(process.execPath, [join(root, 'scripts/check-features.mjs')], {
    encoding: 'utf8',
  })
  expect(stderr.split('\n').filter((line) => line !== '')).toEqual([])
  expect(status).toBe(0)
})
