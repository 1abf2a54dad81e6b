import { isDeepStrictEqual } from 'node:util'
import type { Freeze, Job, Kalends, Logger, Schedule } from '../index.ts'
import type { Access } from './access.ts'

export type WriteLog = ReturnType<typeof writeLog>

export function writeLog(
  logger: Logger,
  redaction: Kalends['redaction'],
  { user, role, scope = {} }: Access,
  action: string,
) {
  const caller = { user: user ?? null, role, scope, action }
  // The message is constant, and input appears only in the values of fields, so callers cannot forge log lines.
  const write = (event: object) => logger.info({ audit: { ...caller, ...event } }, 'Written through the API')
  /** @param args  the args of the row that the fields belong to */
  const hidden = (fields: object, args: unknown) => {
    const secrets = redaction.secretsOf({ args })
    return Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [
        key,
        key === 'args' ? redaction.redacted('args', value, secrets) : secrets.hiddenIn(value),
      ]),
    )
  }
  const shown = ({ task, state, attempt, stopRequestedAt, args }: Job, isNew: boolean) =>
    hidden({ task, state, attempt, stopRequestedAt, ...(isNew && { args }) }, args)
  return {
    /** Logs the difference between two states of a schedule, or everything for a new or deleted one. */
    schedule(scheduleId: string, before: Schedule | null, after: Schedule | null): void {
      write({
        scheduleId,
        before: before && hidden(differing(before, after), before.args),
        after: after && hidden(differing(after, before), after.args),
      })
    },

    job(jobId: string, before: Job | null, after: Job): void {
      write({ jobId, before: before && shown(before, false), after: shown(after, before === null) })
    },

    freeze(freezeId: string, before: Freeze | null, after: Freeze | null): void {
      write({ freezeId, before, after })
    },

    /** Logs a manual run of a schedule. @param args  undefined means the schedule's own args */
    run(scheduleId: string, jobId: string, args: unknown): void {
      write({ scheduleId, jobId, before: null, after: args === undefined ? {} : hidden({ args }, args) })
    },
  }
}

function differing(state: Schedule, other: Schedule | null): object {
  const known = new Map(Object.entries(other ?? {}))
  return Object.fromEntries(
    Object.entries(state).filter(
      ([key, value]) => !known.has(key) || !isDeepStrictEqual(value, known.get(key)),
    ),
  )
}
