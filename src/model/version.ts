import { VERSION } from '../generated/version.ts'

/** Why this version cannot use the tables and what to do, or null if it can. */
export function versionProblem(needed: string | null, own: string = VERSION): string | null {
  if (needed === null || !isOlder(own, needed)) return null
  return `The tables need Kalends ${needed} or later, and this is ${own}: upgrade this process`
}

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

/** Major, minor and patch. A version that cannot be parsed counts as newer than all others, to be safe. */
function numbersOf(version: string): readonly number[] {
  const [, ...numbers] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? []
  return numbers.length === 0 ? [Number.POSITIVE_INFINITY, 0, 0] : numbers.map(Number)
}
