/** The attempts of jobs. Those that did not succeed are rows; the successful or running one is in its job's row. */
import { type Attempt, storedEnd, type StoredOutcome } from '../../model/attempt.ts'
import type { JobState } from '../../model/job.ts'
import type { Owner } from '../../model/owner.ts'
import type { AttemptEnd } from '../../model/settle.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import type { Listed } from '../list-store.ts'
import { integerLiteral } from '../literals.ts'
import type { EndedJob } from './ends.ts'
import { scopeCondition } from './conditions.ts'
import type { Context } from './context.ts'
import { findOwnId } from './own-ids.ts'
import { textPreview, wholeLines } from './listed-rows.ts'

/** Longer errors are shortened in the list. The last error is also in the job. */
const MOST_ERROR_CHARACTERS = 16_384

/** An attempt that ended, with its job's previous row. */
export interface AttemptOfRow extends EndedJob {
  readonly end: AttemptEnd
}

/**
 * Thrown if another transaction locks gaps of `attempt`, as `DELETE … WHERE ended < …` does under REPEATABLE READ. The
 * ends are then written without their attempts: history must not keep jobs from ending.
 */
export class AttemptsLocked extends Error {
  override readonly name = 'AttemptsLocked'
}

/**
 * Writes the attempts that did not succeed, in the transaction that writes their ends.
 *
 * @throws AttemptsLocked
 */
export async function writeAttempts(tx: Context, ended: readonly AttemptOfRow[]): Promise<void> {
  try {
    await insertAttempts(tx, ended)
  } catch (error) {
    throw tx.dialect.isLockWait(error)
      ? new AttemptsLocked('Another transaction has locked the table attempt', { cause: error })
      : error
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
    // Only the statement was undone. The key exists if a job was deleted manually and submitted again with the same id,
    // or if its `claim` has reached the largest value. The newer attempt is kept.
    const key = `(job_id = ${tx.dialect.jobId} AND claim = ?)`
    await tx.run(
      `DELETE FROM ${tx.tables.attempt} WHERE ${rows.map(() => key).join(' OR ')}`,
      rows.flatMap(([job = null, claim = null]) => [job, claim]),
    )
    await insert()
  }
}

interface JobColumns {
  id: string
  state: JobState
  worker: string | null
  attempt: number
  claim: number
  started: string | null
  finished: string | null
}

interface AttemptRow {
  claim: number
  attempt: number
  worker: string
  started: string
  ended: string
  outcome: StoredOutcome
  error: string | null
  error_bytes: number | null
}

/** The newest attempts of a job, oldest first; null when there is no such job. */
export async function attemptsOf(
  context: Context,
  owner: Owner,
  name: string,
  limit: number,
): Promise<Listed<Attempt>[] | null> {
  const { dialect, tables } = context
  const scope = scopeCondition(owner)
  const id = await findOwnId(context, 'job', owner, name)
  if (id === null) return null
  const instants = (...columns: string[]) =>
    columns.map((column) => `${dialect.instant(column)} AS ${column}`).join(', ')
  const [job] = await context.rows<JobColumns>(
    `SELECT id, state, worker, attempt, claim, ${instants('started', 'finished')}
     FROM ${tables.job} WHERE id = ${dialect.jobId}${scope.text}`,
    [id, ...scope.params],
  )
  if (job === undefined) return null
  // The primary key filters and orders.
  const rows = await context.rows<AttemptRow>(
    `SELECT claim, attempt, worker, outcome, ${instants('started', 'ended')},
       ${textPreview('error', MOST_ERROR_CHARACTERS).join(', ')}
     FROM ${tables.attempt}
     WHERE job_id = ${dialect.jobId}
     ORDER BY claim DESC
     LIMIT ${integerLiteral(limit)}`,
    [job.id],
  )
  // An attempt that ended between the two statements is a row by now, and the next one may be, too.
  const inJob = rows.some(({ claim }) => claim === job.claim) ? [] : attemptInJob(job)
  return [...rows.toReversed().map(toAttempt), ...inJob].slice(-limit)
}

/** The attempt that is running or succeeded, which has no row. */
function attemptInJob({ state, worker, attempt, started, finished }: JobColumns): Attempt[] {
  if (started === null || (state !== 'running' && state !== 'external' && state !== 'success')) return []
  return [
    {
      attempt,
      worker,
      startedAt: fromStored(started),
      endedAt: state === 'success' ? fromText(finished) : null,
      outcome: state === 'success' ? 'success' : null,
      error: null,
    },
  ]
}

function toAttempt(row: AttemptRow): Listed<Attempt> {
  const { attempt, worker, outcome, error_bytes: bytes } = row
  return {
    attempt,
    worker,
    startedAt: fromStored(row.started),
    endedAt: fromStored(row.ended),
    outcome,
    error: wholeLines(row.error, bytes),
    ...(bytes !== null && { truncated: { error: bytes } }),
  }
}
