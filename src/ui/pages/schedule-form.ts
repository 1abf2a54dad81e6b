/** From what a form holds, which is text, to what the API takes, and back. */
import { FIELDS, type Settings } from '../api/generated/settings.ts'
import type { Schedule } from '../api/types.ts'
import { spanText } from '../../duration.ts'
import { instantOf, myZone, typedAt } from '../time/format.ts'

export type Value = Settings[Field['property']]

/** One setting, as the form shows it. */
export interface Field {
  readonly name: Name
  readonly property: Exclude<keyof Settings, 'args'>
  readonly kind: (typeof FIELDS)[number]['kind']
  readonly label: string
  readonly help: string
  /** What an empty entry means. */
  readonly otherwise?: string
  /** Of a new schedule; null: no value. */
  readonly default?: Value
  /** Of a choice: the values, each with what it means. */
  readonly values?: Readonly<Record<string, string>>
}

/** Entries that are no settings, and the args, which are JSON. */
const OTHERS = { id: '', zone: '', firstRun: 'next', args: '{}' }

export type Name = Exclude<(typeof FIELDS)[number]['name'], 'enabled'> | keyof typeof OTHERS
export type Entries = Readonly<Record<Name, string>>

/** The settings that the form has; a schedule is paused and resumed by buttons. */
const fields: readonly Field[] = FIELDS.filter((field) => field.name !== 'enabled' && field.name !== 'args')
const byName: ReadonlyMap<string, Field> = new Map(fields.map((field) => [field.name, field]))

/** The settings that a form and a page need no special place for. */
const PLACED: readonly Name[] = ['task', 'timer', 'summary']
export const POLICIES = fields.filter(({ name }) => !PLACED.includes(name))

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each field is in FIELDS
export const EMPTY = {
  ...OTHERS,
  ...Object.fromEntries(fields.map((field) => [field.name, textOf(field, field.default ?? null)])),
} as Entries

/** The args are no JSON. */
export class InvalidArgs extends Error {}

export function entriesOf(schedule: Schedule): Entries {
  const settings = fields.map((field) => [field.name, textOf(field, schedule[field.property])])
  return {
    ...EMPTY,
    ...Object.fromEntries(settings),
    args: JSON.stringify(schedule.args, null, 2),
    id: schedule.id,
  }
}

function textOf({ kind, default: otherwise }: Field, value: Value): string {
  if (value === null) return ''
  // Where none is not 0, as for a delay, 0 is a value.
  if (kind === 'span') return value === 0 && otherwise === 0 ? '' : spanText(Number(value))
  if (kind === 'instant') return typedAt(new Date(String(value)), myZone)
  return String(value)
}

/** What differs from the schedule before, or from an empty form. @throws InvalidArgs */
export function settingsOf(entries: Entries, before: Schedule | null): Record<string, unknown> {
  const old = before === null ? EMPTY : entriesOf(before)
  const settings: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(entries)) {
    if (!isName(name) || name === 'zone') continue
    const isChanged = value.trim() !== old[name].trim()
    if (isChanged || (before === null && (name === 'task' || name === 'timer')))
      settings[name] = meant(name, value.trim())
  }
  const { zone, timer } = entries
  // Beside a timer that names a zone already, this one says nothing; the server tells when two are given.
  if (zone.trim() !== '' && timer.trim() !== '') settings['timer'] = zoned(timer.trim(), zone.trim())
  return settings
}

function meant(name: Name, value: string): unknown {
  if (name === 'args') return parsedArgs(value)
  const field = byName.get(name)
  if (value === '') return field?.default ?? null
  if (field?.kind === 'instant') return instantOf(value, myZone)?.toISOString() ?? value
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

function zoned(timer: string, zone: string): string {
  return /\s(?:UTC|[A-Z][\w+-]*\/[\w+/-]+)$/u.test(timer) || timer.startsWith('every')
    ? timer
    : `${timer} ${zone}`
}

function isName(name: string): name is Name {
  return name in EMPTY
}
