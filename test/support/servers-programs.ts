/** Programs of this machine that the tests use, and how to get them. */
import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const installScript = fileURLToPath(new URL('apt-install.sh', import.meta.url))

/** Servers live where a user's PATH does not look. */
const moreFolders = ['/usr/sbin', '/usr/local/sbin', '/usr/libexec', '/usr/local/mysql/bin']

export function findProgram(name: string): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...moreFolders]
  for (const folder of folders) {
    if (folder === '') continue
    const program = join(folder, name)
    try {
      accessSync(program, constants.X_OK)
      return program
    } catch {
      // Not in this folder.
    }
  }
  return null
}

export async function versionOf(program: string): Promise<string> {
  const { stdout } = await run(program, ['--version'])
  return stdout.trim()
}

export function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** Both servers refuse to run as root unless told to. */
export function asUser(): string[] {
  return isRoot() ? ['--user=root'] : []
}

export function canInstall(): boolean {
  return isRoot() && findProgram('apt-get') !== null
}

export async function install(...packages: string[]): Promise<void> {
  await run('sh', [installScript, ...packages], { maxBuffer: 64 * 1024 * 1024 })
}

/** What the person who started the tests should know about their servers. */
export function say(line: string): void {
  process.stderr.write(`test databases: ${line}\n`)
}
