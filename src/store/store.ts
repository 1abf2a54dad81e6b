/**
 * The interface between the rules and the databases, split by role. A store executes and never decides: decisions are
 * passed in as values or as pure functions.
 */
import type { DeclaredStore } from './declared-store.ts'
import type { ExecutingStore } from './executing-store.ts'
import type { FreezeStore } from './freeze-store.ts'
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
  readonly freezes: FreezeStore
  readonly lists: ListStore
  readonly inspection: InspectionStore
  /** How long the longest-waiting piece of work has waited for a connection, or 0 if nothing waits. */
  longestWaitMs(): number
  /**
   * How many times the connections have moved to another server (after a failover or a promotion) or the server has
   * been restarted. The new server may lack the last commits.
   */
  serverChanges(): number
  /** Closes the connections. The application's pool stays open. */
  close(): Promise<void>
}

/** The stores of one database, one for each use. One use never waits for another's connections. */
export interface Stores {
  readonly loops: Store
  readonly calls: Store
  /** For the API, with few statements at a time, a bounded queue and time limits. Connects on first use. */
  readonly api: Store
  close(): Promise<void>
}
