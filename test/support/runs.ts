/**
 * The number of inputs of property tests: all in `npm run test:full` (KALENDS_TEST_SUITE=full), and a tenth in `npm
 * test`, with different inputs in each run. Each test declares the full number.
 */
const isFull = process.env['KALENDS_TEST_SUITE'] === 'full'

/** @param full  the number of runs in the full suite; fast-check's default is 100 */
export function runs(full: number): { readonly numRuns: number } {
  return { numRuns: isFull ? full : Math.max(10, Math.ceil(full / 10)) }
}
