import type { ClaimedJob } from '../../model/job.ts'
import { DEFAULT_POLICY, type RunPolicy } from '../../model/task.ts'
import type { Dialect, Sql } from '../database.ts'
import { fromStored } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import { groupBy } from './group-by.ts'
import { jobColumns, type JobRow, policyOf, toJob } from './rows.ts'
import { placeholders, type Tables } from './tables.ts'

/** A job that may start, and the database's clock when the job was read. */
export interface StartableRow extends JobRow {
  readonly clock: string
}

/** A larger number, written by hand, stays: an overflow would prevent all other jobs of the batch from starting. */
const LARGEST = 2_147_483_647
const next = (number: number) => Math.min(number + 1, LARGEST)
const nextOf = (column: 'attempt' | 'claim') =>
  `${column} = CASE WHEN ${column} + 1 > ${integerLiteral(LARGEST)} THEN ${column} ELSE ${column} + 1 END`

export function startableColumns(dialect: Dialect): string {
  return `${jobColumns(dialect)}, ${dialect.now} AS clock`
}

/**
 * Starts an attempt of each job. The caller's transaction has locked the jobs. The effective policy is stored with each
 * attempt, so that a worker that takes over from a lost worker knows it.
 */
export async function startAttempts(
  sql: Sql,
  dialect: Dialect,
  { job }: Tables,
  worker: string,
  rows: readonly StartableRow[],
  tasks: ReadonlyMap<string, RunPolicy>,
): Promise<ClaimedJob[]> {
  const [first] = rows
  if (first === undefined) return []
  for (const [task, of] of groupBy(rows, (row) => row.task)) {
    const policy = tasks.get(task) ?? DEFAULT_POLICY
    await sql.run(
      `UPDATE ${job} ${dialect.byKey} SET state = 'running', worker = ?, ${nextOf('attempt')}, ${nextOf('claim')}, started = ?, progress = NULL, timeout = COALESCE(timeout, ?), max_retries = COALESCE(max_retries, ?), retry_delay = COALESCE(retry_delay, ?), retry_backoff = COALESCE(retry_backoff, ?) WHERE id IN (${placeholders(of)})`,
      [
        worker,
        first.clock,
        policy.timeoutMs,
        policy.maxRetries,
        policy.retryDelayMs,
        policy.retryBackoff,
        ...of.map((row) => row.id),
      ],
    )
  }
  return rows.map((row): ClaimedJob => {
    const policy = policyOf(row, tasks.get(row.task))
    const before = toJob(row)
    return {
      ...before,
      state: 'running',
      worker,
      attempt: next(before.attempt),
      claim: next(row.claim),
      started: fromStored(first.clock),
      progress: null,
      argsText: row.args,
      policy,
    }
  })
}
