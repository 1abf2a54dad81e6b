import type { NewSchedule, Schedule } from '../generated/api.ts'
import { spanText } from '../../duration.ts'
import {
  labelOf,
  type Setting,
  SETTING_NAMES,
  type SettingName as AnySettingName,
  settingOf,
} from '../../model/settings.ts'

type SettingName = Exclude<AnySettingName, 'enabled' | 'args'>
export type Value = Schedule[SettingName]

export interface Field {
  readonly name: SettingName
  readonly kind: Setting['kind']
  readonly label: string
  readonly help: string
  /** The meaning of an empty entry. */
  readonly otherwise?: string | undefined
  /** The value for a new schedule, or null for no value. */
  readonly default?: Value | undefined
  readonly values?: Readonly<Record<string, string>> | undefined
}

/** Entries that are not settings, and the args, which are JSON. */
const OTHERS = { id: '', zone: '', firstRun: 'next', args: '{}' }

export type Name = Exclude<AnySettingName, 'enabled'> | keyof typeof OTHERS
export type Entries = Readonly<Record<Name, string>>

/** The settings of the form, without `enabled`, because a schedule is paused and resumed with buttons. */
const fields: readonly Field[] = SETTING_NAMES.filter((name) => name !== 'enabled' && name !== 'args').map(
  (name) => {
    const setting = settingOf(name)
    const { kind, description: help, otherwise, default: value } = setting
    const values = kind === 'flag' ? { false: 'no', true: 'yes' } : undefined
    return {
      name,
      kind,
      label: labelOf(name),
      help,
      otherwise,
      default: value,
      values: setting.kind === 'choice' ? setting.values : values,
    }
  },
)

function fieldOf(name: Name): Field {
  const field = fields.find((one) => one.name === name)
  if (field === undefined) throw new Error(`'${name}' is not a setting`)
  return field
}

export const TASK = fieldOf('task')
export const SUMMARY = fieldOf('summary')
/** The settings without a special place in the form and on the page. */
export const POLICIES = fields.filter(({ name }) => !['task', 'timer', 'summary'].includes(name))

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each field is a setting
export const EMPTY = {
  ...OTHERS,
  ...Object.fromEntries(fields.map((field) => [field.name, textOf(field, field.default ?? null)])),
} as Entries

export class InvalidArgs extends Error {}

export function entriesOf(schedule: Schedule): Entries {
  const settings = fields.map((field) => [field.name, textOf(field, schedule[field.name])])
  const args = JSON.stringify(schedule.args, null, 2)
  return { ...EMPTY, ...Object.fromEntries(settings), args, id: schedule.id }
}

function textOf({ kind, default: otherwise }: Field, value: Value): string {
  if (value === null) return ''
  // An entry of 0 equals an empty entry only if 0 is the default.
  if (kind === 'span') return value === 0 && otherwise === 0 ? '' : spanText(Number(value))
  return String(value)
}

/** The differences from the original schedule, or from an empty form. @throws InvalidArgs */
export function settingsOf(entries: Entries, before: Schedule | null): NewSchedule {
  const old = before === null ? EMPTY : entriesOf(before)
  const settings: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(entries)) {
    if (!isName(name) || name === 'zone') continue
    const isChanged = value.trim() !== old[name].trim()
    if (isChanged || (before === null && (name === 'task' || name === 'timer')))
      settings[name] = parsed(name, value.trim())
  }
  const { zone, timer } = entries
  if (zone.trim() !== '') Object.assign(settings, { zone: zone.trim(), timer: timer.trim() })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server checks what was typed
  return settings as unknown as NewSchedule
}

function parsed(name: Name, value: string): unknown {
  if (name === 'args') return parsedArgs(value)
  const field = fields.find((one) => one.name === name)
  if (value === '') return field?.default ?? null
  if (field?.kind === 'flag') return value === 'true'
  return field?.kind === 'whole' && /^-?\d+$/.test(value) ? Number(value) : value
}

/** @throws InvalidArgs */
export function parsedArgs(text: string): unknown {
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch (error) {
    throw new InvalidArgs(`This is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

export function isName(name: string): name is Name {
  return name in EMPTY
}
