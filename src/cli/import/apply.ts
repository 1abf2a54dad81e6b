/** Candidates become schedules: shown with what they became, when they run next and what cannot be carried over. */
import type { Kalends } from '../../index.ts'
import { checkTimer } from '../../timer/index.ts'
import { COMMAND_TASK } from '../command-args.ts'
import type { DatabaseFlags } from '../configuration.ts'
import { EXIT, messageOf, QuietFailure } from '../failure.ts'
import { print, printJson, say } from '../output.ts'
import { progressBar } from '../progress-bar.ts'
import { withKalends } from '../session.ts'
import { factsText } from '../table.ts'
import { spanShort, usage, when } from '../words.ts'
import type { Candidate, CandidateSchedule } from './candidate.ts'

export interface ImportOptions extends DatabaseFlags {
  readonly idPrefix: string
  readonly iterations: number
  readonly paused?: boolean
  readonly dryRun?: boolean
  readonly json?: boolean
}

type Result = 'created' | 'changed' | 'unchanged' | 'would be made' | 'refused'

interface Outcome {
  readonly candidate: Candidate
  readonly id: string
  readonly result: Result
  readonly notes: readonly string[]
}

/** @throws QuietFailure when one of them could not be imported */
export async function importAll(candidates: readonly Candidate[], options: ImportOptions): Promise<void> {
  if (candidates.length === 0) throw usage('there is nothing to import in it')
  const named = withIds(candidates, options.idPrefix)
  const outcomes =
    options.dryRun === true
      ? named.map(({ candidate, id }) => outcomeOf(candidate, id, 'would be made'))
      : await withKalends(options, (kalends) => writeAll(kalends, named, options))
  for (const outcome of outcomes) {
    if (options.json === true) printJson(recordOf(outcome, options.iterations))
    else print(`${pageOf(outcome, options.iterations)}\n`)
  }
  const counts = new Map<Result, number>()
  for (const { result } of outcomes) counts.set(result, (counts.get(result) ?? 0) + 1)
  say(`${[...counts].map(([result, count]) => `${count} ${result}`).join(', ')}.`)
  if (options.dryRun !== true && outcomes.some(({ result }) => result !== 'refused'))
    say(
      'They run where a worker allows it: kalends start --allow-commands. Take them out of the old scheduler, or they run twice.',
    )
  if (counts.has('refused')) throw new QuietFailure('refused', { exitCode: EXIT.failed })
}

function withIds(candidates: readonly Candidate[], prefix: string): { candidate: Candidate; id: string }[] {
  const seen = new Map<string, number>()
  return candidates.map((candidate) => {
    const number = (seen.get(candidate.name) ?? 0) + 1
    seen.set(candidate.name, number)
    return { candidate, id: `${prefix}${candidate.name}${number === 1 ? '' : `-${number}`}` }
  })
}

async function writeAll(
  kalends: Kalends,
  named: readonly { readonly candidate: Candidate; readonly id: string }[],
  options: ImportOptions,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const bar = progressBar('Importing')
  for (const { candidate, id } of named) {
    bar.update(outcomes.length, named.length)
    outcomes.push(await write(kalends, candidate, id, options))
  }
  bar.end()
  return outcomes
}

async function write(
  kalends: Kalends,
  candidate: Candidate,
  id: string,
  { paused }: ImportOptions,
): Promise<Outcome> {
  const { schedule } = candidate
  if (schedule === null) return outcomeOf(candidate, id, 'refused')
  const there = await kalends.schedules.get(id)
  if (there !== null && there.task !== COMMAND_TASK)
    return outcomeOf(
      candidate,
      id,
      'refused',
      `there is a schedule '${id}' of the task '${there.task}'; choose another --id-prefix`,
    )
  try {
    const { result } = await kalends.schedules.put(id, {
      ...schedule,
      task: COMMAND_TASK,
      retries: 0,
      enabled: paused !== true,
    })
    return outcomeOf(candidate, id, result)
  } catch (error) {
    // A time that is over, an id that is too long: the others are none the worse for it.
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'INVALID_INPUT') throw error
    return outcomeOf(candidate, id, 'refused', messageOf(error))
  }
}

function outcomeOf(candidate: Candidate, id: string, result: Result, ...notes: readonly string[]): Outcome {
  const refused = candidate.schedule === null
  return { candidate, id, result: refused ? 'refused' : result, notes: [...candidate.notes, ...notes] }
}

function meaningOf({ timer }: CandidateSchedule, limit: number) {
  const checked = checkTimer(timer, { limit })
  return checked.valid ? checked : { description: '', elapses: [], warnings: [] }
}

function recordOf({ candidate, id, result, notes }: Outcome, iterations: number): object {
  const { source, original, schedule } = candidate
  const { elapses, warnings } =
    schedule === null ? { elapses: [], warnings: [] } : meaningOf(schedule, iterations)
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

function pageOf({ candidate, id, result, notes }: Outcome, iterations: number): string {
  const { source, original, schedule } = candidate
  if (schedule === null)
    return factsText([
      ['Found', `${source}: ${original}`],
      ['Refused', notes.join('\n')],
    ])
  const { description, elapses, warnings } = meaningOf(schedule, iterations)
  const { args } = schedule
  return factsText([
    ['Found', `${source}: ${original}`],
    ['Schedule', `${id} (${result})`],
    ['Timer', schedule.timer],
    ['In words', description],
    ['Elapses', elapses.map(({ at }) => when(at)).join('\n')],
    ['Jitter', schedule.jitter === 0 ? null : spanShort(schedule.jitter)],
    ['Missed runs', schedule.catchUp === 0 ? null : `at most ${schedule.catchUp} made up`],
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
