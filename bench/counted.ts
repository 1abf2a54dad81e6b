/** Server counters: numbers of statements, commits, rows and waits, which vary less between runs than times do. */
import type { Measure } from './measure.ts'

/** The counters, by their names on the servers. */
export const COUNTED = [
  'Questions',
  'Com_commit',
  'Handler_read_key',
  'Handler_read_next',
  'Handler_write',
  'Handler_update',
  'Innodb_row_lock_waits',
  'Innodb_deadlocks',
]

/** The increase of each counter, per unit of work. */
export function since(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  units = 1,
): ReadonlyMap<string, number> {
  return new Map([...after].map(([key, value]) => [key, (value - (before.get(key) ?? 0)) / units]))
}

/** The counters as measures. */
export function countedMeasures(
  work: string,
  subject: string,
  rounds: readonly ReadonlyMap<string, number>[],
): Measure[] {
  return [...(rounds[0]?.keys() ?? [])].map((key) => ({
    work,
    subject,
    unit: key,
    values: rounds.map((round) => round.get(key) ?? 0),
  }))
}
