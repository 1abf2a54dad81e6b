import type { Values, WORKER_COLUMNS } from '../model/columns.ts'

/** A row of `worker`: a process that embeds Kalends. */
export interface WorkerRecord extends Omit<Values<typeof WORKER_COLUMNS>, 'tasks' | 'sets'> {
  /** `name/incarnation`, new at each start, because the id is a fencing token and the name is not. */
  readonly id: string
  readonly tasks: readonly string[]
  /** The hash of each set that the worker's code declares, by name. */
  readonly sets: Readonly<Record<string, string>>
}

/** A worker whose last heartbeat is within the lease. */
export interface LiveWorker extends WorkerRecord {
  /** The number of jobs that the worker runs. */
  readonly running: number
}

export interface WorkerList {
  readonly workers: readonly WorkerRecord[]
  /** The lowest version of Kalends that may use the tables; null if any version may, or if there are no workers. */
  readonly lowestVersion: string | null
}

export type NewWorker = Pick<WorkerRecord, 'id' | 'name' | 'host' | 'pid' | 'tasks'> &
  Partial<Pick<WorkerRecord, 'sets'>>

/**
 * `kept`: the worker's heartbeat has changed, or the worker no longer exists; `locked`: another transaction has locked
 * its row.
 */
export type Eviction = 'evicted' | 'kept' | 'locked'

/**
 * `gone`: another worker considered this one dead and deleted its row; `locked`: a transaction has locked the row.
 */
export type Heartbeat = 'written' | 'gone' | 'locked'

export interface WorkerStore {
  /** Whether one worker can lose access to the database while others keep it; false for a file on this machine. */
  readonly canBeCutOff: boolean
  register(worker: NewWorker): Promise<void>
  heartbeat(id: string): Promise<Heartbeat>
  list(): Promise<WorkerList>
  /** The number of jobs that each worker runs; workers that run none are omitted. */
  running(): Promise<ReadonlyMap<string, number>>
  /** Removes a worker whose heartbeat has not changed since it was read. Does not wait for a locked row. */
  evict(id: string, heartbeat: Date): Promise<Eviction>
  unregister(id: string): Promise<void>
}
