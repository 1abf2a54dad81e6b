/** Reads crontabs, as described in crontab(5) of Debian, cronie, OpenBSD and FreeBSD. */
import { basename } from 'node:path/posix'
import { checkedZone, fromCrontab, timeSpan } from '../../timer/index.ts'
import { findUser, USER_NAME } from '../command-user.ts'
import { UsageError } from '../failure.ts'
import {
  type Candidate,
  candidate,
  type CandidateSchedule,
  LONGEST_RUN,
  Refusal,
  summaryOf,
} from './candidate.ts'
import { isNumbered } from './match.ts'

export interface CrontabOptions {
  /** Whether each line names a user; detected if undefined. */
  readonly system: boolean | undefined
  /** The zone that the daemon uses; a CRON_TZ line changes it for the lines below. */
  readonly zone: string
}

const ASSIGNMENT = /^("[^"]*"|'[^']*'|[^\s=]+)\s*=\s*(.*?)\s*$/
/** Variables that are meant for the daemon, not for the commands. */
const DAEMON_VARIABLES: ReadonlySet<string> = new Set([
  'CRON_TZ',
  'MAILTO',
  'MAILFROM',
  'RANDOM_DELAY',
  'SHELL',
  'CONTENT_TYPE',
  'CONTENT_TRANSFER_ENCODING',
])

interface Line {
  readonly source: string
  readonly original: string
  readonly comment: string | null
  readonly env: ReadonlyMap<string, string>
  readonly time: string
  /** The command, preceded by the user if lines name one; empty if the line is incomplete. */
  readonly rest: string
  readonly firstWord: string
}

/** @throws UsageError if it is unclear whether lines name a user, or if a line contradicts `system` or another line */
export function readCrontab(text: string, { system, zone }: CrontabOptions): Candidate[] {
  const lines = linesOf(text)
  checkIsCrontab(lines)
  const column = userColumn(lines, system)
  return lines.map((line) => candidateOf(line, column, zone))
}

function linesOf(text: string): Line[] {
  const lines: Line[] = []
  const env = new Map<string, string>()
  let comment: string | null = null
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const original = raw.trim()
    if (original === '' || original.startsWith('#')) {
      comment = /^#\s*(\S.*)$/.exec(original)?.[1] ?? null
      continue
    }
    const [, name, value] = ASSIGNMENT.exec(original) ?? []
    if (name !== undefined && value !== undefined) env.set(unquoted(name), unquoted(value))
    else {
      // In cronie, a leading dash keeps the entry out of syslog.
      const [, time = '', rest = ''] = /^-?(@\S+|(?:\S+\s+){4}\S+)\s+(\S.*)$/.exec(original) ?? []
      const [firstWord = ''] = rest.split(/\s/, 1)
      const source = `line ${index + 1}`
      lines.push({ source, original, comment, env: new Map(env), time, rest, firstWord })
    }
    comment = null
  }
  return lines
}

/** In anacrontab(5), a line has a period in days, a delay in minutes, an identifier and a command. */
const ANACRON_LINE = /^(?:\d+|@\w+)\s+\d+\s+(?=\S*[A-Za-z])[\w.-]+\s+\S/

/** @throws UsageError */
function checkIsCrontab(lines: readonly Line[]): void {
  const line = lines.find(({ env }) => env.has('START_HOURS_RANGE')) ?? lines[0]
  const isAnacrontab =
    line?.env.has('START_HOURS_RANGE') || lines.every(({ original }) => ANACRON_LINE.test(original))
  if (line !== undefined && isAnacrontab)
    throw new UsageError(
      `${line.source}: this is an anacrontab, whose lines begin with a period in days, a delay in minutes and an identifier: create a schedule for each line, such as \`kalends schedules add backup --timer daily -- …\``,
    )
}

/** 'assumed' if the only evidence is that users with these names exist on the machine. */
type UserColumn = 'present' | 'assumed' | 'absent'

/** @throws UsageError */
function userColumn(lines: readonly Line[], wanted: boolean | undefined): UserColumn {
  if (wanted === false) return 'absent'
  const complete = lines.filter(({ rest }) => rest !== '')
  const wrong = complete.find(({ firstWord }) => !USER_NAME.test(firstWord))
  const named = ({ rest }: Line, hasFlags: boolean) =>
    (hasFlags ? /^\S+\s+(?:-[nqs]+\s+)*[^\s-]/ : /^\S+\s+[^\s-]/).test(rest)
  const root = complete.find((line) => line.firstWord === 'root' && named(line, true))
  if (wrong !== undefined && (wanted === true || root !== undefined))
    throw new UsageError(
      `${wrong.source}: '${wrong.firstWord}' is not a valid user name, but ${
        wanted === true
          ? 'with --system, each line must name a user: leave --system out'
          : `${root?.source} names root: add the user, or choose --no-system`
      }`,
    )
  if (wanted === true) return 'present'
  // Without root, `mail -s Hello` is more likely a command than the user mail with a flag.
  if (wrong !== undefined || !complete.every((line) => named(line, root !== undefined))) return 'absent'
  if (root !== undefined) return 'present'
  const words = [...new Set(complete.map(({ firstWord }) => firstWord))]
  const known = words.find(isUser)
  if (known === undefined) return 'absent'
  const unknown = words.find((word) => !isUser(word))
  if (unknown === undefined) return 'assumed'
  throw new UsageError(
    `'${known}' is a user of this machine, but '${unknown}' is not: choose --system or --no-system`,
  )
}

