import { asInput, InvalidInputError } from '../errors.ts'
import { checkKeys } from '../keys.ts'
import { checkedSetting } from './checked-settings.ts'
import { checkedName, checkedWhole, shownInput } from './input.ts'
import { jsonText } from './json-text.ts'
import { POLICY_NAMES, type PolicySettings, type PolicyValues, SETTINGS } from './settings.ts'
import { type Issue, issuesText, type StandardSchema } from './standard-schema.ts'

/** How long an attempt may take and what happens when it fails; times are in milliseconds. */
export interface RunPolicy extends PolicyValues {}

/** The policy if neither the task nor the schedule sets one. */
export const DEFAULT_POLICY: RunPolicy = {
  timeout: SETTINGS.timeout.taskDefault,
  retries: SETTINGS.retries.taskDefault,
  retryDelay: SETTINGS.retryDelay.taskDefault,
  retryBackoff: SETTINGS.retryBackoff.taskDefault,
}

/**
 * A task: a plain value without I/O, shared by the processes that submit its jobs and those that run them.
 *
 * `Input` is the stored value, `Args` is the value that the handler gets after the schema has parsed the stored JSON,
 * and `Result` is the return value of the handler.
 */
export interface Task<Input = unknown, Args = Input, Result = unknown> {
  readonly name: string
  readonly schema: StandardSchema<Input, Args> | null
  /** Checks the return value of the handler. */
  readonly resultSchema: StandardSchema<Result, unknown> | null
  readonly policy: RunPolicy
  /** Maximum number of concurrent runs in one worker; null means limited only by the worker's concurrency. */
  readonly concurrency: number | null
}

/** The options of a task. Times are milliseconds or time spans such as `10min`. */
export interface TaskOptions<Input, Args, Result = unknown> extends PolicyOptions {
  /** Checks and converts the arguments: any Standard Schema (zod, valibot, arktype, …). */
  readonly args?: StandardSchema<Input, Args>
  /** Checks the handler's return value, which is stored unchanged, and determines its type for callers that wait. */
  readonly result?: StandardSchema<Result, unknown>
  /** Maximum number of concurrent runs in one worker; default: limited only by the worker's concurrency. */
  readonly concurrency?: number
}

/** Arguments of a task without a schema: any JSON object. */
export type AnyArgs = Record<string, unknown>

/** The option `args` of every function that takes a task. It is optional if the task accepts an empty object. */
// oxlint-disable-next-line typescript/no-empty-object-type -- tests whether {} is a valid Input
export type ArgsOption<Input> = {} extends Input
  ? { readonly args?: NoInfer<Input> }
  : { readonly args: NoInfer<Input> }

/**
 * Whether a task is built in: one of Kalends' own (`kalends.*`), or `command`, which runs programs. Callers of the API
 * can use such tasks only if the server was started with the option that allows this. Such a name surrounded by blanks
 * also counts, because it looks the same.
 */
export function isBuiltInTask(name: string): boolean {
  const trimmed = name.trim()
  return trimmed === 'command' || trimmed.startsWith('kalends.')
}

const MAX_CONCURRENCY = 10_000
const TASK_OPTIONS = ['args', 'result', 'concurrency', ...POLICY_NAMES]

/** Defines a task. @throws InvalidInputError when the name or an option is invalid */
export function task<Input = AnyArgs, Args = Input, Result = unknown>(
  name: string,
  options: TaskOptions<Input, Args, Result> = {},
): Task<Input, Args, Result> {
  checkKeys(options, TASK_OPTIONS)
  return {
    name: checkedTaskName(name),
    schema: checkedSchema('args', options.args) ?? null,
    resultSchema: checkedSchema('result', options.result) ?? null,
    policy: { ...DEFAULT_POLICY, ...runPolicy(options) },
    concurrency: checkedWhole('concurrency', options.concurrency, 1, MAX_CONCURRENCY) ?? null,
  }
}

/** The task, and the id of the schedule, that removes old jobs. */
export const PRUNE_TASK = 'kalends.prune'

/** @throws InvalidInputError when the value is not a Standard Schema */
function checkedSchema<Value>(field: string, schema: Value): Value {
  if (schema === undefined || isSchema(schema)) return schema
  throw new InvalidInputError(
    field,
    `must be a schema of zod, valibot, arktype or another library that implements Standard Schema, got ${shownInput(schema)}`,
  )
}

/** Some libraries make functions. */
function isSchema(value: unknown): boolean {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const standard: unknown = Reflect.get(value, '~standard')
  return (
    typeof standard === 'object' &&
    standard !== null &&
    typeof Reflect.get(standard, 'validate') === 'function'
  )
}

