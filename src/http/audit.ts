/** Who did what: one line for each write, through the logger. */
import { isDeepStrictEqual } from 'node:util'
import type { Job, Logger, Redaction, Schedule } from '../index.ts'
import type { Access } from './access.ts'

export interface AuditEvent {
  /** The operation. */
  readonly action: string
  readonly schedule?: string
  readonly job?: string
  readonly before?: Readonly<Record<string, unknown>> | null
  readonly after?: Readonly<Record<string, unknown>> | null
}

export class Audit {
  readonly #logger: Logger
  readonly #access: Access
  readonly #redaction: Redaction

  constructor(logger: Logger, access: Access, redaction: Redaction) {
    this.#logger = logger
    this.#access = access
    this.#redaction = redaction
  }

  write(event: AuditEvent): void {
    const { user = null, role, scope = {} } = this.#access
    // The message is fixed and what came in is a value of a field: nobody writes lines of their own into the log.
    this.#logger.info({ audit: { user, role, scope, ...event } }, 'Written through the API')
  }

  /** What differs between two states of a schedule; of one that is new or gone, all. */
  schedule(action: string, id: string, before: Schedule | null, after: Schedule | null): void {
    const was: Record<string, unknown> | null = before && { ...before }
    const is: Record<string, unknown> | null = after && { ...after }
    this.write({
      action,
      schedule: id,
      before: was && this.#hidden(was, is),
      after: is && this.#hidden(is, was),
    })
  }

  job(action: string, id: string, before: Job | null, after: Job | null): void {
    const shown = (job: Job): Record<string, unknown> => ({
      task: job.task,
      state: job.state,
      attempt: job.attempt,
      stopRequested: job.stopRequested,
      ...(before === null && { args: job.args }),
    })
    this.write({
      action,
      job: id,
      before: before && this.#hidden(shown(before), null),
      after: after && this.#hidden(shown(after), null),
    })
  }

  /** Without what is the same in the other one. */
  #hidden(
    state: Record<string, unknown>,
    other: Readonly<Record<string, unknown>> | null,
  ): Record<string, unknown> {
    const differing = Object.entries(state).filter(
      ([key, value]) => other === null || !isDeepStrictEqual(value, other[key]),
    )
    const secrets = this.#redaction.secretsOf({ args: state['args'] })
    return Object.fromEntries(
      differing.map(([key, value]) => [
        key,
        key === 'args' ? this.#redaction.redacted('args', value, secrets) : secrets.hiddenIn(value),
      ]),
    )
  }
}
