/** Reads `.timer` units and the services that they start. */
import { spanText } from '../../duration.ts'
import { timer as readTimer, timeSpan, withZone } from '../../timer/index.ts'
import { varyingUnit } from '../../timer/span.ts'
import { type Candidate, candidate, Refusal } from './candidate.ts'
import { serviceCommand, type ServiceCommand } from './service.ts'
import { flagOf, lastOf, type UnitFile, valuesOf } from './unit-file.ts'

/** Units by their file name. */
export type Units = ReadonlyMap<string, UnitFile>

/** The settings that become timers. */
const TIMES: readonly (readonly [key: string, timerOf: (value: string) => string])[] = [
  ['OnCalendar', (event) => event],
  ['OnUnitActiveSec', (span) => `every ${fixed(span)}`],
  ['OnUnitInactiveSec', (span) => `every ${fixed(span)} after finish`],
]
/** systemd's month is 30.44 days, and its year 365.25. */
const fixed = (span: string) => (varyingUnit(span) === null ? span : spanText(timeSpan(span)))
const BOOT = ['OnBootSec', 'OnStartupSec', 'OnActiveSec'] as const
const KNOWN: ReadonlySet<string> = new Set([
  ...BOOT,
  ...TIMES.map(([key]) => key),
  'Unit',
  'Persistent',
  'RandomizedDelaySec',
  'RandomizedOffsetSec',
  'FixedRandomDelay',
  'AccuracySec',
  'RemainAfterElapse',
])

/** @param zone  the machine's zone, for calendar events that name none */
export function readTimers(units: Units, zone: string): Candidate[] {
  return [...units]
    .filter(([name]) => name.endsWith('.timer'))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, unit]) => candidatesOf(name, unit, units, zone))
}

function candidatesOf(name: string, unit: UnitFile, units: Units, zone: string): Candidate[] {
  const base = name.slice(0, -'.timer'.length)
  const wanted = TIMES.flatMap(([key, timerOf]) =>
    valuesOf(unit, 'Timer', key).map((value) => ({ original: `${key}=${value}`, text: timerOf(value) })),
  )
  const refusal = (message: string) =>
    candidate({ source: name, original: settingsText(unit), name: base }, () => {
      throw new Refusal(message)
    })
  if (base.endsWith('@')) return [refusal('it is a template: import its instances, under their own names')]
  if (wanted.length === 0)
    return [
      refusal(
        `it only has times that count from the start of the machine: ${BOOT.filter((key) => valuesOf(unit, 'Timer', key).length > 0).join(', ') || 'none'}`,
      ),
    ]
  return wanted.map(({ original, text }) =>
    candidate({ source: name, original, name: base }, () => {
      const command = commandOf(base, unit, units)
      return {
        schedule: {
          timer: withZone(readTimer(text).text, zone),
          args: command.args,
          summary: lastOf(unit, 'Unit', 'Description')?.slice(0, 1000) ?? null,
          jitter: spanOf(unit, 'RandomizedDelaySec') || spanOf(unit, 'RandomizedOffsetSec'),
          catchUp: flagOf(unit, 'Timer', 'Persistent') ? 1 : 0,
          // A unit that is active is not started again.
          overlap: 'skip',
          timeout: command.timeout,
        },
        notes: [...notesOf(unit, wanted.length), ...command.notes],
      }
    }),
  )
}

function commandOf(base: string, unit: UnitFile, units: Units): ServiceCommand {
  const service = lastOf(unit, 'Timer', 'Unit') ?? `${base}.service`
  if (!service.endsWith('.service')) throw new Refusal(`it starts ${service}, which is not a service`)
  const found = units.get(service) ?? units.get(service.replace(/@.*\./, '@.'))
  if (found === undefined) throw new Refusal(`there is no ${service} beside it`)
  return serviceCommand(service, found)
}

function spanOf(unit: UnitFile, key: string): number {
  const text = lastOf(unit, 'Timer', key)
  return text === undefined ? 0 : timeSpan(text)
}

function notesOf(unit: UnitFile, timers: number): string[] {
  const notes: string[] = []
  const given = (key: string) => lastOf(unit, 'Timer', key)
  if (timers > 1) notes.push('each of its times becomes a schedule; runs of different schedules may overlap')
  const boot = BOOT.filter((key) => given(key) !== undefined)
  if (boot.length > 0) notes.push(`${boot.join(', ')}: nothing runs at machine start`)
  if (given('OnUnitActiveSec') !== undefined)
    notes.push(
      'OnUnitActiveSec: the runs are on a fixed grid from its creation, not counted from the last start',
    )
  if (spanOf(unit, 'RandomizedDelaySec') > 0 && !flagOf(unit, 'Timer', 'FixedRandomDelay'))
    notes.push(
      'RandomizedDelaySec: the delay is a stable part of it, as with FixedRandomDelay=, not random for each run',
    )
  if (given('AccuracySec') !== undefined) notes.push('AccuracySec: runs are exact, not grouped')
  const others = [...(unit.get('Timer')?.keys() ?? [])].filter((key) => !KNOWN.has(key))
  if (others.length > 0) notes.push(`not carried over: ${others.join(', ')}`)
  return notes
}

/** The section [Timer] in one line. */
function settingsText(unit: UnitFile): string {
  return [...(unit.get('Timer')?.entries() ?? [])]
    .flatMap(([key, values]) => values.map((value) => `${key}=${value}`))
    .join(' ')
}
