/**
 * The seam between the rules and the databases: small interfaces by role. A dialect executes and never
 * decides; what is decided comes in as values or as a pure function.
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
  /** How long the work that has waited longest for a connection has waited; 0: none waits. */
  longestWaitMs(): number
  /**
   * How many times the connections moved to another server (a fail-over, a promotion) or the server was restarted. The
   * new server may lack the last commits.
   */
  serverChanges(): number
  /** Closes the connections that Kalends opened itself; a caller-supplied pool stays open. */
  close(): Promise<void>
}

/** The same database for each use: what one of them holds, the others never wait for. */
export interface Stores {
  /** Of the loops and the heartbeat. */
  readonly loops: Store
  /** Of the application's calls. */
  readonly calls: Store
  /** Of the API: few at a time, a bounded queue, statements that end in time. Connects with its first use. */
  readonly api: Store
  /** Closes all of them. */
  close(): Promise<void>
}
