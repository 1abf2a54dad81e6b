/** Rows as they go out: without secrets. */
import type { Job, Schedule } from '../index.ts'
import type { Redaction } from './redact.ts'

export function shownSchedule(schedule: Schedule, redaction: Redaction): Schedule {
  return { ...schedule, args: redaction.redacted('args', schedule.args) }
}

export function shownJob(job: Job, redaction: Redaction): Job {
  return {
    ...job,
    args: redaction.redacted('args', job.args),
    result: redaction.redacted('result', job.result),
    progress: redaction.redacted('progress', job.progress),
  }
}
