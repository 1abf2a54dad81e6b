/** `kalends start`: this process as a worker, until a signal stops it. */
import { Command, InvalidArgumentError } from 'commander'
import { Kalends } from '../kalends.ts'
import { timeSpan } from '../timer/index.ts'
import { configurationOf, type DatabaseFlags, shownUrl, withDatabaseOptions } from './configuration.ts'
import { type CommandUser, commandUser } from './command-user.ts'
import { CommandError, EXIT } from './failure.ts'
import { httpAddress } from './http-address.ts'
import { loadModule, type Setup } from './load-module.ts'
import { commandLog } from './log.ts'
import { say } from './output.ts'
import type { Serving } from './serve.ts'
import { type HttpOptions, PLAIN_HTTP, servingOf, signInLines } from './serving.ts'
import { stopSignal } from './signals.ts'

interface Options extends DatabaseFlags, HttpOptions {
  readonly worker?: string
  readonly concurrency: number
  readonly scheduler: boolean
  readonly executor: boolean
  readonly zone?: string
  readonly lease?: string
  readonly pollInterval?: string
  readonly redact?: string[]
  readonly grace: string
  readonly allowCommands?: boolean
  readonly commandUser?: string
  readonly json?: boolean
  /** Of the program. */
  readonly verbose?: boolean
}

const HELP = `
The module is a JavaScript file (TypeScript on a Node that imports it, 22.18 or later) such as

  import { task } from 'kalends'
  const greet = task('greet')
  export default (kalends) => {
    kalends.handle(greet, async ({ slot, log }) => log.info(\`Good morning, it is \${slot}\`))
    kalends.declare('greetings', [{ task: greet, timer: 'Mon..Fri 09:00 Europe/Berlin' }])
  }

Without a module the worker submits what is due and runs no jobs: jobs wait for a worker that handles
their task. Any number of workers may share one database.

With --allow-commands it also runs programs, such as those of an imported crontab. Anyone with write access to the
database can then run arbitrary commands as this user, who can read the environment and the files of this process;
with --http-built-in-tasks so can everyone with the token of the API. As root, name a user with fewer rights: --command-user.

With --http it serves the REST API and the web page. Clients send a token as authorization: Bearer. It comes from
--token-file or KALENDS_TOKEN; where neither is given, one is created, kept in a file that only you can read, and
printed as a sign-in link. A Unix socket needs no token: only this user can connect to it.

Ctrl-C or SIGTERM stops it cleanly: nothing more is claimed, what runs gets the grace period to end, the
rest goes back to the queue. A second Ctrl-C ends it at once.

Examples:
  $ kalends start app.js
  $ kalends start app.js --database mysql://root@localhost/app --concurrency 50
  $ kalends start app.js --no-scheduler --worker runner-1     only run jobs
  $ kalends start --allow-commands                            run commands, as a crontab does
  $ kalends start app.js --http 127.0.0.1:4040                with the REST API and the web page
  $ kalends start app.js --http unix:/run/kalends.sock        with the REST API, for this user alone
  $ kalends start                                             only submit them`

export function startCommand(): Command {
  const command = new Command('start')
    .description('Starts this process as a worker: it submits the jobs of due schedules and runs jobs.')
    .argument('[module]', "the application's file: handlers and declared schedules")
  return withDatabaseOptions(command)
    .option('--worker <name>', "the worker's name, for people (default: the host's name)")
    .option('--concurrency <n>', 'most jobs at the same time', wholeNumber, 10)
    .option('--no-scheduler', 'submit nothing: run jobs only')
    .option('--no-executor', 'run no jobs: submit only')
    .option('--zone <zone>', "written into the code's timers that name none: an IANA name, or 'local'")
    .option('--lease <span>', 'after this time what a dead worker held is free for others (default: 60s)')
    .option('--poll-interval <span>', 'how often to look for what others have changed (default: 1s)')
    .option(
      '--redact <paths>',
      'secrets to hide in errors, logs and the API, such as args.password,args.users.key',
      (paths: string) => paths.split(','),
    )
    .option('--grace <span>', 'time for running jobs to end at a stop', checkedSpan, '30s')
    .option('--allow-commands', 'run jobs of the task command: programs that the database names, see below')
    .option('--command-user <name>', 'run all commands as this user (root only)')
    .option(
      '--http <address>',
      'serve the REST API there: 127.0.0.1:4040, or unix:/run/kalends.sock',
      httpAddress,
    )
    .option('--token-file <file>', 'the token of the API; created where it is missing (KALENDS_TOKEN)')
    .option(
      '--trusted-proxy <cidr>',
      'a proxy in front of the API, such as 10.0.0.0/8; may be repeated',
      (range: string, before: readonly string[]) => [...before, range],
      [],
    )
    .option('--http-built-in-tasks', 'callers of the API may use the tasks command and kalends.*')
    .option('--json', 'log JSON instead of readable lines')
    .addHelpText('after', HELP)
    .action(async (module: string | undefined, _own: unknown, self: Command) => {
      await start(module, self.optsWithGlobals<Options>())
    })
}

