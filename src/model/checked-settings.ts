import { InvalidInputError } from '../errors.ts'
import {
  checkedFlag,
  checkedInstant,
  checkedName,
  checkedWhole,
  isStorable,
  oneOf,
  shownInput,
  spanOption,
} from './input.ts'
import { isNullable, isUpTo, type OptionName, settingOf, SETTINGS, type SettingValues } from './settings.ts'

/** The given settings, in stored form. @throws InvalidInputError naming the setting */
export function checkedSettings(
  names: readonly OptionName[],
  options: { readonly [Name in OptionName]?: unknown },
): Partial<SettingValues> {
  const checked = names
    .filter((name) => options[name] !== undefined)
    .map((name) => {
      const value = options[name]
      const setting = settingOf(name)
      const isNull = value === null && isNullable(setting)
      return [name, isNull ? null : checkedSetting(name, value, setting.otherwise)]
    })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each value was checked for its setting
  return Object.fromEntries(checked) as Partial<SettingValues>
}

/** @param otherwise  the meaning of null, which the caller handles @throws InvalidInputError */
export function checkedSetting(name: OptionName, value: unknown, otherwise?: string): unknown {
  const setting = settingOf(name)
  switch (setting.kind) {
    case 'text':
      return checkedText(name, value, setting)
    case 'whole':
      return checkedWhole(name, value, setting.least, setting.most, otherwise, setting.unlimited)
    case 'span':
      return spanOption(name, value, 0, setting)
    case 'choice':
      return oneOf(name, value, Object.keys(setting.values))
    case 'instant':
      return checkedInstant(name, value)
    case 'flag':
      return checkedFlag(name, value)
    default:
      throw new TypeError(`${name} is stored as JSON, which checkedSetting cannot check`)
  }
}

/** The reason for a pause or a freeze, or null if there is none. @throws InvalidInputError */
export function checkedReason(reason: unknown): string | null {
  return reason === undefined || reason === null
    ? null
    : String(checkedText('reason', reason, SETTINGS.summary))
}

/** A name may be empty, which means that there is none. */
function checkedText(
  field: string,
  value: unknown,
  { most, isName }: { readonly most: number; readonly isName?: true },
): unknown {
  if (isName === true && value !== '') return checkedName(field, value, most)
  if (typeof value !== 'string' || !isUpTo(value, most) || !isStorable(value)) {
    throw new InvalidInputError(
      field,
      `must be a string of at most ${most} characters without NUL or lone surrogates, got ${shownInput(value)}`,
    )
  }
  return value
}
