import type { NewSchedule, Schedule } from '../api/generated/api.ts'
import { FIELDS } from '../api/generated/settings.ts'
import { spanText } from '../../duration.ts'

type SettingName = Exclude<(typeof FIELDS)[number]['name'], 'enabled' | 'args'>
export type Value = Schedule[SettingName]

export interface Field {
  readonly name: SettingName
  readonly kind: (typeof FIELDS)[number]['kind']
  readonly label: string
  readonly help: string
  /** The meaning of an empty entry. */
  readonly otherwise?: string
  /** The value for a new schedule, or null for no value. */
  readonly default?: Value
  readonly values?: Readonly<Record<string, string>>
}

/** Entries that are not settings, and the args, which are JSON. */
const OTHERS = { id: '', zone: '', firstRun: 'next', args: '{}' }

export type Name = Exclude<(typeof FIELDS)[number]['name'], 'enabled'> | keyof typeof OTHERS
export type Entries = Readonly<Record<Name, string>>

/** The settings of the form, without `enabled`, because a schedule is paused and resumed with buttons. */
const fields: readonly Field[] = FIELDS.filter(
  (field): field is Field & (typeof FIELDS)[number] => field.name !== 'enabled' && field.name !== 'args',
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

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each field is in FIELDS
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
