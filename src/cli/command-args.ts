/** The args of the task `command`: what a worker that was started with `--allow-commands` runs. */

export const COMMAND_TASK = 'command'

export interface CommandArgs {
  /** A program and its arguments; no shell reads them. */
  readonly argv?: readonly string[]
  /** In place of argv: a line for a shell. */
  readonly shell?: string
  /** Which shell; default `/bin/sh`. */
  readonly shellPath?: string
  /** All of its environment, beside PATH, HOME, SHELL, LOGNAME and USER: the worker's own is not handed on. */
  readonly env?: Readonly<Record<string, string>>
  /** The folder it runs in; default the home of the worker's user. */
  readonly cwd?: string
  /** What it reads; default nothing. */
  readonly stdin?: string
  /** As whom; the worker must be root, or that user. Default: the worker's user. */
  readonly user?: string
}

export function commandArgs(argv: readonly string[]): CommandArgs {
  return { argv }
}
