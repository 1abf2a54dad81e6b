import { errorText, KalendsError, messageOf } from './errors.ts'

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
/** Maximum number of different messages per minute; the others are only counted. */
const MAX_MESSAGES = 50
const MAX_LINES = 15
const MAX_CHARACTERS = 4000

interface Repeated {
  readonly level: 'warn' | 'error'
  readonly text: string
  count: number
}

/**
 * The default logger: writes warnings and errors to the console. A message is printed once, and then at most once a
 * minute, with the number of its repetitions. Messages that differ only in numbers and ids count as the same.
 */
export function consoleLogger(): Logger {
  /** By their text without ids. Each entry is printed, or removed if it was not repeated, once a minute. */
  const seen = new Map<string, Repeated>()
  let more = 0
  let timer: NodeJS.Timeout | null = null
  const report = () => {
    timer = null
    for (const [key, repeated] of seen) {
      const { level, text, count } = repeated
      repeated.count = 0
      if (count > 0)
        print(level, `${text}\n  (repeated ${count === 1 ? 'once' : `${count} times`} within a minute)`)
      else seen.delete(key)
    }
    if (more > 0) print('warn', `kalends: ${more} other messages within a minute were left out`)
    more = 0
    if (seen.size > 0) start()
  }
  const start = () => {
    timer ??= setTimeout(report, MINUTE_MS).unref()
  }
  const at = (level: 'warn' | 'error') => (fields: object, message: string) => {
    const text = consoleText(fields, message)
    const key = `${level} ${text.slice(0, 500).replaceAll(/[\da-f-]{8,}|\d+/gi, '#')}`
    const repeated = seen.get(key)
    start()
    if (repeated !== undefined) repeated.count += 1
    else if (seen.size >= MAX_MESSAGES) more += 1
    else {
      seen.set(key, { level, text, count: 0 })
      print(level, text)
    }
  }
  return { debug: nothing, info: nothing, warn: at('warn'), error: at('error') }
}

function print(level: 'warn' | 'error', text: string): void {
  // oxlint-disable-next-line no-console -- this is the console logger
  console[level](text)
}

/** `kalends: Attempt failed (task=mail jobId=0193… attempt=1)` and, on the following lines, the error with its stack. */
function consoleText(fields: object, message: string): string {
  const { err, error, ...others }: { err?: unknown; error?: unknown } = fields
  const named = Object.entries(others)
    .filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(
      ([name, value]) =>
        `${name}=${typeof value === 'string' ? value : (JSON.stringify(value) ?? typeof value)}`,
    )
  const facts = named.length === 0 ? '' : ` (${named.join(' ')})`
  const cause = err === undefined ? (error ?? undefined) : err
  const details = cause === undefined ? '' : `\n${detailsOf(cause)}`
  return harmlessLines(withoutPasswords(`kalends: ${message}${facts}${details}`.slice(0, MAX_CHARACTERS)))
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

/** Drivers may quote the URL to which they connect. */
function withoutPasswords(text: string): string {
  return text.replaceAll(/(:\/\/[^\s/:@]*):[^\s/@]*@/g, '$1:***@')
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
