import { InvalidInputError } from '../errors.ts'
import { timeSpan } from '../timer/index.ts'
import { checkedWhole } from './input.ts'
import { issuesText, type StandardSchema } from './standard-schema.ts'

/** How long a run may take and what happens when it fails. */
export interface RunPolicy {
  /** Longest time of one attempt, in milliseconds. */
  readonly timeoutMs: number
  /** Attempts after the first. */
  readonly maxRetries: number
  /** Time before the first retry, in milliseconds; null: the span of an `every` timer, else a minute. */
  readonly retryDelayMs: number | null
  readonly retryBackoff: RetryBackoff
}

/** exponential: the delay doubles with each retry, up to ten times the first; fixed: it stays. */
export type RetryBackoff = 'exponential' | 'fixed'

/** What holds where neither the task nor the schedule says otherwise. */
export const DEFAULT_POLICY: RunPolicy = {
  timeoutMs: 600_000,
  maxRetries: 3,
  retryDelayMs: null,
  retryBackoff: 'exponential',
}

/**
 * Something that can run: a plain value without I/O, shared by the processes that submit and those that run.
 *
 * `Input` is what is stored, `Args` what the handler gets once the schema has read it back from JSON, `Result` what
 * the handler returns.
 */
export interface Task<Input = unknown, Args = Input, Result = unknown> {
  readonly name: string
  readonly schema: StandardSchema<Input, Args> | null
  /** Of what its handler returns. */
  readonly resultSchema: StandardSchema<Result, unknown> | null
  readonly policy: RunPolicy
  /** Most runs at the same time in one worker; null: as many as it has room for. */
  readonly concurrency: number | null
}

/** What a task is besides its name. Times are milliseconds or time spans such as `10min`. */
export interface TaskOptions<Input, Args, Result = unknown> {
  /** Checks and converts the arguments: any Standard Schema (zod, valibot, arktype, …). */
  readonly args?: StandardSchema<Input, Args>
  /** Checks what the handler returns, and types it for those who wait for the job. Stored as JSON, as it was returned. */
  readonly result?: StandardSchema<Result, unknown>
  /** Longest time of one attempt: milliseconds, or a time span such as `10min` (the default). */
  readonly timeout?: number | string
  /** Attempts after the first; default 3. */
  readonly retries?: number
  /** Time before the first retry: milliseconds or a time span; default the span of an `every` timer, else `1min`. */
  readonly retryDelay?: number | string
  readonly retryBackoff?: RetryBackoff
  /** Most runs at the same time in one worker; default: as many as it has room for. */
  readonly concurrency?: number
}

/** Arguments of a task without a schema: any JSON object. */
export type AnyArgs = Record<string, unknown>

/** The option `args` of whatever takes a task: it may be left out where the task takes an empty object. */
// oxlint-disable-next-line typescript/no-empty-object-type -- asks whether {} would do
export type ArgsOption<Input> = {} extends Input
  ? { readonly args?: NoInfer<Input> }
  : { readonly args: NoInfer<Input> }

export const TASK_NAME_LIMIT = 190

/**
 * Defines a task.
 *
 * @throws InvalidInputError when a name or an option cannot be meant
 */
export function task<Input = AnyArgs, Args = Input, Result = unknown>(
  name: string,
  options: TaskOptions<Input, Args, Result> = {},
): Task<Input, Args, Result> {
  if (typeof name !== 'string' || name.trim() === '' || name.length > TASK_NAME_LIMIT) {
    throw new InvalidInputError(
      'task',
      `a name of 1 to ${TASK_NAME_LIMIT} characters is needed, not ${JSON.stringify(name)}`,
    )
  }
  return {
    name,
    schema: options.args ?? null,
    resultSchema: options.result ?? null,
    policy: { ...DEFAULT_POLICY, ...runPolicy(options) },
    concurrency: checkedWhole('concurrency', options.concurrency, 1, 10_000) ?? null,
  }
}

/** How long a run may take and what happens when it fails; what is left out is as the task says. */
export interface PolicyOptions {
  readonly timeout?: number | string | undefined
  readonly retries?: number | undefined
  readonly retryDelay?: number | string | undefined
  readonly retryBackoff?: RetryBackoff | undefined
}

