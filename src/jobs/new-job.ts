import { InvalidInputError } from '../errors.ts'
import { checkKeys, namesOf } from '../keys.ts'
import { checkWithin, requireTask } from '../model/authority.ts'
import { type TaskContext, taskOf } from '../model/caller.ts'
import { checkedSettings } from '../model/checked-settings.ts'
import { checkedInstant, spanOption } from '../model/input.ts'
import { isOccurrenceId, newJobId } from '../model/occurrence.ts'
import { chosenJobId, ownedSettings, requireOwnFields } from '../model/owner.ts'
import {
  defaultsOf,
  JOB_OPTION_NAMES,
  type JobSettingOptions,
  LONGEST_DELAY_MS,
  type OptionName,
} from '../model/settings.ts'
import { type ArgsOption, checkedTaskName, storedArgs, type Task } from '../model/task.ts'
import type { NewJob, TransactionOption } from '../store/job-store.ts'

/** When and how a job without a schedule runs. Its task sets the defaults. Durations are milliseconds or time spans. */
export interface JobOptions extends JobSettingOptions {
  /**
   * 1 to 254 ASCII characters without a slash (fewer in a scope, because the prefix of the scope counts), but not a
   * UUIDv8; default: a new UUID.
   */
  readonly id?: string | undefined
  /** The job does not start before this time; default: as soon as possible. */
  readonly runAt?: Date | undefined
  /** Like `runAt`, but relative to now: milliseconds or a time span. */
  readonly delay?: number | string | undefined
}

/** Options for submitting one job. */
export type SubmitOptions = JobOptions & TransactionOption

/** A job; the task determines the types of its args and result. */
export type JobInput<Input, Result = unknown> = JobOptions & {
  readonly task: Task<Input, unknown, Result>
} & ArgsOption<Input>

/** The same as `JobInput`, without types for the args. */
export type AnyJobInput = JobOptions & { readonly task: Task | string; readonly args?: unknown }

/** The args are optional if the task accepts an empty object. */
// oxlint-disable-next-line typescript/no-empty-object-type -- tests whether {} is a valid Input
export type SubmitArguments<Input> = {} extends Input
  ? [args?: Input, options?: SubmitOptions]
  : [args: Input, options?: SubmitOptions]

export const JOB_OPTIONS = [
  ...JOB_OPTION_NAMES,
  ...namesOf<Omit<JobOptions, OptionName>>({ id: true, runAt: true, delay: true }),
]

/** @throws InvalidInputError, ForbiddenError */
export async function newJob(
  given: AnyJobInput,
  context: TaskContext & { readonly now: () => Date },
): Promise<NewJob> {
  checkKeys(given, [...JOB_OPTIONS, 'task', 'args'], '', 'job')
  const { task, args, ...options } = given
  const { authority, argsLimit } = context
  const { owner } = authority
  const known = taskOf(task, context)
  requireTask(authority, known.name)
  requireOwnFields(owner, options)
  const id = options.id === undefined ? newJobId(context.now()) : chosenJobId(owner, options.id)
  if (isOccurrenceId(options.id ?? ''))
    throw new InvalidInputError(
      'id',
      `'${options.id}' has the form of the ids of schedules' occurrences (UUIDv8); choose another`,
    )
  const text = await storedArgs(known, args, argsLimit)
  // An object literal with spreads would take several times as long.
  const job = Object.assign(
    defaultsOf(JOB_OPTION_NAMES),
    checkedSettings(JOB_OPTION_NAMES, options),
    ownedSettings(owner),
    startOf(options),
    { id, task: checkedTaskName(known.name), args: text },
  )
  checkWithin(authority.limits, job)
  return job
}

function startOf({ runAt, delay }: JobOptions): Pick<NewJob, 'runAt' | 'delayMs'> {
  if (delay === undefined) return { runAt: checkedInstant('runAt', runAt) ?? null, delayMs: null }
  if (runAt !== undefined)
    throw new InvalidInputError('delay', 'cannot be combined with runAt; leave one of them out')
  const ms = spanOption('delay', delay, 0, { least: 0, most: LONGEST_DELAY_MS })
  return { runAt: null, delayMs: ms }
}
