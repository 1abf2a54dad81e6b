import type { ScheduleChanges } from '../../index.ts'
import { isNullable, NAME_LIMIT, OPTION_NAMES, settingOf, SETTINGS } from '../../model/settings.ts'
import { type AnyCommand, Command, examples } from '../commander.ts'
import { flagOf, UsageError } from '../failure.ts'
import { say } from '../output.ts'
import { onDatabase, warnOfTask } from '../session.ts'
import { givenSettings, helpOf, withSettingFlags } from '../flags.ts'
import { COMMAND_TASK, jsonValue } from '../values.ts'
import { showSchedule } from './show.ts'

/** `enabled` is changed with the commands `pause` and `resume`. */
const NAMES = OPTION_NAMES.filter((name) => name !== 'enabled')

export const CLEARABLE = NAMES.filter((name) => isNullable(settingOf(name))).map(flagOf)

const ADD_HELP = `
The words after -- are a command, which runs without a shell on a worker that was started with
\`kalends start --allow-commands\`.`

const EDIT_HELP = `
Omitted settings stay unchanged. A new timer is planned from now; the edit itself never makes it fire.
'none' clears ${CLEARABLE.join(', ')}.`

function writeCommand(name: string) {
  const command = new Command(name)
    .argument('<id>', `the id of the schedule, 1 to ${NAME_LIMIT} characters`)
    .option('--task <name>', 'the task to run')
    .option('--timer <timer>', helpOf(SETTINGS.timer))
    .option('--zone <zone>', "zone for a timer that names none: an IANA name, or 'local' (default: UTC)")
    .option('--args <json>', `${helpOf(SETTINGS.args)}: '{"days":30}'`, jsonValue)
  return withSettingFlags(command, NAMES)
}

export function addCommand(): AnyCommand {
  const command = writeCommand('add')
    .summary('create a schedule')
    .description('Creates a schedule, which first runs at the next elapse of its timer.')
    .argument('[command...]', 'after --: a command to run, instead of --task')
    .option('--paused', 'create it paused')
    .option('--now', 'also run it immediately')
    .addHelpText('after', ADD_HELP)
    .addHelpText(
      ...examples(
        `schedules add nightly --task cleanup --timer '*-*-* 03:00 Europe/Berlin' --args '{"days":30}'`,
        "schedules add poll --task poll --timer 'every 5min after finish' --retries 0",
        'schedules add backup --timer daily --jitter 1h -- /usr/local/bin/backup --all',
      ),
    )
  return onDatabase(command, async (kalends, id, argv, flags) => {
    const { task, timer, args, paused, now, json } = flags
    if (timer === undefined) throw new UsageError("option '--timer' is required: when to run")
    if ((task === undefined) === (argv.length === 0))
      throw new UsageError("either option '--task' or a command after -- is required: what to run")
    if (argv.length > 0 && args !== undefined)
      throw new UsageError("option '--args' requires --task; write the arguments of a command after --")
    const settings = await settingsOf(flags, false)
    const schedule = await kalends.schedules.create({
      ...settings,
      id,
      task: task ?? COMMAND_TASK,
      timer: settings.timer ?? timer,
      ...(argv.length > 0 && { args: { argv } }),
      enabled: paused !== true,
      firstRun: now === true ? 'now' : 'next',
    })
    await warnOfTask(kalends, schedule.task)
    await showSchedule(kalends, schedule, json)
  })
}

export function editCommand(): AnyCommand {
  const command = writeCommand('edit')
    .summary('change a schedule')
    .description('Changes settings of a schedule.')
    .addHelpText('after', EDIT_HELP)
    .addHelpText(
      ...examples(
        "schedules edit nightly --timer '*-*-* 04:00' --zone Europe/Berlin",
        'schedules edit nightly --max-runs none --retries 5',
      ),
    )
  return onDatabase(command, async (kalends, id, flags) => {
    const changes = await settingsOf(flags, true)
    if (Object.keys(changes).length === 0) throw new UsageError('no setting to change was given')
    const schedule = await kalends.schedules.update(id, changes)
    if (schedule.declaredBy !== null)
      say(
        `'${id}' is declared by the set '${schedule.declaredBy}': the next start of its code reverts the change. Change the code as well.`,
      )
    if (changes.task !== undefined) await warnOfTask(kalends, schedule.task)
    await showSchedule(kalends, schedule, flags.json)
  })
}

type WriteFlags = ReturnType<ReturnType<typeof writeCommand>['opts']>

/** @param clears  see `givenSettings` */
async function settingsOf(flags: WriteFlags, clears: boolean): Promise<ScheduleChanges> {
  const { task, zone, timer, args } = flags
  if (zone !== undefined && timer === undefined) throw new UsageError("option '--zone' requires --timer")
  return {
    ...(await givenSettings(flags, NAMES, clears)),
    ...(task !== undefined && { task }),
    ...(args !== undefined && { args }),
    ...(timer !== undefined && { timer: await checkedTimer(timer), zone }),
  }
}

/** @throws UsageError, with the correct timer if known */
async function checkedTimer(text: string): Promise<string> {
  const { checkTimer } = await import('../../timer/index.ts')
  const checked = checkTimer(text)
  if (checked.valid) return text
  const { message, hint } = checked.error
  throw new UsageError(
    `option '--timer': ${message}${hint === null || message.includes(hint) ? '' : `; ${hint}`}`,
  )
}
