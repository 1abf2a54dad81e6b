/** The words that stand for a whole event, including some that systemd accepts but does not document. */
export const SHORTHANDS: ReadonlyMap<string, string> = new Map([
  ['minutely', '*:*'],
  ['hourly', '*:00'],
  ['daily', '00:00'],
  ['weekly', 'Mon'],
  ['monthly', '*-1'],
  ['quarterly', '1,4,7,10-1'],
  ['semiannually', '1,7-1'],
  ['semi-annually', '1,7-1'],
  ['biannually', '1,7-1'],
  ['bi-annually', '1,7-1'],
  ['yearly', '1-1'],
  ['annually', '1-1'],
  ['anually', '1-1'],
])

/** The event that a word stands for (case-insensitive), or undefined if there is none. */
export function lookUpShorthand(word: string): string | undefined {
  // toLowerCase() would also map the Kelvin sign to k.
  return /^[a-z-]+$/i.test(word) ? SHORTHANDS.get(word.toLowerCase()) : undefined
}
