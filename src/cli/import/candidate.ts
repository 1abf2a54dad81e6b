/** What an importer found, before it becomes a schedule. */
import { InvalidInputError } from '../../errors.ts'
import type { Overlap } from '../../index.ts'
import { isInvalidTimer } from '../../timer/error.ts'
import type { CommandArgs } from '../command-task.ts'

/** One imported entry: as a schedule, or why it cannot be one. */
export interface Candidate extends Entry {
  readonly schedule: CandidateSchedule | null
  /** What cannot be carried over; without a schedule: why there is none. */
  readonly notes: readonly string[]
}

export interface Entry {
  /** Its location: `line 7`, `apt-daily.timer`. */
  readonly source: string
  /** Its text. */
  readonly original: string
  /** Without the prefix; candidates that share one are numbered. */
  readonly name: string
}

export interface CandidateSchedule {
  readonly timer: string
  readonly args: CommandArgs
  readonly summary: string | null
  /** In milliseconds. */
  readonly jitter: number
  readonly catchUp: number
  readonly overlap: Overlap
  /** A span. */
  readonly timeout: string
}

/** Neither cron nor systemd stops a long run, but a run that hangs must end eventually. */
export const LONGEST_RUN = '24h'

/** Why an entry cannot become a schedule. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

/** @param read  if it throws a syntax error, that becomes the note of a candidate without a schedule */
export function candidate(
  entry: Entry,
  read: () => { readonly schedule: CandidateSchedule; readonly notes: readonly string[] },
): Candidate {
  try {
    return { ...entry, ...read() }
  } catch (error) {
    if (isInvalidTimer(error) || error instanceof InvalidInputError || error instanceof Refusal)
      return { ...entry, schedule: null, notes: [error.message] }
    throw error
  }
}
