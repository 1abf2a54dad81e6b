import { createHash } from 'node:crypto'
import { errorText, KalendsError, messageOf, valueText } from './errors.ts'

/**
 * The logger interface of Kalends. pino and most other loggers can be passed directly; console needs an adapter.
 * Without a logger, warnings and errors go to the console; with `logger: false`, the library is silent.
 */
export interface Logger {
  /** For each submission, and each start and end of a job. */
  debug(fields: object, message: string): void
  /** For starts and stops of workers, and for changes to declared schedules. */
  info(fields: object, message: string): void
  /** For skipped slots, failed attempts, dead workers and repaired rows. */
  warn(fields: object, message: string): void
  /** For failed operations that are retried, and problems that need manual correction. */
  error(fields: object, message: string): void
}

const nothing = (): void => undefined

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Ignores errors that the logger throws, so that they cannot stop the loop that logs. */
export function harmless(logger: Logger): Logger {
  const guarded = (level: keyof Logger) => (fields: object, message: string) => {
    try {
      logger[level](fields, message)
    } catch {
      // There is nowhere left to report this.
    }
  }
  return {
    debug: guarded('debug'),
    info: guarded('info'),
    warn: guarded('warn'),
    error: guarded('error'),
  }
}

const MINUTE_MS = 60_000
/** Maximum number of different messages of each level that are remembered, and printed within a minute. */
const MAX_MESSAGES = 50
/** Maximum number of kinds of errors to remember. */
const MAX_KINDS = 1000
const MAX_LINES = 15
const MAX_CHARACTERS = 4000
/** Longer text is cut before secrets are hidden, far behind what is printed. */
const MAX_READ = 16 * MAX_CHARACTERS

type Level = 'warn' | 'error'

interface Repeated {
  readonly text: string
  count: number
}

/**
 * The default logger: writes warnings and errors to the console. A message is printed once, and then at most once a
 * minute, with the number of its repetitions. Messages that differ only in ids and counters count as the same. An error
 * with a new message text is always printed.
 */
export function consoleLogger(): Logger {
  const levels = {
    warn: { seen: new Map<string, Repeated>(), printed: 0 },
    error: { seen: new Map<string, Repeated>(), printed: 0 },
  }
  const kinds = new Set<string>()
  let more = 0
  let timer: NodeJS.Timeout | null = null
  const reportLevel = (level: Level) => {
    const { seen } = levels[level]
    levels[level].printed = 0
    for (const [key, repeated] of seen) {
      const { text, count } = repeated
      repeated.count = 0
      if (count > 0)
        print(level, `${text}\n  (repeated ${count === 1 ? 'once' : `${count} times`} within a minute)`)
      else seen.delete(key)
    }
    if (seen.size > 0) start()
  }
  const report = () => {
    timer = null
    reportLevel('warn')
    reportLevel('error')
    if (more > 0) print('warn', `kalends: ${more} other messages within a minute were left out`)
    more = 0
  }
  const start = () => {
    timer ??= setTimeout(report, MINUTE_MS).unref()
  }
  const isNewKind = (level: Level, message: string) => {
    const kind = withoutIds(message).replaceAll(/\d+/g, '#')
    if (level !== 'error' || kinds.has(kind) || kinds.size >= MAX_KINDS) return false
    kinds.add(kind)
    return true
  }
  const at = (level: Level) => (fields: object, message: string) => {
    const { text, key } = consoleText(fields, message)
    const of = levels[level]
    const repeated = of.seen.get(key)
    start()
    if (repeated !== undefined) {
      repeated.count += 1
      return
    }
    if (!isNewKind(level, message) && of.printed >= MAX_MESSAGES) {
      more += 1
      return
    }
    const [oldest] = of.seen
    if (oldest !== undefined && of.seen.size >= MAX_MESSAGES) {
      of.seen.delete(oldest[0])
      more += oldest[1].count
    }
    of.seen.set(key, { text, count: 0 })
    of.printed += 1
    print(level, text)
  }
  return { debug: nothing, info: nothing, warn: at('warn'), error: at('error') }
}

function print(level: Level, text: string): void {
  try {
    // oxlint-disable-next-line no-console -- this is the console logger
    console[level](text)
  } catch {
    // For example, an application has replaced the console. The timer's callback must not throw.
  }
}

/** Fields whose values do not make a message a different one. */
const COUNTERS = new Set(['jobId', 'worker', 'attempt', 'claim'])
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi
const withoutIds = (text: string) => text.replaceAll(UUID, '#')

