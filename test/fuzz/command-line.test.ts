/** No command line causes a stack trace or an undocumented exit code. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { AnyCommand } from '../../src/cli/commander.ts'
import { EXIT } from '../../src/cli/failure.ts'
import { everyCommand, run, temporaryFolder } from '../cli/program.ts'

const SEED = Number(process.env['KALENDS_SEED'] ?? 20261121)
const RUNS = Number(process.env['KALENDS_FUZZ_RUNS'] ?? 40)
/** Commands that run until they are stopped. */
const ENDLESS = new Set(['start', 'serve'])

const VALUES = [
  '',
  ' ',
  '-',
  '--',
  '-1',
  '0',
  '1e9',
  '99999999999999999999',
  'NaN',
  'daily',
  'every 0s',
  '*:*:*.*',
  'tomorrow',
  '2026-02-30',
  '9999-12-31',
  '+2h',
  '../../etc/passwd',
  '/dev/null',
  '{',
  '{"__proto__":1}',
  'null',
  "'; DROP TABLE job; --",
  '%s',
  '\\',
  '\n',
  '\u001b[2J',
  '\u202e',
  '😀',
  'x'.repeat(5000),
  'Mars/Olympus',
  '--help',
  '--json',
  '--yes',
  '=',
]

interface Leaf {
  readonly path: readonly string[]
  readonly options: readonly string[]
}

function leaves(command: AnyCommand, path: readonly string[] = [command.name()]): Leaf[] {
  if (command.commands.length > 0)
    return command.commands.flatMap((child) => leaves(child, [...path, child.name()]))
  return [{ path, options: command.options.flatMap(({ long }) => (typeof long === 'string' ? [long] : [])) }]
}

it(`no input causes a stack trace or an undocumented exit code, seed ${SEED}`, {
  timeout: 600_000,
}, async () => {
  const commands = (await everyCommand())
    .flatMap((command) => leaves(command))
    .filter(({ path }) => !ENDLESS.has(path[0] ?? ''))
  const value = fc
    .oneof(fc.constantFrom(...VALUES), fc.string({ unit: 'grapheme', maxLength: 20 }))
    .map((text) => text.replaceAll('\u0000', ''))
  const line = fc.constantFrom(...commands).chain(({ path, options }) =>
    fc
      .tuple(
        fc.array(value, { maxLength: 3 }),
        // With the options that are left out, commands run until they are stopped.
        fc.array(
          fc.tuple(
            fc.constantFrom('--no-such', ...options.filter((option) => !/follow|watch|wait/.test(option))),
            fc.option(value),
          ),
          { maxLength: 3 },
        ),
      )
      .map(([values, given]) => [
        ...path,
        ...values,
        ...given.flatMap(([option, of]) => (of === null ? [option] : [option, of])),
      ]),
  )
  const cwd = await temporaryFolder()
  const env = { KALENDS_DATABASE: 'sqlite:./fuzz.db' }
  expect((await run('dist/cli/main.js', ['migrate'], { cwd, env })).code).toBe(0)
  const documented: readonly number[] = Object.values(EXIT)
  const lines = fc.sample(line, { numRuns: RUNS, seed: SEED })
  for (const args of lines) {
    const { code, stdout, stderr } = await run('dist/cli/main.js', args, { cwd, env })
    const what = `${JSON.stringify(args)} ended with ${code}:\n${stderr.slice(0, 1000)}`
    expect(documented, what).toContain(code)
    expect(`${stdout}\n${stderr}`, what).not.toMatch(/\n\s+at .*(?:\.js|node:)/)
    if (code !== 0 && !args.includes('--json')) expect(stdout + stderr, what).not.toBe('')
  }
})
