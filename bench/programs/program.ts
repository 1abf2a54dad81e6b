/**
 * What each measured program is: a process that gets its parameters, does one thing, and tells what it has measured.
 * Between the two it may say `ready`, and then wait to be let go.
 */
import type { z } from 'zod'

/** The line to whoever has started this process. */
export interface Line {
  /** Says that all is set up, and waits for the word to go on. */
  readonly ready: (value?: unknown) => Promise<void>
  /** Does what is measured: waits for the word to begin, tells how long it took, and waits for the word to go on. */
  readonly measure: (work: () => Promise<unknown>) => Promise<void>
  /** Tells something meanwhile. */
  readonly tell: (value: unknown) => void
}

export async function program<Params>(
  params: z.ZodType<Params>,
  main: (params: Params, line: Line) => Promise<unknown>,
): Promise<void> {
  // Whoever has started us is gone: nobody is there to hear the result, and nothing may be left behind.
  process.on('disconnect', () => process.exit(1))
  try {
    const value = await main(params.parse(JSON.parse(process.argv[2] ?? 'null')), { ready, measure, tell })
    send({ kind: 'result', value })
  } catch (error) {
    send({ kind: 'error', value: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    process.exitCode = 1
  }
  process.removeAllListeners('disconnect')
  process.disconnect()
}

function tell(value: unknown): void {
  send({ kind: 'news', value })
}

async function ready(value?: unknown): Promise<void> {
  // The only word that there is.
  const go = new Promise<void>((resolve) => {
    process.once('message', () => resolve())
  })
  send({ kind: 'ready', value })
  return go
}

async function measure(work: () => Promise<unknown>): Promise<void> {
  await ready()
  const cpu = process.cpuUsage()
  const began = performance.now()
  const value = await work()
  const ms = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)
  await ready({ ms, cpuMs: (user + system) / 1000, value })
}

function send(message: unknown): void {
  if (process.send === undefined) throw new Error('This program is started by the benchmark')
  process.send(message)
}
