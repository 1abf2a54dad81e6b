/** Starts attempts of jobs whose rows this transaction has locked. Writes by key. */
import { fromStored } from '../../model/instant.ts'
import type { ClaimedJob } from '../../model/job.ts'
import { DEFAULT_POLICY, type RunPolicy } from '../../model/task.ts'
import type { HandOverQueue } from '../executing-store.ts'
import { groupBy } from '../group-by.ts'
import { updateLocked } from './by-key.ts'
import { and, LARGEST_COUNT, nextOf } from './conditions.ts'
import type { Context } from './context.ts'
import { policyOf, settingValue, type StartableRow, toClaimed } from './rows.ts'

const IS_READY = and('+ready = 1')

const next = (number: number) => Math.min(number + 1, LARGEST_COUNT)

/** Each attempt stores the policy in effect, so that a worker that takes over the job knows it. */
export async function startAttempts(
  tx: Context,
  worker: string,
  rows: readonly StartableRow[],
  tasks: ReadonlyMap<string, RunPolicy>,
): Promise<ClaimedJob[]> {
  const [first] = rows
  if (first === undefined) return []
  for (const [task, of] of groupBy(rows, (row) => row.task)) {
    const { timeout, retries, retryDelay, retryBackoff } = tasks.get(task) ?? DEFAULT_POLICY
    await updateLocked(
      tx,
      tx.tables.job,
      {
        state: "'running'",
        worker: '?',
        attempt: nextOf('attempt'),
        claim: nextOf('claim'),
        started: '?',
        progress: 'NULL',
        timeout: 'COALESCE(timeout, ?)',
        max_retries: 'COALESCE(max_retries, ?)',
        retry_delay: 'COALESCE(retry_delay, ?)',
        retry_backoff: 'COALESCE(retry_backoff, ?)',
      },
      of.map((row) => row.id),
      {
        params: [worker, first.clock, timeout, settingValue('retries', retries), retryDelay, retryBackoff],
        where: IS_READY,
      },
    )
  }
  return rows.map((row) =>
    started(row, first.clock, { worker, state: 'running', policy: policyOf(row, tasks.get(row.task)) }),
  )
}

/** The reason that is stored for jobs that the hand-over finishes. */
export const HANDED_OVER = 'handed-over'

export async function handOverAttempts(
  tx: Context,
  worker: string,
  rows: readonly StartableRow[],
  { reports, timeoutMs }: Pick<HandOverQueue, 'reports' | 'timeoutMs'>,
): Promise<ClaimedJob[]> {
  const [first] = rows
  if (first === undefined) return []
  await updateLocked(
    tx,
    tx.tables.job,
    {
      state: "'external'",
      reason: reports ? 'reason' : `'${HANDED_OVER}'`,
      worker: '?',
      attempt: nextOf('attempt'),
      claim: nextOf('claim'),
      releases: '0',
      started: '?',
      progress: 'NULL',
      error: 'NULL',
      timeout: 'COALESCE(timeout, ?)',
    },
    rows.map((row) => row.id),
    { params: [worker, first.clock, timeoutMs], where: IS_READY },
  )
  return rows.map((row) =>
    started(row, first.clock, {
      worker,
      state: 'external',
      policy: { ...policyOf(row), timeout: row.timeout ?? timeoutMs },
    }),
  )
}

function started(
  row: StartableRow,
  clock: string,
  of: Pick<ClaimedJob, 'worker' | 'state' | 'policy'>,
): ClaimedJob {
  return toClaimed(row, fromStored(clock), { ...of, attempt: next(row.attempt), claim: next(row.claim) })
}
