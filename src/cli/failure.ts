import { CommanderError } from 'commander'
import { errorText, InvalidInputError, messageOf } from '../errors.ts'
import { SETTING_NAMES } from '../model/settings.ts'
import { harmlessLines } from './output.ts'

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  unavailable: 5,
  interrupted: 130,
} as const

export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.failed, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.exitCode = exitCode
  }
}

/** The command line or the configuration is invalid, so nothing was done. */
export class UsageError extends CommandError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, EXIT.usage, options)
  }
}

/** The command has already reported everything; only the exit code remains to be set. */
export class QuietFailure extends CommandError {
  constructor(exitCode: number = EXIT.failed) {
    super('', exitCode)
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

const EXIT_CODES: ReadonlyMap<unknown, number> = new Map([
  ['KALENDS_INVALID_INPUT', EXIT.usage],
  ['KALENDS_CALENDAR_SYNTAX', EXIT.usage],
  ['KALENDS_CRON_SYNTAX', EXIT.usage],
  ['KALENDS_INVALID_TIME_SPAN', EXIT.usage],
  ['KALENDS_NOT_FOUND', EXIT.notFound],
  ['KALENDS_CONFLICT', EXIT.conflict],
  ['KALENDS_STORE_UNAVAILABLE', EXIT.unavailable],
])

/** The option for each field that the library's errors name. */
const OPTIONS: ReadonlyMap<string, string> = new Map<string, string>(
  [
    ...SETTING_NAMES.filter((name) => name !== 'task' && name !== 'enabled'),
    ...'age concurrency database driver lease limit perSchedule redact runAt schema tablePrefix pollInterval worker zone'.split(
      ' ',
    ),
  ].map((field) => [field, flagOf(field)]),
).set('trustedProxies', '--trusted-proxy')

/** Such as `--catch-up` for `catchUp`. */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** @returns the exit code */
export function report(error: unknown, verbose: boolean, write: (text: string) => void): number {
  // commander has already reported this error; help and version are not errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (error instanceof QuietFailure) return error.exitCode
  // Ids, file names and driver messages may contain any characters.
  write(`${harmlessLines(`error: ${verbose ? errorText(error) : commandMessage(error)}`)}\n`)
  if (!verbose && error instanceof Error && error.cause !== undefined) write('(--verbose shows where)\n')
  return exitCodeOf(error)
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return EXIT_CODES.get(code) ?? EXIT.failed
}

/** The message, naming the option instead of the field. */
export function commandMessage(error: unknown): string {
  const message = messageOf(error)
  const option =
    error instanceof InvalidInputError ? OPTIONS.get(error.field.replace('retention.', '')) : undefined
  return option === undefined ? message : `option '${option}': ${message.slice(message.indexOf(': ') + 2)}`
}
