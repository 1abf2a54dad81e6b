/**
 * A broken guarantee, such as a lost, duplicated or early run. scripts/test.mjs never repeats a test file that throws
 * this error, because the code is at fault.
 */
export class OccurrenceFault extends Error {
  override readonly name = 'OccurrenceFault'
}

/** @throws OccurrenceFault that lists the problems */
export function expectNoFault(problems: readonly unknown[], where = ''): void {
  if (problems.length === 0) return
  const shown = problems
    .slice(0, 20)
    .map((problem) => (typeof problem === 'string' ? problem : JSON.stringify(problem)))
  throw new OccurrenceFault([...(where === '' ? [] : [where]), ...shown].join('\n'))
}
