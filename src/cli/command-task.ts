/**
 * The task `command`, which exists only with `kalends start --allow-commands`: anyone with write access to the database
 * can then run programs, by default as the worker's user.
 *
 * A program does not inherit the worker's environment. This hides secrets from programs that print their environment,
 * but not from programs that search for them: a program that runs as the same user can read the worker's environment
 * and files. A timeout, a cancellation and the end of the grace period terminate the whole process group. If a program
 * ends on its own, processes that it leaves behind keep running. Their output is read and discarded, because without a
 * reader they would exit at their next write.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { homedir, userInfo } from 'node:os'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { messageOf } from '../errors.ts'
import { type HandlerContext, PermanentError, type Task, task } from '../index.ts'
import { type CommandUser, homeOfUser, responds, USER_NAME } from './command-user.ts'
import { COMMAND_TASK } from './values.ts'

/** The delay between SIGTERM and SIGKILL; shorter than the time until the worker abandons the run. */
const KILL_AFTER_MS = 3000
/** Processes that a program leaves behind may keep its pipes open: wait this long for the last lines. */
const DRAIN_MS = 500
const MAX_LINES = 10_000
/** In characters. Longer than the 16 KB of a log line, because the log redacts secrets before it cuts the line. */
const LONGEST_LINE = 32_768
const LINES_IN_ERROR = 5
const SHELL = '/bin/sh'
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The operating system rejects arguments that contain NUL. */
const text = z
  .string('must be a string')
  .refine((value) => !value.includes('\0'), { error: 'must be a string without NUL' })

/** The schema of the args. Errors do not repeat keys or values, because the args may come from anyone. */
const schema = z
  .strictObject(
    {
      argv: z
        .array(text, 'must be a list of strings')
        .refine(([program = '']) => program !== '', { error: 'the first string must be the program' })
        .exactOptional(),
      shell: text.exactOptional(),
      shellPath: text.exactOptional(),
      /**
       * The environment of the program, in addition to PATH, HOME, SHELL, LOGNAME and USER. This is not a
       * record schema, whose errors would contain the names of the variables.
       */
      env: z
        .custom<Record<string, string>>(isEnvironment, 'must be an object of strings without NUL')
        .exactOptional(),
      /** Default: the home directory of the user that the program runs as. */
      cwd: text.exactOptional(),
      /** May also contain NUL. */
      stdin: z.string('must be a string').exactOptional(),
      /** The worker must run as root or as this user. */
      user: text
        .regex(USER_NAME, "must be a valid user name: letters, digits, '_', '.' and '-'")
        .exactOptional(),
    },
    'must be an object whose fields are argv, shell, shellPath, env, cwd, stdin or user',
  )
  .refine(({ argv, shell }) => (argv === undefined) !== (shell === undefined), {
    error: "must have either 'argv' or 'shell'",
  })

export type CommandArgs = z.infer<typeof schema>

export const commandTask: Task<CommandArgs, CommandArgs> = task(COMMAND_TASK, {
  args: schema,
  timeout: '1h',
  retries: 0,
})

