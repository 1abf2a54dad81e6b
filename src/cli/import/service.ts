import { timeSpan } from '../../timer/index.ts'
import type { CommandArgs } from '../command-task.ts'
import { type CommandUser, USER_NAME } from '../command-user.ts'
import { LONGEST_RUN, Refusal } from './candidate.ts'
import { expanded, ROOT } from './specifiers.ts'
import { acceptedIn, flag, ignoredNote, IgnoredValue, lastOf, matching, wordsOf } from './unit-file.ts'
import type { Unit } from './unit-folders.ts'

const CARRIED: ReadonlySet<string> = new Set([
  'Type',
  'ExecStartPre',
  'ExecStart',
  'ExecStartPost',
  'DynamicUser',
  'Environment',
  'EnvironmentFile',
  'TimeoutSec',
  'TimeoutStartSec',
  'User',
  'WorkingDirectory',
  // This setting has no meaning for a single run.
  'RemainAfterExit',
  'SyslogIdentifier',
  'StandardOutput',
  'StandardError',
])
const TYPE = /^(?:simple|exec|forking|oneshot|dbus|notify|notify-reload|idle)$/

/** @param manager  the user of the service manager. @throws Refusal if a worker cannot run the service */
export function serviceCommand(unit: Unit, manager: CommandUser) {
  const { name, settings } = unit
  const notes: string[] = []
  const accepted = acceptedIn(settings, 'Service', notes)
  const expand = (text: string) => expanded(text, unit, manager)
  const type = accepted('Type', (text) => matching(text, TYPE)).at(-1) ?? 'simple'
  if (!['oneshot', 'simple', 'exec'].includes(type))
    throw new Refusal(`${name} has Type=${type}: its commands end before its work does`)
  // A user's service manager sets HOME; other commands get it from the worker.
  const env: Record<string, string> = manager === ROOT ? {} : { HOME: manager.home }
  accepted('Environment', (text) => {
    for (const [word] of wordsOf(text, true)) {
      const [, variable, value] = /^([a-z_]\w*)=([^]*)$/i.exec(expand(word)) ?? []
      if (variable === undefined || value === undefined) notes.push(ignoredNote('Environment', word))
      else env[variable] = value
    }
  })
  const files = accepted('EnvironmentFile', (text) => matching(expand(text), /^-?\//))
  if (files.length > 0) notes.push('its environment file is read by a shell')
  const linesOf = (key: string) => {
    const lines: Line[] = []
    accepted(key, (text) => {
      for (const words of commandsIn(text)) lines.push(lineOf(words, expand))
    })
    return lines
  }
  const starts = linesOf('ExecStart')
  const refused = (why: string) => new Refusal([...notes, `${name} ${why}`].join('\n'))
  if (starts.length === 0) throw refused('has no ExecStart=')
  if (starts.length > 1 && type !== 'oneshot')
    throw refused('has several commands in ExecStart= without Type=oneshot, so systemd does not start it')
  const lines = [...linesOf('ExecStartPre'), ...starts, ...linesOf('ExecStartPost')]
  const user = manager === ROOT ? expand(lastOf(settings, 'Service', 'User') ?? ROOT.name) : manager.name
  // systemd does not start a service whose DynamicUser= it cannot read.
  if (
    lastOf(settings, 'Service', 'DynamicUser') !== undefined &&
    accepted('DynamicUser', flag).at(-1) !== false
  )
    throw new Refusal(
      `${name} runs as a user that systemd creates (DynamicUser=): create one, and name it in User=`,
    )
  if (!USER_NAME.test(user)) throw new Refusal(`${name}: User=${user} is not a valid user name`)
  // Without WorkingDirectory=, the system's service manager starts commands in the root folder, and a user's service
  // manager in that user's home directory. Without `cwd`, the task `command` starts them in the home directory of the
  // worker's user.
  const home = manager === ROOT ? null : manager.home
  const folder = accepted('WorkingDirectory', (text) => {
    const path = folderOf(expand(text), home)
    if (text.startsWith('-')) notes.push('WorkingDirectory: runs fail if the folder does not exist')
    return path
  }).at(-1)
  const cwd = folder === undefined ? (home ?? '/') : folder
  // A user's service manager cannot grant privileges that the user does not have.
  const asRoot = manager === ROOT && lines.some(({ isPrivileged }) => isPrivileged)
  const timeoutKey =
    lastOf(settings, 'Service', 'TimeoutStartSec') === undefined ? 'TimeoutSec' : 'TimeoutStartSec'
  const timeout = accepted(timeoutKey, timeoutOf).at(-1) ?? LONGEST_RUN
  return {
    args: {
      ...commandOf(lines, env, files, asRoot && user !== ROOT.name ? user : null),
      ...(Object.keys(env).length > 0 && { env }),
      ...(cwd !== null && { cwd }),
      user: asRoot ? ROOT.name : user,
    },
    timeout,
    notes: [...notes, ...notesOf(unit)],
  }
}

/** @throws InvalidTimeSpanError */
function timeoutOf(text: string): string {
  return text === 'infinity' || timeSpan(text) === 0 ? LONGEST_RUN : text
}

function commandOf(
  lines: readonly Line[],
  env: Readonly<Record<string, string>>,
  files: readonly string[],
  unprivileged: string | null,
): CommandArgs {
  const [only] = lines
  if (only !== undefined && lines.length === 1 && !only.mayFail && files.length === 0)
    return { argv: only.words.flatMap((word) => withVariables(word, env)) }
  const sources = files.map((file) => {
    const path = quoted(file.replace(/^-/, ''))
    return file.startsWith('-') ? `{ [ ! -r ${path} ] || . ${path}; }` : `. ${path}`
  })
  const commands = lines.map(({ words, mayFail, isPrivileged }) => {
    const as = unprivileged === null || isPrivileged ? '' : `runuser -u ${quoted(unprivileged)} -- `
    const line = as + words.map((word) => shellWord(word)).join(' ')
    return mayFail ? `{ ${line} || true; }` : line
  })
  return {
    shell: [...(sources.length > 0 ? ['set -a', ...sources, 'set +a'] : []), ...commands].join(' && '),
  }
}

/** @throws IgnoredValue, or a Refusal if systemd does not start the service */
function folderOf(text: string, home: string | null): string | null {
  const path = text.replace(/^-/, '')
  if (path === '~') return home
  if (path.startsWith('/') && !path.split('/').includes('..')) return path
  if (path !== text) throw new IgnoredValue(text)
  throw new Refusal(
    `WorkingDirectory=${text} is relative or contains '..', so systemd does not start the service`,
  )
}

/** @throws IgnoredValue after yielding the commands before it; Refusal if systemd does not start the service */
function* commandsIn(text: string): Generator<string[], void> {
  const words: string[] = []
  try {
    for (const [word, source] of wordsOf(text)) {
      if (words.length === 0 && /^[-@:+!|]+$/.test(word)) throw new IgnoredValue(word)
      if (source !== ';') words.push(source === String.raw`\;` ? ';' : word)
      else if (words.length > 0) yield words.splice(0)
    }
  } catch (error) {
    if (!(error instanceof IgnoredValue)) throw error
    const [first = '-'] = words
    throw /^[@:+!|]*-/.test(first)
      ? new IgnoredValue([...words, error.message].join(' '))
      : new Refusal(`the quotes in ${JSON.stringify(text)} are not closed, so systemd does not start it`)
  }
  if (words.length > 0) yield words
}

type Line = ReturnType<typeof lineOf>

function lineOf([first = '', ...rest]: readonly string[], expand: (word: string) => string) {
  const [prefix = ''] = /^[-@:+!|]+/.exec(first) ?? []
  // With the prefix @, the second word is the program's own name (argv[0]).
  const words = [first.slice(prefix.length), ...rest.slice(prefix.includes('@') ? 1 : 0)].map((word) =>
    expand(word),
  )
  return {
    words: prefix.includes(':') ? words.map((word) => word.replaceAll('$', '$$$$')) : words,
    // Any exit code counts as success.
    mayFail: prefix.includes('-'),
    // Runs as root, regardless of the service's user.
    isPrivileged: /[+!]/.test(prefix),
  }
}

/** The value of `$FOO` is split at blanks only where `$FOO` is a separate word. `$$` stands for `$`. */
function withVariables(word: string, env: Readonly<Record<string, string>>): string[] {
  const [, alone] = /^\$(\w+)$/.exec(word) ?? []
  if (alone !== undefined) return (env[alone] ?? '').split(/\s+/).filter((part) => part !== '')
  return [
    word.replaceAll(/\$\$|\$\{(\w+)\}/g, (_, name: string | undefined) =>
      name === undefined ? '$' : (env[name] ?? ''),
    ),
  ]
}

function shellWord(word: string): string {
  if (/^\$\w+$/.test(word)) return word
  return (
    word
      .split(/(\$\$|\$\{\w+\})/)
      .map((part) =>
        part === '$$' ? "'$'" : /^\$\{\w+\}$/.test(part) ? `"${part}"` : part === '' ? '' : quoted(part),
      )
      .join('') || "''"
  )
}

function notesOf({ name, settings: unit }: Unit): string[] {
  const notes: string[] = []
  const others = [...(unit.get('Service')?.keys() ?? [])].filter((key) => !CARRIED.has(key))
  if (others.length > 0) notes.push(`not carried over from ${name}: ${others.join(', ')}`)
  const conditions = [...(unit.get('Unit')?.entries() ?? [])]
    .filter(([key]) => /^(?:Condition|Assert)/.test(key))
    .map(([key, values]) => `${key}=${values.join(' ')}`)
  if (conditions.length > 0) notes.push(`the conditions of ${name} are not checked: ${conditions.join(', ')}`)
  return notes
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
