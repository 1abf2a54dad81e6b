/**
 * The checker: computes the expected occurrences from the journal and the calendar, and compares them with the rows and
 * with what the handlers wrote. It is pure and independent of the product's planner.
 */
import type { RunRecord } from '../record.ts'
import { type Evidence, evidenceOf } from './evidence.ts'
import { attempts } from './rules/attempts.ts'
import { deadlocks } from './rules/deadlocks.ts'
import { early } from './rules/early.ts'
import { ended } from './rules/ended.ts'
import { growing } from './rules/growing.ts'
import { handed } from './rules/handed.ts'
import { lost } from './rules/lost.ts'
import { marks } from './rules/marks.ts'
import { once } from './rules/once.ts'
import { stalled } from './rules/stalled.ts'
import { together } from './rules/together.ts'
import { zombie } from './rules/zombie.ts'
import { missed } from './rules/missed.ts'
import { counters } from './rules/counters.ts'
import { copies } from './rules/copies.ts'
import { tallyOf } from './tally.ts'
import type { Verdict, Violation } from './verdict.ts'

export type { Rule, Tally, Verdict, Violation } from './verdict.ts'

const RULES: readonly ((evidence: Evidence) => Violation[])[] = [
  once,
  lost,
  early,
  growing,
  marks,
  ended,
  together,
  zombie,
  missed,
  counters,
  copies,
  attempts,
  deadlocks,
  stalled,
  handed,
]

export function check(record: RunRecord): Verdict {
  const evidence = evidenceOf(record)
  return { violations: RULES.flatMap((rule) => rule(evidence)), tally: tallyOf(evidence) }
}
