/** Follows the steps on each page in order: creates the files, runs each command in the first or second terminal, and
 * expects the documented output. */
import { spawn } from 'node:child_process'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../cli/program.ts'
import { hasProgram } from '../support/not-tested.ts'
import { type Block, blocksOf, root } from './markdown.ts'

interface Step {
  /** The files from earlier steps, by name. */
  readonly files: ReadonlyMap<string, string>
  readonly commands: Block
  /** The lines that the output must contain. */
  readonly shown: readonly string[]
}

function stepsOf(blocks: readonly Block[]): Step[] {
  const files = new Map<string, string>()
  return blocks.flatMap((commands, index) => {
    const [, file] = /^file=(.+)$/.exec(commands.flags[0] ?? '') ?? []
    if (file !== undefined) files.set(file, commands.text)
    if (commands.language !== 'sh' || commands.flags.includes('no-run')) return []
    const next = blocks[index + 1]
    const shown = next?.language === 'text' ? next.text.split('\n').filter((line) => line !== '') : []
    return [{ files: new Map(files), commands, shown }]
  })
}

/** Collapses spaces, because they are only for alignment. */
function plain(text: string): string {
  return text.replaceAll(/ +/g, ' ').trim()
}

const hasBash = await hasProgram(inject('testRun'), 'The commands of the pages', 'bash')

test.skipIf(!hasBash).each(['docs/quickstart.md', 'docs/guides/your-own-job-table.md'])(
  '%s works as written',
  async (page) => {
    const cwd = await temporaryFolder()
    const bin = join(cwd, 'node_modules/.bin')
    await mkdir(bin, { recursive: true })
    await symlink(root, join(cwd, 'node_modules/kalends'))
    await symlink(join(root, 'node_modules/libsql'), join(cwd, 'node_modules/libsql'))
    await writeFile(join(cwd, 'package.json'), '{ "type": "module" }')
    await writeFile(
      join(bin, 'kalends'),
      `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/cli/main.js')}' "$@"\n`,
    )
    await chmod(join(bin, 'kalends'), 0o755)
    const { KALENDS_DATABASE: _, ...inherited } = process.env
    const env = { ...inherited, PATH: `${bin}:${process.env['PATH']}`, TZ: 'UTC', NO_COLOR: '1' }

    /** `done` resolves with the output so far once the program has ended or printed `until`. */
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
    const steps = stepsOf(blocksOf(join(root, page), ['sh', 'text', 'js']))
    expect(steps.length).toBeGreaterThan(4)
    for (const { files, commands, shown } of steps) {
      for (const [name, text] of files) await writeFile(join(cwd, name), text)
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
  },
)
