/** The options of settings: the same wherever a command writes them. */
import { type Command, Option } from 'commander'
import { isNullable, type OptionName, type Setting, settingOf } from '../model/settings.ts'
import { flagOf } from './failure.ts'
import { instantOption, integer, wholeNumber } from './words.ts'

/** By name, as commander gives them; `none` where there is to be no value. */
export type SettingFlags = { readonly [Name in OptionName]?: string | number }

const PLACEHOLDERS: Readonly<Record<Setting['kind'], string>> = {
  text: 'text',
  whole: 'n',
  span: 'span',
  choice: 'choice',
  instant: 'time',
  flag: 'boolean',
  json: 'json',
}

/** The description as the first line of a help text has it. */
export function helpOf(setting: Setting): string {
  const { description } = setting
  return `${description.charAt(0).toLowerCase()}${description.slice(1)}`.replaceAll('`', "'")
}

export function withSettingFlags(command: Command, names: readonly OptionName[]): Command {
  for (const name of names) command.addOption(optionOf(name))
  return command
}

function optionOf(name: OptionName): Option {
  const setting = settingOf(name)
  const placeholder = setting.kind === 'text' && setting.isName === true ? 'name' : PLACEHOLDERS[setting.kind]
  const option = new Option(`${flagOf(name)} <${placeholder}>`, helpOf(setting))
  const none = isNullable(setting) ? ['none'] : []
  if (setting.kind === 'choice') option.choices([...Object.keys(setting.values), ...none])
  if (setting.kind === 'whole') {
    const read = setting.least < 0 ? integer : wholeNumber
    option.argParser((text) => (none.includes(text) ? text : read(text)))
  }
  return option
}

/** The flags that `none` clears. */
export function clearableFlags(names: readonly OptionName[]): string[] {
  return names.filter((name) => isNullable(settingOf(name))).map((name) => flagOf(name))
}

/**
 * Those that are given, as the library takes them.
 *
 * @param clears  whether `none` clears a setting; otherwise it is a value like any other
 */
export async function givenSettings(
  flags: SettingFlags,
  names: readonly OptionName[],
  clears: boolean,
): Promise<Record<string, unknown>> {
  const given: Record<string, unknown> = {}
  for (const name of names) {
    const value = flags[name]
    if (value !== undefined) given[name] = await givenValue(name, value, clears)
  }
  return given
}

async function givenValue(name: OptionName, value: string | number, clears: boolean): Promise<unknown> {
  const setting = settingOf(name)
  if (clears && value === 'none' && isNullable(setting)) return null
  return setting.kind === 'instant' ? instantOption(flagOf(name), String(value)) : value
}
