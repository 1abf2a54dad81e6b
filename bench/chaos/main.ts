/**
 * `npm run chaos`: runs workers on a database, injects faults that a seed determines, and checks from the outside
 * whether anything was lost, duplicated or early.
 */
import { setMaxListeners } from 'node:events'
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { BREAK_NAMES, breakNamed } from './breaks.ts'
import { type Fault, type Target, TARGETS } from './fault.ts'
import { editFaults } from './faults/edits.ts'
import { handlerFaults } from './faults/handlers.ts'
import { workerFaults } from './faults/workers.ts'
import { figuresOf } from './figures.ts'
import { judge } from './judging.ts'
import { readRecord } from './record-files.ts'
import { recoveryOf } from './recovery.ts'
import { reportText, saveReport } from './report.ts'
import { LEASE_MS, run } from './run.ts'
import { clockChangeNight } from './night.ts'
import { openTarget } from './targets/open.ts'

interface Options {
  readonly url?: string
  readonly minutes: number
  readonly faults?: number
  readonly seed?: number
  readonly workers: number
  readonly schedules: number
  readonly break?: string
  readonly only?: readonly string[]
  readonly folder?: string
  readonly queue?: 'same' | 'elsewhere'
  readonly check?: string
  readonly list?: boolean
}

/** About one fault every three and a half seconds. */
const FAULTS_PER_MINUTE = 17

const program = new Command('chaos')
  .description('Runs workers on a database, injects faults, and checks that nothing was lost or duplicated.')
  .argument('[database]', `${TARGETS.join(', ')}: private servers`)
  .option(
    '--url <url>',
    'your own server or file: mysql://user@host/name or sqlite:./file.db; the run uses a new database next to it',
  )
  .option('--minutes <number>', 'length of the run', number(0.2, 24 * 60), 3)
  .option(
    '--faults <number>',
    `number of faults; default: ${FAULTS_PER_MINUTE} per minute`,
    whole(0, 100_000),
  )
  .option('--seed <number>', 'repeat the faults and schedules of an earlier run', whole(1, 2 ** 31 - 1))
  .option('--workers <number>', 'number of processes', whole(1, 32), 4)
  .option(
    '--schedules <number>',
    'number of schedules, most with a slot every second',
    whole(40, 100_000),
    200,
  )
  .addOption(new Option('--break <name>', 'remove one protection of Kalends').choices([...BREAK_NAMES]))
  .option(
    '--only <faults>',
    'only these faults, by name or by the part before the dot, separated by commas',
    (text) => text.split(','),
  )
  .addOption(
    new Option(
      '--queue <place>',
      'the application has its own queue: in the same database, or elsewhere',
    ).choices(['same', 'elsewhere']),
  )
  .option('--folder <path>', 'folder for the record; default: bench/results/chaos-…')
  .option('--check <folder>', 'only check the record of an earlier run')
  .option('--list', 'only list the faults')
  .showHelpAfterError('use --help for all options')

program.parse()
try {
  process.exitCode = await main(program.args[0], program.opts<Options>())
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  process.exitCode = 2
}

async function main(database: string | undefined, options: Options): Promise<number> {
  if (options.check !== undefined) return await checkFolder(resolve(options.check), [], null)
  const seed = options.seed ?? 1 + Math.floor(Math.random() * (2 ** 31 - 2))
  const folder = resolve(
    options.folder ?? `bench/results/chaos-${database ?? 'url'}-${seed}-${Date.now().toString(36)}`,
  )
  mkdirSync(folder, { recursive: true })
  const target = await openTarget(named(database, options), {
    workers: options.workers,
    folder,
    leaseMs: LEASE_MS,
    beginAt: new Date(clockChangeNight(seed).getTime() - options.minutes * 30_000),
  })
  try {
    const all = [...workerFaults(target, LEASE_MS), ...handlerFaults, ...editFaults, ...target.faults]
    if (options.list === true) {
      for (const { name, scope, weight } of all) say(`${name} (${scope}, weight ${weight})`)
      return 0
    }
    return await play(target, chosen(all, options.only ?? faultsOf(target, options)), database, {
      ...options,
      seed,
      folder,
    })
  } finally {
    await target.close()
  }
}

