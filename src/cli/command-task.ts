/**
 * The task `command`, which exists only where `kalends start --allow-commands` asked for it: whoever may write to the
 * database may then run programs as the worker's user.
 *
 * A program gets its arguments as they are, no shell reads them unless that is asked for, and the environment that is
 * listed, not the worker's own. That keeps secrets from programs that print their environment, not from programs that
 * look for them: as the same user, they can read the worker's environment and files. Its output goes to the job's log, its exit
 * code decides. Timeout, cancel and the end of the grace period end its whole process group.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { homedir, userInfo } from 'node:os'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { type HandlerContext, PermanentError, type StandardSchema, type Task, task } from '../index.ts'
import { COMMAND_TASK, type CommandArgs } from './command-args.ts'
import { type CommandUser, USER_NAME } from './command-user.ts'

/** After SIGTERM, and before the worker gives the run up for lost. */
const KILL_AFTER_MS = 3000
/** What a program has left running may hold its pipes open: its end counts, and a moment for the last lines. */
const DRAIN_MS = 500
const MOST_LINES = 10_000
const LONGEST_LINE = 8000
const LINES_IN_ERROR = 5
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export const commandTask: Task<CommandArgs, CommandArgs> = task(COMMAND_TASK, {
  args: schema(),
  timeout: '1h',
  retries: 0,
})

/** @param user  whom every command runs as; null: the worker's user, or whom a job names where the worker is root */
export function commandRunner(
  user: CommandUser | null,
): (context: HandlerContext<CommandArgs>) => Promise<{ exitCode: 0 }> {
  return (context) => runCommand(context, user)
}

async function runCommand(
  { args, signal, log }: HandlerContext<CommandArgs>,
  user: CommandUser | null,
): Promise<{ exitCode: 0 }> {
  const [file, ...rest] = user === null ? commandLine(args) : commandLineAs(user, args)
  const child = spawn(file, rest, {
    cwd: args.cwd ?? user?.home ?? homedir(),
    env: environmentOf(args, user),
    // Becoming the user is the last step before the program is found and started, so neither PATH nor LD_PRELOAD of
    // the job act on anything that is still root. The user's other groups are left out.
    ...(user !== null && { uid: user.uid, gid: user.gid }),
    // A process group of its own, that can be ended as a whole.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const ended = endOf(child)
  // A command that does not read its input is not an error.
  child.stdin.on('error', () => undefined)
  child.stdin.end(args.stdin ?? '')
  const last: string[] = []
  let lines = 0
  const keep = (level: 'info' | 'warn') => (line: string) => {
    lines += 1
    if (level === 'warn') last.push(line)
    if (last.length > LINES_IN_ERROR) last.shift()
    if (lines < MOST_LINES) log[level](line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line)
    else if (lines === MOST_LINES) log.warn(`More than ${MOST_LINES} lines: the rest is not kept`)
  }
  const read = [readLines(child.stdout, keep('info')), readLines(child.stderr, keep('warn'))]
  const stop = () => void endGroup(child, ended)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const { code, by } = await ended
  signal.removeEventListener('abort', stop)
  await Promise.race([Promise.all(read), new Promise((resolve) => setTimeout(resolve, DRAIN_MS))])
  child.stdout.destroy()
  child.stderr.destroy()
  if (code === 0) return { exitCode: 0 }
  const how = code === null ? `was ended by ${by ?? 'a signal'}` : `ended with exit code ${code}`
  throw new Error(`${file} ${how}${last.length === 0 ? '' : `\n${last.join('\n')}`}`)
}

/** The program and its arguments, through `runuser` when it is to be another user's. */
function commandLine(args: CommandArgs): readonly [string, ...string[]] {
  const line = programOf(args)
  const { username, uid } = userInfo()
  if (args.user === undefined || args.user === username) return line
  if (uid !== 0)
    throw new PermanentError(
      `this command is the user '${args.user}''s, and this worker runs as '${username}': run a worker as that user, or as root`,
    )
  return ['runuser', '-u', args.user, '--', ...line]
}

/** A job cannot choose another user than the one the worker was started with. */
function commandLineAs({ name }: CommandUser, args: CommandArgs): readonly [string, ...string[]] {
  if (args.user === undefined || args.user === name) return programOf(args)
  throw new PermanentError(
    `this worker runs all commands as '${name}' (--command-user), and this one names the user '${args.user}': leave 'user' out`,
  )
}

function programOf(args: CommandArgs): readonly [string, ...string[]] {
  return args.shell === undefined
    ? [args.argv?.[0] ?? '', ...(args.argv?.slice(1) ?? [])]
    : [shellOf(args), '-c', args.shell]
}

function shellOf({ shellPath = '/bin/sh' }: CommandArgs): string {
  return shellPath
}

function environmentOf(args: CommandArgs, as: CommandUser | null): Record<string, string> {
  const { username, homedir: home } = userInfo()
  const user = as?.name ?? args.user ?? username
  return { PATH, HOME: as?.home ?? home, SHELL: shellOf(args), LOGNAME: user, USER: user, ...args.env }
}

function endOf(child: ChildProcess): Promise<{ code: number | null; by: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) =>
      // A program that is not there, or may not be run, will not be there for the next attempt.
      reject(new PermanentError(`the program cannot be started: ${error.message}`, { cause: error })),
    )
    child.once('exit', (code, by) => resolve({ code, by }))
  })
}

