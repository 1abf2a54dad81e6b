/** The totals of a run, for its report. */
import type { Evidence } from './evidence.ts'
import type { Tally } from './verdict.ts'

export function tallyOf({ record, schedules, runs }: Evidence): Tally {
  const skipped: Record<string, number> = {}
  const states: Record<string, number> = {}
  let occurrences = 0
  let rows = 0
  let runRows = 0
  for (const { jobs } of schedules) {
    for (const { state, reason, missed } of jobs) {
      rows += 1
      if (state === 'skipped') {
        occurrences += missed
        skipped[String(reason)] = (skipped[String(reason)] ?? 0) + missed
      } else {
        occurrences += 1
        runRows += 1
        states[state] = (states[state] ?? 0) + 1
      }
    }
  }
  let attempts = 0
  let begun = 0
  for (const lines of runs.values()) {
    const starts = lines.filter(({ event }) => event === 'start').length
    attempts += starts
    begun += Math.min(1, starts)
  }
  return {
    schedules: schedules.length,
    occurrences,
    rows,
    runs: runRows,
    skipped,
    states,
    attempts,
    retried: attempts - begun,
    edits: record.journal.filter(({ kind }) => kind === 'edit').length,
    pruned: record.journal.reduce((sum, entry) => sum + (entry.kind === 'prune' ? entry.jobs.length : 0), 0),
  }
}
