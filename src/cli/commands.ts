/** The commands by name. Only the requested command is loaded, so that `kalends --help` and completions are fast. */
import { VERSION } from '../generated/version.ts'
import { type AnyCommand, Command } from './commander.ts'
import { harmlessLines } from './output.ts'

type Load = () => Promise<{ readonly default: () => AnyCommand }>

const COMMANDS: Readonly<Record<string, readonly [summary: string, load: Load]>> = {
  start: ['run a worker: submit due schedules, run jobs', () => import('./start.ts')],
  migrate: ['create or update the tables of a database', () => import('./migrate.ts')],
  check: ["check a module's handlers and declared schedules, for CI", () => import('./check.ts')],
  doctor: ['find problems and suggest fixes', () => import('./doctor.ts')],
  calendar: ['explain calendar events: normal form and next elapses', () => import('./calendar.ts')],
  schedules: ['list, add, edit, pause, run … schedules', () => import('./schedules/index.ts')],
  jobs: ['list, follow, cancel, retry, submit jobs', () => import('./jobs/index.ts')],
  workers: ['list the workers of a database', () => import('./workers.ts')],
  freeze: [
    'stop a schedule, a task, a group or everything until a given time',
    async () => ({ default: (await import('./freezes.ts')).freezeCommand }),
  ],
  thaw: ['end freezes now', async () => ({ default: (await import('./freezes.ts')).thawCommand })],
  freezes: [
    'list the active freezes',
    async () => ({ default: (await import('./freezes.ts')).freezesCommand }),
  ],
  prune: ['remove final jobs and their logs by age and number', () => import('./prune.ts')],
  import: ['create schedules from a crontab', () => import('./import/index.ts')],
  completion: [
    'print a completion script for a shell',
    async () => {
      const { completionCommand } = await import('./completion.ts')
      return { default: () => completionCommand(program) }
    },
  ],
}

const HELP = `
Examples:
  $ kalends migrate --database mysql://root@localhost/app        create or update the tables
  $ kalends start app.js --database mysql://root@localhost/app   run a worker
  $ kalends schedules list                                       list what runs when
  $ kalends calendar 'Mon..Fri 9:00 Europe/Berlin' --iterations 5     list the next elapses

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 conflict with the current state, 5 database unreachable,
130 interrupted. Data goes to stdout, everything else to stderr; --json prints one JSON object per line.`

export async function program(args: readonly string[]): Promise<AnyCommand> {
  const named = args.find((arg) => !arg.startsWith('-') && arg !== 'help')
  const main = new Command('kalends')
    .description("Periodic tasks in the application's own SQL database.")
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'explain a command')
    .helpCommand('help [command]', 'explain a command')
    .option('--verbose', 'print errors with their stack traces and causes')
    .configureHelp({ showGlobalOptions: true, subcommandTerm: (command) => command.name() })
    .showHelpAfterError('(kalends --help lists all commands and options)')
    .addHelpText('after', HELP)
    .configureOutput({ outputError: (text, write) => write(`${harmlessLines(text.trimEnd())}\n`) })
    .exitOverride()
  for (const [name, [summary, load]] of Object.entries(COMMANDS)) {
    const command: AnyCommand = name === named ? (await load()).default() : new Command(name)
    main.addCommand(inheriting(command.summary(summary), main))
  }
  return main
}

function inheriting(command: AnyCommand, parent: AnyCommand): AnyCommand {
  command.copyInheritedSettings(parent)
  for (const child of command.commands) inheriting(child, command)
  return command
}
