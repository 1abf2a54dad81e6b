import { spanText } from '../../duration.ts'
import { messageOf } from '../../errors.ts'
import type { Kalends, Listed, ListPage, Schedule } from '../../index.ts'
import { checkTimer } from '../../timer/index.ts'
import { Command } from '../commander.ts'
import { withDatabaseOptions } from '../configuration.ts'
import { hasCode, QuietFailure, UsageError } from '../failure.ts'
import { printResult, say } from '../output.ts'
import { withKalends } from '../session.ts'
import { factsText } from '../table.ts'
import { COMMAND_TASK, when, wholeNumber } from '../values.ts'
import type { Candidate } from './candidate.ts'
import { isNameOf } from './crontab-file.ts'
import { type Existing, isNumbered, matched, type Named } from './match.ts'

/** The command without what is about the file. */
export function crontabOptions() {
  const command = new Command('crontab')
    .option('--zone <zone>', 'the time zone of the machine: an IANA name', 'local')
    .option('--id-prefix <text>', 'the prefix of the schedule ids', 'cron.')
    .option('--iterations <n>', 'how many elapses of each schedule to show', wholeNumber(0, 999_999), 3)
    .option('--paused', 'create new schedules paused')
    .option('--dry-run', 'only show the schedules; needs no database')
    .option('--prune', 'remove schedules whose entries no longer exist')
    .option('--json', 'print one JSON object per line')
  return withDatabaseOptions(command)
}

type ImportFlags = ReturnType<ReturnType<typeof crontabOptions>['opts']>

type Outcome = Named & { readonly result: string }

/**
 * @throws QuietFailure if any candidate was refused; UsageError if there are none, or for flags that exclude each other
 */
export async function importAll(candidates: readonly Candidate[], flags: ImportFlags): Promise<void> {
  if (candidates.length === 0) throw new UsageError('there is nothing to import')
  if (flags.dryRun === true && flags.prune === true)
    throw new UsageError(
      '--dry-run reads no database, so it cannot show what --prune removes: use only one of them',
    )
  const { outcomes, stale } =
    flags.dryRun === true
      ? preview(candidates, flags)
      : await withKalends(flags, (kalends) => writeAll(kalends, candidates, flags))
  for (const outcome of outcomes) printOutcome(outcome, flags)
  const ending = flags.prune === true ? 'removed' : 'stale'
  const hint = flags.prune === true ? '' : ', but the schedule still runs: remove it with --prune'
  for (const id of stale) {
    const page = factsText([
      ['Schedule', `${id} (${ending})`],
      ['Note', `its entry no longer exists${hint}`],
    ])
    printResult(flags.json, { id, result: ending }, `${page}\n`)
  }
  const counts = new Map<string, number>()
  for (const { result } of outcomes) counts.set(result, (counts.get(result) ?? 0) + 1)
  if (stale.length > 0) counts.set(ending, stale.length)
  say(`${[...counts].map(([result, count]) => `${count} ${result}`).join(', ')}.`)
  if (flags.dryRun !== true && outcomes.some(({ result }) => result !== 'refused'))
    say(
      'The commands run on workers that allow them: kalends start --allow-commands. Remove the entries from the old scheduler, or they will run twice.',
    )
  if (counts.has('refused')) throw new QuietFailure()
}

function preview(candidates: readonly Candidate[], { idPrefix }: ImportFlags) {
  const { named, stale } = matched(candidates, [], idPrefix)
  return { outcomes: named.map((one) => outcomeOf(one, 'would be created')), stale }
}

async function writeAll(
  kalends: Kalends,
  candidates: readonly Candidate[],
  { idPrefix, paused, prune }: ImportFlags,
): Promise<{ outcomes: Outcome[]; stale: string[] }> {
  // A schedule `cron.php.clean`, for example, may come from an import with the prefix `cron.php.` instead.
  const existing = (await commandsOf(kalends, idPrefix)).filter(
    ({ id, args }) =>
      candidates.some(({ name }) => isNumbered(id, idPrefix + name)) ||
      isNameOf(id.slice(idPrefix.length), args),
  )
  const { named, stale } = matched(candidates, existing, idPrefix)
  const outcomes: Outcome[] = []
  for (const one of named) outcomes.push(await write(kalends, one, paused !== true))
  if (prune === true) for (const id of stale) await kalends.schedules.delete(id)
  return { outcomes, stale }
}

/** The schedules of the task `command` whose ids start with a prefix, except those that code declares. */
async function commandsOf({ schedules }: Kalends, prefix: string): Promise<Existing[]> {
  const found: Existing[] = []
  let after: string | null = prefix
  while (after !== null) {
    const { items, next }: ListPage<Listed<Schedule>> = await schedules.list({ task: COMMAND_TASK, after })
    // Lists omit large args, so read the schedule itself.
    for (const { id, declaredBy, timer } of items.filter((one) => one.id.startsWith(prefix)))
      if (declaredBy === null) found.push({ id, timer, args: (await schedules.get(id))?.args ?? null })
    after = items.at(-1)?.id.startsWith(prefix) === false ? null : next
  }
  return found
}

async function write({ schedules }: Kalends, named: Named, enabled: boolean): Promise<Outcome> {
  const { id, schedule } = named
  if (schedule === null) return outcomeOf(named, 'refused')
  const present = await schedules.get(id)
  if (present !== null && present.task !== COMMAND_TASK)
    return outcomeOf(
      named,
      'refused',
      `the id '${id}' belongs to a schedule of the task '${present.task}'; choose another --id-prefix`,
    )
  try {
    const settings = { ...schedule, task: COMMAND_TASK, retries: 0, enabled }
    return outcomeOf(named, (await schedules.put(id, settings)).result)
  } catch (error) {
    // A candidate with a time in the past or an id that is too long does not affect other candidates.
    if (!hasCode(error, 'KALENDS_INVALID_INPUT')) throw error
    return outcomeOf(named, 'refused', messageOf(error))
  }
}

function outcomeOf(named: Named, result: string, ...notes: readonly string[]): Outcome {
  return {
    ...named,
    result: named.schedule === null ? 'refused' : result,
    notes: [...named.notes, ...notes],
  }
}

function printOutcome(outcome: Outcome, { json, iterations: limit }: ImportFlags): void {
  const { source, original, id, result, schedule, notes: own } = outcome
  const found = ['Found', `${source}: ${original}`] as const
  if (schedule === null) {
    const page = factsText([found, ['Refused', own.join('\n')]])
    printResult(json, { source, original, id: null, result, elapses: [], notes: own }, `${page}\n`)
    return
  }
  const checked = checkTimer(schedule.timer, { limit })
  const meaning = checked.valid ? checked : { description: '', elapses: [], warnings: [] }
  const elapses = meaning.elapses.map(({ at }) => at)
  const notes = [...own, ...meaning.warnings]
  const { timer, jitter, args } = schedule
  const page = factsText([
    found,
    ['Schedule', `${id} (${result})`],
    ['Timer', timer],
    ['In words', meaning.description],
    ['Elapses', elapses.map(when).join('\n')],
    ['Jitter', jitter === 0 ? null : spanText(jitter)],
    ['Runs', `${args.shellPath ?? '/bin/sh'} -c ${args.shell}`],
    ['As user', args.user],
    ['Environment', args.env && JSON.stringify(args.env)],
    ['Note', notes.join('\n')],
  ])
  const record = { source, original, id, result, ...schedule, task: COMMAND_TASK, elapses, notes }
  printResult(json, record, `${page}\n`)
}
