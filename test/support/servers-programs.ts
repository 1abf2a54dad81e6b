/** Finds and installs the programs that tests use. */
import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const installScript = fileURLToPath(new URL('apt-install.sh', import.meta.url))

/** Servers are often outside an ordinary user's PATH, for example in /usr/sbin. */
const siblingsOfBin = ['sbin', 'libexec', 'mysql/bin']

export function findProgram(name: string): string | null {
  const listed = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const siblings = listed
    .filter((folder) => basename(folder) === 'bin')
    .flatMap((folder) => siblingsOfBin.map((sibling) => join(dirname(folder), sibling)))
  for (const folder of [...listed, ...siblings]) {
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

/** MariaDB and MySQL refuse to run as root unless they are told to. */
export function asUser(): string[] {
  return isRoot() ? ['--user=root'] : []
}

/**
 * Finds the programs of a suite, and installs missing ones with apt-get if the tests run as root on Debian.
 *
 * @param what  the program or product, as named in messages: 'redis-server'
 * @returns what was found, or the reason why it is not available
 */
export async function findOrInstall<Found extends object>(
  what: string,
  packages: readonly string[],
  find: () => Found | null | Promise<Found | null>,
): Promise<Found | string> {
  const found = await find()
  if (found !== null) return found
  const names = packages.join(', ')
  if (!isRoot() || findProgram('apt-get') === null) {
    return `${what} is not installed, and only root on Debian can install it here: install ${names}`
  }
  say(`${what} is not installed: installing ${names} with apt-get, as root; no service is started`)
  const problem = await install(packages)
  return (await find()) ?? problem ?? `apt-get installed ${names}, but ${what} is still missing`
}

/** @returns why apt-get failed, for example because there is no network; null if it succeeded */
async function install(packages: readonly string[]): Promise<string | null> {
  try {
    await run('sh', [installScript, ...packages], { maxBuffer: 64 * 1024 * 1024 })
    return null
  } catch (error) {
    const output = error instanceof Error && 'stderr' in error ? String(error.stderr) : ''
    const lines = output.split('\n').filter((line) => line.trim() !== '')
    const reason = lines.findLast((line) => line.startsWith('E: ')) ?? lines.at(-1) ?? String(error)
    return `apt-get could not install ${packages.join(', ')}: ${reason}`
  }
}

/** Prints a message about the servers for the person who started the tests. */
export function say(line: string): void {
  process.stderr.write(`test databases: ${line}\n`)
}
