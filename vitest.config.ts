import { configDefaults, defineConfig } from 'vitest/config'

// One cell of the matrix of Node versions, beside a whole run: leaves out what takes long.
const matrix = process.env['KALENDS_TEST_MATRIX'] === '1'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(matrix ? ['test/**/*.slow.test.ts'] : [])],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
