/** What the checker says of a run. */

/** What can be wrong, each named by what came of it. */
export const RULES = [
  /** An occurrence was decided twice, or an attempt begun twice. */
  'doubled',
  /** Submitted before its slot, or started before it was submitted. */
  'early',
  /** A slot of the timer of which nothing became, or one that is not the timer's. */
  'lost',
  /** Skips and counts that do not add up, or that the policy does not say. */
  'missed',
  /** A slot that was submitted before one that is earlier. */
  'backwards',
  /** Two runs of a schedule at the same time, although overlap is not 'allow'. */
  'together',
  /** A worker that had lost a run and went on with it all the same. */
  'zombie',
  /** A mark or lease that stays, or is longer than it may be. */
  'mark',
  /** A counter or a last_… of a schedule that its jobs contradict. */
  'counter',
  /** A job that is not what its schedule said when it was submitted. */
  'copy',
  /** The stored attempts of a job are not those that its claims say. */
  'attempt',
  'deadlock',
  /** A worker that started no run, although no fault affected it. */
  'stalled',
  /** A job that has not ended, or not as it should. */
  'unfinished',
] as const
export type Rule = (typeof RULES)[number]

export interface Violation {
  readonly rule: Rule
  readonly schedule: string | null
  /** Enough to find the cause by: slots, rows, the edits around it. */
  readonly text: string
}

export interface Tally {
  readonly schedules: number
  /** Slots that were decided, and by how many rows. */
  readonly occurrences: number
  readonly rows: number
  readonly runs: number
  /** Slots in skip rows, by reason. */
  readonly skipped: Readonly<Record<string, number>>
  /** Final states of runs. */
  readonly states: Readonly<Record<string, number>>
  readonly attempts: number
  /** Attempts after the first: retries, and runs taken over from the dead. */
  readonly retried: number
  readonly edits: number
  readonly pruned: number
}

export interface Verdict {
  readonly violations: readonly Violation[]
  readonly tally: Tally
}
