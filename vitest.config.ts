import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// One cell of the matrix of Node versions, beside a whole run: only what can differ between versions (zones, timers,
// the SQLite driver, HTTP and the CLI).
const matrix = process.env['KALENDS_TEST_MATRIX'] === '1'
const changedByNode = [
  'test/{calendar,timer,testing}/**/*.test.ts',
  'test/store/{batch,executing,jobs,migrate,scheduling,schedules,settling,sqlite-durability}.test.ts',
  'test/http/{compression,events,mounting,schedules,security}.test.ts',
  'test/cli/cli.test.ts',
]

const slow = 'test/**/*.slow.test.ts'
/** How soon workers recover or submit is measured: beside nothing else. */
const timed = ['test/chaos/run.slow.test.ts', 'test/chaos/flood.slow.test.ts']
/** Short with the other tests, and at full length with the slow ones. */
const scalable = ['test/store/interleavings.test.ts', 'test/fuzz/*.test.ts']

const startsPrograms = ({ moduleId }: TestSpecification) =>
  /\/test\/(?:chaos|cli|examples|system)\//.test(moduleId)

/** Files that start programs take longest. They come first, so that no worker ends long after the others. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    return [...files.filter(startsPrograms), ...files.filter((file) => !startsPrograms(file))]
  }
}

const common = {
  pool: 'forks' as const,
  testTimeout: 60_000,
  hookTimeout: 60_000,
  // CI tells by name what needed a second try.
  retry: process.env['CI'] === 'true' ? 1 : 0,
  // More than the cores of a small machine: most tests wait for a database or a process.
  maxWorkers: 4,
  setupFiles: ['test/support/end-with-runner.ts'],
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...common,
          name: 'tests',
          include: matrix ? changedByNode : ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, slow],
        },
      },
      {
        test: {
          ...common,
          name: 'slow',
          include: [slow, ...scalable],
          env: { KALENDS_TEST_LENGTH: 'long' },
          exclude: [...configDefaults.exclude, ...timed],
          maxConcurrency: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...common,
          name: 'chaos',
          include: timed,
          maxWorkers: 1,
          // Most of a run of chaos is waiting.
          maxConcurrency: 2,
          // What is lost once is lost.
          retry: 0,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
