/** Settings as lines of a page. */
import { labelOf, propertyOf, type Setting, type SettingName, settingOf } from '../model/settings.ts'
import { spanShort, when } from './words.ts'

/** Label and value of each of these settings; null: nothing worth a line. */
export function settingFacts(
  row: object,
  names: readonly SettingName[],
): [label: string, text: string | null][] {
  return names.map((name) => {
    const setting = settingOf(name)
    const value: unknown = Reflect.get(row, propertyOf(name))
    return [labelOf(name), value === 0 && setting.default === 0 ? null : valueText(setting, value)]
  })
}

function valueText({ kind }: Setting, value: unknown): string | null {
  if (value === null) return null
  if (value instanceof Date) return when(value)
  if (kind === 'span') return spanShort(Number(value))
  return typeof value === 'string' ? value : JSON.stringify(value)
}
