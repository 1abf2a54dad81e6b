/** The options of a Kalends and of its start, and what they mean when they are left out. */
import { hostname } from 'node:os'
import { InvalidInputError } from './errors.ts'
import type { Around } from './executor/handler.ts'
import type { RetentionOptions } from './jobs/retention.ts'
import { harmless, type Logger, silentLogger } from './logger.ts'
import { checkedText } from './model/input.ts'
import { spanOption } from './model/task.ts'
import type { SubmitElsewhere } from './scheduler/elsewhere.ts'
import type { StoreOptions } from './store/open.ts'
import { checkedZone } from './timer/index.ts'

/** Options of `Kalends.open`. Times are milliseconds or time spans such as `90s`. */
export interface KalendsOptions extends StoreOptions {
  /** The worker's name, for people: default the host's name. Its id is the name with a new suffix at each start. */
  readonly worker?: string | undefined
  /** Written into timers of code that name no zone: an IANA name, or 'local'. Default: such timers are UTC. */
  readonly zone?: string | undefined
  /** pino and most other loggers fit; default: silent. */
  readonly logger?: Logger | undefined
  /** After this time what a dead worker held is free for others: milliseconds or a time span; default `60s`. */
  readonly lease?: number | string | undefined
  /** How often to look for what others have changed: milliseconds or a time span; default `1s`. */
  readonly wakeUp?: number | string | undefined
  /** How long final jobs stay; false: nothing is pruned. */
  readonly retention?: RetentionOptions | false | undefined
  /** Wraps each attempt of a job, for tracing and the like. */
  readonly around?: Around | undefined
}

/** Which parts of a worker run in this process. */
export interface StartOptions {
  /**
   * Whether this worker submits due schedules; default true. With `submit` the jobs go to another queue, and this
   * worker runs none.
   */
  readonly scheduler?: boolean | { readonly submit: SubmitElsewhere } | undefined
  /** Whether, and how many at a time, this worker runs jobs; default 10. */
  readonly executor?: boolean | { readonly concurrency?: number | undefined } | undefined
  /** Whether SIGTERM and SIGINT stop it; default false. */
  readonly signals?: boolean | undefined
}

/** Whose schedules and jobs a scope reaches; at least one of the two. */
export interface ScopeOptions {
  readonly group?: string | undefined
  readonly submitter?: string | undefined
}

/** The options of `Kalends.open`, checked. */
export interface CheckedOptions {
  readonly name: string
  readonly zone: string | null
  readonly logger: Logger
  readonly leaseMs: number
  readonly wakeUpMs: number
  readonly around: Around | null
  /** The machine's clock, or that of a test. */
  readonly now: () => Date
}

const DEFAULT_LEASE_MS = 60_000
const DEFAULT_WAKE_UP_MS = 1000
const DEFAULT_CONCURRENCY = 10

/** @throws InvalidInputError naming the option */
export function checkedOptions(options: KalendsOptions): CheckedOptions {
  const name = options.worker ?? hostname()
  if (typeof name !== 'string' || !/^[^/]{1,190}$/.test(name)) {
    throw new InvalidInputError(
      'worker',
      `a name of 1 to 190 characters without '/' is needed, not ${JSON.stringify(name)}`,
    )
  }
  return {
    name,
    zone: options.zone === undefined ? null : checkedZone(options.zone),
    logger: harmless(options.logger ?? silentLogger),
    leaseMs: spanOption('lease', options.lease, DEFAULT_LEASE_MS, { least: 1000, most: 3_600_000 }),
    wakeUpMs: spanOption('wakeUp', options.wakeUp, DEFAULT_WAKE_UP_MS, { least: 20, most: 60_000 }),
    around: options.around ?? null,
    now: options.clock ?? (() => new Date()),
  }
}

/** @throws InvalidInputError also for what may reach others: no name at all, or one that MySQL takes for another */
export function ownerName(field: 'group' | 'submitter', options: ScopeOptions): string | null {
  const name = checkedText(field, options[field]) ?? null
  if (name !== null && (name === '' || name.endsWith(' '))) {
    throw new InvalidInputError(
      field,
      `a scope needs a name that is not empty and does not end with a space, not ${JSON.stringify(name)}`,
    )
  }
  return name
}

/** @returns 0 when this worker runs no jobs */
export function concurrencyOf(executor: StartOptions['executor']): number {
  if (executor === false) return 0
  const concurrency =
    typeof executor === 'object' ? (executor.concurrency ?? DEFAULT_CONCURRENCY) : DEFAULT_CONCURRENCY
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 10_000) {
    throw new InvalidInputError('concurrency', `a whole number from 1 to 10000 is needed, not ${concurrency}`)
  }
  return concurrency
}
