/** What one call has written: each write becomes an audit event in the log and a message of the event stream. */
import { isDeepStrictEqual } from 'node:util'
import type { Job, Kalends, Logger, Schedule } from '../index.ts'
import type { Access } from './access.ts'
import type { Topic } from './event-stream.ts'

type Fields = Readonly<Record<string, unknown>>

export class WriteLog {
  readonly #logger: Logger
  readonly #redaction: Kalends['redaction']
  readonly #caller: Fields
  readonly #mark: (topics: readonly Topic[]) => void

  /**
   * @param action  the operation
   * @param mark  notifies the listeners of the event stream
   */
  constructor(
    logger: Logger,
    redaction: Kalends['redaction'],
    { user, role, scope = {} }: Access,
    action: string,
    mark: (topics: readonly Topic[]) => void,
  ) {
    this.#logger = logger
    this.#redaction = redaction
    this.#caller = { user: user ?? null, role, scope, action }
    this.#mark = mark
  }

  /** What differs between two states of a schedule; of a new or deleted one, everything. */
  schedule(id: string, before: Schedule | null, after: Schedule | null): void {
    this.#write({
      scheduleId: id,
      before: before && this.#hidden(differing({ ...before }, { ...after }), before.args),
      after: after && this.#hidden(differing({ ...after }, { ...before }), after.args),
    })
    this.#mark(['schedules'])
  }

  job(id: string, before: Job | null, after: Job | null): void {
    const shown = (job: Job | null): Fields | null =>
      job &&
      this.#hidden(
        {
          task: job.task,
          state: job.state,
          attempt: job.attempt,
          stopRequestedAt: job.stopRequestedAt,
          ...(before === null && { args: job.args }),
        },
        job.args,
      )
    this.#write({ jobId: id, before: shown(before), after: shown(after) })
    this.#mark(before === null ? ['jobs'] : ['schedules', 'jobs'])
  }

  /** A manual run of a schedule. @param args  undefined: the schedule's own */
  run(scheduleId: string, jobId: string, args: unknown): void {
    const after = args === undefined ? {} : this.#hidden({ args }, args)
    this.#write({ scheduleId, jobId, before: null, after })
    this.#mark(['schedules', 'jobs'])
  }

  #write(event: Fields): void {
    // The message is constant, and input is only the value of a field, so callers cannot forge log lines.
    this.#logger.info({ audit: { ...this.#caller, ...event } }, 'Written through the API')
  }

  /** @param args  the args of the row that the fields belong to */
  #hidden(fields: Fields, args: unknown): Fields {
    const secrets = this.#redaction.secretsOf({ args })
    return Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [
        key,
        key === 'args' ? this.#redaction.redacted('args', value, secrets) : secrets.hiddenIn(value),
      ]),
    )
  }
}

function differing(state: Fields, other: Fields): Fields {
  return Object.fromEntries(
    Object.entries(state).filter(([key, value]) => !(key in other && isDeepStrictEqual(value, other[key]))),
  )
}
