/**
 * Decides which faults happen when. The script is derived from the seed before the run, so the same seed repeats it.
 *
 * Faults overlap in bursts. After each burst there is a quiet period, in which the workers must recover by themselves.
 * Without this period, recovery could not be measured.
 */
import type { Fault } from './fault.ts'
import { randomOf, type Random } from './random.ts'

/** One fault of a run, with its position. */
export interface Play {
  readonly number: number
  /** Counted from 0. A burst starts after the quiet period of the previous burst. */
  readonly burst: number
  /** ms after the start of its burst. */
  readonly at: number
  readonly fault: Fault
  readonly seed: number
}

export interface ScriptOptions {
  readonly seed: number
  readonly faults: readonly Fault[]
  /** The time available for bursts and quiet periods. */
  readonly totalMs: number
  /** The number of faults. */
  readonly count: number
  /** The time without faults after each burst. */
  readonly quietMs: number
  /** The maximum number of workers that faults may affect at the same time. */
  readonly mostInTrouble: number
}

export interface Script {
  readonly plays: readonly Play[]
  /** How long each burst lasts if each fault takes its maximum duration. */
  readonly bursts: readonly number[]
}

/** Long enough for faults to overlap, short enough for many quiet periods. */
const BURST_MS = 18_000
/** How many random positions to try for a fault before it is appended to the burst. */
const TRIES = 30
/** Faults need more room than their total duration, because there are gaps between them. */
const LOOSENESS = 1.2
/** Maximum number of faults on single rows at the same time. */
export const SINGLE_AT_ONCE = 2

/** @throws RangeError if there are no faults to draw from */
export function scriptOf(options: ScriptOptions): Script {
  const { faults, count, seed } = options
  if (faults.length === 0 && count > 0) throw new RangeError('there are no faults to play')
  const random = randomOf(seed).fork('script')
  const drawn = draw(options, random)
  const plays: Play[] = []
  const lengths: number[] = []
  for (const [burst, those] of dealt(drawn, burstsFor(drawn, options)).entries()) {
    const placed = place(those, random, options)
    lengths.push(Math.max(0, ...placed.map(({ at, fault }) => at + fault.lastsMs)))
    for (const { at, fault } of placed) {
      const number = plays.length + 1
      plays.push({ number, burst, at, fault, seed: random.int(1, 2 ** 31 - 1) })
    }
  }
  return { plays, bursts: lengths }
}

/** How many bursts fit, with their quiet periods, if no more faults overlap than their scopes allow. */
function burstsFor(drawn: readonly Fault[], { totalMs, quietMs, mostInTrouble }: ScriptOptions): number {
  const apartMs = sum(drawn, 'whole') + sum(drawn, 'single') / SINGLE_AT_ONCE
  const busyMs = LOOSENESS * Math.max(apartMs, sum(drawn, 'worker') / mostInTrouble)
  const most = Math.min(drawn.length, Math.floor(totalMs / (BURST_MS + quietMs)))
  const least = sum(drawn, 'whole') > 0 && sum(drawn, 'single') > 0 ? 2 : 1
  return Math.max(least, Math.min(most, Math.floor((totalMs - busyMs) / quietMs)))
}

function sum(faults: readonly Fault[], scope: Fault['scope']): number {
  return faults.filter((fault) => fault.scope === scope).reduce((ms, { lastsMs }) => ms + lastsMs, 0)
}

/**
 * Distributes the faults of each scope evenly among the bursts, because the scope limits how many of them may overlap.
 * If there are both `whole` and `single` faults, they get alternate bursts, because a fault that affects everything
 * would excuse any delay that a locked row causes.
 */
function dealt(drawn: readonly Fault[], bursts: number): Fault[][] {
  const hands = Array.from({ length: bursts }, (): Fault[] => [])
  const of = (scope: Fault['scope']) => drawn.filter((each) => each.scope === scope)
  const isApart = of('whole').length > 0 && of('single').length > 0
  for (const [index, scope] of (['whole', 'single'] as const).entries())
    deal(of(scope), isApart ? hands.filter((_, burst) => burst % 2 === index) : hands)
  for (const scope of ['worker', 'rows'] as const) deal(of(scope), hands)
  return hands
}

