import { DeclarationError } from '../errors.ts'
import { Kalends } from '../kalends.ts'
import { type AnyCommand, Command, examples } from './commander.ts'
import { commandMessage, EXIT, hasCode } from './failure.ts'
import { loadModule } from './load-module.ts'
import { print, printJson, say } from './output.ts'

export default function checkCommand(): AnyCommand {
  return new Command('check')
    .description(
      'Loads a module and checks its handlers and declared schedules, as `kalends start` does before it starts\n' +
        'anything: ids, timers, zones, args, missing handlers. Needs no database. Prints all problems at once, and\n' +
        'exits with 1 if there are any.',
    )
    .argument('<module>', "the application's module, with handlers and declared schedules")
    .option('--zone <zone>', "zone for timers that name none: an IANA name, or 'local'")
    .option('--json', 'print JSON: { "ok", "problems" }')
    .addHelpText(...examples('check app.js', 'check app.js --json | jq -r .problems[]'))
    .action(async (module, { zone, json }) => {
      const problems = await problemsOf(module, zone)
      if (json === true) printJson({ ok: problems.length === 0, problems })
      else if (problems.length === 0) print(`${module}: no problems\n`)
      else {
        say(`${module} has ${problems.length} problem(s):`)
        for (const problem of problems) say(`  - ${problem}`)
      }
      // Connection pools and timers that the module left open must not keep the command running.
      process.stdout.write('', () => process.exit(problems.length === 0 ? EXIT.ok : EXIT.failed))
    })
}

async function problemsOf(module: string, zone: string | undefined): Promise<readonly string[]> {
  const setup = await loadModule(module)
  try {
    // Declarations are checked against the code only, but the module may need a database for other things.
    const kalends = await Kalends.open('sqlite::memory:', { zone })
    try {
      await setup(kalends)
      await kalends.check()
    } finally {
      await kalends.stop({ grace: 0 })
    }
    return []
  } catch (error) {
    if (error instanceof DeclarationError) return error.problems
    const cause = error instanceof Error ? error.cause : undefined
    if (hasCode(error, 'KALENDS_INVALID_INPUT')) throw error
    return cause instanceof DeclarationError ? cause.problems : [commandMessage(error)]
  }
}
