/**
 * The interface between the rules and the databases, split by role. A store executes and never decides: decisions are
 * passed in as values or as pure functions.
 */
import type { DatabaseWarning, DoctorInput, SetAsideRow } from '../model/diagnosis.ts'
import type { Freeze, NewFreeze } from '../model/freeze.ts'
import type { SchemaDrift } from '../model/schema-drift.ts'
import type { DeclaredStore } from './declared-store.ts'
import type { ExecutingStore } from './executing-store.ts'
import type { ListStore } from './list-store.ts'
import type { JobStore } from './job-store.ts'
import type { ScheduleStore } from './schedule-store.ts'
import type { SchedulingStore } from './scheduling-store.ts'
import type { WorkerStore } from './worker-store.ts'

export interface Store {
  readonly schedules: ScheduleStore
  readonly jobs: JobStore
  readonly scheduling: SchedulingStore
  readonly executing: ExecutingStore
  readonly workers: WorkerStore
  readonly declared: DeclaredStore
  readonly retention: RetentionStore
  readonly freezes: FreezeStore
  readonly lists: ListStore
  /** Reads what the doctor evaluates. Changes and locks nothing. */
  readonly inspection: {
    schemaDrift(): Promise<SchemaDrift>
    /** Requires up-to-date tables. */
    inspect(): Promise<DoctorInput>
  }
  /** How long the longest-waiting piece of work has been waiting for a connection, or 0 if nothing is waiting. */
  longestWaitMs(): number
  /**
   * How many times the connections have moved to another server (after a failover or a promotion) or the server has
   * been restarted. The new server may lack the last commits.
   */
  serverChanges(): number
  /** Dangers that concern the connections of this process. */
  warnings(): readonly DatabaseWarning[]
  /**
   * The rows that this process currently leaves out, because the database rejected a write to them, or because this
   * worker cannot start them.
   */
  setAside(): readonly SetAsideRow[]
  /** Closes the connections. The application's pool stays open. */
  close(): Promise<void>
}

/** The stores of one database, one for each use. On a server, no use waits for another's connections. */
export interface Stores {
  /** For the loops, including the heartbeat. */
  readonly loops: Store
  readonly calls: Store
  /** For the API, with few statements at a time, a bounded queue and time limits. Connects on first use. */
  readonly api: Store
  close(): Promise<void>
}

export interface Retention {
  /** Final jobs that ended more than this many milliseconds ago are removed. */
  readonly ageMs: number
  /** How many of the newest final jobs are kept for each schedule. */
  readonly perSchedule: number
}

export interface RetentionStore {
  /**
   * Removes up to `limit` final jobs with their logs and attempts, and done schedules that should be deleted.
   *
   * @returns how many jobs were removed; fewer than `limit` when nothing is left to remove
   */
  prune(retention: Retention, limit: number): Promise<number>
}

/** Reads and writes freezes, which can also be added, changed and deleted with SQL. */
export interface FreezeStore {
  /** @returns null when the freeze would already have ended */
  add(freeze: NewFreeze): Promise<Freeze | null>
  /**
   * Ends a freeze now, and releases the schedules and jobs that it held.
   *
   * @returns null when there is no such active freeze
   */
  end(id: string): Promise<Freeze | null>
  /** The active freezes, oldest first. */
  inForce(): Promise<Freeze[]>
  /** Releases the schedules and jobs that deleted or shortened freezes held. */
  thaw(): Promise<void>
}
