/** Which jobs: the same options for listing and for doing something to many. */
import { type Command, Option } from 'commander'
import type { JobConditions, JobState } from '../../index.ts'

export interface FilterFlags {
  readonly state?: JobState
  readonly task?: string
  readonly schedule?: string
  readonly group?: string
  readonly submitter?: string
}

export const STATES: readonly JobState[] = [
  'waiting',
  'blocked',
  'running',
  'success',
  'failed',
  'cancelled',
  'skipped',
]

export function withFilter(command: Command, states: readonly JobState[]): Command {
  return command
    .addOption(new Option('--state <state>', 'only those').choices(states))
    .option('--task <name>', 'only those of this task')
    .option('--schedule <id>', 'only those of this schedule')
    .option('--group <name>', 'only those of this group')
    .option('--submitter <name>', 'only those of this owner')
}

export function conditionsOf({ state, task, schedule, group, submitter }: FilterFlags): JobConditions {
  return { state, task, schedule, group, submitter }
}

export function isFiltered(flags: FilterFlags): boolean {
  return Object.values(conditionsOf(flags)).some((value) => value !== undefined)
}
