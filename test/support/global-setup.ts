/**
 * Runs before and after all tests (see vitest.config.ts): provides the databases to the suites, and finally reports
 * what was tested and what was not.
 */
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import {
  databaseNames,
  dropDatabasesOf,
  type MissingServer,
  type ServerKind,
  type TestRun,
  usedMark,
} from './databases-run.ts'
import { notTestedLines } from './not-tested.ts'
import { say } from './servers-programs.ts'
import { isCi, provideServer, type Server, wantedDatabases } from './servers.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const wanted = wantedDatabases(process.env)
  const folder = await mkdtemp(join(tmpdir(), 'kalends-tests-'))
  const servers: Server[] = []
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()))
    await rm(folder, { recursive: true, force: true })
  }

  const missing: MissingServer[] = []
  try {
    const kinds = wanted.filter((kind): kind is ServerKind => kind !== 'sqlite')
    const outcomes = await Promise.allSettled(kinds.map((kind) => provideServer(kind, process.env)))
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') continue
      if ('missing' in outcome.value) missing.push(outcome.value)
      else servers.push(outcome.value)
    }
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    for (const line of missing.map(tellMissing)) say(line)
    if (missing.length > 0 && isCi(process.env)) {
      throw new Error(`CI tests every database. ${missing.map(tellMissing).join('; ')}`)
    }
  } catch (error) {
    await stop()
    throw error
  }

  const run: TestRun = {
    folder,
    prefix: `kalends_${folder.slice(-6).toLowerCase()}_`,
    servers: servers.map(({ kind, url }) => ({ kind, url })),
    missing,
    sqlite: wanted.includes('sqlite'),
  }
  project.provide('testRun', run)

  return async () => {
    const report = tellTested(run, servers)
    // Removes leftovers of interrupted tests from the user's own server.
    await Promise.all(servers.map(({ url }) => dropDatabasesOf(run, url)))
    await stop()
    process.stderr.write(`\n${report}\n`)
  }
}

function tellMissing({ kind, missing }: MissingServer): string {
  return `${databaseNames[kind]} is NOT TESTED: ${missing}`
}

/** The last lines of the run's output. A database that no test has used does not count as tested. */
function tellTested(run: TestRun, servers: readonly Server[]): string {
  const sqlite = (run.sqlite ? versionsOfSqlite(run) : []).map((version) => ({
    kind: 'sqlite' as const,
    version,
  }))
  const ready = [
    ...sqlite,
    ...servers.map(({ kind, version, origin }) => ({ kind, version: `${version} (${origin})` })),
  ]
  const tell = (some: typeof ready) =>
    some.map(({ kind, version }) => `${databaseNames[kind]} ${version}`).join(', ')
  const used = ready.filter(({ kind }) => existsSync(usedMark(run, kind)))
  const unused = ready.filter(({ kind }) => !existsSync(usedMark(run, kind)))
  return [
    `databases tested: ${tell(used) || 'none'}`,
    ...(unused.length > 0 ? [`ready but not used by any test: ${tell(unused)}`] : []),
    ...run.missing.map(tellMissing),
    ...notTestedLines(run),
  ].join('\n')
}

/** The tested versions with their drivers; see sqlite.ts. */
function versionsOfSqlite(run: TestRun): string[] {
  const mark = usedMark(run, 'sqlite')
  if (!existsSync(mark)) return ['']
  return [...new Set(readFileSync(mark, 'utf8').trim().split('\n'))].toSorted()
}
