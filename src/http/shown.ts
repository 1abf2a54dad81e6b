/** Rows as callers see them: without secrets and, for owners, without details about the server. */
import { errorTextForOwner, logTextForOwner, firstLine } from '../errors.ts'
import type { Attempt, Job, JobConditions, Listed, Schedule } from '../index.ts'
import type { Call } from './operation.ts'
import { invalidField } from './problem.ts'

type Reader = Pick<Call, 'access' | 'redaction'>

export function shownSchedule(schedule: Listed<Schedule>, { access, redaction }: Reader): Schedule {
  const secrets = redaction.secretsOf(schedule)
  const { lastError } = schedule
  return {
    ...schedule,
    args: redaction.redacted('args', schedule.args, secrets),
    lastError: lastError && textFor(access, secrets.hiddenInText(lastError)),
    markedBy: isOwner(access) ? null : schedule.markedBy,
  }
}

export function shownJob(job: Listed<Job>, { access, redaction }: Reader): Job {
  const secrets = redaction.secretsOf(job)
  return {
    ...job,
    args: redaction.redacted('args', job.args, secrets),
    result: redaction.redacted('result', job.result, secrets),
    progress: redaction.redacted('progress', job.progress, secrets),
    error: job.error && textFor(access, secrets.hiddenInText(job.error)),
    worker: isOwner(access) ? null : job.worker,
  }
}

/** @param job  the job that the attempts belong to; null if no secrets need to be hidden */
export function shownAttempts(
  attempts: readonly Listed<Attempt>[],
  job: Job | null,
  { access, redaction }: Reader,
): Listed<Attempt>[] {
  const secrets = job === null ? null : redaction.secretsOf(job)
  return attempts.map((attempt) => {
    const error = attempt.error && textFor(access, secrets?.hiddenInText(attempt.error) ?? attempt.error)
    return { ...attempt, error, worker: isOwner(access) ? null : attempt.worker }
  })
}

/** A line that a handler logged; for an owner, without stack traces or file paths. */
export function shownText(text: string, { access }: Reader): string {
  return isOwner(access) ? logTextForOwner(text) : text
}

/** The payload to use if the secrets are unknown, because the job was deleted or now has a different error. */
const UNKNOWN = { truncated: { args: 0, result: 0, progress: 0 } }
/** Maximum number of characters of a failure, after its secrets are replaced. */
const MAX_FAILURE_CHARACTERS = 500

/**
 * The error of a group of failures: its first line, or the start of that line.
 *
 * @param start  the start of the error, as stored; if it ends in the middle of a secret, that secret is not recognised
 * @param newest  the group's last job, in full; null if no secrets need to be hidden, or if the job was deleted
 */
export function shownFailure(start: string, newest: Job | null, { access, redaction }: Reader): string {
  const error = newest?.error ?? ''
  const isSame = error.startsWith(start)
  const secrets = redaction.secretsOf(newest !== null && isSame ? newest : UNKNOWN)
  const line = firstLine(secrets.hiddenInText(isSame ? error : start))
  return textFor(access, line).slice(0, MAX_FAILURE_CHARACTERS)
}

function textFor(access: Reader['access'], text: string): string {
  return isOwner(access) ? errorTextForOwner(text) : text
}

/** Whether the caller is a user of the application, who gets no details of the server itself. */
function isOwner({ scope }: Reader['access']): boolean {
  return scope !== undefined
}

/** Why a filter of jobs is rejected, if values that it searches are hidden from the caller, at least in part. */
const UNSEARCHABLE = {
  args: 'cannot be searched here, because parts of the args are hidden',
  error: 'callers with a scope cannot search errors, parts of which are hidden',
  worker: 'callers with a scope cannot search by worker',
} as const

/** A search can reveal text letter by letter, so callers cannot search values that are hidden from them. */
export function unsearchable({ access, redaction }: Reader): (keyof typeof UNSEARCHABLE)[] {
  return [
    ...(redaction.hides('args') ? (['args'] as const) : []),
    ...(isOwner(access) ? (['error', 'worker'] as const) : []),
  ]
}

export function checkSearch(conditions: JobConditions, reader: Reader, path = ''): void {
  const field = unsearchable(reader).find((name) => conditions[name] !== undefined)
  if (field !== undefined) throw invalidField(`${path}${field}`, UNSEARCHABLE[field])
}
