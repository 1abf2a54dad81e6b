import type { ClaimedJob } from '../../model/job.ts'
import { DEFAULT_POLICY, type RunPolicy } from '../../model/task.ts'
import { fromStored } from '../../model/instant.ts'
import { integerLiteral } from '../literals.ts'
import type { HandOverQueue } from '../executing-store.ts'
import { updateRows } from './by-key.ts'
import type { Context } from './context.ts'
import { groupBy } from './group-by.ts'
import { policyOf, settingValue, type StartableRow, toStarted } from './rows.ts'

/** Numbers stop here, so that a manually written number does not prevent other jobs from starting. */
const LARGEST = 2_147_483_647
const next = (number: number) => Math.min(number + 1, LARGEST)
/** Expression: a count of this table, plus one. */
export const nextOf = (column: string) =>
  `CASE WHEN ${column} >= ${integerLiteral(LARGEST)} THEN ${column} ELSE ${column} + 1 END`

/**
 * Starts an attempt of each of the jobs, which this transaction has locked. Each attempt stores the policy in force, so
 * that a worker that takes over the job knows it.
 */
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
    await updateRows(
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
      { params: [worker, first.clock, timeout, settingValue('retries', retries), retryDelay, retryBackoff] },
    )
  }
  return rows.map((row) =>
    started(row, first.clock, { worker, state: 'running', policy: policyOf(row, tasks.get(row.task)) }),
  )
}

/** The reason of jobs whose hand-over is their end. */
export const HANDED_OVER = 'handed-over'

/** The same for jobs that are handed over to an external queue. */
export async function handOverAttempts(
  tx: Context,
  worker: string,
  rows: readonly StartableRow[],
  { reports, timeoutMs }: Pick<HandOverQueue, 'reports' | 'timeoutMs'>,
): Promise<ClaimedJob[]> {
  const [first] = rows
  if (first === undefined) return []
  await updateRows(
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
    { params: [worker, first.clock, timeoutMs] },
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
  const { state, worker, policy } = of
  const job = toStarted(row, { state, worker, attempt: next(row.attempt), started: clock })
  return Object.assign(job, {
    worker,
    claim: next(row.claim),
    releases: row.releases,
    startedAt: fromStored(clock),
    argsText: row.args,
    policy,
  })
}
