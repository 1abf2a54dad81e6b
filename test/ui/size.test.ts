import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'

const FOLDER = join(import.meta.dirname, '../../dist/ui')
const MOST = 60_000

test('the whole page is at most 60 KB, gzipped', () => {
  const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  const sizes = files.map(({ parentPath, name }) => gzipSync(readFileSync(join(parentPath, name))).length)
  expect(files.map(({ name }) => name)).toContain('index.html')
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST)
})
