import { readFileSync } from 'node:fs'

/** The output of systemd 252 for one expression. */
export interface GoldenRow {
  readonly expr: string
  readonly base: string
  /** The zone of the process, which applies if the expression has none. */
  readonly tz: string
  readonly valid: boolean
  readonly normalized: string | null
  /** Five consecutive elapses, or fewer if there are no more. */
  readonly next: readonly string[]
}

export const goldenRows: readonly GoldenRow[] = readFileSync(new URL('golden.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line): GoldenRow => {
    const row: GoldenRow = JSON.parse(line)
    return row
  })

/** The microseconds since the epoch for an ISO instant in UTC with up to six decimals. */
export function micros(instant: string): number {
  const [, seconds, fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(instant) ?? []
  if (seconds === undefined) throw new Error(`not an instant: ${instant}`)
  return Date.parse(`${seconds}Z`) * 1000 + Number(fraction.padEnd(6, '0'))
}

/** The inverse of micros(). */
export function instant(micros: number): string {
  const seconds = new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19)
  const rest = micros - Math.floor(micros / 1_000_000) * 1_000_000
  return rest === 0 ? `${seconds}Z` : `${seconds}.${String(rest).padStart(6, '0')}Z`
}
