import { hostname } from 'node:os'
import { InvalidInputError } from './errors.ts'
import type { ExternalQueue, ExternalSubmit } from './executor/hand-over.ts'
import type { Middleware } from './executor/handler.ts'
import type { RetentionOptions } from './jobs/retention.ts'
import { checkKeys, namesOf } from './keys.ts'
import { consoleLogger, harmless, type Logger, silentLogger } from './logger.ts'
import type { GrantedTasks, OwnerLimits } from './model/authority.ts'
import { checkedSettings } from './model/checked-settings.ts'
import { QUEUE_LIMIT } from './model/settings.ts'
import { DEFAULT_REPORT_MS } from './model/job.ts'
import {
  checkedFlag,
  checkedFunction,
  checkedName,
  checkedWhole,
  shownInput,
  spanOption,
} from './model/input.ts'
import { Redaction } from './model/redaction.ts'
import { spreadFactor } from './model/settle.ts'
import { LOG_LEVELS } from './model/states.ts'
import { checkedTask, DEFAULT_ARGS_LIMIT, isBuiltIn, type Task } from './model/task.ts'
import type { StoreOptions } from './store/open.ts'
import { checkedZone } from './timer/index.ts'

/** Options for `Kalends.open`. Times are milliseconds or time spans such as `90s`. */
export interface KalendsOptions extends StoreOptions {
  /**
   * The worker's name, for people; default: the host's name. The worker's id is its name with a new suffix at each
   * start.
   */
  readonly worker?: string | undefined
  /**
   * The zone of timers that are written in code and do not name one: an IANA name, or 'local'. Default: these timers
   * are in UTC.
   */
  readonly zone?: string | undefined
  /**
   * pino and most other loggers can be passed directly. Default: warnings and errors go to the console; with false,
   * nothing is logged.
   */
  readonly logger?: Logger | false | undefined
  /**
   * The time within which other workers take over the work of a dead worker: milliseconds or a time span; default
   * `60s`.
   */
  readonly lease?: number | string | undefined
  /** How often to check for changes made by other processes: milliseconds or a time span; default `1s`. */
  readonly pollInterval?: number | string | undefined
  /** How long final jobs are kept; with false, no jobs are pruned. */
  readonly retention?: RetentionOptions | false | undefined
  /**
   * Maximum size in bytes of args as JSON, from code, the command line or the API; default 262,144. Rows written in
   * SQL are not checked. Results and progress have the same limit: a larger result fails the attempt without a retry.
   * Error texts are cut to this size.
   */
  readonly argsLimit?: number | undefined
  /** Wraps each attempt of a job, for example for tracing. In an array, the first is the outermost. */
  readonly middleware?: Middleware | readonly Middleware[] | undefined
  /**
   * The paths of secrets in args, results and progress, such as `args.password`, `result.token` or `args.users.*.key`.
   * kalends/http shows these values as `[redacted]`. They are also hidden wherever they occur in errors, job logs,
   * events and log messages, even as names of properties. Set this option in every process.
   */
  readonly redact?: readonly string[] | undefined
  /** Hands jobs over to the application's own queue, instead of running them. */
  readonly externalQueue?: ExternalQueueOptions | undefined
}

/** Another queue that runs the jobs: the application's own job table, BullMQ or any other. */
export interface ExternalQueueOptions extends ExternalSubmit {
  /**
   * The tasks, or their names, whose jobs go to this queue. Default: all tasks. The list is stored in the database, so
   * that all workers agree, including workers without this option. Jobs that are already waiting also go to the queue.
   */
  readonly tasks?: readonly (string | Pick<Task, 'name'>)[] | undefined
  /**
   * Whether the application reports the outcome of each job with `kalends.external.finish`; default true. Without
   * reports, a job succeeds when it is handed over.
   */
  readonly reports?: boolean | undefined
  /**
   * A job fails if its outcome is not reported within this time, or within its `timeout` if the job or its schedule has
   * one: milliseconds or a time span; default `1d`.
   */
  readonly timeout?: number | string | undefined
  /** The name of the queue in the database, required if there are several queues; default `external`. */
  readonly name?: string | undefined
}

