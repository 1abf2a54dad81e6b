/** What the suites of the public API share: a database of the test's own, workers on it, and waiting for signals. */
import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import {
  type Job,
  Kalends,
  type KalendsEvents,
  type KalendsOptions,
  type Logger,
  type LogLine,
} from '../../src/index.ts'
import type { DatabaseUnderTest, TestDatabase } from '../support/databases.ts'

export interface Scene {
  readonly database: TestDatabase
  /** A Kalends on the test's database; stopped when the test ends. */
  readonly open: (options?: KalendsOptions) => Promise<Kalends>
  /** All that were opened. */
  readonly opened: readonly Kalends[]
}

export async function scene({ fresh }: Pick<DatabaseUnderTest, 'fresh'>): Promise<Scene> {
  const database = await fresh()
  // Runs after what is added later: the workers have stopped by then.
  onTestFinished(() => database.drop())
  const opened: Kalends[] = []
  return {
    database,
    opened,
    open: async (options = {}) => {
      const kalends = await Kalends.open(database.url, { pollInterval: 50, retention: false, ...options })
      onTestFinished(() => kalends.stop({ grace: 0 }))
      opened.push(kalends)
      return kalends
    },
  }
}

/** The next event that matches; subscribes at once. */
export function signal<Name extends keyof KalendsEvents>(
  kalends: Kalends,
  event: Name,
  matches: (payload: KalendsEvents[Name]) => boolean = () => true,
): Promise<KalendsEvents[Name]> {
  return new Promise((resolve) => {
    const forget = kalends.on(event, (payload) => {
      if (!matches(payload)) return
      forget()
      resolve(payload)
    })
  })
}

/** Every event of a kind from now on, in order. */
export function collect<Name extends keyof KalendsEvents>(
  kalends: Kalends,
  event: Name,
): KalendsEvents[Name][] {
  const seen: KalendsEvents[Name][] = []
  kalends.on(event, (payload) => void seen.push(payload))
  return seen
}

const FINAL: readonly string[] = ['success', 'failed', 'cancelled', 'skipped']

/** The job once it is final. `kalends` need not be the one that runs it: then it is looked at again and again. */
export function ended(kalends: Kalends, id: string): Promise<Job> {
  return until(async () => {
    const job = await kalends.jobs.get(id)
    return job !== null && FINAL.includes(job.state) ? job : null
  })
}

/** Looks again and again at what gives no signal, such as a row that another process writes. */
export async function until<Value>(look: () => Promise<Value | null>): Promise<Value> {
  for (;;) {
    const value = await look()
    if (value !== null) return value
    await pause(10)
  }
}

/** A promise with its handles. */
export interface Gate<Value = void> {
  readonly promise: Promise<Value>
  readonly open: (value: Value) => void
}

export function gate<Value = void>(): Gate<Value> {
  const handles: { open?: (value: Value) => void } = {}
  const promise = new Promise<Value>((resolve) => {
    handles.open = resolve
  })
  return { promise, open: (value) => handles.open?.(value) }
}

/** Ends when the signal fires, as a well-behaved handler does; rejects with the signal's reason. */
export function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = () =>
      reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)))
    if (signal.aborted) give()
    else signal.addEventListener('abort', give)
  })
}

export interface LoggedLine {
  readonly level: keyof Logger
  readonly message: string
  readonly fields: object
}

export function collectingLogger(): { logger: Logger; lines: LoggedLine[]; messages: () => string[] } {
  const lines: LoggedLine[] = []
  const at = (level: keyof Logger) => (fields: object, message: string) =>
    void lines.push({ level, message, fields })
  return {
    logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    lines,
    messages: () => lines.map(({ level, message }) => `${level}: ${message}`),
  }
}

/** All lines that a job has logged. */
export async function allLogs({ jobs }: Kalends, id: string): Promise<LogLine[]> {
  const lines: LogLine[] = []
  for (;;) {
    const page = await jobs.logs(id, { after: lines.at(-1)?.id })
    if (page.length === 0) return lines
    lines.push(...page)
  }
}
