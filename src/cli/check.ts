/** `kalends check`: a module's declarations as `start` checks them, for CI. */
import { Command } from 'commander'
import { DeclarationError } from '../errors.ts'
import { Kalends } from '../kalends.ts'
import { EXIT, messageOf } from './failure.ts'
import { loadModule } from './load-module.ts'
import { print, printJson, say } from './output.ts'

interface Options {
  readonly json?: boolean
  readonly zone?: string
}

export function checkCommand(): Command {
  return new Command('check')
    .description(
      'Loads a module and checks its handlers and declared schedules, as `kalends start` does before it starts\n' +
        'anything: ids, timers, zones, args, missing handlers. Needs no database. Tells all problems at once, and\n' +
        'ends with 1 when there are any.',
    )
    .argument('<module>', "the application's file: handlers and declared schedules")
    .option('--zone <zone>', "written into timers that name none: an IANA name, or 'local'")
    .option('--json', 'print JSON: { "ok", "problems" }')
    .addHelpText(
      'after',
      '\nExamples:\n  $ kalends check app.js\n  $ kalends check app.js --json | jq -r .problems[]',
    )
    .action(check)
}

async function check(module: string, options: Options): Promise<void> {
  const setup = await loadModule(module)
  const problems = await problemsOf(async () => {
    // Declarations are checked against the code alone; what the module does beside them needs some database.
    const kalends = await Kalends.open('sqlite::memory:', { zone: options.zone })
    try {
      await setup(kalends)
      await kalends.check()
    } finally {
      await kalends.stop({ grace: 0 })
    }
  })
  if (options.json === true) printJson({ ok: problems.length === 0, problems })
  else if (problems.length === 0) print(`${module}: no problems\n`)
  else {
    say(`${module} has ${problems.length} problem(s):`)
    for (const problem of problems) say(`  - ${problem}`)
  }
  // What the module has left open, a pool or a timer, must not keep the command.
  process.stdout.write('', () => process.exit(problems.length === 0 ? EXIT.ok : EXIT.failed))
}

async function problemsOf(work: () => Promise<void>): Promise<readonly string[]> {
  try {
    await work()
    return []
  } catch (error) {
    if (error instanceof DeclarationError) return error.problems
    const cause = error instanceof Error ? error.cause : undefined
    if (error instanceof Error && 'code' in error && error.code === 'INVALID_INPUT') throw error
    if (cause instanceof DeclarationError) return cause.problems
    return [messageOf(error)]
  }
}
