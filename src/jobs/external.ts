import { ConflictError, errorText, InvalidInputError, missing } from '../errors.ts'
import { checkKeys, namesOf } from '../keys.ts'
import { checkedId, checkedInstant, shownInput } from '../model/input.ts'
import { type Job } from '../model/job.ts'
import { isFinal } from '../model/states.ts'
import type { Redaction } from '../model/redaction.ts'
import { jsonText } from '../model/json-text.ts'
import type { SettledAttempt } from '../store/executing-store.ts'
import type { FinishedRun, JobStore } from '../store/job-store.ts'

/** How a run in an external queue ended. */
export interface FinishOptions {
  readonly state: 'success' | 'failed' | 'cancelled'
  /** The reason why the run did not succeed: an error or a string. */
  readonly error?: unknown
  /** The result of the run, which is stored as JSON. */
  readonly result?: unknown
  /** The start of the run; default: the time of the hand-over. */
  readonly startedAt?: Date | undefined
  /** The end of the run; default: now. */
  readonly finishedAt?: Date | undefined
}

export interface ExternalContext {
  readonly argsLimit: number
  readonly redaction: Redaction
  readonly onSettled: (settled: SettledAttempt) => void
  readonly onConverted: (task: string, path: string, what: string) => void
}

const OPTIONS = namesOf<FinishOptions>({
  state: true,
  error: true,
  result: true,
  startedAt: true,
  finishedAt: true,
})
const STATES = ['success', 'failed', 'cancelled'] as const

/** `kalends.external`: for reports about jobs in an external queue. */
export class ExternalJobs {
  readonly #store: Pick<JobStore, 'get' | 'finish'>
  readonly #context: ExternalContext

  constructor(store: Pick<JobStore, 'get' | 'finish'>, context: ExternalContext) {
    this.#store = store
    this.#context = context
  }

  /**
   * Reports the outcome of a job that was handed over to an external queue. Only the first report counts, because a
   * final job stays unchanged.
   *
   * @returns the job afterwards
   * @throws InvalidInputError naming the option, NotFoundError
   * @throws ConflictError when the job does not belong to an external queue, or cannot have been handed over yet
   */
  async finish(id: string, options: FinishOptions): Promise<Job> {
    checkKeys(options, OPTIONS)
    const { state } = options
    // Callers in plain JavaScript may pass null instead of omitting an option.
    const error = options.error ?? undefined
    const result = options.result ?? undefined
    checkedId('job', id)
    if (!STATES.includes(state))
      throw new InvalidInputError('state', `must be one of ${STATES.join(', ')}, got ${shownInput(state)}`)
    for (const [name, value] of Object.entries({ error, result }))
      if (value !== undefined && (name === 'result') !== (state === 'success'))
        throw new InvalidInputError(name, `must be left out if the state is '${state}'`)
    const times = {
      startedAt: checkedInstant('startedAt', options.startedAt) ?? null,
      finishedAt: checkedInstant('finishedAt', options.finishedAt) ?? null,
    }
    const job = (await this.#store.get(id)) ?? missing('job', id)
    const { redaction, argsLimit, onConverted, onSettled } = this.#context
    const converted: [path: string, what: string][] = []
    const json =
      result === undefined
        ? null
        : jsonText('result', result, { limit: argsLimit, onConverted: (...of) => void converted.push(of) })
    const secrets = redaction.secretsOf({ ...job, result: json === null ? null : JSON.parse(json) })
    for (const [path, what] of converted) onConverted(job.task, secrets.hiddenInText(path), what)
    const shown = (thrown: unknown) =>
      secrets.storable(typeof thrown === 'string' ? thrown : errorText(thrown), argsLimit)
    const noError = state === 'failed' ? 'The queue reported no error' : null
    const run: FinishedRun = { state, error: error === undefined ? noError : shown(error), result: json }
    const decide = (locked: Pick<Job, 'state' | 'queue'>) => {
      if (isFinal(locked.state)) return null
      mayBeFinished(id, locked)
      return run
    }
    const done = (await this.#store.finish(id, decide, times)) ?? missing('job', id)
    const { settled } = done
    if (settled !== null) onSettled({ ...settled, outcome: { ...settled.outcome, secrets } })
    return done.job
  }
}

/** A report may arrive while the job is still waiting, because the queue may be faster than the hand-over's COMMIT. */
function mayBeFinished(id: string, { state, queue }: Pick<Job, 'state' | 'queue'>): void {
  if (queue === null)
    throw new ConflictError(`The job ${id} does not belong to an external queue: Kalends runs it`)
  if (state !== 'external' && state !== 'waiting')
    throw new ConflictError(`The job ${id} was not handed over: it is ${state}`)
}
