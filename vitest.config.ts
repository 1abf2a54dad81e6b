import { configDefaults, defineConfig } from 'vitest/config'

// One cell of the matrix of Node versions, beside a whole run: leaves out what takes long, and what says nothing of
// the version.
const matrix = process.env['KALENDS_TEST_MATRIX'] === '1'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [
      ...configDefaults.exclude,
      ...(matrix ? ['test/**/*.slow.test.ts', 'test/examples/**', 'test/docs/**'] : []),
    ],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // More than the cores of a small machine: most tests wait for a database or a process.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
