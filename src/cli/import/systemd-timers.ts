/** Reads `.timer` units and the services that they start. */
import { spanText } from '../../duration.ts'
import { timer, timeSpan, withZone } from '../../timer/index.ts'
import { varyingUnit } from '../../timer/span.ts'
import { type CommandUser, findUser } from '../command-user.ts'
import { type Candidate, candidates, LeftOut, type Reading, Refusal, summaryOf } from './candidate.ts'
import { serviceCommand } from './service.ts'
import { expanded, ROOT } from './specifiers.ts'
import { acceptedOf, flag, lastOf, type UnitFile, valuesOf } from './unit-file.ts'
import type { Unit, Units } from './unit-folders.ts'

export interface TimerOptions {
  /** The machine's zone, used for calendar events that name none. */
  readonly zone: string
  /** Whether to also read timers that are not enabled. */
  readonly all: boolean
  /** The user that runs user units; null means the owner of the file. */
  readonly user: CommandUser | null
}

/** The settings that become timers. */
const TIMES: readonly (readonly [key: string, timerOf: (value: string) => string])[] = [
  ['OnCalendar', (event) => event],
  ['OnUnitActiveSec', (text) => `every ${fixed(text)}`],
  ['OnUnitInactiveSec', (text) => `every ${fixed(text)} after finish`],
]
/** In systemd, a month has 30.44 days and a year 365.25. */
const fixed = (text: string) => (varyingUnit(text) === null ? text : spanText(timeSpan(text)))
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

export function readTimerUnit(name: string, units: Units, options: TimerOptions): Candidate[] {
  const unit = units.find(name)
  const base = name.slice(0, -'.timer'.length)
  const isLoaded = unit !== null && unit !== 'masked'
  const entry = { source: name, original: isLoaded ? settingsText(unit.settings) : '', name: base }
  return candidates(entry, () => {
    if (!isLoaded)
      throw new LeftOut(unit === null ? 'its file is empty, or a link to nothing' : 'it is masked')
    if (base.endsWith('@')) throw new LeftOut('it is a template, and runs only as instances')
    if (!options.all && !units.isEnabled(name))
      throw new LeftOut(
        'it is not enabled: no folder such as timers.target.wants links it; use --all to include it',
      )
    return readingsOf(unit, units, options)
  })
}

function readingsOf(unit: Unit, units: Units, options: TimerOptions): Reading[] {
  const { settings } = unit
  const service = serviceOf(unit, units, options)
  const manager = managerOf([unit, service], options)
  const notes: string[] = []
  const accepted = <Value>(key: string, read: (text: string) => Value) =>
    acceptedOf(settings, 'Timer', key, notes, read)
  const times = TIMES.flatMap(([key, timerOf]) =>
    accepted(key, (text) => {
      const value = expanded(text, unit, manager)
      return { original: `${key}=${value}`, timer: withZone(timer(timerOf(value)).text, options.zone) }
    }),
  )
  const boot = BOOT.filter((key) => lastOf(settings, 'Timer', key) !== undefined)
  if (times.length === 0)
    throw new Refusal(
      [
        ...notes,
        boot.length === 0
          ? 'it has no time, so systemd does not start it'
          : `it only has times that are relative to the machine's start: ${boot.join(', ')}`,
      ].join('\n'),
    )
  const delay = accepted('RandomizedDelaySec', timeSpan).at(-1) ?? 0
  const isFixed = accepted('FixedRandomDelay', flag).at(-1) ?? false
  const isPersistent = accepted('Persistent', flag).at(-1) ?? false
  const jitter = delay || (accepted('RandomizedOffsetSec', timeSpan).at(-1) ?? 0)
  const command = serviceCommand(service, manager)
  const description = lastOf(settings, 'Unit', 'Description')
  const summary = description === undefined ? null : summaryOf(expanded(description, unit, manager))
  if (times.length > 1)
    notes.push('each of its times becomes a schedule; runs of different schedules may overlap')
  if (boot.length > 0) notes.push(`${boot.join(', ')}: nothing runs at machine start`)
  const has = (key: string) => lastOf(settings, 'Timer', key) !== undefined
  if (has('OnUnitActiveSec'))
    notes.push(
      'OnUnitActiveSec: the runs follow a fixed grid from the creation of the schedule, instead of counting from the last start',
    )
  if (delay > 0 && !isFixed)
    notes.push(
      'RandomizedDelaySec: the delay is a fixed offset within this range, as with FixedRandomDelay=, not random for each run',
    )
  if (has('AccuracySec')) notes.push('AccuracySec: runs are exact, not grouped')
  const others = [...(settings.get('Timer')?.keys() ?? [])].filter((key) => !KNOWN.has(key))
  if (others.length > 0) notes.push(`not carried over: ${others.join(', ')}`)
  if (manager !== ROOT) notes.push(`it runs as ${manager.name}, without the session of the user`)
  return times.map((time) => ({
    original: time.original,
    schedule: {
      timer: time.timer,
      args: command.args,
      summary,
      jitter,
      catchUp: isPersistent ? 1 : 0,
      // systemd does not start an active unit again.
      overlap: 'skip',
      timeout: command.timeout,
    },
    notes: [...notes, ...command.notes],
  }))
}

function serviceOf(unit: Unit, units: Units, options: TimerOptions): Unit {
  // systemd ignores all but the first.
  const [named] = valuesOf(unit.settings, 'Timer', 'Unit')
  const name =
    named === undefined
      ? unit.name.replace(/timer$/, 'service')
      : expanded(named, unit, managerOf([unit], options))
  if (!name.endsWith('.service')) throw new Refusal(`it starts ${name}, which is not a service`)
  const service = units.find(name)
  if (service === 'masked') throw new LeftOut(`${name} is masked`)
  if (service === null) throw new Refusal(`${name} does not exist in these folders`)
  return service
}

/** The user of the service manager that runs these units. @throws Refusal */
function managerOf(units: readonly Unit[], { user }: TimerOptions): CommandUser {
  const ofUsers = units.find(({ uid }) => uid !== null)
  if (ofUsers === undefined) return ROOT
  const owner = user ?? (ofUsers.uid === 0 ? null : findUser(String(ofUsers.uid)))
  if (owner === null)
    throw new Refusal(
      `${ofUsers.name} is for service managers of users, but its file belongs to ${
        ofUsers.uid === 0 ? 'root' : `${ofUsers.uid}, which is not a user of this machine`
      }: name the user with --user`,
    )
  return owner
}

/** The section [Timer] in one line. */
function settingsText(unit: UnitFile): string {
  return [...(unit.get('Timer')?.entries() ?? [])]
    .flatMap(([key, values]) => values.map((value) => `${key}=${value}`))
    .join(' ')
}