/** @param user  runs every command; null means the worker's user, or the one that a job names if the worker is root */
export async function runCommand(
  { args, signal, log }: HandlerContext<CommandArgs>,
  user: CommandUser | null,
): Promise<{ exitCode: 0 }> {
  const [file, ...rest] = commandLine(args, user)
  const cwd = args.cwd ?? user?.home ?? (await homeOf(args.user))
  await responds(cwd)
  const child = spawn(file, rest, {
    cwd,
    env: environmentOf(args, user),
    // Switching to the user is the last step before the program is looked up and started, so the job's PATH and
    // LD_PRELOAD affect nothing that still runs as root. The process does not get the user's supplementary groups.
    ...(user !== null && { uid: user.uid, gid: user.gid }),
    // This creates a process group that can be signalled as a whole.
    detached: true,
  })
  const ended = endOf(child)
  // If there are no free file descriptors, neither the process nor its streams exist.
  await Promise.race([once(child, 'spawn'), ended])
  // The program may close its input without reading it.
  child.stdin.on('error', () => undefined)
  child.stdin.end(args.stdin ?? '')
  const last: string[] = []
  let lines = 0
  let isOver = false
  const keep = (level: 'info' | 'warn') => (line: string) => {
    if (isOver) return
    lines += 1
    if (level === 'warn') last.push(line)
    if (last.length > LINES_IN_ERROR) last.shift()
    if (lines === MAX_LINES) log.warn(`The output has at least ${MAX_LINES} lines: the rest is discarded`)
    if (lines >= MAX_LINES) return
    log[level](line)
    if (line.length === LONGEST_LINE)
      log.warn(`The line above has at least ${LONGEST_LINE} characters: the rest of it is discarded`)
  }
  const read = [readLines(child.stdout, keep('info')), readLines(child.stderr, keep('warn'))]
  const stop = () => void endGroup(child, ended)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const { code, by } = await ended
  signal.removeEventListener('abort', stop)
  await Promise.race([Promise.all(read), new Promise((resolve) => setTimeout(resolve, DRAIN_MS))])
  isOver = true
  for (const stream of [child.stdin, child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref()
  if (code === 0) return { exitCode: 0 }
  const how = code === null ? `was killed by ${by ?? 'a signal'}` : `exited with code ${code}`
  throw new Error(`${file} ${how}${last.length === 0 ? '' : `\n${last.join('\n')}`}`)
}

/** @param runsAs  the user of `--command-user`; a job cannot choose another user */
function commandLine(args: CommandArgs, runsAs: CommandUser | null): readonly [string, ...string[]] {
  const [program = '', ...rest] =
    args.shell === undefined ? (args.argv ?? []) : [args.shellPath ?? SHELL, '-c', args.shell]
  const { username, uid } = userInfo()
  if (args.user === undefined || args.user === (runsAs?.name ?? username)) return [program, ...rest]
  if (runsAs !== null)
    throw new PermanentError(
      `this worker runs all commands as '${runsAs.name}' (--command-user), but this command names the user '${args.user}': leave 'user' out`,
    )
  if (uid !== 0)
    throw new PermanentError(
      `this command is for the user '${args.user}', but this worker runs as '${username}': run a worker as that user, or as root`,
    )
  return ['runuser', '-u', args.user, '--', program, ...rest]
}

/** The home directory of a user, by default the worker's. */
async function homeOf(user: string | undefined): Promise<string> {
  if (user === undefined || user === userInfo().username) return homedir()
  return await homeOfUser(user)
}

function environmentOf(args: CommandArgs, as: CommandUser | null): Record<string, string> {
  const { username, homedir: home } = userInfo()
  const user = as?.name ?? args.user ?? username
  return {
    PATH,
    // `runuser` changes this to the home directory of the user that it switches to.
    HOME: as?.home ?? home,
    SHELL: args.shellPath ?? SHELL,
    LOGNAME: user,
    USER: user,
    ...args.env,
  }
}

function endOf(child: ChildProcess): Promise<{ code: number | null; by: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.on('error', (error) =>
      // A program that is missing or not executable will also fail on the next attempt.
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
  // The program's children may have survived SIGTERM.
  signalGroup(child, 'SIGKILL')
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The group has ended.
  }
}

/** Only the start of a long line is kept in memory. */
async function readLines(stream: Readable, keep: (line: string) => void): Promise<void> {
  let line = ''
  let isAfterReturn = false
  try {
    for await (const chunk of stream.setEncoding('utf8')) {
      const text = String(chunk)
      const parts = (isAfterReturn ? text.replace(/^\n/, '') : text).split(/\r\n|[\n\r]/)
      for (const [index, part] of parts.entries()) {
        if (index > 0) {
          keep(line)
          line = ''
        }
        line += part.slice(0, LONGEST_LINE - line.length)
      }
      isAfterReturn = text.endsWith('\r')
    }
  } catch (error) {
    keep(`The rest of the output cannot be read: ${messageOf(error)}`)
  }
  if (line !== '') keep(line)
}

function isEnvironment(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.entries(value).every(
      ([name, content]) => /^[^=\0]+$/.test(name) && text.safeParse(content).success,
    )
  )
}
