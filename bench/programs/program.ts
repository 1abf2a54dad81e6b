/**
 * The framework of the measured programs: each is a process that gets parameters, does one thing and reports its
 * measurements. In between, it may report `ready` and wait for the signal to continue.
 */
import type { z } from 'zod'

/** The connection to the parent process. */
export interface Line {
  /** Reports that the program is ready, and waits for the signal to continue. */
  readonly ready: (value?: unknown) => Promise<void>
  /** Measures `work`: waits for the signal to start, reports the duration, and waits for the signal to continue. */
  readonly measure: (work: () => Promise<unknown>) => Promise<void>
  /** Sends an additional message to the benchmark. */
  readonly tell: (value: unknown) => void
}

export async function program<Params>(
  params: z.ZodType<Params>,
  main: (params: Params, line: Line) => Promise<unknown>,
): Promise<void> {
  // The parent process has ended, so nothing can receive the result: exit.
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
  // The signal to continue is the only message that the parent sends.
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
  if (process.send === undefined) throw new Error('Only the benchmark can start this program')
  process.send(message)
}
