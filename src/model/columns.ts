/**
 * The columns that are not settings, each defined once: name, column, kind, limits and default.
 *
 * The tables and their CHECKs, the types and the conversion of rows, and the schemas of responses derive from these
 * definitions. The comment above an entry is what editors show for the property.
 */
import { INT, NAME_LIMIT, QUEUE_LIMIT, type Setting } from './setting-table.ts'
import { IDLE, JOB_STATES, LOG_LEVELS, REASONS, STORED_OUTCOMES } from './states.ts'

/** A column that is not a setting. It is required if it has no default. */
export type OwnColumn = { readonly column: string } & (
  | { readonly kind: 'text'; readonly most: number; readonly default?: null }
  // Ids of jobs are ASCII, so that index entries are small.
  | { readonly kind: 'job id' | 'long text'; readonly default?: null }
  // A UUID; the database generates it if the default is `new`.
  | { readonly kind: 'uid'; readonly default: null | 'new' }
  | { readonly kind: 'json'; readonly default?: null | '{}' }
  | { readonly kind: 'flag'; readonly default: boolean }
  | { readonly kind: 'whole'; readonly least: 0; readonly most: number; readonly default?: 0 | null }
  | { readonly kind: 'word'; readonly values: readonly string[]; readonly default?: string | null }
  | {
      readonly kind: 'instant'
      readonly default?: null | 'now'
      /**
       * The column may be set manually, so a CHECK rejects invalid text; with `sorted`, it also rejects instants in
       * another form, because statements compare the stored text.
       */
      readonly checked?: 'text' | 'sorted'
    }
)

export type Column = Setting | OwnColumn
export type Columns = Readonly<Record<string, Column>>

interface OfKinds {
  readonly text: string
  readonly 'long text': string
  readonly 'job id': string
  readonly uid: string
  readonly whole: number
  readonly span: number
  readonly instant: Date
  readonly flag: boolean
  readonly json: unknown
}
// These are conditional types, so that editors show the resulting type.
/** A column's value if it is not null. */
export type Value<Definition> = Definition extends { kind: 'choice'; values: infer Choices }
  ? keyof Choices
  : Definition extends { kind: 'word'; values: readonly (infer Word)[] }
    ? Word
    : Definition extends { unlimited: true }
      ? number | 'unlimited'
      : Definition extends { kind: keyof OfKinds }
        ? OfKinds[Definition['kind']]
        : never
/** The value of a column in a row. */
export type Stored<Definition> = Definition extends { default: null }
  ? Value<Definition> | null
  : Value<Definition>
export type Values<Definitions> = { readonly [Name in keyof Definitions]: Stored<Definitions[Name]> }

/** The value of a column as the database returns it. */
type Raw<Definition> =
  | (Definition extends { kind: 'instant' | 'json' }
      ? string
      : Definition extends { kind: 'flag' }
        ? number
        : Exclude<Value<Definition>, 'unlimited'>)
  | (Definition extends { default: null } ? null : never)
export type Row<Definitions extends Readonly<Record<string, { readonly column: string }>>> = {
  [Name in keyof Definitions as Definitions[Name]['column']]: Raw<Definitions[Name]>
}

export function picked<Definitions extends Columns, Name extends keyof Definitions & string>(
  definitions: Definitions,
  names: readonly Name[],
): Pick<Definitions, Name> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Object.fromEntries loses the names
  return Object.fromEntries(names.map((name) => [name, definitions[name]])) as Pick<Definitions, Name>
}

const LARGE = Number.MAX_SAFE_INTEGER
/** Maximum number of characters of the id of a worker. */
export const WORKER_LIMIT = 255

/** The schedule that a job belongs to, and its run within that schedule. */
export const OCCURRENCE_COLUMNS = {
  /** The id of the schedule that created the job; null if it was submitted directly. */
  scheduleId: { kind: 'text', column: 'periodic_task_id', most: NAME_LIMIT, default: null },
  /** The elapse that the run is for. */
  slot: { kind: 'instant', column: 'slot', default: null },
  /** The number of missed slots before this one that are not made up. For a skip, the number of slots it represents. */
  missed: { kind: 'whole', column: 'missed', least: 0, most: INT, default: 0 },
  /** The number of the run within its schedule, starting at 1. The number only increases; cancelled runs count too. */
  run: { kind: 'whole', column: 'run', least: 0, most: LARGE, default: null },
} as const satisfies Readonly<Record<string, OwnColumn>>

