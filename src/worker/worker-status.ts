import { isTask } from '../store/executing-store.ts'
import type { Store } from '../store/store.ts'
import type { WorkerRecord } from '../store/worker-store.ts'

/** A worker, as recorded in the database. */
export interface WorkerStatus extends WorkerRecord {
  /** Time since the worker's last heartbeat, by the database's clock. */
  readonly silentMs: number
  /** Whether the last heartbeat is within the lease. */
  readonly alive: boolean
  /** The number of jobs that the worker runs. */
  readonly running: number
}

export async function workerStatuses(
  { workers, schedules }: Pick<Store, 'workers' | 'schedules'>,
  leaseMs: number,
): Promise<WorkerStatus[]> {
  const running = await workers.running()
  const { workers: list } = await workers.list()
  const now = (await schedules.now()).getTime()
  return list.map((worker) => {
    const silentMs = Math.max(0, now - worker.heartbeatAt.getTime())
    const tasks = worker.tasks.filter(isTask)
    return { ...worker, tasks, silentMs, alive: silentMs <= leaseMs, running: running.get(worker.id) ?? 0 }
  })
}
