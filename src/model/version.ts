/** Which version of the software may work on the tables. Pure. */

/** Of this software, as package.json has it. */
export const VERSION = '0.1.0'

/** How the tables and this software do not fit, and what to do; null: they fit. */
export function versionProblem(needed: string | null, own: string = VERSION): string | null {
  if (needed === null || !isOlder(own, needed)) return null
  return `The tables need Kalends ${needed} or later, and this is ${own}: upgrade this process`
}

/** The newest of some versions; null: there is none. */
export function newest(versions: readonly string[]): string | null {
  return versions.reduce<string | null>(
    (found, version) => (found === null || isOlder(found, version) ? version : found),
    null,
  )
}

function isOlder(one: string, other: string): boolean {
  const [numbers, others] = [numbersOf(one), numbersOf(other)]
  const at = others.findIndex((number, index) => number !== numbers[index])
  return at !== -1 && (numbers[at] ?? 0) < (others[at] ?? 0)
}

/** Major, minor and patch. What cannot be read is newer than everything: nothing is known of it. */
function numbersOf(version: string): readonly number[] {
  const [, ...numbers] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? []
  return numbers.length === 0 ? [Number.POSITIVE_INFINITY, 0, 0] : numbers.map(Number)
}
