/** The options that say what a schedule is: the same for `add` and `edit`. */
import type { Command } from 'commander'
import type { ScheduleChanges } from '../../index.ts'
import { OPTION_NAMES, SETTINGS } from '../../model/settings.ts'
import {
  clearableFlags,
  givenSettings,
  helpOf,
  type SettingFlags as Flags,
  withSettingFlags,
} from '../setting-flags.ts'
import { jsonValue, usage } from '../words.ts'

export interface SettingFlags extends Flags {
  readonly timer?: string
  readonly zone?: string
  readonly args?: unknown
}

/** `enabled` is the commands `pause` and `resume`. */
const NAMES = OPTION_NAMES.filter((name) => name !== 'enabled')

export const CLEARABLE = clearableFlags(NAMES)

export function withSettings(command: Command): Command {
  command
    .option('--timer <timer>', helpOf(SETTINGS.timer))
    .option('--zone <zone>', "written into a timer that names none: an IANA name, or 'local' (default: UTC)")
    .option('--args <json>', `${helpOf(SETTINGS.args)}: '{"days":30}'`, jsonValue)
  return withSettingFlags(command, NAMES)
}

/** @returns what was given, as the library takes it. @param clears  see `givenSettings` */
export async function settingsOf(flags: SettingFlags, clears: boolean): Promise<ScheduleChanges> {
  const { zone, timer, args } = flags
  if (zone !== undefined && timer === undefined) throw usage("option '--zone' goes with --timer")
  return {
    ...(await givenSettings(flags, NAMES, clears)),
    ...(args !== undefined && { args }),
    ...(timer !== undefined && { timer: await checkedTimer(timer, zone) }),
  }
}

/** @throws CommandError with what to write instead, where that can be told */
async function checkedTimer(text: string, zone: string | undefined): Promise<string> {
  const { checkTimer, withZone } = await import('../../timer/index.ts')
  const checked = checkTimer(text)
  if (checked.valid) return zone === undefined ? text : withZone(text, zone)
  const { message, hint } = checked.error
  throw usage(`option '--timer': ${message}${hint === null || message.includes(hint) ? '' : `; ${hint}`}`)
}
