/**
 * The attempts of jobs, as shown in lists. An attempt that ended without success is a row; a running or successful
 * attempt is part of its job's row.
 */
import type { Attempt } from '../../../model/attempt.ts'
import {
  type ATTEMPT_COLUMNS,
  CLAIM_COLUMNS,
  JOB_COLUMNS,
  picked,
  type Row,
  type Values,
} from '../../../model/columns.ts'
import { fromStored } from '../../../model/instant.ts'
import type { Owner } from '../../../model/owner.ts'
import type { Listed } from '../../list-store.ts'
import { integerLiteral } from '../../literals.ts'
import { scopeCondition } from '../conditions.ts'
import type { Context } from '../context.ts'
import { textPreview, wholeLines } from './listed-rows.ts'
import { findOwnId } from '../own-ids.ts'
import { expressions, reader } from '../rows.ts'

/** Longer errors are shortened in the list. The last error is also in the job's row. */
const MAX_ERROR_CHARACTERS = 16_384

const IN_JOB = {
  ...picked(JOB_COLUMNS, ['state', 'worker', 'attempt', 'startedAt', 'finishedAt']),
  claim: CLAIM_COLUMNS.claim,
}
const readInJob = reader(IN_JOB)

interface AttemptRow extends Omit<Row<typeof ATTEMPT_COLUMNS>, 'job_id'> {
  readonly error_bytes: number | null
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
  const [job] = await context.rows<{ id: string; claim: number }>(
    `SELECT ${expressions(dialect, IN_JOB).join(', ')}
     FROM ${tables.job} WHERE id = ${dialect.jobId}${scope.text}`,
    [id, ...scope.params],
  )
  if (job === undefined) return null
  // The primary key both filters and orders.
  const rows = await context.rows<AttemptRow>(
    `SELECT claim, attempt, worker, outcome,
       ${dialect.instant('started')} AS started, ${dialect.instant('ended')} AS ended,
       ${textPreview('error', MAX_ERROR_CHARACTERS).join(', ')}
     FROM ${tables.attempt}
     WHERE job_id = ${dialect.jobId}
     ORDER BY claim DESC
     LIMIT ${integerLiteral(limit)}`,
    [job.id],
  )
  // An attempt that ended between the two statements now has a row, and the next attempt may have one as well.
  const inJob = rows.some(({ claim }) => claim === job.claim) ? [] : attemptInJob(readInJob(job))
  return [...rows.toReversed().map(toAttempt), ...inJob].slice(-limit)
}

/** The attempt that is running or has succeeded, which has no row. */
function attemptInJob({ state, worker, attempt, startedAt, finishedAt }: Values<typeof IN_JOB>): Attempt[] {
  if (startedAt === null || (state !== 'running' && state !== 'external' && state !== 'success')) return []
  return [
    {
      attempt,
      worker,
      startedAt,
      endedAt: state === 'success' ? finishedAt : null,
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
