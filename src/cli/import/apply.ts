/** Creates schedules from candidates, and shows the result, the next elapses, and what cannot be carried over. */
import { spanText } from '../../duration.ts'
import { messageOf } from '../../errors.ts'
import type { Kalends } from '../../index.ts'
import { checkTimer } from '../../timer/index.ts'
import { hasCode, QuietFailure, UsageError } from '../failure.ts'
import { print, printJson, say } from '../output.ts'
import { progressBar } from '../progress-bar.ts'
import { type SessionFlags, withKalends } from '../session.ts'
import { factsText } from '../table.ts'
import { COMMAND_TASK, when } from '../values.ts'
import type { Candidate } from './candidate.ts'

export type ImportFlags = SessionFlags & {
  readonly idPrefix: string
  readonly iterations: number
  readonly paused?: boolean
  readonly dryRun?: boolean
}

type Result = 'created' | 'changed' | 'unchanged' | 'would be created' | 'refused'

interface Outcome extends Candidate {
  readonly id: string
  readonly result: Result
}

/** @throws QuietFailure if any of them was refused */
export async function importAll(candidates: readonly Candidate[], flags: ImportFlags): Promise<void> {
  if (candidates.length === 0) throw new UsageError('it contains nothing to import')
  const named = withIds(candidates, flags.idPrefix)
  const outcomes =
    flags.dryRun === true
      ? named.map((one) => outcomeOf(one, 'would be created'))
      : await withKalends(flags, (kalends) => writeAll(kalends, named, flags.paused !== true))
  for (const outcome of outcomes) {
    if (flags.json === true) printJson(recordOf(outcome, flags.iterations))
    else print(`${pageOf(outcome, flags.iterations)}\n`)
  }
  const counts = new Map<Result, number>()
  for (const { result } of outcomes) counts.set(result, (counts.get(result) ?? 0) + 1)
  say(`${[...counts].map(([result, count]) => `${count} ${result}`).join(', ')}.`)
  if (flags.dryRun !== true && outcomes.some(({ result }) => result !== 'refused'))
    say(
      'They run on workers that allow it: kalends start --allow-commands. Remove them from the old scheduler, or they run twice.',
    )
  if (counts.has('refused')) throw new QuietFailure()
}

type Named = Candidate & { readonly id: string }

function withIds(candidates: readonly Candidate[], prefix: string): Named[] {
  const seen = new Map<string, number>()
  return candidates.map((candidate) => {
    const number = (seen.get(candidate.name) ?? 0) + 1
    seen.set(candidate.name, number)
    return { ...candidate, id: `${prefix}${candidate.name}${number === 1 ? '' : `-${number}`}` }
  })
}

async function writeAll(kalends: Kalends, named: readonly Named[], enabled: boolean): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const bar = progressBar('Importing')
  for (const one of named) {
    bar.update(outcomes.length, named.length)
    outcomes.push(await write(kalends, one, enabled))
  }
  bar.end()
  return outcomes
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
    // A time in the past or an id that is too long does not affect the others.
    if (!hasCode(error, 'KALENDS_INVALID_INPUT')) throw error
    return outcomeOf(named, 'refused', messageOf(error))
  }
}

function outcomeOf(named: Named, result: Result, ...notes: readonly string[]): Outcome {
  return {
    ...named,
    result: named.schedule === null ? 'refused' : result,
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
  const { source, original, id, result, schedule, notes } = outcome
  const found = ['Found', `${source}: ${original}`] as const
  if (schedule === null) return factsText([found, ['Refused', notes.join('\n')]])
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