async function start(module: string | undefined, options: Options): Promise<void> {
  const hasHandlers = module !== undefined || options.allowCommands === true
  const runsJobs = options.executor && hasHandlers
  if (!options.scheduler && !runsJobs) {
    throw new CommandError(
      options.executor
        ? 'without a module there are no jobs to run, and --no-scheduler leaves nothing else to do'
        : '--no-scheduler and --no-executor together leave nothing to do',
      { exitCode: EXIT.usage },
    )
  }
  const { database, tablePrefix } = configurationOf(options)
  const runsAs = commandUserOf(options)
  const serving = await servingOf(options, database)
  const setup = module === undefined ? null : await loadModule(module)
  const log = commandLog({ json: options.json === true, verbose: options.verbose === true }, (text) =>
    process.stdout.write(text),
  )
  const stopped = stopSignal()
  const kalends = await Kalends.open(database, {
    tablePrefix,
    worker: options.worker,
    zone: options.zone,
    lease: options.lease,
    pollInterval: options.pollInterval,
    redact: options.redact,
    logger: log,
  })
  let server: Serving | null = null
  try {
    await run(kalends, setup, options, runsJobs, runsAs)
    if (serving !== null) {
      server = await serving.open(kalends, log)
      log.info(
        { url: server.url, token: serving.token === null ? 'none needed' : 'needed' },
        'The REST API is served',
      )
      if (server.isRemote) log.warn({ url: server.url }, PLAIN_HTTP)
      // Not through the logger: logs are kept and sent on.
      for (const line of signInLines(server, serving.token)) say(line)
    }
    log.info({ database: shownUrl(database) }, 'Ready; Ctrl-C stops it')
    if (!hasHandlers) log.info({}, 'No module was given: jobs are submitted here and run elsewhere')
    const signal = await stopped
    log.info({ signal, grace: options.grace }, 'Stopping; Ctrl-C again ends it at once')
  } finally {
    await server?.close()
    await kalends.stop({ grace: options.grace })
  }
  // What the module has left open, a pool or a timer, must not keep a worker alive that has stopped.
  process.exit(EXIT.ok)
}

/** @throws CommandError */
function commandUserOf({ allowCommands, commandUser: name }: Options): CommandUser | null {
  if (name === undefined) return null
  if (allowCommands === true) return commandUser(name)
  throw new CommandError("option '--command-user': it goes with --allow-commands", { exitCode: EXIT.usage })
}

async function run(
  kalends: Kalends,
  setup: Setup | null,
  options: Options,
  runsJobs: boolean,
  runsAs: CommandUser | null,
): Promise<void> {
  await setup?.(kalends)
  if (options.allowCommands === true) {
    const { commandRunner, commandTask } = await import('./command-task.ts')
    kalends.handle(commandTask, commandRunner(runsAs))
  }
  await kalends.start({
    scheduler: options.scheduler,
    executor: runsJobs && { concurrency: options.concurrency },
  })
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('A whole number from 1 to 9999 is needed.')
  return Number(text)
}

function checkedSpan(text: string): string {
  try {
    timeSpan(text)
    return text
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}
