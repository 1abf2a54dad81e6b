import { defineConfig } from 'vitest/config'

/** The fast tests that cover each area. */
const tests: Readonly<Record<string, readonly string[]>> = {
  model: ['test/model/*.test.ts', 'test/timer/span.test.ts'],
  executor: [
    'test/executor/*.test.ts',
    'test/http/secrets.test.ts',
    'test/jobs/{hostile-args,results}.test.ts',
    'test/kalends/external-queue.test.ts',
    'test/telemetry/tracing.test.ts',
    'test/testing/clock.test.ts',
    'test/worker/membership.test.ts',
  ],
  sql: [
    'test/store/{attempts,batch,declared,exact,executing,freezes,hand-over,inspection,isolate,jobs}.test.ts',
    'test/store/{lists,locks,policies,refused-rows,retention,schedules,scheduling,settling,statements}.test.ts',
    'test/store/{turns,workers}.test.ts',
    'test/jobs/{change-many,jobs,many,results,retention,retry,transactions}.test.ts',
    'test/schedules/{declared,explain,history,schedules,scope,settings}.test.ts',
    'test/executor/concurrency.test.ts',
    'test/kalends/policies.test.ts',
    'test/kalends/external-queue.test.ts',
    'test/views/*.test.ts',
  ],
}
const area = process.env['KALENDS_MUTATION'] ?? 'model'

// Stryker adds its own setup file, and runs all tests in one thread.
export default defineConfig({
  test: {
    include: [...(tests[area] ?? [])],
    // All test files of a mutant run in one thread, which loads the source only once.
    isolate: false,
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/mutation/fast-check.ts'],
    // As many property runs as in the full suite. For src/model, a tenth is enough: almost every change runs the lives
    // of schedules.
    env: { KALENDS_TEST_SUITE: area === 'model' ? '' : 'full' },
    // Many mutants make a test wait forever.
    testTimeout: 15_000,
    hookTimeout: 15_000,
  },
})
