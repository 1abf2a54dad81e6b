/** A job has the values that its schedule had in the transaction that submitted it. */
import { type Evidence, editsAround, jobText, type ScheduleEvidence } from '../evidence.ts'
import type { RowText } from '../../record.ts'
import type { Piece, ScheduleRowText } from '../segments.ts'
import type { Violation } from '../verdict.ts'

/** Columns that are copied unchanged. */
const COPIED = ['task', 'group_', 'subject', 'submitter', 'priority'] as const
/** Columns that are copied; the claim fills in missing values. */
const FILLED = ['timeout', 'max_retries', 'retry_delay', 'retry_backoff'] as const
/** Column defaults. */
const DEFAULTS: RowText = { group_: '', priority: 0, args: '{}', overlap: 'skip' }

export function copies(evidence: Evidence): Violation[] {
  const violations: Violation[] = []
  for (const schedule of evidence.schedules) {
    // The journal does not contain schedules that are declared in code.
    if (schedule.written === null && schedule.edits.length === 0) continue
    for (const { start, pieces, isUncertain } of schedule.segments) {
      if (isUncertain) continue
      for (const piece of pieces) violations.push(...differences(evidence, schedule, start.text, piece))
    }
  }
  return violations
}

function differences(
  evidence: Evidence,
  schedule: ScheduleEvidence,
  row: ScheduleRowText,
  { job, slot, isPart }: Piece,
): Violation[] {
  // A row that counts several skips has the values of the first skip.
  if (isPart || (job.state === 'skipped' && job.missed > 1)) return []
  // If the row was edited manually, use its state before the edit.
  const found = evidence.jobEdits.get(job.id)?.[0]?.before ?? job.text
  const expected = (column: string) => row[column] ?? DEFAULTS[column] ?? null
  const is = (column: string, wanted: string | number | null) => same(found[column] ?? null, wanted)
  const wrong = [
    ...COPIED.filter((column) => !is(column, expected(column))),
    ...FILLED.filter((column) => expected(column) !== null && !is(column, expected(column))),
    ...(is('args', job.state === 'skipped' ? '{}' : expected('args')) ? [] : ['args']),
    ...(is('exclusive', expected('overlap') === 'allow' ? 0 : 1) ? [] : ['exclusive']),
  ]
  return wrong.map((column) => ({
    rule: 'copy',
    schedule: schedule.id,
    text: `${column} is ${short(found[column])}, but its schedule has ${column === 'exclusive' ? `overlap ${short(expected('overlap'))}` : short(expected(column))}: ${jobText(job)}${editsAround(schedule, slot)}`,
  }))
}

function same(one: string | number | null, other: string | number | null): boolean {
  return one === null || other === null ? one === other : String(one) === String(other)
}

function short(value: unknown): string {
  const text = JSON.stringify(value ?? null)
  return text.length > 120 ? `${text.slice(0, 120)}… (${text.length} characters)` : text
}