function deal(faults: readonly Fault[], to: readonly Fault[][]): void {
  for (const [index, fault] of faults.entries()) to[index % to.length]?.push(fault)
}

/** Draws each kind once in random order, and then draws by weight from the faults that fit. */
function draw({ faults, count, totalMs, quietMs, mostInTrouble }: ScriptOptions, random: Random): Fault[] {
  const left = faults.filter(({ weight }) => weight > 0)
  const drawn: Fault[] = []
  while (left.length > 0 && drawn.length < count)
    drawn.push(...left.splice(random.int(0, left.length - 1), 1))
  const busyMs = ((BURST_MS / (BURST_MS + quietMs)) * totalMs) / LOOSENESS
  const isApart =
    faults.some(({ scope }) => scope === 'single') && faults.some(({ scope }) => scope === 'whole')
  const apartMs = isApart ? busyMs / 2 : busyMs
  const most = {
    whole: apartMs,
    single: apartMs * SINGLE_AT_ONCE,
    worker: busyMs * mostInTrouble,
    rows: Number.POSITIVE_INFINITY,
  }
  while (drawn.length < count) {
    const fitting = faults.filter(({ scope, lastsMs }) => sum(drawn, scope) + lastsMs <= most[scope])
    drawn.push(byWeight(fitting.length === 0 ? faults : fitting, random))
  }
  // Spread the faults that were drawn first over the whole run.
  for (let index = drawn.length - 1; index > 0; index -= 1) {
    const other = random.int(0, index)
    const [one, two] = [drawn[index], drawn[other]]
    if (one !== undefined && two !== undefined) [drawn[index], drawn[other]] = [two, one]
  }
  return drawn
}

function byWeight(faults: readonly Fault[], random: Random): Fault {
  let left = random.int(
    1,
    faults.reduce((sum, { weight }) => sum + weight, 0),
  )
  for (const fault of faults) {
    left -= fault.weight
    if (left <= 0) return fault
  }
  return random.pick(faults)
}

interface Placed {
  readonly at: number
  readonly fault: Fault
}

/** Places the longest faults first, because they have the fewest possible positions. */
function place(
  faults: readonly Fault[],
  random: Random,
  { mostInTrouble }: Pick<ScriptOptions, 'mostInTrouble'>,
): Placed[] {
  const placed: Placed[] = []
  for (const fault of faults.toSorted((a, b) => b.lastsMs - a.lastsMs)) {
    placed.push({ fault, at: placeFor(fault, placed, random, mostInTrouble) })
  }
  return placed.toSorted((a, b) => a.at - b.at)
}

function placeFor(fault: Fault, placed: readonly Placed[], random: Random, mostInTrouble: number): number {
  const latest = Math.max(0, BURST_MS - fault.lastsMs)
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const at = random.int(0, latest)
    if (fits({ at, fault }, placed, mostInTrouble)) return at
  }
  // Place it after all others, which makes the burst longer.
  return Math.max(0, ...placed.map((other) => other.at + other.fault.lastsMs))
}

function fits(one: Placed, placed: readonly Placed[], mostInTrouble: number): boolean {
  if (one.fault.scope === 'rows') return true
  const meeting = placed
    .filter(({ fault }) => fault.scope === one.fault.scope)
    .filter((other) => meet(one, other))
  if (one.fault.scope === 'whole') return meeting.length === 0
  const atOnce = one.fault.scope === 'single' ? SINGLE_AT_ONCE : mostInTrouble
  // Count the concurrent faults at the start of this fault and of each fault that overlaps it.
  return [one, ...meeting].every(({ at }) => {
    const then = [one, ...meeting].filter((other) => other.at <= at && at < other.at + other.fault.lastsMs)
    return then.length <= atOnce
  })
}

function meet(one: Placed, other: Placed): boolean {
  return one.at < other.at + other.fault.lastsMs && other.at < one.at + one.fault.lastsMs
}