async function play(
  target: Target,
  faults: readonly Fault[],
  database: string | undefined,
  options: Options & { readonly seed: number; readonly folder: string },
): Promise<number> {
  const { seed, folder } = options
  const count = options.faults ?? Math.round(options.minutes * FAULTS_PER_MINUTE)
  say(`${target.name}: seed ${seed}, ${options.minutes} min, ${count} faults, ${options.workers} workers`)
  say(`Record: ${folder}`)
  const ended = await run(target, faults, {
    folder,
    seed,
    minutes: options.minutes,
    faults: faults.length === 0 ? 0 : count,
    workers: options.workers,
    schedules: options.schedules,
    broken: options.break === undefined ? null : breakNamed(options.break),
    queue: options.queue ?? null,
    signal: whenCalledOff(),
    say,
  })
  const command = ['npm run chaos --', database ?? '--url …', ...replay(options)].join(' ')
  return await checkFolder(folder, ended.restless, command)
}

async function checkFolder(
  folder: string,
  restless: readonly string[],
  command: string | null,
): Promise<number> {
  const record = await readRecord(folder)
  const recovery = recoveryOf(record)
  const violations = judge(record, recovery, restless)
  const text = reportText(record, figuresOf(record, recovery), violations, command)
  saveReport(folder, text, violations)
  say(`\n${text}`)
  return violations.length === 0 ? 0 : 1
}

function named(database: string | undefined, { url }: Options): string {
  if ((database === undefined) === (url === undefined))
    program.error('error: pass either a database or --url')
  if (database !== undefined && !TARGETS.some((kind) => kind === database))
    program.error(`error: unknown database '${database}'; use one of ${TARGETS.join(', ')}, or --url`)
  return database ?? url ?? ''
}

function suits({ name }: Fault, wanted: string): boolean {
  return name === wanted || name.startsWith(`${wanted}.`)
}

/** The faults that expose a break. All faults if there is no break, or if it needs no specific fault. */
function faultsOf({ kind }: Target, options: Options): readonly string[] | undefined {
  if (options.break === undefined) return undefined
  // Breaks change statements and make races possible. SQLite allows one writer at a time, so it has no races.
  if (kind === 'sqlite') program.error('error: a break needs a server')
  const { faults } = breakNamed(options.break)
  return faults.length === 0 ? undefined : faults
}

function chosen(faults: readonly Fault[], only: readonly string[] | undefined): Fault[] {
  if (only === undefined) return [...faults]
  for (const wanted of only) {
    if (!faults.some((fault) => suits(fault, wanted)))
      program.error(`error: unknown fault '${wanted}' on this target; use --list`)
  }
  return faults.filter((fault) => only.some((wanted) => suits(fault, wanted)))
}

function replay(options: Partial<Options>): string[] {
  const { minutes, faults, seed, workers, schedules, queue, only } = options
  const given = {
    minutes,
    faults,
    seed,
    workers,
    schedules,
    queue,
    break: options.break,
    only: only?.join(','),
  }
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name} ${value}`]))
}

/** The first Ctrl-C ends the run cleanly and checks it; the second ends the process at once. */
function whenCalledOff(): AbortSignal {
  const controller = new AbortController()
  // Every waiting fault adds a listener.
  setMaxListeners(0, controller.signal)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      say(
        'Interrupted: ending all faults, then checking the results so far. Interrupt again to exit at once.',
      )
      controller.abort()
    })
  }
  return controller.signal
}

function number(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && value >= least && value <= most) return value
    throw new InvalidArgumentError(`It must be a number between ${least} and ${most}.`)
  }
}

function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = number(least, most)(text)
    if (Number.isInteger(value)) return value
    throw new InvalidArgumentError(`It must be an integer between ${least} and ${most}.`)
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
