import { spanText } from '../duration.ts'
import type { Conditions, Filters } from '../model/filters.ts'
import {
  isNullable,
  labelOf,
  type OptionName,
  type Setting,
  type SettingName,
  settingOf,
} from '../model/settings.ts'
import { type Command, Option, type OptionValues, withFlags } from './commander.ts'
import { flagOf } from './failure.ts'
import { instantOption, when, wholeNumber } from './values.ts'

/** The flags by name, as commander returns them; `none` clears a setting. */
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

export function helpOf({ description }: Setting): string {
  return `${description.charAt(0).toLowerCase()}${description.slice(1)}`.replaceAll('`', "'")
}

export function withSettingFlags<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
  names: readonly OptionName[],
): Command<Args, Flags & SettingFlags> {
  return withFlags(command, (plain) => {
    for (const name of names) plain.addOption(optionOf(name))
  })
}

function optionOf(name: OptionName): Option {
  const setting = settingOf(name)
  const placeholder = setting.kind === 'text' && setting.isName === true ? 'name' : PLACEHOLDERS[setting.kind]
  const option = new Option(`${flagOf(name)} <${placeholder}>`, helpOf(setting))
  const none = isNullable(setting) ? ['none'] : []
  if (setting.kind === 'choice') option.choices([...Object.keys(setting.values), ...none])
  if (setting.kind === 'flag') option.choices(['true', 'false'])
  if (setting.kind === 'whole') {
    const { least, most, otherwise, unlimited } = setting
    const words = [...none, ...(unlimited === true ? ['unlimited'] : [])]
    const read = wholeNumber(least, most, none.length > 0 ? otherwise : undefined)
    option.argParser((text) => (words.includes(text) ? text : read(text)))
  }
  return option
}

/** @param clears  whether `none` clears a setting; if not, `none` is a normal value */
export async function givenSettings(
  flags: SettingFlags,
  names: readonly OptionName[],
  clears: boolean,
): Promise<Record<string, unknown>> {
  const given: Record<string, unknown> = {}
  for (const name of names) {
    const value = flags[name]
    if (value === undefined) continue
    const setting = settingOf(name)
    if (clears && value === 'none' && isNullable(setting)) given[name] = null
    else if (setting.kind === 'instant') given[name] = await instantOption(flagOf(name), String(value))
    else given[name] = setting.kind === 'flag' ? value === 'true' : value
  }
  return given
}

/** The text is null if the setting is null, or has its default of 0 or false. */
export function settingFacts(
  row: object,
  names: readonly SettingName[],
): [label: string, text: string | null][] {
  return names.map((name) => {
    const setting = settingOf(name)
    const value: unknown = Reflect.get(row, name)
    return [
      labelOf(name),
      (value === 0 || value === false) && setting.default === value ? null : valueText(setting, value),
    ]
  })
}

function valueText({ kind }: Setting, value: unknown): string | null {
  if (value === null) return null
  if (value instanceof Date) return when(value)
  if (kind === 'span') return spanText(Number(value))
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function flagged(filters: Filters) {
  return Object.entries(filters).flatMap(([name, filter]) =>
    filter.flag === undefined ? [] : [{ name, filter, ...filter.flag }],
  )
}

/** @param states  the states that may be given, if not all */
export function withFilters<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
  filters: Filters,
  noun: string,
  states?: readonly string[],
): Command<Args, Flags> {
  return withFlags(command, (plain) => {
    for (const { filter, form, only } of flagged(filters)) {
      const option = new Option(form, `only ${noun}s ${only}`)
      plain.addOption(filter.kind === 'word' ? option.choices(states ?? filter.values) : option)
    }
  })
}

export function conditionsOf<Of extends Filters>(filters: Of, flags: object): Conditions<Of> {
  const given = flagged(filters).map(({ name, form }) => [
    name,
    Reflect.get(flags, new Option(form).attributeName()),
  ])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- commander checks choices; other flags are text
  return Object.fromEntries(given) as Conditions<Of>
}

/** Such as `--state, --task`. */
export const namesOfFlags = (filters: Filters): string =>
  flagged(filters)
    .map(({ form }) => form.slice(0, form.indexOf(' ')))
    .join(', ')
