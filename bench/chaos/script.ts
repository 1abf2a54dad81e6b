/**
 * Which fault comes when: drawn from the seed before the run begins, so that the same seed plays the same again.
 *
 * Faults come in bursts, in which they overlap, and after each burst there is quiet, in which the workers must have
 * recovered by themselves; without it nobody could tell whether they do.
 */
import type { Fault } from './fault.ts'
import { randomOf, type Random } from './random.ts'

/** One fault of a run, at its place in it. */
export interface Play {
  readonly number: number
  /** Counted from 0; a burst begins when the one before it is over and its quiet has passed. */
  readonly burst: number
  /** ms after the begin of its burst. */
  readonly at: number
  readonly fault: Fault
  readonly seed: number
}

export interface ScriptOptions {
  readonly seed: number
  readonly faults: readonly Fault[]
  /** How long the run is. */
  readonly totalMs: number
  /** How many faults there are to be. */
  readonly count: number
  /** The time after a burst in which no fault is. */
  readonly quietMs: number
  /** How many workers may be in faults' hands at the same time. */
  readonly mostInTrouble: number
}

export interface Script {
  readonly plays: readonly Play[]
  /** How long each burst lasts, if each fault lasts as long as it says. */
  readonly bursts: readonly number[]
}

/** Long enough for faults to meet, short enough for many pauses. */
const BURST_MS = 18_000
/** How often a place is looked for before another fault is drawn. */
const TRIES = 30
/** Faults do not lie side by side without gaps. */
const LOOSENESS = 1.2
/** How many faults on single rows run at once. */
export const SINGLE_AT_ONCE = 2

/** @throws RangeError when there is nothing to draw from */
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

/** As many as there is time for, with the quiet after each: faults of the same scope take their time one by one. */
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
 * Those of each scope in turn, so that no burst gets more than its share of what takes long. If there are faults on
 * single rows, they get every other burst and `whole` ones get the rest: what affects everything would excuse whatever
 * a locked row stops.
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

/** Each kind once in a random order while there is room, then by weight, among those that there is time for. */
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
  // The first ones spread over the whole run.
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

/** The longest first: they have the fewest places. */
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
  // Behind all others, and the burst lasts longer.
  return Math.max(0, ...placed.map((other) => other.at + other.fault.lastsMs))
}

function fits(one: Placed, placed: readonly Placed[], mostInTrouble: number): boolean {
  if (one.fault.scope === 'rows') return true
  const meeting = placed
    .filter(({ fault }) => fault.scope === one.fault.scope)
    .filter((other) => meet(one, other))
  if (one.fault.scope === 'whole') return meeting.length === 0
  const atOnce = one.fault.scope === 'single' ? SINGLE_AT_ONCE : mostInTrouble
  // At the begin of each of those that it meets, and at its own.
  return [one, ...meeting].every(({ at }) => {
    const then = [one, ...meeting].filter((other) => other.at <= at && at < other.at + other.fault.lastsMs)
    return then.length <= atOnce
  })
}

function meet(one: Placed, other: Placed): boolean {
  return one.at < other.at + other.fault.lastsMs && other.at < one.at + one.fault.lastsMs
}
