/** What an importer found, before it becomes a schedule. */
import type { Overlap } from '../../index.ts'
import type { CommandArgs } from '../command-args.ts'

/** One entry of what is imported: as a schedule, or why it cannot be one. */
export interface Candidate {
  /** Where it stands: `line 7`, `apt-daily.timer`. */
  readonly source: string
  /** What stands there. */
  readonly original: string
  /** Without the prefix; candidates that share one are numbered. */
  readonly name: string
  readonly schedule: CandidateSchedule | null
  /** What cannot be carried over; of one without a schedule: why there is none. */
  readonly notes: readonly string[]
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

/** Neither cron nor systemd ends what runs long; a run that hangs must end some day. */
export const LONGEST_RUN = '24h'

export function refused(
  found: Pick<Candidate, 'source' | 'original' | 'name'>,
  ...notes: string[]
): Candidate {
  return { ...found, schedule: null, notes }
}
