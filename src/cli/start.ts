import { InvalidArgumentError } from 'commander'
import { messageOf } from '../errors.ts'
import { Kalends } from '../kalends.ts'
import { LOG_LEVELS } from '../model/states.ts'
import { timeSpan } from '../timer/index.ts'
import { type AnyCommand, Command, Option } from './commander.ts'
import { type CommandUser, commandUser } from './command-user.ts'
import { configurationOf, shownUrl, withDatabaseOptions } from './configuration.ts'
import { EXIT, UsageError } from './failure.ts'
import { loadModule } from './load-module.ts'
import { commandLog } from './log.ts'
import type { Serve } from './serve.ts'
import { wholeNumber } from './values.ts'

type Flags = ReturnType<ReturnType<typeof declaredCommand>['opts']>

const HELP = `
The module is a JavaScript file (TypeScript on a Node that imports it, 22.18 or later) such as

  import { task } from 'kalends'
  const greet = task('greet')
  export default (kalends) => {
    kalends.handle(greet, async ({ slot, log }) => log.info(\`Good morning, it is \${slot}\`))
    kalends.declare('greetings', [{ task: greet, timer: 'Mon..Fri 09:00 Europe/Berlin' }])
  }

Without a module, the worker submits due schedules and runs no jobs: jobs wait for a worker that handles
their task. Any number of workers may share one database.

With --allow-commands, the worker also runs programs, such as those of an imported crontab. Anyone with write access
to the database can then run arbitrary commands as this user, who can read the environment and the files of this
process; with --http-built-in-tasks, so can anyone with the token of the API. As root, name a user with fewer rights:
--command-user.

With --http, it serves the REST API and the web page. Clients send a token as authorization: Bearer. The token comes
from --token-file or KALENDS_TOKEN; without either, one is created, stored in a file that only you can read,
and printed as a sign-in link. A Unix socket needs no token: only this user can connect to it.

Ctrl-C or SIGTERM stops the worker cleanly: it claims no more jobs, running jobs get the grace period to finish, and
the unfinished ones return to the queue. A second Ctrl-C ends the worker at once.

Examples:
  $ kalends start app.js
  $ kalends start app.js --database mysql://root@localhost/app --concurrency 50
  $ kalends start app.js --no-scheduler --worker runner-1     only run jobs
  $ kalends start --allow-commands                            run commands, as a crontab does
  $ kalends start app.js --http 127.0.0.1:4040                with the REST API and the web page
  $ kalends start app.js --http unix:/run/kalends.sock        with the REST API, only for this user
  $ kalends start                                             only submit jobs`

export default function startCommand(): AnyCommand {
  return declaredCommand().action(start)
}

function declaredCommand() {
  const command = new Command('start')
    .description('Starts this process as a worker: it submits the jobs of due schedules and runs jobs.')
    .argument('[module]', "the application's module, with handlers and declared schedules")
  return withDatabaseOptions(command)
    .option('--worker <name>', "the worker's name, for people (default: the host's name)")
    .option('--concurrency <n>', 'how many jobs may run at the same time', wholeNumber(1, 9999), 10)
    .option('--no-scheduler', 'submit nothing: run jobs only')
    .option('--no-executor', 'run no jobs: submit only')
    .option('--zone <zone>', "zone for timers in code that name none: an IANA name, or 'local'")
    .option(
      '--lease <span>',
      'time within which other workers take over the jobs of a dead worker (default: 60s)',
    )
    .option('--poll-interval <span>', 'how often to check for changes by other processes (default: 1s)')
    .option(
      '--redact <paths>',
      'paths of secrets to hide in errors, logs and the API, such as args.password,args.users.key',
      (paths: string) => paths.split(','),
    )
    .option('--grace <span>', 'how long running jobs may continue when the worker stops', checkedSpan, '30s')
    .option('--allow-commands', 'run jobs of the task command: programs that the database names (see below)')
    .option('--command-user <name>', 'run all commands as this user (root only)')
    .option(
      '--http <address>',
      'serve the REST API at this address: 127.0.0.1:4040 or unix:/run/kalends.sock',
    )
    .option(
      '--token-file <file>',
      'the file with the API token; created if it is missing (default: the token in KALENDS_TOKEN, or else a file that Kalends chooses)',
    )
    .option(
      '--trusted-proxy <cidr>',
      'a proxy in front of the API, such as 10.0.0.0/8; may be repeated',
      (range: string, before: readonly string[]) => [...before, range],
      [],
    )
    .option('--http-built-in-tasks', "let API callers use the task 'command' and the tasks 'kalends.*'")
    .addOption(
      new Option('--log-level <level>', 'the lowest level to log')
        .choices(LOG_LEVELS)
        .default('info' satisfies (typeof LOG_LEVELS)[number]),
    )
    .option('--json', 'log JSON instead of readable lines')
    .addHelpText('after', HELP)
}

