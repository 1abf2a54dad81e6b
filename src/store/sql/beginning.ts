import type { ClaimedJob } from '../../model/job.ts'
import { DEFAULT_POLICY, type RunPolicy } from '../../model/task.ts'
import type { Dialect, Sql } from '../database.ts'
import { fromStored } from '../instant.ts'
import { integerLiteral } from '../literals.ts'
import { groupBy } from './group-by.ts'
import { jobColumns, type JobRow, policyOf, toJob } from './rows.ts'
import { placeholders, type Tables } from './tables.ts'

/** A job that may begin, and the database's clock when it was read. */
export interface BeginnableRow extends JobRow {
  readonly clock: string
}

/** A number that was written by hand as large stays, or it would keep all others from being begun. */
const LARGEST = 2_147_483_647
const next = (number: number) => Math.min(number + 1, LARGEST)
const nextOf = (column: 'attempt' | 'claim') =>
  `${column} = CASE WHEN ${column} + 1 > ${integerLiteral(LARGEST)} THEN ${column} ELSE ${column} + 1 END`

export function beginnableColumns(dialect: Dialect): string {
  return `${jobColumns(dialect)}, ${dialect.now} AS clock`
}

/**
 * Begins an attempt of each of the jobs, which this transaction has locked. The policy in force is written down with
 * each attempt, so that whoever takes over from a lost worker knows it.
 */
export async function begin(
  sql: Sql,
  dialect: Dialect,
  { job }: Tables,
  worker: string,
  rows: readonly BeginnableRow[],
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
