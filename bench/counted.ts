/** What the servers count: statements, commits, rows and waits do not vary as times do. */
import type { Measure } from './suite.ts'

/** What is counted, as the servers name it. */
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

/** How much was counted meanwhile, for each unit of work. */
export function since(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  units = 1,
): ReadonlyMap<string, number> {
  return new Map([...after].map(([key, value]) => [key, (value - (before.get(key) ?? 0)) / units]))
}

/** What the server has counted, as measures of their own. */
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
