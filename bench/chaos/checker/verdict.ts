/** The result of the checker. */

/** Kinds of violations, each named after its effect. */
export const RULES = [
  /** An occurrence was decided twice, or an attempt started twice. */
  'doubled',
  /** A job was submitted before its slot, or started before it was submitted. */
  'early',
  /** A slot of the timer was never decided, or a decided slot is not one of the timer's. */
  'lost',
  /** Skips and counts do not add up, or contradict the policy. */
  'missed',
  /** A later slot was submitted before an earlier one. */
  'backwards',
  /** Two runs of a schedule overlapped, although overlap is not 'allow'. */
  'together',
  /** A worker continued a run that it had lost. */
  'zombie',
  /** A mark or lease remains, or is too long. */
  'mark',
  /** A counter or a last_… column of a schedule contradicts its jobs. */
  'counter',
  /** A job does not match its schedule as it was at submission. */
  'copy',
  /** The stored attempts of a job do not match its claims. */
  'attempt',
  'deadlock',
  /** A worker started no run, although no fault affected it. */
  'stalled',
  /** A job has not ended, or has the wrong outcome. */
  'unfinished',
] as const
export type Rule = (typeof RULES)[number]

export interface Violation {
  readonly rule: Rule
  readonly schedule: string | null
  /** Details for finding the cause: slots, rows, nearby edits. */
  readonly text: string
}

export interface Tally {
  readonly schedules: number
  /** Decided slots, and the number of their rows. */
  readonly occurrences: number
  readonly rows: number
  readonly runs: number
  /** Slots in skip rows, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  /** Final states of runs. */
  readonly states: Readonly<Record<string, number>>
  readonly attempts: number
  /** Attempts after the first: retries, and runs taken over from dead workers. */
  readonly retried: number
  readonly edits: number
  readonly pruned: number
}

export interface Verdict {
  readonly violations: readonly Violation[]
  readonly tally: Tally
}
