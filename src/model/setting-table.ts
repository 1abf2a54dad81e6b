/**
 * The settings of a schedule, each defined once: name, column, kind, limits, default and description.
 *
 * This table is the source of types, columns and their CHECKs, the schemas of the REST API, command-line flags, the
 * form of the web page and the tables in the documentation. Editors show the comment above an entry as the option's
 * documentation; a test compares the comment with the entry. After a change, run `npm run docs:settings`, and for a
 * column also `npm run schema`.
 */

interface Common {
  readonly column: string
  readonly description: string
  /** The meaning of null or an empty form field. */
  readonly otherwise?: string
  /** Jobs also have this setting: a schedule's jobs get a copy. */
  readonly isOfJobs?: true
  /** The setting affects the next run, so an edit plans the schedule again, from now. */
  readonly replans?: true
}

/** Without a default, the setting is required. */
export type Setting = Common &
  (
    | {
        readonly kind: 'text'
        /** Maximum number of characters. */
        readonly most: number
        /** A name decides who runs what, so it has no leading or trailing spaces and no invisible characters. */
        readonly isName?: true
        readonly default?: string | null
      }
    | {
        readonly kind: 'whole'
        readonly least: number
        readonly most: number
        /** Whether the value may be `unlimited`, stored as -1. */
        readonly unlimited?: true
        readonly default: number | null
        /** The default if neither the task nor the schedule sets a value. */
        readonly taskDefault?: number | null
      }
    /** In milliseconds; people may also write a time span such as `10min`. */
    | {
        readonly kind: 'span'
        readonly least: number
        readonly most: number
        readonly default: number | null
        readonly taskDefault?: number | null
        /** What null means in the settings of a task. */
        readonly taskOtherwise?: string
      }
    | {
        readonly kind: 'choice'
        /** The values and their meanings. */
        readonly values: Readonly<Record<string, string>>
        readonly default: string | null
        readonly taskDefault?: string | null
      }
    | { readonly kind: 'instant'; readonly default: null; readonly checked: 'text' }
    | { readonly kind: 'flag'; readonly default: boolean }
    | { readonly kind: 'json'; readonly default: string }
  )

/**
 * Maximum number of characters in an id, and in the name of a task, a submitter, a group or a declared set. Characters
 * are code points, as databases count them. Two such columns and some numbers fit in an InnoDB index.
 */
export const NAME_LIMIT = 254
/** Maximum number of characters in the name of an external queue. */
export const QUEUE_LIMIT = 190

/** The largest integer of an INT column, which is also the longest delay of setTimeout: 24.8 days. */
export const INT = 2 ** 31 - 1

