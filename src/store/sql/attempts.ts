/**
 * Records attempts that did not succeed, in the table `attempt`, in the transaction that writes their outcomes.
 * Inserts rows; an older row with the same key is replaced.
 */
import { storedEnd } from '../../model/attempt.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import type { AttemptEnd } from '../../model/settle.ts'
import type { Context } from './context.ts'
import type { EndedJob } from './ended-jobs.ts'

/** An attempt that ended, with its job's previous row. */
export interface AttemptOfRow extends EndedJob {
  readonly end: AttemptEnd
}

/** Records attempts in the transaction that writes their outcomes. */
export type RecordAttempts = (tx: Context, ended: readonly AttemptOfRow[]) => Promise<void>

class AttemptsLocked extends Error {
  override readonly name = 'AttemptsLocked'
}

/**
 * For the transactions of one call. If another transaction locks gaps in `attempt`, as `DELETE … WHERE ended < …` does
 * under REPEATABLE READ, the transaction runs again without recording its attempts, because the history must not keep
 * outcomes from being written. Later transactions do not record theirs, because each would wait for the lock.
 *
 * @returns a function that runs the transaction
 */
export function attemptRecorder(): <Result>(
  transaction: (record: RecordAttempts) => Promise<Result>,
) => Promise<Result> {
  let isLocked = false
  const record: RecordAttempts = async (tx, ended) => {
    if (isLocked) return
    await insertAttempts(tx, ended).catch((error: unknown) => {
      throw tx.dialect.isLockWait(error)
        ? new AttemptsLocked('Another transaction has locked the table attempt', { cause: error })
        : error
    })
  }
  return async (transaction) => {
    try {
      return await transaction(record)
    } catch (error) {
      if (!(error instanceof AttemptsLocked)) throw error
      isLocked = true
      return await transaction(record)
    }
  }
}

async function insertAttempts(tx: Context, attempts: readonly AttemptOfRow[]): Promise<void> {
  const rows = attempts.flatMap(({ row, end, outcome: of }) => {
    const stored = storedEnd(end, of)
    if (stored === null) return []
    // Text that is not an instant can only have been written manually.
    const started = fromText(row.started) ?? fromStored(row.clock)
    const { outcome, error } = stored
    return [
      [row.id, row.claim, row.attempt, row.worker ?? 'none', toText(started), row.clock, outcome, error],
    ]
  })
  if (rows.length === 0) return
  const insert = () =>
    tx.run(
      `INSERT INTO ${tx.tables.attempt} (job_id, claim, attempt, worker, started, ended, outcome, error)
       VALUES ${rows.map(() => '(?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
      rows.flat(),
    )
  try {
    await insert()
  } catch (error) {
    if (!tx.dialect.isDuplicate(error)) throw error
    // Only the statement was rolled back. The key exists if a job was deleted manually and submitted again with the
    // same id, or if its `claim` has reached the maximum value. The newer attempt is kept.
    const key = `(job_id = ${tx.dialect.jobId} AND claim = ?)`
    await tx.run(
      `DELETE FROM ${tx.tables.attempt} WHERE ${rows.map(() => key).join(' OR ')}`,
      rows.flatMap(([job = null, claim = null]) => [job, claim]),
    )
    await insert()
  }
}
