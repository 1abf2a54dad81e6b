/** The end of a run: no new slots are due, and all open work must end. Work that does not end is a violation. */
import { setTimeout as delay } from 'node:timers/promises'
import { databaseNow, msOf } from './dates.ts'
import type { Journal, Target } from './fault.ts'
import type { RowText } from './record.ts'
import { ONLY } from './workload.ts'

/**
 * Longer than all attempts of a job can take, and longer than the interval of the sweep that repairs manual marks.
 */
const LIMIT_MS = 120_000
/** A job that an edit has postponed by more than this is cancelled, so that the run need not wait for it. */
const FAR_MS = 20_000
const HANDLED: readonly string[] = ['tick', 'slow', 'hang', 'throw', 'exit', 'deaf', 'block', 'hand']

/** Disables all schedules one by one, as an administrator would, so that the harness causes no deadlocks. */
export async function disableAll(target: Target): Promise<void> {
  for (const { id } of await target.query('SELECT id FROM periodic_task')) {
    await target.query('UPDATE periodic_task SET enabled = 0 WHERE id = ?', [id ?? null])
  }
}

/**
 * @param workers  the number of running workers
 * @returns sentences that describe the work that has not ended
 */
export async function comeToRest(
  target: Target,
  journal: Journal,
  workers: number,
  withinMs = LIMIT_MS,
): Promise<string[]> {
  const deadline = performance.now() + withinMs
  for (;;) {
    await cancelStranded(target, journal)
    const restless = await restlessRows(target, workers)
    if (restless.length === 0 || performance.now() > deadline) return restless
    await delay(500)
  }
}

async function restlessRows({ query }: Target, workers: number): Promise<string[]> {
  const jobs = await query(
    "SELECT id, periodic_task_id, task, state, worker, attempt, run_at FROM job WHERE state IN ('waiting', 'blocked', 'running', 'external') LIMIT 20",
  )
  const schedules = await query(
    'SELECT id, worker, mark_ends, nextrun, planned_from, planned_nextrun, wake_at FROM periodic_task WHERE wake_at IS NOT NULL OR worker IS NOT NULL LIMIT 20',
  )
  const registered = await query('SELECT id, heartbeat FROM worker')
  return [
    ...(registered.length === workers
      ? []
      : [`of ${workers} workers, ${registered.length} are registered: ${JSON.stringify(registered)}`]),
    ...jobs.map((row) => `the job has not ended: ${JSON.stringify(row)}`),
    ...schedules.map(
      (row) => `the schedule is disabled but still marked or due for planning: ${JSON.stringify(row)}`,
    ),
  ]
}

/**
 * Cancels jobs whose task has no handler, and jobs due far in the future, as an administrator would. Such jobs result
 * from edits.
 */
async function cancelStranded(target: Target, journal: Journal): Promise<void> {
  const now = await databaseNow(target, target.query)
  const open = await target.query(
    "SELECT id, task, run_at, periodic_task_id FROM job WHERE state IN ('waiting', 'blocked')",
  )
  for (const { id, task, run_at: runAt } of open) {
    const isFar = (msOf(runAt) ?? now) - now > FAR_MS
    const isHandled = HANDLED.includes(String(task)) || String(task).startsWith(ONLY)
    if (typeof id !== 'string' || (isHandled && !isFar)) continue
    await target.transaction(async (query) => {
      const from = await databaseNow(target, query)
      const before = await one(query, id)
      const columns = { state: 'cancelled' } as const
      await query("UPDATE job SET state = 'cancelled' WHERE id = ? AND state IN ('waiting', 'blocked')", [id])
      const row = await one(query, id)
      journal.write({
        kind: 'edit',
        table: 'job',
        id,
        columns,
        before,
        row,
        from,
        until: await databaseNow(target, query),
      })
    })
  }
}

async function one(query: Target['query'], id: string): Promise<RowText | null> {
  const [row] = await query('SELECT * FROM job WHERE id = ?', [id])
  return row ?? null
}
