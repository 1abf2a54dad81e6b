/**
 * How often property tests try: fully in `npm run test:full` (KALENDS_TEST_SUITE=full), a tenth of that in `npm test`,
 * whose inputs differ from run to run. A test names its full number.
 */
const isFull = process.env['KALENDS_TEST_SUITE'] === 'full'

/** @param full  the number of runs in the full suite; fast-check's default is 100 */
export function runs(full: number): { readonly numRuns: number } {
  return { numRuns: isFull ? full : Math.max(10, Math.ceil(full / 10)) }
}
