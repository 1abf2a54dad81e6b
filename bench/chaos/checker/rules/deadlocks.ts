/** All statements of Kalends lock in the same order, so they cause no deadlocks. */
import type { Evidence } from '../evidence.ts'
import type { Violation } from '../verdict.ts'

/** Manual statements lock in any order, so this many deadlocks are allowed, plus one per ROWS_FOR_ONE_MORE jobs. */
export const DEADLOCKS_ALLOWED = 5
export const ROWS_FOR_ONE_MORE = 10_000

export function deadlocks({ record }: Evidence): Violation[] {
  const allowed = DEADLOCKS_ALLOWED + Math.floor(record.jobs.length / ROWS_FOR_ONE_MORE)
  if (record.deadlocks === null || record.deadlocks <= allowed) return []
  return [
    {
      rule: 'deadlock',
      schedule: null,
      text: `the server counted ${record.deadlocks} deadlocks, but only ${allowed} are allowed, for manual statements`,
    },
  ]
}
