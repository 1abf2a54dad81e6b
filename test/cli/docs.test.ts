import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { wholeProgram } from '../../src/cli/commands.ts'
import { EXIT } from '../../src/cli/failure.ts'
import { root } from './program.ts'

const page = readFileSync(join(root, 'docs/cli.md'), 'utf8')

/** Commands that do something, with their path. */
function leaves(command: Command, path = ''): [path: string, command: Command][] {
  return command.commands.length === 0
    ? [[path, command]]
    : command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`.trim()))
}

test('docs/cli.md names every command, every option and every exit code', async () => {
  const missing: string[] = []
  for (const [path, command] of leaves(await wholeProgram())) {
    if (!page.includes(`kalends ${path}`) && !page.includes(`\`${path} `) && !page.includes(`\`${path}\``))
      missing.push(path)
    for (const { long } of command.options)
      if (typeof long === 'string' && !page.includes(`${long}\``) && !page.includes(`${long} `))
        missing.push(`${path} ${long}`)
  }
  expect(missing).toEqual([])
  for (const code of Object.values(EXIT)) expect(page).toMatch(new RegExp(`^\\| ${code} +\\|`, 'm'))
})
