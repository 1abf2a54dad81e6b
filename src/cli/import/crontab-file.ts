/** Reads crontabs, as crontab(5) of Debian and of cronie describe them. */
import { checkedZone, fromCrontab, timeSpan } from '../../timer/index.ts'
import type { CommandArgs } from '../command-task.ts'
import { type Candidate, candidate, LONGEST_RUN, Refusal } from './candidate.ts'

export interface CrontabOptions {
  /** Whether lines name a user, as in /etc/crontab and /etc/cron.d. */
  readonly system: boolean
  /** The zone that the daemon follows; a CRON_TZ line changes it for the lines after it. */
  readonly zone: string
}

const ASSIGNMENT = /^("[^"]*"|'[^']*'|[^\s=]+)\s*=\s*(.*?)\s*$/
/** Variables for the daemon, not for the commands. */
const DAEMON_VARIABLES: ReadonlySet<string> = new Set([
  'CRON_TZ',
  'MAILTO',
  'MAILFROM',
  'RANDOM_DELAY',
  'SHELL',
  'CONTENT_TYPE',
  'CONTENT_TRANSFER_ENCODING',
])

export function readCrontab(text: string, options: CrontabOptions): Candidate[] {
  const found: Candidate[] = []
  /** The variables that the lines above an entry have set. */
  const env = new Map<string, string>()
  let comment: string | null = null
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim()
    if (line === '' || line.startsWith('#')) {
      comment = /^#\s*(\S.*)$/.exec(line)?.[1] ?? null
      continue
    }
    const [, name, value] = ASSIGNMENT.exec(line) ?? []
    if (name !== undefined && value !== undefined) env.set(unquoted(name), unquoted(value))
    else found.push(entryOf(`line ${index + 1}`, line, comment, env, options))
    comment = null
  }
  return found
}

function entryOf(
  source: string,
  original: string,
  comment: string | null,
  env: ReadonlyMap<string, string>,
  { system, zone }: CrontabOptions,
): Candidate {
  // cronie: a dash in front keeps the entry out of the syslog.
  const words = original.replace(/^-/, '')
  const fields = words.startsWith('@') ? 1 : 5
  const pattern = new RegExp(`^((?:\\S+\\s+){${fields - 1}}\\S+)\\s+${system ? '(\\S+)\\s+' : '()'}(\\S.*)$`)
  const [, time = '', user = '', rest] = pattern.exec(words) ?? []
  const { command, stdin } = split(rest ?? '')
  return candidate({ source, original, name: nameOf(command) }, () => {
    if (rest === undefined)
      throw new Refusal(
        `${fields === 1 ? 'a time' : 'five fields'}${system ? ', a user' : ''} and a command are needed`,
      )
    if (time === '@reboot')
      throw new Refusal('@reboot is not a time: start it with the machine, as a service')
    const delay = env.get('RANDOM_DELAY')
    return {
      schedule: {
        timer: fromCrontab(time, checkedZone(env.get('CRON_TZ') ?? zone)),
        args: argsOf(command, stdin, env, user),
        summary: (comment ?? original).slice(0, 1000),
        jitter: delay === undefined ? 0 : timeSpan(`${delay}min`),
        // cron does not make up missed runs, and does not check whether the last run has ended.
        catchUp: 0,
        overlap: 'allow',
        timeout: LONGEST_RUN,
      },
      notes: notesOf(env),
    }
  })
}

function argsOf(
  command: string,
  stdin: string | null,
  variables: ReadonlyMap<string, string>,
  user: string,
): CommandArgs {
  const env = Object.fromEntries([...variables].filter(([name]) => !DAEMON_VARIABLES.has(name)))
  const shellPath = variables.get('SHELL')
  const cwd = variables.get('HOME')
  return {
    shell: command,
    ...(shellPath !== undefined && { shellPath }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(cwd !== undefined && { cwd }),
    ...(stdin !== null && { stdin }),
    ...(user !== '' && { user }),
  }
}

function notesOf(env: ReadonlyMap<string, string>): string[] {
  const notes: string[] = []
  const mail = env.get('MAILTO')
  if (mail !== undefined && mail !== '')
    notes.push(`MAILTO=${mail}: no mail is sent; output goes to the log of the job`)
  if (env.has('TZ'))
    notes.push('TZ sets the zone of the command only, as under cron; CRON_TZ or --zone that of the timer')
  if (env.has('RANDOM_DELAY'))
    notes.push('RANDOM_DELAY: the delay is a stable part of it, not random for each run')
  return notes
}

/** A % ends the command. The rest is its input, where further % are line ends. `\%` is a %. */
function split(text: string): { command: string; stdin: string | null } {
  const [command = '', ...input] = text.split(/(?<!\\)%/)
  return {
    command: plain(command).trim(),
    stdin: input.length === 0 ? null : `${input.map(plain).join('\n')}\n`,
  }
}

function plain(part: string): string {
  return part.replaceAll(String.raw`\%`, '%')
}

function unquoted(text: string): string {
  const [, , inside] = /^(["'])(.*)\1$/.exec(text) ?? []
  return inside ?? text
}

/** Words that say how to run a command, not which one. */
const WRAPPERS: ReadonlySet<string> = new Set(
  'test [ [[ { ( ! if then else cd exec command sudo nice ionice chronic flock env sh bash dash zsh timeout sleep perl python python3 node php ruby'.split(
    ' ',
  ),
)

/** A short name for a command: the first word that is not a wrapper, an option, an assignment or a number. */
function nameOf(command: string): string {
  const [, folder] = /\brun-parts\b[^;|&]*?\s(\/\S+)/.exec(command) ?? []
  const words = (folder ?? command).split(/[\s;|&(){}"'`]+/)
  const word = words.find((one) => {
    const base = basename(one)
    return /[a-z]/i.test(base) && !/^-|=|^\$|^\d|\.(?:lock|pid)$/.test(one) && !WRAPPERS.has(base)
  })
  const name = basename(word ?? '').replaceAll(/[^\w.-]+/g, '-')
  return name.replace(/\.(?:sh|bash|py|pl|js|mjs|php|rb)$/, '') || 'entry'
}

function basename(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1) ?? path
}
