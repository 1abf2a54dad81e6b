/**
 * The commands by name. Only the one that is called is loaded, so that `kalends --help` and a completion cost little.
 */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { harmlessLines } from './output.ts'

interface Entry {
  readonly summary: string
  readonly load: () => Promise<Command>
}

const COMMANDS: Readonly<Record<string, Entry>> = {
  start: {
    summary: 'run a worker: submit what is due, run jobs',
    load: async () => (await import('./start.ts')).startCommand(),
  },
  migrate: {
    summary: 'bring the tables of a database to what this version needs',
    load: async () => (await import('./migrate.ts')).migrateCommand(),
  },
  check: {
    summary: "check a module's handlers and declared schedules, for CI",
    load: async () => (await import('./check.ts')).checkCommand(),
  },
  doctor: {
    summary: 'look for what is wrong, and say what to do about it',
    load: async () => (await import('./doctor.ts')).doctorCommand(),
  },
  calendar: {
    summary: 'explain calendar events: normal form and next elapses',
    load: async () => (await import('./calendar.ts')).calendarCommand(),
  },
  schedules: {
    summary: 'list, add, edit, pause, run … schedules',
    load: async () => (await import('./schedules/index.ts')).schedulesCommand(),
  },
  jobs: {
    summary: 'list, follow, cancel, retry, submit jobs',
    load: async () => (await import('./jobs/index.ts')).jobsCommand(),
  },
  workers: {
    summary: 'list the workers of a database',
    load: async () => (await import('./workers.ts')).workersCommand(),
  },
  prune: {
    summary: 'remove final jobs and their logs, by age and number',
    load: async () => (await import('./prune.ts')).pruneCommand(),
  },
  import: {
    summary: 'make schedules of a crontab or of systemd timers',
    load: async () => (await import('./import/index.ts')).importCommand(),
  },
  completion: {
    summary: 'print the completion script of a shell',
    load: async () => (await import('./completion.ts')).completionCommand(() => wholeProgram()),
  },
}

const HELP = `
Examples:
  $ kalends migrate --database mysql://root@localhost/app        create or update the tables
  $ kalends start app.js --database mysql://root@localhost/app   run a worker
  $ kalends schedules list                                       what runs when
  $ kalends calendar 'Mon..Fri 9:00 Europe/Berlin' --iterations 5     when a timer goes off

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 conflict with what is there, 5 database unreachable,
130 interrupted. Data goes to stdout, all else to stderr; --json prints one JSON object a line.`

/** @param args  of the command line: the command that they name is loaded, the others are known by name only */
export async function program(args: readonly string[]): Promise<Command> {
  const named = args.find((arg) => !arg.startsWith('-') && arg !== 'help')
  return programWith((name) => name === named)
}

/** With every command loaded. */
export function wholeProgram(): Promise<Command> {
  return programWith(() => true)
}

async function programWith(isLoaded: (name: string) => boolean): Promise<Command> {
  const { version }: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  const main = new Command('kalends')
    .description("Periodic tasks in the application's own SQL database.")
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain a command')
    .helpCommand('help [command]', 'explain a command')
    .option('--verbose', 'errors with their stack and causes, logs with all that happens')
    .configureHelp({ showGlobalOptions: true, subcommandTerm: (command) => command.name() })
    .showHelpAfterError('(kalends --help tells more)')
    .addHelpText('after', HELP)
    .configureOutput({ outputError: (text, write) => write(`${harmlessLines(text.trimEnd())}\n`) })
    .exitOverride()
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    const command = isLoaded(name) ? await load() : new Command(name)
    main.addCommand(inheriting(command.summary(summary), main))
  }
  return main
}

/** Groups have commands of their own. */
function inheriting(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent)
  for (const child of command.commands) inheriting(child, command)
  return command
}
