/**
 * Collects all violations of a run: those that the checker finds in its record, and those that the harness noticed
 * itself.
 */
import { check } from './checker/check.ts'
import type { Recovery } from './recovery.ts'
import type { RunRecord } from './record.ts'

export interface Violation {
  readonly rule: string
  readonly schedule: string | null
  readonly text: string
}

/** @param restless  describes work and workers that remained at the end; empty if a record is checked again */
export function judge(record: RunRecord, recovery: Recovery, restless: readonly string[]): Violation[] {
  const own =
    (rule: string) =>
    (text: string): Violation => ({ rule, schedule: null, text })
  const troubles = record.journal.flatMap((entry) =>
    entry.kind === 'fault' && entry.trouble !== null ? [`${entry.name} ${entry.hit}: ${entry.trouble}`] : [],
  )
  return [
    ...check(record).violations,
    ...recovery.violations.map(own('recovery')),
    ...restless.map(own('rest')),
    ...troubles.map(own('fault')),
  ]
}
