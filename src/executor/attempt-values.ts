import { errorText, InvalidInputError, messageOf, PermanentError } from '../errors.ts'
import type { ClaimedJob } from '../model/job.ts'
import type { Secrets } from '../model/secrets.ts'
import { jsonText } from '../model/json-text.ts'
import type { AttemptLog } from './attempt-log.ts'
import type { AttemptOptions } from './options.ts'

/** What one attempt stores: its progress and its result as JSON text, and its error text, without secrets. */
export class AttemptValues {
  readonly #job: ClaimedJob
  readonly #log: AttemptLog
  readonly #options: AttemptOptions
  #lastProgress = 'null'
  /** The secrets of all progress except the latest. */
  readonly #earlier: Secrets

  constructor(job: ClaimedJob, log: AttemptLog, options: AttemptOptions) {
    this.#job = job
    this.#log = log
    this.#options = options
    this.#earlier = options.redaction.secretsOf({})
  }

  /** A result that cannot be stored now could not be stored on the next attempt either. */
  resultText(result: unknown): string | null {
    if (result === undefined) return null
    try {
      return this.#jsonText('result', result)
    } catch (error) {
      throw new PermanentError(messageOf(error), { cause: error })
    }
  }

  #jsonText(field: 'result' | 'progress', value: unknown): string {
    const { argsLimit, redaction, onConverted } = this.#options
    const { secrets } = this.#log
    const converted: [path: string, what: string][] = []
    const json = jsonText(field, value, {
      limit: argsLimit,
      loneSurrogates: 'replace',
      onConverted: (...of) => void converted.push(of),
    })
    if (redaction.hides(field)) redaction.addSecrets(secrets, { [field]: JSON.parse(json) })
    // A key in the path may be a secret.
    for (const [path, what] of converted) onConverted(this.#job.task, secrets.hiddenInText(path), what)
    return json
  }

  progressText(value: unknown): string {
    const { redaction } = this.#options
    const json = this.#jsonText('progress', value)
    if (redaction.hides('progress'))
      redaction.addSecrets(this.#earlier, { progress: JSON.parse(this.#lastProgress) })
    this.#lastProgress = this.#stored('progress', json)
    return this.#lastProgress
  }

  storedResult(value: unknown): string | null {
    const json = this.resultText(value)
    const stored = json === null ? null : this.#stored('result', json)
    if (stored !== json)
      this.#log.write('warn', 'The result contains secrets of earlier progress; it is stored without them')
    return stored
  }

  /** See `Redaction.stored`. */
  #stored(root: 'result' | 'progress', json: string): string {
    const { redaction } = this.#options
    if (!redaction.hides('progress')) return json
    const value: unknown = JSON.parse(json)
    const row = () => ({
      args: JSON.parse(this.#job.argsText),
      progress: JSON.parse(this.#lastProgress),
      [root]: value,
    })
    const stored = redaction.stored(root, value, row, this.#earlier)
    return stored === value ? json : JSON.stringify(stored)
  }

  /** The error of a schema without secrets; the original may quote the args. */
  shownMismatch({ message }: InvalidInputError): InvalidInputError {
    const text = this.#log.secrets.storable(message, this.#options.argsLimit)
    return new InvalidInputError('args', text.replace(/^args: /, ''))
  }

  errorText(error: unknown): string {
    return this.#log.secrets.storable(errorText(error), this.#options.argsLimit)
  }
}