/** The settings by the name used in code, in the REST API and, in kebab case, on the command line. */
export const SETTINGS = {
  /** The name of the task to run. */
  task: {
    kind: 'text',
    column: 'task',
    isName: true,
    most: NAME_LIMIT,
    isOfJobs: true,
    description: 'The name of the task to run',
  },
  /** Whether the schedule runs or is paused. Kalends changes it only on request; default true. */
  enabled: {
    kind: 'flag',
    column: 'enabled',
    default: true,
    replans: true,
    description: 'Whether the schedule runs or is paused. Kalends changes it only on request',
  },
  /**
   * When the schedule runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`,
   * `cron 0 9 * * 1-5`, `every 5min` or `every 5min after finish`; in UTC unless the timer names a zone. A timer with a
   * full date runs once.
   */
  timer: {
    kind: 'text',
    column: 'timer',
    most: 512,
    replans: true,
    description:
      'When the schedule runs: a calendar event of systemd.time(7) such as `Mon..Fri 09:00 Europe/Berlin`, `cron 0 9 * * 1-5`, `every 5min` or `every 5min after finish`; in UTC unless the timer names a zone. A timer with a full date runs once',
  },
  /** Arguments for the task, as JSON; default `{}`. */
  args: {
    kind: 'json',
    column: 'args',
    default: '{}',
    isOfJobs: true,
    description: 'Arguments for the task, as JSON',
  },
  /** The purpose of the schedule. */
  summary: {
    kind: 'text',
    column: 'summary',
    most: 1000,
    default: null,
    description: 'The purpose of the schedule',
  },
  /** What happens to a slot while an earlier job of the schedule is unfinished; default `skip`. */
  overlap: {
    kind: 'choice',
    column: 'overlap',
    values: {
      skip: 'skip the slot',
      'queue-one': 'queue one job behind the earlier one',
      replace: 'replace the earlier job',
      allow: 'run alongside the earlier job',
    },
    default: 'skip',
    description: 'What happens to a slot while an earlier job of the schedule is unfinished',
  },
  /**
   * Maximum number of runs for slots that are due at the same time, for example after downtime: the newest slots run.
   * With 0, only a slot that is on time runs; default 1.
   */
  catchUp: {
    kind: 'whole',
    column: 'catch_up',
    least: 0,
    most: 1000,
    default: 1,
    description:
      'Maximum number of runs for slots that are due at the same time, for example after downtime: the newest slots run. With 0, only a slot that is on time runs',
  },
  /** Delays all runs of the schedule by the same fraction of this time: milliseconds or a time span; default 0. */
  jitter: {
    kind: 'span',
    column: 'jitter',
    least: 0,
    most: INT,
    default: 0,
    replans: true,
    description: 'Delays all runs of the schedule by the same fraction of this time',
  },
  /** No slot before this time. */
  starts: {
    kind: 'instant',
    column: 'starts',
    default: null,
    checked: 'text',
    replans: true,
    description: 'No slot before this time',
  },
  /** No slot after this time. */
  ends: {
    kind: 'instant',
    column: 'ends',
    default: null,
    checked: 'text',
    replans: true,
    description: 'No slot after this time',
  },
  /** Number of successful runs after which the schedule is done; default: no limit. */
  maxRuns: {
    kind: 'whole',
    column: 'max_runs',
    least: 1,
    most: Number.MAX_SAFE_INTEGER,
    default: null,
    otherwise: 'no limit',
    replans: true,
    description: 'Number of successful runs after which the schedule is done',
  },
  /** Maximum duration of an attempt: milliseconds or a time span; default: as set for the task, else 10min. */
  timeout: {
    kind: 'span',
    column: 'timeout',
    least: 1,
    most: INT,
    default: null,
    otherwise: 'as set for the task',
    taskDefault: 600_000,
    isOfJobs: true,
    description: 'Maximum duration of an attempt',
  },
  /** Number of attempts after the first, or `unlimited`; default: as set for the task, else 3. */
  retries: {
    kind: 'whole',
    column: 'max_retries',
    least: 0,
    most: 1000,
    unlimited: true,
    default: null,
    otherwise: 'as set for the task',
    taskDefault: 3,
    isOfJobs: true,
    description: 'Number of attempts after the first, or `unlimited`',
  },
  /**
   * Time before the first retry: milliseconds or a time span; default: as set for the task, else the span of an `every`
   * timer or 1min.
   */
  retryDelay: {
    kind: 'span',
    column: 'retry_delay',
    least: 0,
    most: INT,
    default: null,
    otherwise: 'as set for the task',
    taskDefault: null,
    taskOtherwise: 'the span of an `every` timer or 1min',
    isOfJobs: true,
    description: 'Time before the first retry',
  },
  /** How the delay grows with each retry; default: as set for the task, else `exponential`. */
  retryBackoff: {
    kind: 'choice',
    column: 'retry_backoff',
    values: {
      exponential: 'double it, up to ten times the first',
      fixed: 'keep it the same',
    },
    default: null,
    otherwise: 'as set for the task',
    taskDefault: 'exponential',
    isOfJobs: true,
    description: 'How the delay grows with each retry',
  },
  /**
   * Whether a job that is waiting for a retry gives way to the next slot, and fails, if the overlap policy is `skip` or
   * `queue-one`. A running handler is not stopped; default false.
   */
  yields: {
    kind: 'flag',
    column: 'yields',
    default: false,
    description:
      'Whether a job that is waiting for a retry gives way to the next slot, and fails, if the overlap policy is `skip` or `queue-one`. A running handler is not stopped',
  },
  /** What happens after a run has failed permanently; default `continue`. */
  onExhausted: {
    kind: 'choice',
    column: 'on_exhausted',
    values: {
      continue: 'continue with the next slot',
      stop: 'stop the schedule until it is reset',
    },
    default: 'continue',
    description: 'What happens after a run has failed permanently',
  },
  /** What happens to a finished schedule once its jobs are pruned; default `keep`. */
  afterDone: {
    kind: 'choice',
    column: 'after_done',
    values: {
      keep: 'keep it',
      delete: 'delete it, unless code declares it',
    },
    default: 'keep',
    description: 'What happens to a finished schedule once its jobs are pruned',
  },
  /** Jobs with a higher priority run first; default 0. */
  priority: {
    kind: 'whole',
    column: 'priority',
    // The queue orders by the negated number, and the smallest number of the column cannot be negated.
    least: -INT,
    most: INT,
    default: 0,
    isOfJobs: true,
    description: 'Jobs with a higher priority run first',
  },
  /** Groups take turns in the queue; default none. */
  group: {
    kind: 'text',
    column: 'group_',
    isName: true,
    most: NAME_LIMIT,
    default: '',
    isOfJobs: true,
    description: 'Groups take turns in the queue',
  },
  /** The user who owns the schedule or job. */
  submitter: {
    kind: 'text',
    column: 'submitter',
    isName: true,
    most: NAME_LIMIT,
    default: null,
    isOfJobs: true,
    description: 'The user who owns the schedule or job',
  },
  /** What the schedule or job is about, such as the id of a row of the application. */
  subject: {
    kind: 'text',
    column: 'subject',
    most: 255,
    default: null,
    isOfJobs: true,
    description: 'What the schedule or job is about, such as the id of a row of the application',
  },
} as const satisfies Readonly<Record<string, Setting>>
