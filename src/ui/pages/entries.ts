/** From what a form holds, which is text, to what the API takes, and back. */
import type { Schedule } from '../api/types.ts'
import { instantOf, myZone, span, typedAt } from '../time/format.ts'

export const EMPTY = {
  id: '',
  task: '',
  timer: '',
  zone: '',
  summary: '',
  args: '{}',
  overlap: 'skip',
  catchUp: '1',
  jitter: '',
  timeout: '',
  retries: '',
  retryDelay: '',
  retryBackoff: '',
  onExhausted: 'continue',
  maxRuns: '',
  priority: '0',
  starts: '',
  ends: '',
  group: '',
  submitter: '',
  subject: '',
  firstRun: 'next',
}

export type Entries = Readonly<typeof EMPTY>
export type Name = keyof Entries

/** The args are no JSON. */
export class InvalidArgs extends Error {}

const spanOf = (ms: number | null) => (ms === null || ms === 0 ? '' : span(ms))
const typedOf = (at: string | null) => (at === null ? '' : typedAt(new Date(at), myZone))

export function entriesOf(schedule: Schedule): Entries {
  return {
    ...EMPTY,
    id: schedule.id,
    task: schedule.task,
    timer: schedule.timer,
    summary: schedule.summary ?? '',
    args: JSON.stringify(schedule.args, null, 2),
    overlap: schedule.overlap,
    catchUp: String(schedule.catchUp),
    jitter: spanOf(schedule.jitterMs),
    timeout: spanOf(schedule.timeoutMs),
    retries: schedule.maxRetries === null ? '' : String(schedule.maxRetries),
    retryDelay: spanOf(schedule.retryDelayMs),
    retryBackoff: schedule.retryBackoff ?? '',
    onExhausted: schedule.onExhausted,
    maxRuns: schedule.maxRuns === null ? '' : String(schedule.maxRuns),
    priority: String(schedule.priority),
    starts: typedOf(schedule.starts),
    ends: typedOf(schedule.ends),
    group: schedule.group,
    submitter: schedule.submitter ?? '',
    subject: schedule.subject ?? '',
  }
}

/** What an entry that was emptied means: nothing, or the default. */
const EMPTIED: Readonly<Partial<Record<Name, unknown>>> = { group: '', jitter: 0, catchUp: 1, priority: 0 }

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
  if (value === '') return name in EMPTIED ? EMPTIED[name] : null
  if (name === 'starts' || name === 'ends') return instantOf(value, myZone)?.toISOString() ?? value
  const isNumber = name === 'catchUp' || name === 'retries' || name === 'maxRuns' || name === 'priority'
  return isNumber && /^-?\d+$/.test(value) ? Number(value) : value
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
