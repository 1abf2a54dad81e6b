/** docs/quickstart.md, done as it says: each command in its terminal, in order, with what the page shows of the answers. */
import { spawn } from 'node:child_process'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../cli/program.ts'
import { hasProgram } from '../support/not-tested.ts'
import { type Block, blocksOf, root } from './markdown.ts'

interface Step {
  readonly commands: Block
  /** Texts that the answer has, in this order. */
  readonly shown: readonly string[]
}

function stepsOf(blocks: readonly Block[]): Step[] {
  return blocks.flatMap((commands, index) => {
    if (commands.language !== 'sh' || commands.flags.includes('no-run')) return []
    const next = blocks[index + 1]
    const shown = next?.language === 'text' ? next.text.split('\n').filter((line) => line !== '') : []
    return [{ commands, shown }]
  })
}

/** Blanks only align. */
function plain(text: string): string {
  return text.replaceAll(/ +/g, ' ').trim()
}

const hasBash = await hasProgram(inject('testRun'), 'The commands of docs/quickstart.md', 'bash')

test.skipIf(!hasBash)('the quickstart works as written', async () => {
  const cwd = await temporaryFolder()
  const bin = join(cwd, 'node_modules/.bin')
  await mkdir(bin, { recursive: true })
  await symlink(root, join(cwd, 'node_modules/kalends'))
  await writeFile(
    join(bin, 'kalends'),
    `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/cli/main.js')}' "$@"\n`,
  )
  await chmod(join(bin, 'kalends'), 0o755)
  const { KALENDS_DATABASE: _, ...inherited } = process.env
  const env = { ...inherited, PATH: `${bin}:${process.env['PATH']}`, TZ: 'UTC', NO_COLOR: '1' }

  /** @returns all that was printed, once it has ended or shows the text */
  const terminal = (line: string, until?: string) => {
    const child = spawn('bash', ['-c', until === undefined ? line : `exec ${line}`], { cwd, env })
    let printed = ''
    const done = new Promise<{ code: number | null; printed: string }>((resolve) => {
      const read = (text: string) => {
        printed += text
        if (until !== undefined && printed.includes(until)) resolve({ code: 0, printed })
      }
      child.stdout.setEncoding('utf8').on('data', read)
      child.stderr.setEncoding('utf8').on('data', read)
      child.once('close', (code) => resolve({ code, printed }))
    })
    const stop = async () => {
      const closed = new Promise((resolve) => child.once('close', resolve))
      if (child.exitCode !== null) return
      child.kill('SIGINT')
      await closed
    }
    return { done, stop }
  }

  let second: ReturnType<typeof terminal> | null = null
  onTestFinished(() => second?.stop())
  const steps = stepsOf(blocksOf(join(root, 'docs/quickstart.md'), ['sh', 'text']))
  expect(steps.length).toBeGreaterThan(10)
  for (const { commands, shown } of steps) {
    const isSecond = commands.flags.includes('terminal')
    if (isSecond) await second?.stop()
    const running = terminal(
      isSecond ? commands.text.trim() : `set -e\n${commands.text}`,
      isSecond ? shown.at(-1) : undefined,
    )
    if (isSecond) second = running
    const { code, printed } = await running.done
    expect(code, `${commands.at}\n${printed}`).toBe(commands.flags.includes('fails') ? 1 : 0)
    for (const text of shown) expect(plain(printed), commands.at).toContain(plain(text))
  }
})
