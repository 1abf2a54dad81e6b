/** Helpers for the suites of the public API: a private database, workers on it, and waiting for signals. */
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
  /** Opens a Kalends on the test's database. It is stopped when the test ends. */
  readonly open: (options?: KalendsOptions) => Promise<Kalends>
  /** All opened instances. */
  readonly opened: readonly Kalends[]
}

export async function scene({ fresh }: Pick<DatabaseUnderTest, 'fresh'>): Promise<Scene> {
  const database = await fresh()
  // Runs after the hooks that are added later, once the workers have stopped.
  onTestFinished(() => database.drop())
  const opened: Kalends[] = []
  return {
    database,
    opened,
    open: async (options = {}) => {
      const kalends = await Kalends.open(database.url, {
        pollInterval: 50,
        retention: false,
        logger: false,
        ...options,
      })
      onTestFinished(() => kalends.stop({ grace: 0 }))
      opened.push(kalends)
      return kalends
    },
  }
}

/** The next matching event. Subscribes at once. */
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

/** All events of this kind that are emitted after this call, in order. */
export function collect<Name extends keyof KalendsEvents>(
  kalends: Kalends,
  event: Name,
): KalendsEvents[Name][] {
  const seen: KalendsEvents[Name][] = []
  kalends.on(event, (payload) => void seen.push(payload))
  return seen
}

const FINAL: readonly string[] = ['success', 'failed', 'cancelled', 'skipped']

/** Waits until the job is final, by polling its row. */
export function ended(kalends: Kalends, id: string): Promise<Job> {
  return until(async () => {
    const job = await kalends.jobs.get(id)
    return job !== null && FINAL.includes(job.state) ? job : null
  })
}

/** Polls for state that has no signal, such as a row that another process writes. */
export async function until<Value>(look: () => Promise<Value | null>): Promise<Value> {
  for (;;) {
    const value = await look()
    if (value !== null) return value
    await pause(10)
  }
}

/** A promise and the function that resolves it. */
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

/** Waits for the signal, as a well-behaved handler does, and rejects with its reason. */
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

/** All log lines of a job. */
export async function allLogs({ jobs }: Kalends, id: string): Promise<LogLine[]> {
  const lines: LogLine[] = []
  for (;;) {
    const page = await jobs.logs(id, { after: lines.at(-1)?.id })
    if (page.length === 0) return lines
    lines.push(...page)
  }
}
