/** Faults, and the environment that a fault can use. */
import type { Random } from './random.ts'
import type {
  EditEntry,
  FaultEntry,
  JournalEntry,
  PruneEntry,
  Reach,
  RowText,
  ScheduleEntry,
  Scope,
} from './record.ts'

export interface Fault {
  /** The place and the action, such as `worker.kill` or `network.cut`. */
  readonly name: string
  /** How often it is drawn, relative to the other faults. */
  readonly weight: number
  /** Maximum total duration in ms, which the script reserves. */
  readonly lastsMs: number
  /**
   * Two faults of scope `whole` never run at the same time, because they affect resources that all workers need. Faults
   * of scope `single` never run in the same burst as faults of scope `whole`.
   */
  readonly scope: Scope
  /**
   * Starts the fault, waits, ends it, and returns when everything is restored, except for what the workers must
   * recover by themselves. It must restore everything even if it throws.
   */
  run(ground: Ground, random: Random): Promise<FaultReport>
}

export interface FaultReport {
  readonly hit: string
  readonly detail: string
  readonly trouble?: string
  readonly seen?: boolean
  /**
   * The workers and rows that the fault affects; the checker judges everything else as if there were no fault. If
   * absent, the fault excuses everything.
   */
  readonly reach?: Reach
}

/** The environment of a run. */
export interface Ground {
  readonly target: Target
  readonly fleet: Fleet
  readonly journal: Journal
  readonly leaseMs: number
  readonly pollIntervalMs: number
  /** Waits; returns early if the run is interrupted. */
  pause(ms: number): Promise<void>
}

/** Writes `journal.jsonl`. Adds timestamps to each entry. */
export interface Journal {
  write(entry: Unstamped<JournalEntry>): void
}
type Unstamped<Entry> = Entry extends JournalEntry ? Omit<Entry, 'host' | 'mono'> : never
export type { EditEntry, FaultEntry, PruneEntry, Reach, ScheduleEntry }

/** Targets that the harness provides: private servers, or a private SQLite file. */
export const TARGETS = ['sqlite', 'mariadb', 'mysql', 'galera', 'group', 'group-multi', 'replica'] as const

/** A database that a run can use, with the faults that can be caused there. */
export interface Target {
  readonly kind: (typeof TARGETS)[number]
  /** For display, for example 'MariaDB 10.11.19, three nodes'. */
  readonly name: string
  /** The connections that workers use, assigned in turn. Over a network, each one has its own proxy. */
  readonly ways: readonly Way[]
  /** Environment variables for processes that must share the database's clock: those of libfaketime, if it is used. */
  readonly environment: Readonly<Record<string, string>>
  /**
   * Executes a statement for the harness: it bypasses all proxies, uses a node that responds, and retries while the
   * database is down.
   */
  query(this: void, sql: string, params?: readonly (string | number | null)[]): Promise<RowText[]>
  /** Executes statements in the same way, in one READ COMMITTED transaction that is retried after a deadlock. */
  transaction<Result>(work: (query: Target['query']) => Promise<Result>): Promise<Result>
  /** The number of deadlocks that the server has counted, minus deliberate ones; null if it has no counter. */
  deadlocks(): Promise<number | null>
  readonly faults: readonly Fault[]
  /** Why faults are missing from `faults`, by the first part of the fault name: `clock`, `disk`, `haproxy`. */
  readonly leftOut: LeftOut
  close(): Promise<void>
}

export type LeftOut = Readonly<Partial<Record<'clock' | 'disk' | 'haproxy', string>>>

export interface Way {
  /** As Kalends.open accepts it. */
  readonly url: string
  /** null if the worker does not use a network. */
  readonly proxy: WayProxy | null
}

/** A TCP proxy between one worker and the database. */
export interface WayProxy {
  /** Closes every connection and refuses new ones. */
  cut(): void
  /** Half-open: no data passes in either direction, and neither side gets an error. */
  stall(): void
  /** Existing connections become half-open; new ones work. */
  strand(): void
  /** Delays every packet by `ms`. */
  slow(ms: number): void
  mend(): void
}

/** The worker processes, in a fixed number of places. A process that ends is soon replaced. */
export interface Fleet {
  readonly members: readonly Member[]
  /**
   * A member that no other fault is using, reserved until `release`; null if none is available.
   *
   * @param isLent  select only a member that uses its application's pool
   */
  take(random: Random, isLent?: boolean): Member | null
  release(member: Member): void
}

/**
 * `leak` leaves a transaction open that has locked schedules; `session` executes USE and SET; `exhaust` takes all
 * connections.
 */
export type Misuse = 'leak' | 'session' | 'exhaust'

export interface Misused {
  readonly detail: string
  /** The schedules that the application has locked. */
  readonly schedules: readonly string[]
}

export interface Member {
  /** The name of the place and of the worker, such as `w1`. */
  readonly name: string
  readonly way: Way
  readonly pid: number
  /** The worker declares the schedules of this version. */
  readonly version: 'old' | 'new'
  signal(signal: NodeJS.Signals): void
  /** Sends SIGKILL, and waits until the process has ended. */
  kill(): Promise<void>
  /** Stops it cleanly. */
  stop(): Promise<void>
  /**
   * Starts it if it is not running (with `clockMs`, under libfaketime with a clock that is off by that much), and waits
   * until it is ready.
   */
  start(options?: { readonly version?: 'old' | 'new'; readonly clockMs?: number }): Promise<void>
  /** Moves the clock of the running process, which must have been started with a `clockMs`. */
  moveClock(clockMs: number): void
  /** The result of its health(), over IPC; null if it did not respond within 2 s. */
  health(): Promise<unknown>
  /** Whether it uses a mysql2 pool that its application has opened. */
  readonly isLent: boolean
  /**
   * Makes its application misuse that pool, and returns what the application did; null if the process did not respond.
   */
  misuse(how: Misuse, ms: number): Promise<Misused | null>
}
