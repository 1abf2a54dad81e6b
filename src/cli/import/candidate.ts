import { InvalidInputError } from '../../errors.ts'
import type { Schedule } from '../../index.ts'
import { isInvalidTimer } from '../../timer/error.ts'
import type { CommandArgs } from '../command-task.ts'
import { startOf } from '../table.ts'

export interface Candidate extends Entry {
  readonly schedule: CandidateSchedule | null
  /** The settings that cannot be carried over, or the reason why there is no schedule. */
  readonly notes: readonly string[]
}

export interface Entry {
  /** Such as `line 7`. */
  readonly source: string
  readonly original: string
  /** The name without the prefix; candidates that share a name are numbered. */
  readonly name: string
}

export interface CandidateSchedule
  extends Pick<Schedule, 'timer' | 'summary' | 'jitter' | 'catchUp' | 'overlap'> {
  readonly args: CommandArgs & { readonly shell: string }
  readonly timeout: string
}

/** cron does not stop a long run, but a run that hangs must end eventually. */
export const LONGEST_RUN = '24h'

export class Refusal extends Error {}

interface Reading {
  readonly schedule: CandidateSchedule
  readonly notes: readonly string[]
}

/** @param read  if it throws a syntax error or a refusal, the result is a candidate with a note and no schedule */
export function candidate(entry: Entry, read: () => Reading): Candidate {
  try {
    return { ...entry, ...read() }
  } catch (error) {
    if (isInvalidTimer(error) || error instanceof InvalidInputError || error instanceof Refusal)
      return { ...entry, schedule: null, notes: [error.message] }
    throw error
  }
}

export function summaryOf(text: string): string {
  return startOf(text, 1000, ({ length }) => length)
}
