import { counted } from '../duration.ts'
import type { Freeze } from '../index.ts'
import { type AnyCommand, Command, examples } from './commander.ts'
import { harmlessText, print, printJson, printResult, say } from './output.ts'
import { onDatabase } from './session.ts'
import { type Column, printRows } from './table.ts'
import { instantOption, when } from './values.ts'

/** A preview counts waiting jobs up to this number. */
const MAX_COUNTED = 1000

const COLUMNS: readonly Column<Freeze>[] = [
  { title: 'FREEZE', value: ({ id }) => id },
  { title: 'UNTIL', value: ({ until }) => when(until) },
  { title: 'OF', value: targetText, least: 10 },
  { title: 'REASON', value: ({ reason }) => reason ?? '-', least: 5, optional: 1 },
]

export function freezeCommand(): AnyCommand {
  const command = new Command('freeze')
    .description(
      'Stops a schedule, a task, a group or everything until a given time. Waiting jobs and retries are held,\n' +
        'slots are skipped with the reason frozen, and one-offs run when the freeze ends. Running jobs continue.',
    )
    .option('--schedule <id>', 'only this schedule')
    .option('--task <name>', 'only this task')
    .option('--group <name>', 'only this group')
    .option('--all', 'everything')
    .requiredOption('--until <time>', 'when the freeze ends')
    .option('--reason <text>', 'a note for people')
    .option('--dry-run', 'only show what would be held and skipped')
    .addHelpText(
      ...examples(
        "freeze --all --until '18:00' --reason 'Database maintenance'",
        'freeze --task report --until tomorrow --dry-run',
      ),
    )
  return onDatabase(command, async (kalends, { schedule, dryRun, json, ...flags }) => {
    const { task, group, all, reason } = flags
    const until = await instantOption('--until', flags.until)
    if (until === undefined) throw new TypeError('commander requires --until')
    const target = { scheduleId: schedule, task, group, all, until }
    if (dryRun === true) {
      const preview = await kalends.previewFreeze(target)
      if (json === true) return printJson(preview)
      for (const { at, scheduleId } of preview.slots) print(`${when(at)}  ${harmlessText(scheduleId)}\n`)
      const more = preview.isComplete ? '' : ' or more'
      const jobs =
        preview.jobs === null
          ? 'an unknown number of waiting jobs'
          : preview.jobs >= MAX_COUNTED
            ? `${MAX_COUNTED} or more waiting jobs`
            : counted(preview.jobs, 'waiting job')
      return say(
        `${counted(preview.slots.length, 'slot')}${more} would be skipped, and ${jobs} would be held.`,
      )
    }
    const freeze = await kalends.freeze({ ...target, reason })
    printResult(json, freeze, `${freeze.id}: ${targetText(freeze)} frozen until ${when(freeze.until)}\n`)
  })
}

export function thawCommand(): AnyCommand {
  const command = new Command('thaw')
    .description('Ends freezes now. Everything that no other freeze holds back continues immediately.')
    .argument('<id...>')
    .addHelpText(...examples('thaw 019a0000-0000-7000-8000-000000000000'))
  return onDatabase(command, async (kalends, ids, { json }) => {
    for (const id of ids) {
      const freeze = await kalends.thaw(id)
      printResult(json, freeze, `${freeze.id}: ${targetText(freeze)} thawed\n`)
    }
  })
}

export function freezesCommand(): AnyCommand {
  const command = new Command('freezes')
    .description('Lists the active freezes.')
    .addHelpText(...examples('freezes', 'freezes --json | jq -r .id'))
  return onDatabase(command, async (kalends, { json }) =>
    printRows(json, COLUMNS, await kalends.freezes(), 'freeze'),
  )
}

/** `task report, group a`; `everything`. */
function targetText({ scheduleId, task, group }: Freeze): string {
  const named = Object.entries({ schedule: scheduleId, task, group }).filter(([, name]) => name !== null)
  return harmlessText(named.map(([kind, name]) => `${kind} ${name}`).join(', ') || 'everything')
}