/** Whether Kalends itself handles the task. */
export const isBuiltIn = (task: string): boolean => task.startsWith('kalends.')

/**
 * The given task; a name means a task without a schema and with the default policy. Plain JavaScript code may pass
 * anything.
 *
 * @throws InvalidInputError
 */
export function checkedTask(given: unknown, field = 'task'): Task {
  if (typeof given === 'string') return task(checkedTaskName(given, field))
  if (!hasShapeOfTask(given))
    throw new InvalidInputError(field, `must be a task or its name, got ${shownInput(given)}`)
  const { name, policy, concurrency } = given
  checkedTaskName(name, field)
  if (concurrency !== null) checkedWhole(`${field}.concurrency`, concurrency, 1, MAX_CONCURRENCY)
  const checked = asInput(`${field}.policy`, () =>
    runPolicy({ ...policy, retryDelay: policy.retryDelay ?? undefined }),
  )
  return { ...given, policy: { ...DEFAULT_POLICY, ...checked } }
}

/** Code may also copy a task and change it, so its values still have to be checked. */
function hasShapeOfTask(given: unknown): given is Task {
  if (typeof given !== 'object' || given === null) return false
  const { name, schema, resultSchema, policy, concurrency }: Partial<Record<keyof Task, unknown>> = given
  return (
    typeof name === 'string' &&
    (schema === null || isSchema(schema)) &&
    (resultSchema === null || isSchema(resultSchema)) &&
    concurrency !== undefined &&
    typeof policy === 'object' &&
    policy !== null &&
    POLICY_NAMES.every((setting) => setting in policy)
  )
}

/** Stands for all tasks that are not named, except the built-in ones; used in place of a task name. */
export const EVERY_TASK = '*'

/** @throws InvalidInputError */
export function checkedTaskName(name: string, field = 'task'): string {
  if (name === EVERY_TASK)
    throw new InvalidInputError(field, `'${EVERY_TASK}' stands for every task, so no task can have this name`)
  return checkedName(field, name, SETTINGS.task.most)
}

/** How long an attempt may take and what happens when it fails. Times are milliseconds or spans such as `10min`. */
export interface PolicyOptions extends PolicySettings {}

/** The given policy options, checked. @throws InvalidInputError naming the option */
export function runPolicy(options: PolicyOptions): Partial<RunPolicy> {
  const given = POLICY_NAMES.filter((name) => options[name] !== undefined)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each value was checked for its setting
  return Object.fromEntries(
    given.map((name) => [name, checkedSetting(name, options[name])]),
  ) as Partial<RunPolicy>
}

/** The default limit for args, results, progress and error texts, in bytes; see `argsLimit` of `Kalends.open`. */
export const DEFAULT_ARGS_LIMIT = 262_144

/**
 * @param limit  maximum size of the JSON text in bytes
 * @returns the JSON text to store: the input itself, not the schema's output
 * @throws InvalidInputError with the schema's issues, or when the value is not JSON or is too large
 */
export async function storedArgs(
  task: Pick<Task, 'name' | 'schema'>,
  args: unknown,
  limit = DEFAULT_ARGS_LIMIT,
): Promise<string> {
  const text = jsonText('args', args ?? {}, { limit })
  if (task.schema !== null) await readArgs(task, text)
  return text
}

/** The args for the handler: the stored JSON, parsed by the task's schema. @throws InvalidInputError */
export async function readArgs<Args>(
  task: Pick<Task<never, Args>, 'name'> & {
    readonly schema: StandardSchema<unknown, Args> | StandardSchema<never, Args> | null
  },
  text: string,
): Promise<Args> {
  const stored: unknown = JSON.parse(text)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- without a schema, Args is only the caller's claim
  if (task.schema === null) return stored as Args
  const result = await task.schema['~standard'].validate(stored)
  if (result.issues !== undefined) throw notMatching(task, 'args', result.issues)
  return result.value
}

/** @throws InvalidInputError when the result does not match the task's result schema */
export async function checkResult(task: Pick<Task, 'name' | 'resultSchema'>, result: unknown): Promise<void> {
  const checked = await task.resultSchema?.['~standard'].validate(result)
  if (checked?.issues !== undefined) throw notMatching(task, 'result', checked.issues)
}

function notMatching(
  { name }: Pick<Task, 'name'>,
  field: 'args' | 'result',
  issues: readonly Issue[],
): InvalidInputError {
  return new InvalidInputError(
    field,
    `does not match the ${field} of the task '${name}': ${issuesText(issues)}`,
  )
}
