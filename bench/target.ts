/** Whether what was measured is what was wanted. */
import { round } from './numbers.ts'
import type { Measure, Target } from './suite.ts'
import { median } from './statistics.ts'

export function atLeast(text: string, value: number, least: number, unit = ''): Target {
  return { text, measured: `${round(value)}${unit}`, reached: value >= least }
}

export function atMost(text: string, value: number, most: number, unit = ''): Target {
  return { text, measured: `${round(value)}${unit}`, reached: value <= most }
}

/** How many times as much `of` is as `peer` is, by the medians of the same run. */
export function ratio(of: Measure, peer: Measure): number {
  return median(of.values) / median(peer.values)
}

/** @throws RangeError when the suite has not measured it */
export function find(measures: readonly Measure[], work: string, subject: string): Measure {
  const found = measures.find((measure) => measure.work === work && measure.subject === subject)
  if (found === undefined) throw new RangeError(`'${work}' was not measured for ${subject}`)
  return found
}
