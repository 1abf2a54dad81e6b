/**
 * What suites require in addition to databases: a program, a library or root privileges. If a requirement is missing,
 * the suite is skipped, and the last lines of the run's output report this, as for a missing database
 * (global-setup.ts prints them). Under CI, a missing requirement is an error.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestRun } from './databases-run.ts'
import { findOrInstall, findProgram } from './servers-programs.ts'
import { isCi } from './servers.ts'

const MARK = 'not-tested-'

/**
 * @param what  what is not tested, as named in messages: 'BullMQ'
 * @param why  what is missing, and how to install it
 * @throws Error under CI
 */
export function notTested(run: Pick<TestRun, 'folder'>, what: string, why: string): void {
  const line = `${what} is NOT TESTED: ${why}`
  if (isCi(process.env)) throw new Error(`CI tests everything. ${line}`)
  // Test files run in separate processes. If several of them write the same line, it is stored as one file.
  const name = createHash('sha256').update(line).digest('hex')
  writeFileSync(join(run.folder, `${MARK}${name}`), line)
}

/** Returns null if nothing was found; the last lines of the run's output then report this. @throws Error under CI */
export function orNotTested<Found extends object>(
  run: Pick<TestRun, 'folder'>,
  what: string,
  found: Found | string,
): Found | null {
  if (typeof found !== 'string') return found
  notTested(run, what, found)
  return null
}

/**
 * Whether a program that a suite calls by name is available, after an attempt to install it if it was missing.
 *
 * @param fromPackage  the Debian package that contains it
 */
export async function hasProgram(
  run: Pick<TestRun, 'folder'>,
  what: string,
  name: string,
  fromPackage = name,
): Promise<boolean> {
  const found = await findOrInstall(name, [fromPackage], () => {
    const path = findProgram(name)
    return path === null ? null : { path }
  })
  return orNotTested(run, what, found) !== null
}

/** The lines that say what was not tested, from all suites, sorted. */
export function notTestedLines(run: Pick<TestRun, 'folder'>): string[] {
  return readdirSync(run.folder)
    .filter((name) => name.startsWith(MARK))
    .map((name) => readFileSync(join(run.folder, name), 'utf8'))
    .toSorted()
}
