#!/usr/bin/env node
/** The command line: `kalends …`. Every command says with its exit code how it went: see failure.ts. */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { calendarCommand } from './calendar.ts'
import { report } from './failure.ts'
import { migrateCommand } from './migrate.ts'
import { startCommand } from './start.ts'

const HELP = `
Examples:
  $ kalends migrate --database mysql://root@localhost/app        create or update the tables
  $ kalends start app.js --database mysql://root@localhost/app   run a worker
  $ kalends calendar 'Mon..Fri 9:00 Europe/Berlin' --iterations 5     when a timer goes off

Exit codes: 0 done, 1 failed, 2 wrong usage.`

function program(): Command {
  const { version }: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  const main = new Command('kalends')
    .description("Periodic tasks in the application's own SQL database.")
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain a command')
    .helpCommand('help [command]', 'explain a command')
    .option('--verbose', 'errors with their stack and causes, logs with all that happens')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(kalends --help tells more)')
    .addHelpText('after', HELP)
    .exitOverride()
  for (const command of [startCommand(), migrateCommand(), calendarCommand()])
    main.addCommand(command.copyInheritedSettings(main))
  return main
}

// `kalends … | head` is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

const main = program()
try {
  await main.parseAsync()
} catch (error) {
  process.exitCode = report(error, main.opts<{ verbose?: boolean }>().verbose === true, (text) =>
    process.stderr.write(text),
  )
}
