import { isTask } from '../store/executing-store.ts'
import type { Store } from '../store/store.ts'
import type { LiveWorker, WorkerRecord } from '../store/worker-store.ts'

type Stores = Pick<Store, 'workers' | 'schedules'>

/** A worker, as recorded in the database. */
export interface WorkerStatus extends WorkerRecord {
  /** Time since the worker's last heartbeat, by the database's clock. */
  readonly silentMs: number
  /** Whether the last heartbeat is within the lease. */
  readonly alive: boolean
  /** The number of jobs that the worker runs. */
  readonly running: number
}

export async function workerStatuses(stores: Stores, leaseMs: number): Promise<WorkerStatus[]> {
  const all = await allWorkers(stores, leaseMs)
  return all.map((worker) => ({ ...worker, tasks: worker.tasks.filter(isTask) }))
}

/**
 * The rows of dead workers remain until another worker removes them, so they are left out here. The workers' tasks
 * include `EVERY_TASK`, and queues as named in claims.
 */
export async function liveWorkers(stores: Stores, leaseMs: number): Promise<LiveWorker[]> {
  return (await allWorkers(stores, leaseMs)).filter(({ alive }) => alive)
}

async function allWorkers({ workers, schedules }: Stores, leaseMs: number): Promise<WorkerStatus[]> {
  const running = await workers.running()
  const { workers: list } = await workers.list()
  const now = (await schedules.now()).getTime()
  return list.map((worker) => {
    const silentMs = Math.max(0, now - worker.heartbeatAt.getTime())
    return { ...worker, silentMs, alive: silentMs <= leaseMs, running: running.get(worker.id) ?? 0 }
  })
}
