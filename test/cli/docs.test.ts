import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AnyCommand } from '../../src/cli/commander.ts'
import { EXIT } from '../../src/cli/failure.ts'
import { everyCommand, root } from './program.ts'

const page = readFileSync(join(root, 'docs/cli.md'), 'utf8')

/** The executable commands, with their paths. */
function leaves(command: AnyCommand, path = command.name()): [path: string, command: AnyCommand][] {
  return command.commands.length === 0
    ? [[path, command]]
    : command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`))
}

test('docs/cli.md lists every command, option and exit code', async () => {
  const missing: string[] = []
  for (const [path, command] of (await everyCommand()).flatMap((one) => leaves(one))) {
    if (!page.includes(`kalends ${path}`) && !page.includes(`\`${path} `) && !page.includes(`\`${path}\``))
      missing.push(path)
    for (const { long } of command.options)
      if (typeof long === 'string' && !page.includes(`${long}\``) && !page.includes(`${long} `))
        missing.push(`${path} ${long}`)
  }
  expect(missing).toEqual([])
  for (const code of Object.values(EXIT)) expect(page).toMatch(new RegExp(`^\\| ${code} +\\|`, 'm'))
})