/** Options for `Kalends.start`: which parts of a worker run in this process, and how they stop. */
export interface StartOptions {
  /** Whether this worker submits due schedules; default true. */
  readonly scheduler?: boolean | undefined
  /** The maximum number of jobs that this worker runs at the same time; default 10. With 0, it runs no jobs. */
  readonly concurrency?: number | undefined
  /**
   * Whether SIGTERM and SIGINT stop the worker; default false. After the stop, the signal has its normal effect: it
   * ends the process, unless the application also handles it. Another signal, more than a second later, ends the
   * process immediately.
   */
  readonly signals?: boolean | undefined
  /** How long handlers may continue after `stop` or a signal: milliseconds or a time span; default `30s`. */
  readonly grace?: number | string | undefined
}

/** Options for `Kalends.stop`. */
export interface StopOptions {
  /** How long handlers may continue: milliseconds or a time span; default: as for `start`. */
  readonly grace?: number | string | undefined
}

/**
 * The schedules and jobs that a scope can access (those with the given group, submitter, or both), and what it may do
 * with them.
 */
export interface ScopeOptions {
  readonly group?: string | undefined
  readonly submitter?: string | undefined
  /** The tasks (or their names) whose schedules and jobs the scope may write. Without tasks, the scope is read-only. */
  readonly tasks?: GrantedTasks | undefined
  readonly limits?: OwnerLimits | undefined
}

/** Values are sent as hexadecimal, two characters per byte, in packets of at most 1 GB. */
const LARGEST_ARGS_LIMIT = 2 ** 28
const WORKER_NAME_LIMIT = 190
const DEFAULT_LEASE_MS = 60_000
const DEFAULT_POLL_INTERVAL_MS = 1000
const DEFAULT_CONCURRENCY = 10

export const OPEN_OPTIONS = namesOf<KalendsOptions>({
  tablePrefix: true,
  schema: true,
  migrate: true,
  connections: true,
  driver: true,
  clock: true,
  worker: true,
  zone: true,
  logger: true,
  lease: true,
  pollInterval: true,
  retention: true,
  argsLimit: true,
  middleware: true,
  redact: true,
  externalQueue: true,
})

export type CheckedOptions = Readonly<ReturnType<typeof checkedOptions>>

/** @throws InvalidInputError naming the option */
export function checkedOptions(options: KalendsOptions) {
  checkKeys(options, OPEN_OPTIONS)
  const name = checkedName('worker', options.worker ?? hostname(), WORKER_NAME_LIMIT)
  if (name.includes('/'))
    throw new InvalidInputError('worker', `must be a name without '/', got ${shownInput(name)}`)
  return {
    name,
    zone: options.zone === undefined ? null : checkedZone(options.zone),
    logger: harmless(checkedLogger(options.logger)),
    leaseMs: spanOption('lease', options.lease, DEFAULT_LEASE_MS, { least: 1000, most: 3_600_000 }),
    pollIntervalMs: spanOption('pollInterval', options.pollInterval, DEFAULT_POLL_INTERVAL_MS, {
      least: 20,
      most: 60_000,
    }),
    middleware: checkedMiddleware(options.middleware ?? []),
    redaction: new Redaction(options.redact ?? []),
    argsLimit: checkedWhole('argsLimit', options.argsLimit, 2, LARGEST_ARGS_LIMIT) ?? DEFAULT_ARGS_LIMIT,
    // Always 1 with a test clock.
    delayFactor: options.clock === undefined ? () => spreadFactor(Math.random()) : () => 1,
    now: options.clock ?? (() => new Date()),
    externalQueue: options.externalQueue === undefined ? null : checkedQueue(options.externalQueue),
  }
}

const QUEUE_OPTIONS = namesOf<ExternalQueueOptions>({
  submit: true,
  tasks: true,
  reports: true,
  timeout: true,
  name: true,
})

function checkedQueue(options: ExternalQueueOptions): ExternalQueue {
  checkKeys(options, QUEUE_OPTIONS, 'externalQueue.')
  const { tasks, reports = true, timeout, name = 'external' } = options
  checkedFunction('externalQueue.submit', Reflect.get(options, 'submit'))
  return {
    submit: (jobs, context) => options.submit(jobs, context),
    tasks: tasks === undefined ? null : checkedTasks(tasks),
    reports: checkedFlag('externalQueue.reports', reports),
    timeoutMs: spanOption('externalQueue.timeout', timeout, DEFAULT_REPORT_MS, {
      least: 1,
      most: 2_147_483_647,
    }),
    name: checkedName('externalQueue.name', name, QUEUE_LIMIT),
  }
}