/** Reads the policy options that are given. @throws InvalidInputError naming the option */
export function runPolicy(options: PolicyOptions): Partial<RunPolicy> {
  const policy: { -readonly [Key in keyof RunPolicy]?: RunPolicy[Key] } = {}
  if (options.timeout !== undefined) policy.timeoutMs = spanOption('timeout', options.timeout, 0, ANY_SPAN)
  if (options.retryDelay !== undefined)
    policy.retryDelayMs = spanOption('retryDelay', options.retryDelay, 0, ANY_SPAN)
  if (options.retries !== undefined) {
    if (!Number.isInteger(options.retries) || options.retries < 0 || options.retries > 1000) {
      throw new InvalidInputError(
        'retries',
        `a whole number from 0 to 1000 is needed, not ${String(options.retries)}`,
      )
    }
    policy.maxRetries = options.retries
  }
  if (options.retryBackoff !== undefined) {
    if (options.retryBackoff !== 'exponential' && options.retryBackoff !== 'fixed') {
      throw new InvalidInputError(
        'retryBackoff',
        `'exponential' or 'fixed' is needed, not ${JSON.stringify(options.retryBackoff)}`,
      )
    }
    policy.retryBackoff = options.retryBackoff
  }
  return policy
}

/** The largest number of milliseconds that the columns hold and setTimeout takes: 24.8 days. */
const ANY_SPAN = { least: 1, most: 2 ** 31 - 1 }

/**
 * Reads an option that is a time: milliseconds, or a time span such as `10min`.
 *
 * @returns milliseconds
 * @throws InvalidInputError naming the option
 */
export function spanOption(
  field: string,
  value: number | string | undefined,
  otherwise: number,
  limits: { readonly least: number; readonly most: number },
): number {
  if (value === undefined) return otherwise
  try {
    const milliseconds = timeSpan(value)
    if (milliseconds < limits.least || milliseconds > limits.most)
      throw new RangeError(`'${value}' is not between ${limits.least} and ${limits.most} ms`)
    return milliseconds
  } catch (error) {
    throw new InvalidInputError(field, error instanceof Error ? error.message : String(error), {
      cause: error,
    })
  }
}

/**
 * Checks arguments against the task's schema, as they are before they are stored.
 *
 * @returns the JSON text to store: what came in, not what the schema makes of it
 * @throws InvalidInputError with the schema's issues, or when the value is no JSON
 */
export async function storedArgs(task: Pick<Task, 'name' | 'schema'>, args: unknown): Promise<string> {
  const text = jsonText('args', args ?? {})
  await readArgs(task, text)
  return text
}

/** What the handler gets: the stored JSON as the task's schema reads it. @throws InvalidInputError */
export async function readArgs<Args>(
  task: Pick<Task<never, Args>, 'name'> & {
    readonly schema: StandardSchema<unknown, Args> | StandardSchema<never, Args> | null
  },
  text: string,
): Promise<Args> {
  const stored: unknown = JSON.parse(text)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without a schema, Args is what the caller of task() said it is; nothing can check it
  if (task.schema === null) return stored as Args
  const result = await task.schema['~standard'].validate(stored)
  if (result.issues !== undefined) {
    throw new InvalidInputError(
      'args',
      `not what the task '${task.name}' takes: ${issuesText(result.issues)}`,
    )
  }
  return result.value
}

/** @throws InvalidInputError when it is not what the task says that its handler returns */
export async function checkResult(task: Pick<Task, 'name' | 'resultSchema'>, result: unknown): Promise<void> {
  const checked = await task.resultSchema?.['~standard'].validate(result)
  if (checked?.issues !== undefined) {
    throw new InvalidInputError(
      'result',
      `not what the task '${task.name}' returns: ${issuesText(checked.issues)}`,
    )
  }
}

/** @throws InvalidInputError when the value has no JSON form */
export function jsonText(field: string, value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw new InvalidInputError(
      field,
      `cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  }
  if (text === undefined) throw new InvalidInputError(field, `a ${typeof value} cannot be written as JSON`)
  return text
}
