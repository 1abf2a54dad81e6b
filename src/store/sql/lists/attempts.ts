/**
 * The attempts of jobs, as shown in lists. An attempt that ended without success is a row; a running or successful
 * attempt is part of its job's row.
 */
import type { Attempt } from '../../../model/attempt.ts'
import type { StoredOutcome, JobState } from '../../../model/states.ts'
import { fromStored, fromText } from '../../../model/instant.ts'
import type { Owner } from '../../../model/owner.ts'
import type { Listed } from '../../list-store.ts'
import { integerLiteral } from '../../literals.ts'
import { scopeCondition } from '../conditions.ts'
import type { Context } from '../context.ts'
import { textPreview, wholeLines } from './listed-rows.ts'
import { findOwnId } from '../own-ids.ts'
import { instants } from '../rows.ts'

/** Longer errors are shortened in the list. The last error is also in the job's row. */
const MAX_ERROR_CHARACTERS = 16_384

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
  const [job] = await context.rows<JobColumns>(
    `SELECT id, state, worker, attempt, claim, ${instants(dialect, ['started', 'finished'])}
     FROM ${tables.job} WHERE id = ${dialect.jobId}${scope.text}`,
    [id, ...scope.params],
  )
  if (job === undefined) return null
  // The primary key both filters and orders.
  const rows = await context.rows<AttemptRow>(
    `SELECT claim, attempt, worker, outcome, ${instants(dialect, ['started', 'ended'])},
       ${textPreview('error', MAX_ERROR_CHARACTERS).join(', ')}
     FROM ${tables.attempt}
     WHERE job_id = ${dialect.jobId}
     ORDER BY claim DESC
     LIMIT ${integerLiteral(limit)}`,
    [job.id],
  )
  // An attempt that ended between the two statements now has a row, and the next attempt may have one as well.
  const inJob = rows.some(({ claim }) => claim === job.claim) ? [] : attemptInJob(job)
  return [...rows.toReversed().map(toAttempt), ...inJob].slice(-limit)
}

/** The attempt that is running or has succeeded, which has no row. */
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
