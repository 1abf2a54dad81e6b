/**
 * The number of inputs of property tests. Each test declares its full number, which `npm run test:full`
 * (KALENDS_TEST_SUITE=full) uses; `npm test` uses a tenth, but at least 10. The inputs differ in each run.
 */
const isFull = process.env['KALENDS_TEST_SUITE'] === 'full'

/** @param full  the number of runs in the full suite; fast-check's default is 100 */
export function runs(full: number): { readonly numRuns: number } {
  return { numRuns: isFull ? full : Math.max(10, Math.ceil(full / 10)) }
}
