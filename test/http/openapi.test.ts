/** The OpenAPI 3.1 document is valid and complete, and clients can be generated from it. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, it } from 'vitest'
import { openApiDocument } from '../../src/http/document.ts'
import { operations } from '../../src/http/operations.ts'
import { databases } from '../support/databases.ts'
import { useClient } from './client.ts'
import { apiScene } from './scene.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const document = openApiDocument(operations, '/')
/** The document as clients receive it. */
const copy = (): Record<string, unknown> => JSON.parse(JSON.stringify(document))

it('the document is valid OpenAPI 3.1', async () => {
  const validator = new Validator()
  const result = await validator.validate(copy())
  expect(result.errors ?? []).toEqual([])
  expect(result.valid).toBe(true)
  expect(validator.version).toBe('3.1')
})

it('the document lists every operation; each has a unique id, a summary and a success response', () => {
  const ids = operations.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  const text = JSON.stringify(document)
  for (const one of operations) {
    expect(text).toContain(`"operationId":"${one.id}"`)
    expect(one.summary).not.toBe('')
    expect(Object.keys(one.answers).some((status) => Number(status) < 300)).toBe(true)
  }
  const references = [...text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name)
  expect(references.length).toBeGreaterThan(30)
  for (const name of references) expect(document).toHaveProperty(['components', 'schemas', String(name)])
})

it('a client that uses the generated types type-checks', async () => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const options =
    '--noEmit --strict --module nodenext --target es2023 --lib es2023,dom --skipLibCheck --allowImportingTsExtensions --types node'
  const { stdout } = await run(
    process.execPath,
    [tsc, '--ignoreConfig', ...options.split(' '), join(import.meta.dirname, 'client.ts')],
    {
      cwd: root,
    },
  ).catch((error: { stdout: string }) => error)
  expect(stdout).toBe('')
})

const sqlite = databases.find(({ kind }) => kind === 'sqlite')
it.skipIf(sqlite === undefined)('a generated client works', async () => {
  if (sqlite === undefined) return
  const { handler } = await apiScene(sqlite)
  expect(await useClient('http://app.example', (request) => handler(request))).toEqual([
    'active',
    'from a client',
    'true',
    '1',
    'true',
    'timer',
    '204',
  ])
})
