/** Compares measurements with targets. */
import { round } from './numbers.ts'
import type { Target } from './suite.ts'
import type { Measure } from './measure.ts'
import { median } from './statistics.ts'

export function atLeast(text: string, value: number, least: number, unit = ''): Target {
  return { text, measured: `${round(value)}${unit}`, reached: value >= least }
}

export function atMost(text: string, value: number, most: number, unit = ''): Target {
  return { text, measured: `${round(value)}${unit}`, reached: value <= most }
}

/** A figure and the name of its subject. */
export type Named = readonly [name: string, value: number]

/** One target that covers several figures and shows the worst of them. */
export function eachAtLeast(text: string, values: readonly Named[], least: number, unit = ''): Target {
  return judgeWorst(
    text,
    values.toSorted(([, a], [, b]) => a - b),
    unit,
    (value) => value >= least,
  )
}

export function eachAtMost(text: string, values: readonly Named[], most: number, unit = ''): Target {
  return judgeWorst(
    text,
    values.toSorted(([, a], [, b]) => b - a),
    unit,
    (value) => value <= most,
  )
}

function judgeWorst(
  text: string,
  [worst = ['nothing', Number.NaN]]: readonly Named[],
  unit: string,
  isReached: (value: number) => boolean,
): Target {
  const [name, value] = worst
  return { text, measured: `${round(value)}${unit} (${name})`, reached: isReached(value) }
}

/** The ratio of the medians of `of` and `peer`, from the same run. */
export function ratio(of: Measure, peer: Measure): number {
  return median(of.values) / median(peer.values)
}

export interface Comparison {
  readonly work: string
  readonly unit: string
  readonly peer: string
  /** Kalends on MariaDB must reach at least `least` times or at most `most` times the peer's figure. */
  readonly least?: number
  readonly most?: number
}

/** Compares Kalends on MariaDB with one peer by the medians of the same run; empty if the peer was not measured. */
export function compare(
  measures: readonly Measure[],
  { work, unit, peer, least, most }: Comparison,
): Target[] {
  const its = measures.find((each) => each.work === work && each.unit === unit && each.subject === peer)
  if (its === undefined) return []
  const ours = find(measures, work, 'Kalends on MariaDB', unit)
  const times = ratio(ours, its)
  const limit = least === undefined ? `at most ${most}` : `at least ${least}`
  return [
    {
      text: `${work}, on MariaDB: ${limit} times ${peer}`,
      measured: `${round(times)} times (${round(median(ours.values))} and ${round(median(its.values))} ${unit})`,
      reached: least === undefined ? times <= (most ?? Number.NaN) : times >= least,
    },
  ]
}

/** @throws RangeError if the suite has no such measure */
export function find(measures: readonly Measure[], work: string, subject: string, unit?: string): Measure {
  const found = measures.find(
    (measure) =>
      measure.work === work && measure.subject === subject && measure.unit === (unit ?? measure.unit),
  )
  if (found === undefined) throw new RangeError(`'${work}' was not measured for ${subject}`)
  return found
}
