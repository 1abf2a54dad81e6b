/**
 * The candidate that was probably meant: one that differs only in case, else the one with the fewest typing mistakes.
 * Undefined if none is similar enough.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  // A longer word is unlikely to be a mistyped name, and comparing it would take too long.
  if (word.length > 40) return undefined
  const folded = word.toLowerCase()
  const most = folded.length < 4 ? 1 : Math.min(3, Math.floor(folded.length / 3) + 1)
  let best: string | undefined
  let fewest = most + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= fewest) continue
    const mistakes = distance(folded, candidate.toLowerCase())
    if (mistakes >= fewest) continue
    best = candidate
    fewest = mistakes
  }
  return best
}

/** The Levenshtein distance, except that swapping two neighbouring characters counts as one mistake. */
function distance(a: string, b: string): number {
  let older: number[] = []
  let old = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = a.charAt(i - 1) === b.charAt(j - 1) ? 0 : 1
      let least = Math.min((old[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (old[j - 1] ?? 0) + change)
      const swapped =
        i > 1 && j > 1 && a.charAt(i - 1) === b.charAt(j - 2) && a.charAt(i - 2) === b.charAt(j - 1)
      if (swapped) least = Math.min(least, (older[j - 2] ?? 0) + 1)
      row.push(least)
    }
    older = old
    old = row
  }
  return old[b.length] ?? 0
}
