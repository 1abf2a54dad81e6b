/** The options that say what a schedule is: the same for `add` and `edit`. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { OnExhausted, Overlap, RetryBackoff, ScheduleChanges } from '../../index.ts'
import { instantOption, integer, jsonValue, usage, wholeNumber } from '../words.ts'

export interface SettingFlags {
  readonly timer?: string
  readonly zone?: string
  readonly args?: unknown
  readonly summary?: string
  readonly group?: string
  readonly subject?: string
  readonly submitter?: string
  readonly priority?: number
  readonly starts?: string
  readonly ends?: string
  readonly jitter?: string
  readonly catchUp?: number
  readonly overlap?: Overlap
  readonly onExhausted?: OnExhausted
  readonly maxRuns?: number | 'none'
  readonly timeout?: string
  readonly retries?: number
  readonly retryDelay?: string
  readonly retryBackoff?: RetryBackoff
}

export function withSettings(command: Command): Command {
  return command
    .option(
      '--timer <timer>',
      "when: a calendar event ('Mon..Fri 09:00'), 'every 5min' or 'cron 0 9 * * 1-5'",
    )
    .option('--zone <zone>', "written into a timer that names none: an IANA name, or 'local' (default: UTC)")
    .option('--args <json>', 'what the task gets: \'{"days":30}\'', jsonValue)
    .option('--summary <text>', 'what it is for')
    .option('--group <name>', 'groups take turns in the queue')
    .option('--subject <text>', 'what it is about')
    .option('--submitter <name>', 'whose it is')
    .option('--priority <n>', 'larger goes first', integer)
    .option('--starts <time>', 'no run before it')
    .option('--ends <time>', 'no run after it')
    .option('--jitter <span>', 'shift all runs by a stable part of it')
    .option('--catch-up <n>', 'most missed runs that are made up', wholeNumber)
    .addOption(
      new Option('--overlap <policy>', 'what to do while a run has not ended').choices([
        'skip',
        'queue_one',
        'replace',
        'allow',
      ]),
    )
    .addOption(new Option('--on-exhausted <policy>', 'after the last retry').choices(['continue', 'stop']))
    .option('--max-runs <n>', 'done after so many successes', positiveOrNone)
    .option('--timeout <span>', 'longest time of one attempt')
    .option('--retries <n>', 'attempts after the first', wholeNumber)
    .option('--retry-delay <span>', 'time before the first retry')
    .addOption(new Option('--retry-backoff <kind>', 'how it grows').choices(['exponential', 'fixed']))
}

/** @returns what was given, as the library takes it */
export async function settingsOf(flags: SettingFlags): Promise<ScheduleChanges> {
  const { zone, starts, ends, timer, ...rest } = flags
  if (zone !== undefined && timer === undefined) throw usage("option '--zone' goes with --timer")
  return {
    ...only(rest),
    ...(timer !== undefined && { timer: await checkedTimer(timer, zone) }),
    ...(starts !== undefined && { starts: await instantOrNone('--starts', starts) }),
    ...(ends !== undefined && { ends: await instantOrNone('--ends', ends) }),
  }
}

const SETTINGS = [
  'args',
  'summary',
  'group',
  'subject',
  'submitter',
  'priority',
  'jitter',
  'catchUp',
  'overlap',
  'onExhausted',
  'maxRuns',
  'timeout',
  'retries',
  'retryDelay',
  'retryBackoff',
] as const satisfies readonly (keyof SettingFlags)[]

const CLEARABLE: readonly string[] = [
  'summary',
  'subject',
  'submitter',
  'maxRuns',
] satisfies (keyof SettingFlags)[]

/** Without the options that are no settings, such as those of the database. */
function only(flags: SettingFlags): ScheduleChanges {
  const given = SETTINGS.filter((name) => flags[name] !== undefined)
  return Object.fromEntries(
    given.map((name) => [name, CLEARABLE.includes(name) && flags[name] === 'none' ? null : flags[name]]),
  )
}

/** @throws CommandError with what to write instead, where that can be told */
async function checkedTimer(text: string, zone: string | undefined): Promise<string> {
  const { checkTimer, withZone } = await import('../../timer/index.ts')
  const checked = checkTimer(text)
  if (checked.valid) return zone === undefined ? text : withZone(text, zone)
  const { message, hint } = checked.fault
  throw usage(`option '--timer': ${message}${hint === null || message.includes(hint) ? '' : `; ${hint}`}`)
}

async function instantOrNone(option: string, text: string): Promise<Date | null> {
  return text === 'none' ? null : ((await instantOption(option, text)) ?? null)
}

function positiveOrNone(text: string): number | 'none' {
  if (text === 'none') return text
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError('A whole number from 1 is needed, or none.')
  return Number(text)
}
