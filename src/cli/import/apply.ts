import { spanText } from '../../duration.ts'
import { messageOf } from '../../errors.ts'
import type { Kalends, Listed, ListPage, Schedule } from '../../index.ts'
import { checkTimer } from '../../timer/index.ts'
import { hasCode, QuietFailure, UsageError } from '../failure.ts'
import { printResult, say } from '../output.ts'
import { type SessionFlags, withKalends } from '../session.ts'
import { factsText } from '../table.ts'
import { COMMAND_TASK, when } from '../values.ts'
import type { Candidate } from './candidate.ts'
import { type Existing, isNumbered, matched, type Named } from './match.ts'

export type ImportFlags = SessionFlags & {
  readonly idPrefix: string
  readonly iterations: number
  readonly paused?: boolean
  readonly dryRun?: boolean
  readonly prune?: boolean
}

type Result = 'created' | 'changed' | 'unchanged' | 'would be created' | 'refused' | 'left out'

interface Outcome extends Named {
  readonly result: Result
}

/**
 * @param mayBeOwn  whether an earlier import of this source may have created a schedule whose name no candidate has;
 *   with the prefix `cron.`, `cron.php.clean` may come from an import with the prefix `cron.php.`
 * @throws QuietFailure if any candidate was refused
 */
export async function importAll(
  candidates: readonly Candidate[],
  flags: ImportFlags,
  mayBeOwn: (name: string, args: unknown) => boolean,
): Promise<void> {
  if (candidates.length === 0) throw new UsageError('it contains nothing to import')
  if (flags.dryRun === true && flags.prune === true)
    throw new UsageError(
      '--dry-run reads no database, so it cannot show what --prune removes: use only one of them',
    )
  const { outcomes, stale } =
    flags.dryRun === true
      ? {
          outcomes: matched(candidates, [], flags.idPrefix).named.map((one) =>
            outcomeOf(one, 'would be created'),
          ),
          stale: [],
        }
      : await withKalends(flags, (kalends) => writeAll(kalends, candidates, flags, mayBeOwn))
  for (const outcome of outcomes)
    printResult(flags.json, recordOf(outcome, flags.iterations), `${pageOf(outcome, flags.iterations)}\n`)
  const ending = flags.prune === true ? 'removed' : 'stale'
  const hint = flags.prune === true ? '' : ', but it still runs: remove it with --prune'
  for (const id of stale) {
    const facts = [
      ['Schedule', `${id} (${ending})`] as const,
      ['Note', `its entry no longer exists${hint}`] as const,
    ]
    printResult(flags.json, { id, result: ending }, `${factsText(facts)}\n`)
  }
  const counts = new Map<string, number>()
  for (const { result } of outcomes) counts.set(result, (counts.get(result) ?? 0) + 1)
  if (stale.length > 0) counts.set(ending, stale.length)
  say(`${[...counts].map(([result, count]) => `${count} ${result}`).join(', ')}.`)
  if (flags.dryRun !== true && outcomes.some(({ result }) => result !== 'refused' && result !== 'left out'))
    say(
      'The commands run on workers that allow them: kalends start --allow-commands. Remove the entries from the old scheduler, or they will run twice.',
    )
  if (counts.has('refused')) throw new QuietFailure()
}

async function writeAll(
  kalends: Kalends,
  candidates: readonly Candidate[],
  { idPrefix, paused, prune }: ImportFlags,
  mayBeOwn: (name: string, args: unknown) => boolean,
): Promise<{ outcomes: Outcome[]; stale: string[] }> {
  const existing = (await commandsOf(kalends, idPrefix)).filter(
    ({ id, args }) =>
      candidates.some(({ name }) => isNumbered(id, idPrefix + name)) ||
      mayBeOwn(id.slice(idPrefix.length), args),
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

function outcomeOf(named: Named, result: Result, ...notes: readonly string[]): Outcome {
  return {
    ...named,
    result: named.schedule !== null ? result : named.isLeftOut ? 'left out' : 'refused',
    notes: [...named.notes, ...notes],
  }
}

function meaningOf({ schedule }: Outcome, limit: number) {
  const checked = schedule === null ? null : checkTimer(schedule.timer, { limit })
  return checked?.valid === true ? checked : { description: '', elapses: [], warnings: [] }
}

function recordOf(outcome: Outcome, iterations: number): object {
  const { source, original, id, result, schedule, notes } = outcome
  const { elapses, warnings } = meaningOf(outcome, iterations)
  return {
    source,
    original,
    id: schedule === null ? null : id,
    result,
    ...(schedule !== null && { ...schedule, task: COMMAND_TASK }),
    elapses: elapses.map(({ at }) => at),
    notes: [...notes, ...warnings],
  }
}

function pageOf(outcome: Outcome, iterations: number): string {
  const { source, original, id, result, schedule, isLeftOut, notes } = outcome
  const found = ['Found', `${source}: ${original}`] as const
  if (schedule === null) return factsText([found, [isLeftOut ? 'Left out' : 'Refused', notes.join('\n')]])
  const { description, elapses, warnings } = meaningOf(outcome, iterations)
  const { timer, jitter, catchUp, args } = schedule
  return factsText([
    found,
    ['Schedule', `${id} (${result})`],
    ['Timer', timer],
    ['In words', description],
    ['Elapses', elapses.map(({ at }) => when(at)).join('\n')],
    ['Jitter', jitter === 0 ? null : spanText(jitter)],
    ['Missed runs', catchUp === 0 ? null : `at most ${catchUp} made up`],
    [
      'Runs',
      args.shell === undefined
        ? JSON.stringify(args.argv)
        : `${args.shellPath ?? '/bin/sh'} -c ${args.shell}`,
    ],
    ['As user', args.user],
    ['Environment', args.env === undefined ? null : JSON.stringify(args.env)],
    ['Note', [...notes, ...warnings].join('\n')],
  ])
}
