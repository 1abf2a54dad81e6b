import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// The modules that the sources import, also without a build.
execFileSync(process.execPath, ['scripts/generate.mjs'], { cwd: import.meta.dirname })

/**
 * What runs where. `npm test` proves the contract: the conformance suite of the store on every database, everything
 * above the store on SQLite. `npm run test:full` is everything, on every database (scripts/test.mjs).
 */
const isFull = process.env['KALENDS_TEST_SUITE'] === 'full'
/** One cell of the matrix of Node versions: only what can differ between versions. */
const isMatrix = process.env['KALENDS_TEST_SUITE'] === 'matrix'

const changedByNode = [
  'test/{calendar,timer,testing}/**/*.test.ts',
  'test/store/{batch,executing,jobs,migrate,scheduling,schedules,settling,sqlite-connection}.test.ts',
  'test/http/{compression,events,mounting,schedules,security}.test.ts',
  'test/cli/cli.test.ts',
]
/** On every database, in both suites: the store, and what is about the connections and transactions of the application. */
const conformance = [
  'test/store/**/*.test.ts',
  'test/smoke.test.ts',
  'test/docs/sql.test.ts',
  'test/jobs/transactions.test.ts',
  'test/jobs/transaction-writes.test.ts',
  'test/kalends/caller-supplied-pool.test.ts',
]
/** Only in the full suite: real time, real kills, random inputs at length, clusters, browsers, and the tools of the tests. */
const onlyFull = [
  'test/**/*.full.test.ts',
  'test/{bench,chaos,fuzz,mutation}/**/*.test.ts',
  'test/support/!(occurrences).test.ts',
  'test/system/!(environment).test.ts',
  'test/examples/!(machine-watch).test.ts',
  'test/store/interleavings.test.ts',
]
/** How soon workers recover or submit is measured: beside nothing else. */
const alone = ['test/chaos/{run,flood}.full.test.ts']

const startsPrograms = ({ moduleId }: TestSpecification) =>
  /\/test\/(?:chaos|cli|examples|system|package)\//.test(moduleId)

/** Files that start programs take longest. They come first, so that no worker ends long after the others. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    return [...files.filter(startsPrograms), ...files.filter((file) => !startsPrograms(file))]
  }
}

const project = (
  name: string,
  databases: 'all' | 'sqlite',
  files: { readonly include: string[]; readonly exclude?: string[] },
  more: object = {},
) => ({
  test: {
    name,
    provide: { databases },
    include: files.include,
    exclude: [...configDefaults.exclude, ...(files.exclude ?? [])],
    pool: 'forks' as const,
    // The files of a process share what they import: loading it once for each file takes as long as the tests.
    isolate: false,
    // Only for what hangs. A file that fails is run again by scripts/test.mjs, alone.
    testTimeout: isFull ? 600_000 : 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 100_000 } },
    retry: 0,
    // More than the cores of a small machine: most tests wait for a database or a process.
    maxWorkers: 4,
    setupFiles: ['test/support/end-with-runner.ts', 'test/support/sqlite.ts'],
    ...more,
  },
})

/** Where .ci/better-sqlite3 installs the driver. */
const betterSqlite = join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  `kalends/better-sqlite3-${process.versions.modules}/node_modules/better-sqlite3`,
)
const isSqliteTested = (process.env['KALENDS_TEST_DATABASES'] ?? 'sqlite').includes('sqlite')
/** The conformance suite on SQLite with the drivers that this machine has, besides libsql. */
const otherDrivers = [
  ...(existsSync(betterSqlite) ? ['better-sqlite3'] : []),
  ...(isBuiltin('node:sqlite') ? ['node:sqlite'] : []),
].map((driver) =>
  project(
    `conformance with ${driver}`,
    'sqlite',
    { include: isSqliteTested ? conformance : [], exclude: onlyFull },
    { env: { KALENDS_TEST_SQLITE_DRIVER: driver }, alias: { 'better-sqlite3': betterSqlite } },
  ),
)

const contract = [
  project('conformance', 'all', { include: conformance, exclude: onlyFull }),
  ...otherDrivers,
  project('above', isFull ? 'all' : 'sqlite', {
    include: ['test/**/*.test.ts'],
    exclude: [...conformance, ...onlyFull],
  }),
]
const full = [
  project(
    'full',
    'all',
    { include: onlyFull, exclude: alone },
    { maxConcurrency: 3, sequence: { groupOrder: 1 } },
  ),
  project(
    'alone',
    'all',
    { include: alone },
    { maxWorkers: 1, maxConcurrency: 1, sequence: { groupOrder: 2 } },
  ),
]

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: LongestFirst },
    // Of the default logger: many tests provoke warnings. A test of the messages itself reads them from a spy.
    onConsoleLog: (log) => !log.startsWith('kalends: '),
    projects: isMatrix
      ? [project('matrix', 'sqlite', { include: changedByNode }), ...otherDrivers]
      : isFull
        ? [...contract, ...full]
        : contract,
  },
})