function isUser(name: string): boolean {
  try {
    return findUser(name) !== null
  } catch {
    // Without getent, no user is known.
    return false
  }
}

function candidateOf(line: Line, column: UserColumn, zone: string): Candidate {
  const { source, original, comment, env, time, rest } = line
  const hasUsers = column !== 'absent'
  const [, user = '', text] = (hasUsers ? /^(\S+)\s+(\S.*)$/ : /^()(\S.*)$/).exec(rest) ?? []
  const [, flags = '', words = ''] = /^((?:-[nqs]+\s+)*)(.*)$/.exec(text ?? '') ?? []
  const { command, stdin } = split(words)
  return candidate({ source, original, name: nameOf(text === undefined ? original : command) }, () => {
    if (text === undefined)
      throw new Refusal(
        `must have ${original.startsWith('@') ? 'a time' : 'five fields'}${hasUsers ? ', a user' : ''} and a command`,
      )
    if (command.startsWith('-'))
      throw new Refusal(
        /^-[nqs]+$/.test(command)
          ? `has the flag ${command}, but no command`
          : `'${command.split(/\s/, 1)[0]}' is neither a command nor one of the flags -n, -q and -s`,
      )
    if (time === '@reboot')
      throw new Refusal('@reboot is not a time: start it with the machine, as a service')
    const notes =
      column === 'assumed'
        ? [`'${user}' is read as the user, because this machine has one: if it is a command, use --no-system`]
        : []
    const timer = fromCrontab(withRanges(time, notes), checkedZone(env.get('CRON_TZ') ?? zone))
    if (/[nq]/.test(flags))
      notes.push(
        `${flags.trim()}: -n and -q concern the mail and the log of cron; output goes to the log of the job`,
      )
    const delay = env.get('RANDOM_DELAY')
    return {
      schedule: {
        timer,
        args: argsOf(command, stdin, env, user),
        summary: summaryOf(comment ?? original),
        jitter: delay === undefined ? 0 : timeSpan(`${delay}min`),
        // cron does not make up missed runs, and does not check whether the previous run has finished.
        catchUp: 0,
        overlap: flags.includes('s') ? 'skip' : 'allow',
        timeout: LONGEST_RUN,
      },
      notes: [...notes, ...notesOf(env)],
    }
  })
}

/** Days of the week end at 6, because 7 is Sunday again. */
const HIGHEST = [59, 23, 31, 12, 6]

/** Converts a number with a step, such as `5/15`, which Debian's cron and cronie reject, into a range. */
function withRanges(time: string, notes: string[]): string {
  const fields = time.split(/\s+/)
  const ranges = fields.map((field, index) => {
    const highest = HIGHEST[index] ?? 0
    return field.replaceAll(/(?<=^|,)(\w+)(?=\/\d)/g, (first) => {
      const start = index === 4 && first === '7' ? '0' : first
      return Number(start) > highest ? first : `${start}-${highest}`
    })
  })
  const rejected = fields.filter((field, index) => field !== ranges[index])
  if (rejected.length > 0)
    notes.push(
      `Debian's cron and cronie reject '${rejected.join("' and '")}': read as '${ranges.join(' ')}', as other programs do`,
    )
  return ranges.join(' ')
}

function argsOf(
  command: string,
  stdin: string | null,
  variables: ReadonlyMap<string, string>,
  user: string,
): CandidateSchedule['args'] {
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
    notes.push(
      'TZ sets only the zone of the command, as under cron; CRON_TZ or --zone sets the zone of the timer',
    )
  if (env.has('RANDOM_DELAY'))
    notes.push('RANDOM_DELAY: the delay is a fixed offset within this range, not random for each run')
  return notes
}

/** A % ends the command. The rest is the command's input, in which each further % is a newline. `\%` is a %. */
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

const WRAPPERS: ReadonlySet<string> = new Set(
  'test [ [[ { ( ! if then else cd exec command sudo nice ionice chronic flock env sh bash dash zsh timeout sleep perl python python3 node php ruby'.split(
    ' ',
  ),
)

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

export function isNameOf(name: string, args: unknown): boolean {
  const shell: unknown = Object(args).shell
  return typeof shell === 'string' && isNumbered(name, nameOf(shell))
}
