/**
 * The interface between the rules and the databases, split by role. A store executes and never decides: decisions come in
 * as values or as pure functions.
 */
import type { DeclaredStore } from './declared-store.ts'
import type { ExecutingStore } from './executing-store.ts'
import type { InspectionStore } from './inspection-store.ts'
import type { ListStore } from './list-store.ts'
import type { JobStore } from './job-store.ts'
import type { RetentionStore } from './retention-store.ts'
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
  readonly lists: ListStore
  readonly inspection: InspectionStore
  /** The longest time that waiting work has waited for a connection; 0: none waits. */
  longestWaitMs(): number
  /**
   * How many times the connections moved to another server (a fail-over, a promotion) or the server was restarted. The
   * new server may lack the last commits.
   */
  serverChanges(): number
  /** Closes the connections that Kalends opened itself; a caller-supplied pool stays open. */
  close(): Promise<void>
}

/** The same database for each use. One use never waits for connections of another. */
export interface Stores {
  /** Of the loops and the heartbeat. */
  readonly loops: Store
  /** Of the application's calls. */
  readonly calls: Store
  /** Of the API: few statements at a time, a bounded queue, time limits. Connects with the first use. */
  readonly api: Store
  /** Closes all of them. */
  close(): Promise<void>
}