/**
 * `kalends: Attempt failed (task=mail jobId=0193… attempt=1)` and, on the following lines, the error with its stack.
 *
 * @returns `key`: equal for messages that differ only in ids and counters
 */
function consoleText(fields: object, message: string): { readonly text: string; readonly key: string } {
  const named: string[] = []
  const kept: string[] = []
  for (const [name, text] of fieldTexts(fields)) {
    named.push(`${name}=${text}`)
    kept.push(`${name}=${COUNTERS.has(name) ? '#' : withoutIds(text)}`)
  }
  const facts = named.length === 0 ? '' : ` (${named.join(' ')})`
  const err = valueOf(fields, 'err')
  const cause = err === undefined ? (valueOf(fields, 'error') ?? undefined) : err
  const details = cause === undefined ? '' : `\n${detailsOf(cause)}`
  const text = withoutPasswords(`kalends: ${message}${facts}${details}`.slice(0, MAX_READ))
  const parts = [withoutIds(message), ...kept, details]
  return {
    text: harmlessLines(text.slice(0, MAX_CHARACTERS)),
    key: createHash('sha256').update(parts.join('\0')).digest('base64'),
  }
}

function fieldTexts(fields: object): [name: string, text: string][] {
  try {
    return Object.keys(fields).flatMap((name): [string, string][] => {
      if (name === 'err' || name === 'error') return []
      const value = valueOf(fields, name)
      return value === null || value === undefined || value === '' ? [] : [[name, valueText(value)]]
    })
  } catch {
    // A proxy, for example.
    return []
  }
}

/** A getter may throw. */
function valueOf(fields: object, name: string): unknown {
  try {
    return Reflect.get(fields, name)
  } catch {
    return '(cannot be read)'
  }
}

/** The stack is left out for errors of Kalends, because their messages say what to do. */
function detailsOf(cause: unknown): string {
  const text = cause instanceof KalendsError ? chain(cause) : errorText(cause)
  const lines = text.split('\n')
  return lines.length > MAX_LINES ? [...lines.slice(0, MAX_LINES), '…'].join('\n') : text
}

function chain(error: KalendsError): string {
  const { name, cause } = error
  const own = `${name}: ${error.message}`
  return cause === undefined || error.message.includes(messageOf(cause))
    ? own
    : `${own}\nCaused by: ${cause instanceof KalendsError ? chain(cause) : messageOf(cause)}`
}

const WORD = /[^\s"'`]+/g
const SECRET = /((?:password|passwd|pwd|token|secret)(?:=|["']:\s*))(?:"[^"]*"|'[^']*'|[^\s&"'`;,)]+)/gi

/** Drivers may quote the URL to which they connect. Passwords may contain any character but blanks and quotes. */
function withoutPasswords(text: string): string {
  return text.replaceAll(WORD, withoutPassword).replaceAll(SECRET, '$1***')
}

function withoutPassword(word: string): string {
  const scheme = word.indexOf('://')
  const colon = scheme < 0 ? -1 : word.indexOf(':', scheme + 3)
  const end = word.lastIndexOf('@')
  return colon < 0 || end < colon ? word : `${word.slice(0, colon)}:***${word.slice(end)}`
}

/**
 * Characters that control a terminal or reorder the text around them (C0, C1, line separators, bidi controls), and
 * invisible characters, which can make different strings look the same. Joiners and variation selectors are printed
 * after emoji, combining marks and Arabic letters, which need them, and escaped after any other character.
 */
export const ACTIVE =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufff9-\ufffb]|(?![\u200c\u200d\p{Variation_Selector}])\p{Default_Ignorable_Code_Point}|(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\p{M}\p{Script=Arabic}])[\u200c\u200d\p{Variation_Selector}]/gu

/** Escapes text from rows, which may contain any characters. */
export function harmlessText(text: string): string {
  return text.replaceAll(ACTIVE, (character) => {
    const code = character.codePointAt(0) ?? 0
    if (character === '\n') return '\\n'
    if (character === '\t') return '\\t'
    if (code > 0xffff) return `\\u{${code.toString(16)}}`
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`
  })
}

/** Indents all lines but the first, so that a name with a line break cannot look like another message. */
export function harmlessLines(text: string): string {
  return text
    .split('\n')
    .map((line, index) => (index === 0 || line === '' || /^ {2}/.test(line) ? '' : '  ') + harmlessText(line))
    .join('\n')
}
