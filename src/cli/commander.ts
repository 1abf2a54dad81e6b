/**
 * Adds types to commander for the options and arguments that a command declares. The types come from a package that
 * only the compiler needs; at run time, the classes come from commander.
 */
import * as commander from 'commander'
import type * as typed from '@commander-js/extra-typings'

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- extra-typings re-exports the classes of commander
export const { Argument, Command, Option } = commander as unknown as typeof typed

export type OptionValues = typed.OptionValues

export type Command<
  Args extends unknown[] = [],
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- a new command has no options
  Flags extends OptionValues = Record<never, never>,
> = typed.Command<Args, Flags>

export type Option = typed.Option

export type AnyCommand = typed.CommandUnknownOpts

export function examples(...commands: readonly string[]) {
  return ['after', `\nExamples:\n${commands.map((command) => `  $ kalends ${command}`).join('\n')}`] as const
}

/** The same command, after `add` has added options that the compiler cannot see. */
export function withFlags<Args extends unknown[], Flags extends OptionValues, Added>(
  command: Command<Args, Flags>,
  add: (command: AnyCommand) => void,
): Command<Args, Flags & Added> {
  add(command)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `Added` is what `add` adds
  return command as unknown as Command<Args, Flags & Added>
}