export const JOB_COLUMNS = {
  state: { kind: 'word', column: 'state', values: JOB_STATES, default: 'waiting' },
  reason: { kind: 'word', column: 'reason', values: REASONS, default: null },
  /** The external queue that the job is handed over to, or null if Kalends runs it. */
  queue: { kind: 'text', column: 'queue', most: QUEUE_LIMIT, default: null },
  worker: { kind: 'text', column: 'worker', most: WORKER_LIMIT, default: null },
  /** The number of the attempt, starting at 1; 0 before the first. */
  attempt: { kind: 'whole', column: 'attempt', least: 0, most: INT, default: 0 },
  submittedAt: { kind: 'instant', column: 'submitted', default: 'now' },
  /** The time before which the job does not start; null if it starts as soon as possible. */
  runAt: { kind: 'instant', column: 'run_at', default: null, checked: 'text' },
  /** The time until which a freeze holds a job that a worker could otherwise start; null if none does. */
  frozenUntil: { kind: 'instant', column: 'frozen_until', default: null },
  startedAt: { kind: 'instant', column: 'started', default: null },
  finishedAt: { kind: 'instant', column: 'finished', default: null, checked: 'sorted' },
  progress: { kind: 'json', column: 'progress', default: null },
  /** The return value of the handler; null unless the job succeeded. */
  result: { kind: 'json', column: 'result', default: null },
  error: { kind: 'long text', column: 'error', default: null },
  stopRequestedAt: { kind: 'instant', column: 'stop_requested', default: null, checked: 'text' },
} as const satisfies Readonly<Record<string, OwnColumn>>

/** The internal columns of a job. */
export const CLAIM_COLUMNS = {
  /** The row of `periodic_task` that created the job; null if it was submitted directly. */
  scheduleUid: { kind: 'uid', column: 'periodic_task_uid', default: null },
  /** Whether the job must be the only one of its schedule that runs. */
  exclusive: { kind: 'flag', column: 'exclusive', default: true },
  /** The number of the claim. Each claim increases it, even if the attempt does not count. */
  claim: { kind: 'whole', column: 'claim', least: 0, most: INT, default: 0 },
  /** Why a running job must not run again, or null if it may: its schedule was paused with `jobs: 'cancel'`. */
  noRetry: { kind: 'text', column: 'no_retry', most: 1100, default: null },
  /** How many times in a row workers have returned the job to the queue. */
  releases: { kind: 'whole', column: 'releases', least: 0, most: INT, default: 0 },
} as const satisfies Readonly<Record<string, OwnColumn>>

export const SCHEDULE_COLUMNS = {
  /** The next slot; null while paused, or if there is none. */
  nextRunAt: { kind: 'instant', column: 'nextrun', default: null, checked: 'text' },
  /** The declared set that the schedule belongs to; null for schedules that are not declared in code. */
  declaredBy: { kind: 'text', column: 'declared_by', most: NAME_LIMIT, default: null },
  createdAt: { kind: 'instant', column: 'created', default: 'now', checked: 'sorted' },
  /** The worker that is submitting the schedule right now. */
  markedBy: { kind: 'text', column: 'worker', most: WORKER_LIMIT, default: null },
  /** The high-water mark: all slots up to and including this one have been decided. */
  lastSlot: { kind: 'instant', column: 'last_slot', default: null },
  runCount: { kind: 'whole', column: 'run_count', least: 0, most: LARGE, default: 0 },
  errorCount: { kind: 'whole', column: 'error_count', least: 0, most: LARGE, default: 0 },
  /** Attempts that failed, including those that were retried. */
  failedAttempts: { kind: 'whole', column: 'failed_attempts', least: 0, most: LARGE, default: 0 },
  /** The time at which the newest job was submitted. */
  lastRunAt: { kind: 'instant', column: 'last_run', default: null },
  /** When the last run ended; cancelled runs do not count. */
  lastFinishedAt: { kind: 'instant', column: 'last_finished', default: null },
  /** The newest job of the schedule. */
  lastJobId: { kind: 'job id', column: 'last_job', default: null },
  /** The error of the last attempt, including one that is being retried, or why the timer is invalid. */
  lastError: { kind: 'long text', column: 'last_error', default: null },
  /** The reason why the schedule is paused, if one was given. */
  pauseReason: { kind: 'text', column: 'pause_reason', most: 1000, default: null },
  /** The time until which a freeze holds the schedule. Null if no slot has become due during a freeze. */
  frozenUntil: { kind: 'instant', column: 'frozen_until', default: null },
  /** The time of a job's retry, kept until the retry ends. Null if no job is being retried. */
  retryAt: { kind: 'instant', column: 'retry_at', default: null },
  /** The number of this retry, starting at 1. */
  retry: { kind: 'whole', column: 'retry', least: 0, most: INT, default: null },
  /** The number of the last possible retry. */
  retryLimit: { kind: 'whole', column: 'retry_limit', least: 0, most: INT, default: null },
} as const satisfies Readonly<Record<string, OwnColumn>>