async function start(module: string | undefined, flags: Flags): Promise<void> {
  const hasHandlers = module !== undefined || flags.allowCommands === true
  const runsJobs = flags.executor && hasHandlers
  if (!flags.scheduler && !runsJobs)
    throw new UsageError(
      flags.executor
        ? 'without a module there are no jobs to run, and with --no-scheduler there is nothing else to do'
        : '--no-scheduler and --no-executor together leave nothing to do',
    )
  const { database, tables } = configurationOf(flags)
  const runsAs = commandUserOf(flags)
  const serve = await serveOf(flags, database)
  const setup = module === undefined ? null : await loadModule(module)
  const { json = false, logLevel: level } = flags
  const logger = commandLog({ json, level }, (text) => process.stdout.write(text))
  const stopped = stopSignal()
  const { worker, zone, lease, pollInterval, redact, grace } = flags
  const options = { ...tables, worker, zone, lease, pollInterval, redact, logger }
  const kalends = await Kalends.open(database, options)
  let close: (() => Promise<void>) | undefined
  try {
    await setup?.(kalends)
    if (flags.allowCommands === true) {
      const { commandTask, runCommand } = await import('./command-task.ts')
      kalends.handle(commandTask, (context) => runCommand(context, runsAs))
    }
    const concurrency = runsJobs ? flags.concurrency : 0
    await kalends.start({ scheduler: flags.scheduler, concurrency, grace })
    close = await serve?.(kalends, logger)
    logger.info({ database: shownUrl(database) }, 'Ready; press Ctrl-C to stop')
    if (!hasHandlers) logger.info({}, 'No module was given: this worker submits jobs, and others run them')
    const signal = await stopped
    logger.info({ signal, grace }, 'Stopping; press Ctrl-C again to stop at once')
  } finally {
    try {
      await close?.()
    } finally {
      await kalends.stop()
    }
  }
  // Connection pools and timers that the module left open must not keep a stopped worker running.
  process.exit(EXIT.ok)
}

/** @throws UsageError */
function commandUserOf({ allowCommands, commandUser: name }: Flags): CommandUser | null {
  if (name === undefined) return null
  if (allowCommands === true) return commandUser(name)
  throw new UsageError("option '--command-user': requires --allow-commands")
}

/** @throws UsageError */
async function serveOf(flags: Flags, database: string): Promise<Serve | null> {
  const { http, tokenFile, trustedProxy, httpBuiltInTasks } = flags
  if (http !== undefined) return (await import('./serve.ts')).serving(http, flags, database)
  const useless =
    (tokenFile !== undefined && '--token-file') ||
    (trustedProxy.length > 0 && '--trusted-proxy') ||
    (httpBuiltInTasks === true && '--http-built-in-tasks')
  if (useless === false) return null
  throw new UsageError(`option '${useless}': requires --http`)
}

function checkedSpan(text: string): string {
  try {
    timeSpan(text)
    return text
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error))
  }
}

/** A terminal sends Ctrl-C to every process in the foreground, and npm forwards it too: both signals count as one. */
const SAME_MS = 500

/** @returns a promise of the first SIGINT or SIGTERM; another one, later than this, ends the process at once */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | null = null
    const onSignal = (signal: NodeJS.Signals) => {
      if (first === null) {
        first = performance.now()
        resolve(signal)
      } else if (performance.now() - first > SAME_MS) process.exit(EXIT.interrupted)
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
}
