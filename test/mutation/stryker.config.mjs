/** Mutation tests. To run them, see docs/contributing/mutation.md. */
const area = process.env.KALENDS_MUTATION ?? 'model'
const share = Number(process.env.KALENDS_MUTATION_SHARE ?? '1')
const mutate = { model: 'src/model/*.ts', executor: 'src/executor/*.ts', sql: 'src/store/sql/*.ts' }[area]
if (mutate === undefined) throw new RangeError(`KALENDS_MUTATION must be model, executor or sql, got ${area}`)

export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner', './test/mutation/plugins.mjs'],
  vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  mutate: [mutate],
  checkers: share < 1 ? ['sample'] : [],
  sample: { share, seed: process.env.KALENDS_MUTATION_SEED ?? '1' },
  // Stryker's copy of the project contains the files that the tests read, and a link to node_modules, because some
  // tests start worker processes.
  ignorePatterns: [
    ...(area === 'model' ? ['/dist'] : []),
    '/docs',
    '/examples',
    '/bench',
    '/scripts',
    '/.ci',
  ],
  tempDirName: '.stryker/sandboxes',
  reporters: ['json', 'survivors', 'progress-append-only'],
  jsonReporter: { fileName: `.stryker/${area}.json` },
  survivorsFile: `.stryker/${area}.txt`,
  concurrency: 1,
  dryRunTimeoutMinutes: 30,
  timeoutMS: 10_000,
  disableTypeChecks: false,
  warnings: { unknownOptions: false, slow: false },
}
