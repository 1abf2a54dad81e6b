import { spanText } from '../../duration.ts'
import { timer, timeSpan, withZone } from '../../timer/index.ts'
import { varyingUnit } from '../../timer/span.ts'
import { type CommandUser, findUser } from '../command-user.ts'
import { type Candidate, candidates, LeftOut, type Reading, Refusal, summaryOf } from './candidate.ts'
import { serviceCommand } from './service.ts'
import { expanded, ROOT } from './specifiers.ts'
import { acceptedIn, flag, lastOf, matching, type UnitFile } from './unit-file.ts'
import type { Unit, Units } from './unit-folders.ts'

export interface TimerOptions {
  /** The zone of calendar events that name none. */
  readonly zone: string
  /** Whether to include timers that are not enabled. */
  readonly all: boolean
  /** The user that runs user units, or null for the owner of the file. */
  readonly user: CommandUser | null
}

const UNIT_NAME =
  /^[\w:.\\@-]+\.(?:service|socket|target|device|mount|automount|swap|timer|path|slice|scope)$/
const TIMES: readonly (readonly [key: string, timerOf: (value: string) => string])[] = [
  ['OnCalendar', (event) => event],
  ['OnUnitActiveSec', (text) => `every ${intervalOf(text)}`],
  ['OnUnitInactiveSec', (text) => `every ${intervalOf(text)} after finish`],
]
/** For an interval of 0, the default of AccuracySec= applies. In systemd, a month has 30.44 days and a year 365.25. */
function intervalOf(text: string): string {
  const span = timeSpan(text)
  return span === 0 ? '1min' : varyingUnit(text) === null ? text : spanText(span)
}
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
    if (!isLoaded) throw new LeftOut(unit === null ? 'its file is empty or a broken link' : 'it is masked')
    if (base.endsWith('@')) throw new LeftOut('it is a template, and runs only as instances')
    if (!options.all && !units.isEnabled(name))
      throw new LeftOut(
        'it is not enabled: no folder such as timers.target.wants contains a link to it; use --all to include it',
      )
    return readingsOf(unit, units, options)
  })
}

function readingsOf(unit: Unit, units: Units, options: TimerOptions): Reading[] {
  const { settings } = unit
  const notes: string[] = []
  const accepted = acceptedIn(settings, 'Timer', notes)
  // systemd ignores every Unit= except the first.
  const [named = unit.name.replace(/timer$/, 'service')] = accepted('Unit', (text) =>
    matching(expanded(text, unit, managerOf([unit], options)), UNIT_NAME),
  )
  const service = serviceOf(named, units)
  const manager = managerOf([unit, service], options)
  const times = TIMES.flatMap(([key, timerOf]) =>
    accepted(key, (text) => {
      const value = expanded(text, unit, manager)
      const original = `${key}=${value}`
      const span = key === 'OnCalendar' ? null : value === 'infinity' ? Infinity : timeSpan(value)
      if (span === Infinity) {
        notes.push(`${original} never elapses`)
        return []
      }
      if (span === 0)
        notes.push(
          `${original}: systemd starts it again within AccuracySec=; the schedule uses the default of AccuracySec=, 1min`,
        )
      return { key, original, timer: withZone(timer(timerOf(value)).text, options.zone) }
    }).flat(),
  )
  const boot = BOOT.filter((key) => lastOf(settings, 'Timer', key) !== undefined)
  if (times.length === 0)
    throw new Refusal(
      [
        ...notes,
        boot.length === 0
          ? 'it has no time, so systemd does not start it'
          : `it has only times relative to the start of the machine, of systemd or of the timer: ${boot.join(', ')}`,
      ].join('\n'),
    )
  const delay = accepted('RandomizedDelaySec', delayOf).at(-1) ?? 0
  const isFixed = accepted('FixedRandomDelay', flag).at(-1) ?? false
  const isPersistent = accepted('Persistent', flag).at(-1) ?? false
  const jitter = delay || (accepted('RandomizedOffsetSec', delayOf).at(-1) ?? 0)
  const command = serviceCommand(service, manager)
  const description = lastOf(settings, 'Unit', 'Description')
  const summary = description === undefined ? null : summaryOf(expanded(description, unit, manager))
  if (times.length > 1)
    notes.push('each of its times becomes a schedule; runs of different schedules may overlap')
  if (boot.length > 0) notes.push(`${boot.join(', ')}: nothing runs at these times`)
  if (times.some(({ key }) => key === 'OnUnitActiveSec'))
    notes.push(
      'OnUnitActiveSec: the interval is counted from the creation of the schedule, not from the last start',
    )
  if (delay > 0 && !isFixed)
    notes.push(
      'RandomizedDelaySec: the delay is a fixed offset within this range, as with FixedRandomDelay=, not random for each run',
    )
  if (lastOf(settings, 'Timer', 'AccuracySec') !== undefined)
    notes.push('AccuracySec: runs are exact, not grouped')
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
      // systemd does not start a unit that is still active.
      overlap: 'skip',
      timeout: command.timeout,
    },
    notes: [...notes, ...command.notes],
  }))
}

/** @throws InvalidTimeSpanError, or Refusal */
function delayOf(text: string): number {
  if (text === 'infinity') throw new Refusal('its random delay is infinite, so it practically never runs')
  return timeSpan(text)
}

function serviceOf(name: string, units: Units): Unit {
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
      `${ofUsers.name} is for user service managers, but its file belongs to ${
        ofUsers.uid === 0 ? 'root' : `${ofUsers.uid}, which is not a user of this machine`
      }: name the user with --user`,
    )
  return owner
}

function settingsText(unit: UnitFile): string {
  return [...(unit.get('Timer')?.entries() ?? [])]
    .flatMap(([key, values]) => values.map((value) => `${key}=${value}`))
    .join(' ')
}