function checkedTasks(tasks: readonly unknown[]): string[] {
  if (!Array.isArray(tasks) || tasks.length === 0)
    throw new InvalidInputError(
      'externalQueue.tasks',
      `must be a list of tasks or their names, got ${shownInput(tasks)}; leave it out for all tasks`,
    )
  const names = Array.from(tasks, (task: unknown) => checkedTask(task, 'externalQueue.tasks').name)
  const builtIn = names.find(isBuiltIn)
  if (builtIn !== undefined)
    throw new InvalidInputError(
      'externalQueue.tasks',
      `'${builtIn}' is a built-in task, which Kalends runs itself; leave it out`,
    )
  return [...new Set(names)]
}

function checkedLogger(logger: Logger | false | undefined): Logger {
  if (logger === undefined) return consoleLogger()
  if (logger === false) return silentLogger
  if (typeof logger !== 'object' || logger === null)
    throw new InvalidInputError(
      'logger',
      `must have the methods ${LOG_LEVELS.join(', ')}, or be false for no logging, got ${shownInput(logger)}`,
    )
  for (const level of LOG_LEVELS) checkedFunction(`logger.${level}`, logger[level])
  return logger
}

/** @returns a single middleware that combines all of them, or null if there are none */
function checkedMiddleware(given: Middleware | readonly Middleware[]): Middleware | null {
  const all = typeof given === 'function' ? [given] : given
  if (!Array.isArray(all))
    throw new InvalidInputError('middleware', `must be a function or an array, got ${shownInput(given)}`)
  return Array.from(all, (one) => checkedFunction('middleware', one)).reduceRight<Middleware | null>(
    (inner, outer) => (inner === null ? outer : (job, run) => outer(job, () => inner(job, run))),
    null,
  )
}

/** @throws InvalidInputError for an invalid name or an empty one, which would give access to rows without an owner */
export function ownerName(field: 'group' | 'submitter', options: ScopeOptions): string | null {
  // Untyped code may pass null for a field that it does not use.
  const name = checkedSettings([field], { [field]: options[field] ?? undefined })[field] ?? null
  if (name === '') throw new InvalidInputError(field, 'must not be empty in a scope')
  return name
}

const START_OPTIONS = namesOf<StartOptions>({
  scheduler: true,
  concurrency: true,
  signals: true,
  grace: true,
})
const DEFAULT_GRACE_MS = 30_000

export type CheckedStart = Readonly<ReturnType<typeof checkedStart>>

/** @throws InvalidInputError naming the option */
export function checkedStart(options: StartOptions, queue: Pick<ExternalQueue, 'tasks'> | null) {
  checkKeys(options, START_OPTIONS)
  const { scheduler = true, signals = false } = options
  if (typeof scheduler !== 'boolean')
    throw new InvalidInputError(
      'scheduler',
      `must be true or false, got ${shownInput(scheduler)}; pass a queue as the option externalQueue of Kalends.open`,
    )
  checkedFlag('signals', signals)
  const concurrency = checkedWhole('concurrency', options.concurrency, 0, 10_000)
  if (queue?.tasks === null && (concurrency ?? 0) > 0)
    throw new InvalidInputError(
      'concurrency',
      'has no effect, because all jobs go to the external queue; leave it out',
    )
  if (!scheduler && concurrency === 0 && queue === null)
    throw new InvalidInputError(
      'concurrency',
      'with scheduler: false and concurrency: 0, this worker would do nothing',
    )
  return {
    schedules: scheduler,
    // If all tasks go to an external queue, this worker runs only Kalends' own tasks.
    concurrency: concurrency ?? (queue?.tasks === null ? 1 : DEFAULT_CONCURRENCY),
    signals,
    graceMs: graceOf(options.grace, DEFAULT_GRACE_MS),
  }
}

/** @param otherwise  the grace period of `start` in milliseconds, used if `stop` sets none */
export function checkedStop(options: StopOptions, otherwise: number): number {
  checkKeys(options, ['grace'])
  return graceOf(options.grace, otherwise)
}

function graceOf(grace: StopOptions['grace'], otherwise: number): number {
  return spanOption('grace', grace, otherwise, { least: 0, most: 86_400_000 })
}