/** The internal columns of a schedule. */
export const PLAN_COLUMNS = {
  /** The identity of the row, which its jobs copy. Unlike the id, it is never used again after the row is deleted. */
  uid: { kind: 'uid', column: 'uid', default: 'new' },
  idle: { kind: 'word', column: 'idle', values: IDLE, default: null },
  markedAt: { kind: 'instant', column: 'marked', default: null },
  markEndsAt: { kind: 'instant', column: 'mark_ends', default: null },
  /** The definition as of the last planning; null if the schedule was never planned. */
  plannedDefinition: { kind: 'text', column: 'planned_from', most: 800, default: null },
  /** The next run as of the last planning. */
  plannedRun: { kind: 'instant', column: 'planned_nextrun', default: null },
  /** Whether that next run was set manually and kept, instead of computed from the timer. */
  isByHand: { kind: 'flag', column: 'planned_by_hand', default: false },
} as const satisfies Readonly<Record<string, OwnColumn>>

/** The attempts that did not succeed. An attempt's number is not unique within its job; its claim is. */
export const ATTEMPT_COLUMNS = {
  jobId: { kind: 'job id', column: 'job_id' },
  claim: { kind: 'whole', column: 'claim', least: 0, most: INT },
  attempt: { kind: 'whole', column: 'attempt', least: 0, most: INT },
  worker: { kind: 'text', column: 'worker', most: WORKER_LIMIT },
  startedAt: { kind: 'instant', column: 'started' },
  endedAt: { kind: 'instant', column: 'ended' },
  outcome: { kind: 'word', column: 'outcome', values: STORED_OUTCOMES },
  error: { kind: 'long text', column: 'error', default: null },
} as const satisfies Readonly<Record<string, OwnColumn>>

export const LOG_COLUMNS = {
  jobId: { kind: 'job id', column: 'job_id' },
  at: { kind: 'instant', column: 'at', default: 'now' },
  level: { kind: 'word', column: 'level', values: LOG_LEVELS, default: 'info' },
  message: { kind: 'long text', column: 'message' },
} as const satisfies Readonly<Record<string, OwnColumn>>

export const WORKER_COLUMNS = {
  name: { kind: 'text', column: 'name', most: 190 },
  host: { kind: 'text', column: 'host', most: 255 },
  pid: { kind: 'whole', column: 'pid', least: 0, most: INT },
  tasks: { kind: 'json', column: 'tasks' },
  sets: { kind: 'json', column: 'sets', default: '{}' },
  startedAt: { kind: 'instant', column: 'started', default: 'now' },
  heartbeatAt: { kind: 'instant', column: 'heartbeat', default: 'now' },
} as const satisfies Readonly<Record<string, OwnColumn>>

export const FREEZE_COLUMNS = {
  scheduleId: { kind: 'text', column: 'schedule_id', most: NAME_LIMIT, default: null },
  task: { kind: 'text', column: 'task', most: NAME_LIMIT, default: null },
  group: { kind: 'text', column: 'group_', most: NAME_LIMIT, default: null },
  /** The freeze ends automatically at this time. */
  until: { kind: 'instant', column: 'until', checked: 'text' },
  reason: { kind: 'text', column: 'reason', most: 1000, default: null },
  createdAt: { kind: 'instant', column: 'created', default: 'now', checked: 'sorted' },
} as const satisfies Readonly<Record<string, OwnColumn>>

/** The tasks whose jobs go to an external queue; `*` means all others. */
export const QUEUE_COLUMNS = {
  queue: { kind: 'text', column: 'queue', most: QUEUE_LIMIT },
} as const satisfies Readonly<Record<string, OwnColumn>>

/** Every version of a declared set that has ever been seen. The newest is the one first seen most recently. */
export const SET_COLUMNS = {
  name: { kind: 'text', column: 'name', most: NAME_LIMIT },
  hash: { kind: 'text', column: 'hash', most: 64 },
  /** The ids that this version declares. */
  schedules: { kind: 'json', column: 'schedules' },
  firstSeenAt: { kind: 'instant', column: 'first_seen', default: 'now' },
} as const satisfies Readonly<Record<string, OwnColumn>>
