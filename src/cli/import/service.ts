/** Converts a service unit into args of the task `command`. */
import { timeSpan } from '../../timer/index.ts'
import type { CommandArgs } from '../command-task.ts'
import { LONGEST_RUN, Refusal } from './candidate.ts'
import { lastOf, type UnitFile, valuesOf, wordsOf } from './unit-file.ts'

export interface ServiceCommand {
  readonly args: CommandArgs
  readonly timeout: string
  /** What cannot be carried over. */
  readonly notes: readonly string[]
}

/** One command line of a service. */
interface Line {
  readonly words: readonly string[]
  /** Whether its exit code always counts as success. */
  readonly mayFail: boolean
  /** Whether it runs as root, whatever the user of the service is. */
  readonly isPrivileged: boolean
}

const LINES = ['ExecStartPre', 'ExecStart', 'ExecStartPost'] as const
const CARRIED: ReadonlySet<string> = new Set([
  ...LINES,
  'Environment',
  'EnvironmentFile',
  'TimeoutSec',
  'TimeoutStartSec',
  'User',
  'WorkingDirectory',
  // Has no meaning for a single run.
  'RemainAfterExit',
  'SyslogIdentifier',
  'StandardOutput',
  'StandardError',
])
const FOLDERS: Readonly<Record<string, string>> = {
  t: '/run',
  S: '/var/lib',
  C: '/var/cache',
  L: '/var/log',
  T: '/tmp',
  V: '/var/tmp',
  E: '/etc',
}

/** @throws Refusal saying why a worker cannot run it */
export function serviceCommand(name: string, unit: UnitFile): ServiceCommand {
  const type = lastOf(unit, 'Service', 'Type') ?? 'simple'
  if (!['oneshot', 'simple', 'exec'].includes(type))
    throw new Refusal(`${name} is of Type=${type}: its commands end before its work does`)
  const env = environmentOf(name, unit)
  const files = valuesOf(unit, 'Service', 'EnvironmentFile').map((file) => withSpecifiers(file, name))
  const lines = LINES.flatMap((key) =>
    valuesOf(unit, 'Service', key).map((text) => lineOf(withSpecifiers(text, name))),
  )
  if (valuesOf(unit, 'Service', 'ExecStart').length === 0) throw new Refusal(`${name} has no ExecStart=`)
  const folder = lastOf(unit, 'Service', 'WorkingDirectory')?.replace(/^-/, '')
  // System units without a user run as root.
  const user = withSpecifiers(lastOf(unit, 'Service', 'User') ?? 'root', name)
  const asRoot = lines.some(({ isPrivileged }) => isPrivileged)
  return {
    args: {
      ...commandOf(lines, env, files, asRoot && user !== 'root' ? user : null),
      ...(Object.keys(env).length > 0 && { env }),
      // systemd starts in the root folder, the task in the user's home.
      ...(folder === '~' ? {} : { cwd: folder === undefined ? '/' : withSpecifiers(folder, name) }),
      user: asRoot ? 'root' : user,
    },
    timeout: timeoutOf(unit),
    notes: notesOf(name, unit),
  }
}

function commandOf(
  lines: readonly Line[],
  env: Readonly<Record<string, string>>,
  files: readonly string[],
  unprivileged: string | null,
): CommandArgs {
  const [only] = lines
  if (only !== undefined && lines.length === 1 && !only.mayFail && files.length === 0)
    return { argv: only.words.flatMap((word) => expanded(word, env)) }
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

function lineOf(text: string): Line {
  const [prefix = ''] = /^[-@:+!|]+/.exec(text) ?? []
  const words = wordsOf(text.slice(prefix.length))
  if (words.length === 0) throw new Refusal('a command line is empty')
  // With @, the second word is the program's own name (argv[0]).
  if (prefix.includes('@')) words.splice(1, 1)
  const literal = prefix.includes(':')
  return {
    words: literal ? words.map((word) => word.replaceAll('$', '$$$$')) : words,
    mayFail: prefix.includes('-'),
    isPrivileged: /[+!]/.test(prefix),
  }
}

/** `$FOO` as a separate word is split at blanks, `${FOO}` within a word is not; `$$` is a `$`. */
function expanded(word: string, env: Readonly<Record<string, string>>): string[] {
  const [, alone] = /^\$(\w+)$/.exec(word) ?? []
  if (alone !== undefined) return (env[alone] ?? '').split(/\s+/).filter((part) => part !== '')
  return [
    word.replaceAll(/\$\$|\$\{(\w+)\}/g, (_, name: string | undefined) =>
      name === undefined ? '$' : (env[name] ?? ''),
    ),
  ]
}

/** The same word for a shell. */
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

function environmentOf(name: string, unit: UnitFile): Record<string, string> {
  const assignments = valuesOf(unit, 'Service', 'Environment').flatMap((text) =>
    wordsOf(withSpecifiers(text, name)),
  )
  return Object.fromEntries(
    assignments.map((text): [string, string] => {
      const equals = text.indexOf('=')
      return equals < 0 ? [text, ''] : [text.slice(0, equals), text.slice(equals + 1)]
    }),
  )
}

function timeoutOf(unit: UnitFile): string {
  const text = lastOf(unit, 'Service', 'TimeoutStartSec') ?? lastOf(unit, 'Service', 'TimeoutSec')
  if (text === undefined || text === 'infinity' || timeSpan(text) === 0) return LONGEST_RUN
  return text
}

/** @throws Refusal for specifiers whose value only the machine that runs it knows */
export function withSpecifiers(text: string, name: string): string {
  const base = name.replace(/\.\w+$/, '')
  const [prefix = '', instance = ''] = base.split('@')
  return text.replaceAll(/%(.)/g, (all, letter: string) => {
    const known: Readonly<Record<string, string>> = {
      '%': '%',
      n: name,
      N: base,
      p: prefix,
      P: prefix,
      i: instance,
      I: instance,
      ...FOLDERS,
    }
    const value = known[letter]
    if (value === undefined) throw new Refusal(`${name} uses ${all}, whose value only systemd knows`)
    return value
  })
}

function notesOf(name: string, unit: UnitFile): string[] {
  const notes: string[] = []
  const others = [...(unit.get('Service')?.keys() ?? [])].filter((key) => !CARRIED.has(key) && key !== 'Type')
  if (others.length > 0) notes.push(`not carried over from ${name}: ${others.join(', ')}`)
  const conditions = [...(unit.get('Unit')?.entries() ?? [])]
    .filter(([key]) => /^(?:Condition|Assert)/.test(key))
    .map(([key, values]) => `${key}=${values.join(' ')}`)
  if (conditions.length > 0) notes.push(`the conditions of ${name} are not checked: ${conditions.join(', ')}`)
  if (valuesOf(unit, 'Service', 'EnvironmentFile').length > 0)
    notes.push('its environment file is read by a shell')
  return notes
}

function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
