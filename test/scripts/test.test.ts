/**
 * scripts/test.mjs: which failed files run again, which failures make a run red, and which results the last line
 * counts.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const root = join(import.meta.dirname, '../..')

const PASSES = "test('passes', () => {})"
const FAILS = "test('fails', () => { throw new Error('always') })"
const FAILS_ONCE = `
import { existsSync, writeFileSync } from 'node:fs'
test('fails once', () => {
  const mark = import.meta.filename + '.mark'
  if (existsSync(mark)) return
  writeFileSync(mark, '')
  throw new Error('at first')
})`
/** If the file ran again, it would pass. */
const FAULT_ONCE = `
import { existsSync, writeFileSync } from 'node:fs'
class OccurrenceFault extends Error { name = 'OccurrenceFault' }
test('loses a run', () => {
  const mark = import.meta.filename + '.mark'
  if (existsSync(mark)) return
  writeFileSync(mark, '')
  throw new Error('the rows are wrong', { cause: new OccurrenceFault('lost') })
})`
const HOOK_FAILS = `beforeAll(() => { throw new Error('no set-up') })\n${PASSES}`
const CRASHES_ONCE = `
import { existsSync, writeFileSync } from 'node:fs'
test('ends its process', () => {
  const mark = import.meta.filename + '.mark'
  if (existsSync(mark)) return
  writeFileSync(mark, '')
  process.kill(process.pid, 'SIGKILL')
})`
const THROWS_OUTSIDE = `
test('ends before its timer', () => { setTimeout(() => { throw new Error('later') }, 1) })
test('waits', () => new Promise((resolve) => setTimeout(resolve, 100)))`

/** Runs the script on test files with these contents, and returns its exit code and relevant lines of its output. */
async function runOf(texts: readonly string[], setup = 'export default () => {}') {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-script-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'setup.mjs'), setup)
  await writeFile(
    join(folder, 'vitest.config.mjs'),
    "export default { test: { globals: true, include: ['files/*.mjs'], globalSetup: ['setup.mjs'] } }",
  )
  await mkdir(join(folder, 'files'))
  for (const [index, text] of texts.entries()) await writeFile(join(folder, `files/${index}.mjs`), text)
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$)/.test(name)),
  )
  const [status, stdout] = await new Promise<[number, string]>((resolve) => {
    const options = { cwd: folder, env: { ...env, NO_COLOR: '1' }, timeout: 100_000 }
    execFile(process.execPath, [join(root, 'scripts/test.mjs')], options, (error, printed) =>
      resolve([Number(error?.code ?? 0), printed]),
    )
  })
  const lines = stdout.trimEnd().split('\n')
  return {
    code: status,
    last: lines.at(-1),
    said: lines.filter((line) => /^(failed|flaky): /.test(line)),
    repeated: lines.filter((line) => line.startsWith('running ')).length,
  }
}

it('a file that fails twice, in a test or in a hook, makes the run red', async () => {
  expect(await runOf([PASSES, FAILS, HOOK_FAILS])).toEqual({
    code: 1,
    last: '1 passed, 2 failed',
    said: ['failed: files/1.mjs failed twice', 'failed: files/2.mjs failed twice'],
    repeated: 2,
  })
})

it('a file that fails once is run again separately; the run is green, and its output names the file', async () => {
  expect(await runOf([`${FAILS_ONCE}\n${PASSES}`, FAILS_ONCE, PASSES])).toEqual({
    code: 0,
    last: '4 passed, 0 failed',
    said: ['flaky: files/0.mjs: at first', 'flaky: files/1.mjs: at first'],
    repeated: 2,
  })
})

it('three flaky files make the run red', async () => {
  expect(await runOf([FAILS_ONCE, FAILS_ONCE, FAILS_ONCE])).toMatchObject({
    code: 1,
    last: '3 passed, 1 failed',
    said: [/0\.mjs/, /1\.mjs/, /2\.mjs/, /^failed: 3 files are flaky/].map((text) =>
      expect.stringMatching(text),
    ),
  })
})

it('a broken guarantee makes the run red, and the file that detected it does not run again', async () => {
  expect(await runOf([FAULT_ONCE, FAILS_ONCE])).toMatchObject({
    code: 1,
    last: '0 passed, 2 failed',
    said: [expect.stringMatching(/^failed: files\/0\.mjs is not run again: lost$/)],
    repeated: 0,
  })
})

it.each([
  ['a crashed worker', CRASHES_ONCE],
  ['an error outside the tests', THROWS_OUTSIDE],
])('%s makes the run red at once', async (_, text) => {
  expect(await runOf([text])).toMatchObject({
    code: 1,
    said: ['failed: errors outside the tests: 1'],
    repeated: 0,
  })
})

it('a failed set-up makes the run red at once', async () => {
  const setup = "export default () => { throw new Error('no server') }"
  expect(await runOf([PASSES], setup)).toEqual({
    code: 1,
    last: '0 passed, 1 failed',
    said: ['failed: the tests could not run'],
    repeated: 0,
  })
})
