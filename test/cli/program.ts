/** Runs the built programs of this package as child processes. `npm test` builds them first. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { AnyCommand } from '../../src/cli/commander.ts'
import { program } from '../../src/cli/commands.ts'

export const root = join(import.meta.dirname, '../..')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Program {
  readonly child: ChildProcess
  /** The output to stdout so far. */
  readonly printed: () => string
  /** Waits until stdout matches the pattern. Fails if the program ends before that, or after `limitMs`. */
  readonly until: (pattern: RegExp, limitMs?: number) => Promise<string>
  readonly ended: Promise<Ended>
}

export interface RunOptions {
  readonly cwd: string
  /** Added to this process's environment, from which KALENDS_DATABASE is removed. */
  readonly env?: Readonly<Record<string, string>>
  /** The input of the program. Default: empty. */
  readonly stdin?: string
}

/** An empty folder that is removed after the test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'kalends-program-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/**
 * @param script  path from the root of the package, such as `dist/cli/main.js`
 */
export function start(script: string, args: readonly string[], options: RunOptions): Program {
  const file = join(root, script)
  if (!existsSync(file))
    throw new Error(`${script} is not built: run npm run build and npm run build:examples`)
  const { KALENDS_DATABASE: _, ...env } = process.env
  const child = spawn(process.execPath, [file, ...args], {
    cwd: options.cwd,
    env: { ...env, NO_COLOR: '1', NODE_NO_WARNINGS: '1', ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // It is not an error if a program does not read its input.
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.stdin ?? '')
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  let changed: (() => void) | null = null
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    changed?.()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
  const until = async (pattern: RegExp, limitMs = 100_000) => {
    const deadline = performance.now() + limitMs
    while (!pattern.test(stdout)) {
      const news = new Promise<'news'>((resolve) => {
        changed = () => resolve('news')
      })
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<'late'>((resolve) => {
        timer = setTimeout(() => resolve('late'), Math.max(0, deadline - performance.now()))
      })
      const what = await Promise.race([news, late, ended.then(() => 'ended' as const)])
      clearTimeout(timer)
      if (what !== 'news' && !pattern.test(stdout)) {
        throw new Error(
          `${script} ${what === 'late' ? 'did not print' : 'ended without'} ${pattern}\n${stdout}\n${stderr}`,
        )
      }
    }
    return stdout
  }
  return { child, printed: () => stdout, until, ended }
}

/** Runs a program to completion. */
export function run(script: string, args: readonly string[], options: RunOptions): Promise<Ended> {
  return start(script, args, options).ended
}

/** Every top-level command of `kalends`, loaded. */
export async function everyCommand(): Promise<AnyCommand[]> {
  const names = (await program([])).commands.map((command) => command.name())
  return Promise.all(
    names.map(async (name) => {
      const command = (await program([name])).commands.find((one) => one.name() === name)
      if (command === undefined) throw new Error(`unknown command ${name}`)
      return command
    }),
  )
}
