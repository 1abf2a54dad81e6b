/**
 * What a suite needs besides the databases: a program, a library, root. Where it is missing, the suite is skipped and
 * the last lines of the run say so, as they do for a missing database (global-setup.ts prints them). Under CI a
 * missing one is an error.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestRun } from './databases-run.ts'
import { findOrInstall, findProgram } from './servers-programs.ts'
import { isCi } from './servers.ts'

const MARK = 'not-tested-'

/**
 * @param what  for people: 'BullMQ'
 * @param why  what is missing, and how to get it
 * @throws Error under CI
 */
export function notTested(run: Pick<TestRun, 'folder'>, what: string, why: string): void {
  const line = `${what} is NOT TESTED: ${why}`
  if (isCi(process.env)) throw new Error(`CI tests everything. ${line}`)
  // Test files run in processes of their own. The same line from several of them is one file.
  const name = createHash('sha256').update(line).digest('hex')
  writeFileSync(join(run.folder, `${MARK}${name}`), line)
}

/** Null: it is missing, which the last lines of the run say. @throws Error under CI */
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
 * Whether a program that a suite calls by its name is on this machine.
 *
 * @param fromPackage  the Debian package that has it
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

/** The lines of all suites, sorted. */
export function notTestedLines(run: Pick<TestRun, 'folder'>): string[] {
  return readdirSync(run.folder)
    .filter((name) => name.startsWith(MARK))
    .map((name) => readFileSync(join(run.folder, name), 'utf8'))
    .toSorted()
}