async function endGroup(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  signalGroup(child, 'SIGTERM')
  const forced = setTimeout(() => signalGroup(child, 'SIGKILL'), KILL_AFTER_MS)
  await ended.catch(() => undefined)
  clearTimeout(forced)
  // Its children may not have heard of it.
  signalGroup(child, 'SIGKILL')
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // Nobody of the group is left.
  }
}

async function readLines(stream: Readable, keep: (line: string) => void): Promise<void> {
  try {
    for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) keep(line)
  } catch {
    // Closed by us, after the end of the program.
  }
}

const KEYS: ReadonlySet<string> = new Set([
  'argv',
  'shell',
  'shellPath',
  'env',
  'cwd',
  'stdin',
  'user',
] satisfies (keyof CommandArgs)[])

function schema(): StandardSchema<CommandArgs, CommandArgs> {
  return {
    '~standard': {
      version: 1,
      vendor: 'kalends',
      validate: (value) => {
        const problems = problemsOf(value)
        return problems.length === 0
          ? // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- that is what problemsOf has looked at
            { value: value as CommandArgs }
          : { issues: problems.map((message) => ({ message })) }
      },
    },
  }
}

/** NUL would end it for the operating system, which refuses it. */
function isText(value: unknown): boolean {
  return typeof value === 'string' && !value.includes('\0')
}

function problemsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return ['an object is needed']
  const problems: string[] = []
  const given = new Map<string, unknown>(Object.entries(value))
  // Keys and values of the input are not repeated: anybody may have written them.
  if (![...given.keys()].every((key) => KEYS.has(key)))
    problems.push(`there are no fields but ${[...KEYS].join(', ')}`)
  const argv = given.get('argv')
  const isArgv = Array.isArray(argv) && argv.length > 0 && argv.every(isText) && argv[0] !== ''
  if (given.has('argv') === given.has('shell')) problems.push("either 'argv' or 'shell' is needed")
  else if (given.has('argv') && !isArgv)
    problems.push("'argv' must be a list of texts, the first of them the program")
  for (const key of ['shell', 'shellPath', 'cwd', 'stdin', 'user']) {
    // Bytes for the program to read may be any.
    const isFine = key === 'stdin' ? typeof given.get(key) === 'string' : isText(given.get(key))
    if (given.has(key) && !isFine) problems.push(`'${key}' must be a text without NUL`)
  }
  const user = given.get('user')
  if (typeof user === 'string' && !USER_NAME.test(user))
    problems.push("'user' must be the name of a user: letters, digits, '_', '.' and '-'")
  const env = given.get('env')
  const isEnv =
    typeof env === 'object' &&
    env !== null &&
    !Array.isArray(env) &&
    Object.entries(env).every(([name, text]) => /^[^=\0]+$/.test(name) && isText(text))
  if (given.has('env') && !isEnv) problems.push("'env' must be an object of texts without NUL")
  return problems
}
