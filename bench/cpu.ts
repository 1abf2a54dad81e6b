/**
 * Processor time per unit of work, in the server and in Node.js. Unlike elapsed time, it stays valid while other
 * programs use the machine.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { z } from 'zod'
import type { Child } from './child.ts'
import { since } from './counted.ts'
import type { Measure } from './measure.ts'

/** In µs per unit. */
export interface Cpu {
  readonly server: number
  readonly node: number
}

/** The processor time and counters of a server so far. SQLite has no server: it runs inside the Node.js process. */
export interface Metered {
  readonly cpuMs: () => Promise<number>
  readonly status?: () => Promise<ReadonlyMap<string, number>>
}

export interface Phase {
  readonly ms: number
  readonly cpu: Cpu
  /** The server's counters, per unit. */
  readonly counts: ReadonlyMap<string, number>
  /** The value that the program returned. */
  readonly value?: unknown
}

/** The message that `line.measure` sends. */
export const measuredSchema = z.object({ ms: z.number(), cpuMs: z.number(), value: z.unknown().optional() })

/**
 * Runs the next `line.measure` of a program.
 *
 * @param units    the number of units of work
 * @param prepare  runs first and is not measured
 */
export async function measurePhase(
  child: Child,
  server: Metered,
  units: number,
  prepare: () => Promise<void> = async () => {},
): Promise<Phase> {
  const status = async () => (await server.status?.()) ?? new Map<string, number>()
  await child.ready()
  await prepare()
  const counted = await status()
  const serverMs = await server.cpuMs()
  child.go()
  const { ms, cpuMs, value } = measuredSchema.parse(await child.ready())
  const cpu = { server: perUnit((await server.cpuMs()) - serverMs, units), node: perUnit(cpuMs, units) }
  const counts = since(counted, await status(), units)
  child.go()
  return { ms, cpu, counts, value }
}

/** Converts the milliseconds of all units to µs per unit. */
export function perUnit(ms: number, units: number): number {
  return (ms * 1000) / units
}

export const NODE = (unit: string) => `CPU, Node, µs per ${unit}`
export const SERVER = (unit: string) => `CPU, server, µs per ${unit}`
export const BOTH = (unit: string) => `CPU, both, µs per ${unit}`

/** @param unit  the unit of work, for example 'job' */
export function cpuMeasures(work: string, subject: string, unit: string, rounds: readonly Cpu[]): Measure[] {
  return [
    { work, subject, unit: SERVER(unit), values: rounds.map(({ server }) => server) },
    { work, subject, unit: NODE(unit), values: rounds.map(({ node }) => node) },
    { work, subject, unit: BOTH(unit), values: rounds.map(({ server, node }) => server + node) },
  ]
}

/** The duration of a clock tick in /proc; it is the same on every Linux system. */
const TICK_MS = 10
/** The state of a listening socket in /proc/net/tcp. */
const LISTENS = '0A'
const LOCAL: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost'])

/**
 * @returns a function that reads the processor time of the server that listens at this URL, with all its threads and
 *   child processes; NaN if the server is on another machine or in a container, or if there is no /proc
 */
export function cpuOfServer(url: string): () => Promise<number> {
  const { hostname, port } = new URL(url)
  const pid = LOCAL.has(hostname) ? pidThatListens(Number(port)) : null
  return async () => (pid === null ? Number.NaN : cpuMsOf(pid))
}

/** Includes current and ended child processes: PostgreSQL has a process for each connection. */
function cpuMsOf(pid: string): number {
  const children = textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean)
  const { ownMs, endedMs } = timesOf(pid)
  return children.reduce((sum, child) => sum + timesOf(child).ownMs, ownMs + endedMs)
}

/** The processor time of a process (all its threads) and of its ended children; 0 if the process itself has ended. */
function timesOf(pid: string): { readonly ownMs: number; readonly endedMs: number } {
  // The program name is in brackets and may contain spaces.
  const fields = textOf(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ')
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number)
  // This time is in nanoseconds, but excludes ended threads. Ticks alone would lose most of the time of a server that
  // has a process for each connection.
  const threadsMs = namesIn(`/proc/${pid}/task`).reduce(
    (sum, thread) => sum + Number(textOf(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]) / 1e6,
    0,
  )
  return {
    ownMs: Math.max((user + system) * TICK_MS, threadsMs),
    endedMs: (childUser + childSystem) * TICK_MS,
  }
}

function pidThatListens(port: number): string | null {
  const sockets = new Set(
    [...textOf('/proc/net/tcp').split('\n'), ...textOf('/proc/net/tcp6').split('\n')]
      .map((line) => line.trim().split(/\s+/))
      .filter(
        ([, address = '', , state]) =>
          state === LISTENS && Number.parseInt(address.split(':')[1] ?? '', 16) === port,
      )
      .map((fields) => `socket:[${fields[9]}]`),
  )
  // A child may have inherited the server's socket, so take the lowest process id.
  const pids = namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .toSorted((a, b) => Number(a) - Number(b))
  const found = pids.find((pid) =>
    namesIn(`/proc/${pid}/fd`).some((file) => sockets.has(linkOf(`/proc/${pid}/fd/${file}`))),
  )
  return found ?? null
}

/** Processes and threads may end during the read, and those of other users are not readable. */
function readable<Value>(read: () => Value, otherwise: Value): Value {
  try {
    return read()
  } catch {
    return otherwise
  }
}

function textOf(path: string): string {
  return readable(() => readFileSync(path, 'utf8'), '')
}

function namesIn(folder: string): string[] {
  return readable(() => readdirSync(folder), [])
}

function linkOf(path: string): string {
  return readable(() => readlinkSync(path), '')
}
