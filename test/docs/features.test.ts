/** Every feature and every lesson has a test. */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { root } from './markdown.ts'

interface Feature {
  readonly id: string
  readonly tests: readonly string[]
}

test('each entry of docs/features.md and docs/lessons.md has tests, and tests name only such entries', async () => {
  const script: { features: () => Feature[] } = await import(
    pathToFileURL(join(root, 'scripts/features.mjs')).href
  )
  const found = script.features()
  const ids = found.map(({ id }) => id)
  expect(ids.filter((id) => id.startsWith('L')).length).toBeGreaterThan(60)
  expect(ids.filter((id) => !id.startsWith('L')).length).toBeGreaterThan(60)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
  expect(found.filter(({ tests }) => tests.length === 0).map(({ id }) => id)).toEqual([])
})
