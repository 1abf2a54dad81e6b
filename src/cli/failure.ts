/** How a command fails: one clear message on stderr, and the exit code that tells a script which kind it was. */
import { CommanderError } from 'commander'
import { errorText, InvalidInputError } from '../errors.ts'

/** What a script can tell apart. Taken from the codes that shells and systemd use. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const

/** Something that a command could not do; the message is for the person who typed it. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: number

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: number } = {}) {
    super(message, options)
    this.exitCode = options.exitCode ?? EXIT.failed
  }
}

/** The option behind a field that the library complains about. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ['database', '--database'],
  ['tablePrefix', '--table-prefix'],
  ['worker', '--worker'],
  ['zone', '--zone'],
  ['lease', '--lease'],
  ['wakeUp', '--wake-up'],
  ['concurrency', '--concurrency'],
])

/**
 * Says what went wrong.
 *
 * @param verbose  with stack and causes
 * @returns the exit code
 */
export function report(error: unknown, verbose: boolean, write: (text: string) => void): number {
  // commander has said it already; help and version are no faults.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  write(`error: ${verbose ? errorText(error) : messageOf(error)}\n`)
  if (!verbose && error instanceof Error && error.cause !== undefined) write('(--verbose shows where)\n')
  if (error instanceof CommandError) return error.exitCode
  return optionOf(error) === undefined ? EXIT.failed : EXIT.usage
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const option = optionOf(error)
  return option === undefined ? message : `option '${option}': ${message.slice(message.indexOf(': ') + 2)}`
}

function optionOf(error: unknown): string | undefined {
  return error instanceof InvalidInputError ? OPTIONS.get(error.field) : undefined
}
