/** The arguments of `npm run bench -- …`. */
import { parseArgs } from 'node:util'

export interface Arguments {
  readonly suites: readonly string[]
  readonly runs: number
  readonly quick: boolean
}

const RUNS = 5
const QUICK_RUNS = 2

/** @throws Error if an argument is invalid; the message names it */
export function readArguments(words: readonly string[], known: readonly string[]): Arguments {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: { runs: { type: 'string' }, quick: { type: 'boolean', default: false } },
  })
  const unknown = positionals.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`Unknown: ${unknown.join(', ')}; known suites: ${known.join(', ')}`)
  const runs = values.runs === undefined ? (values.quick ? QUICK_RUNS : RUNS) : Number(values.runs)
  if (!Number.isInteger(runs) || runs < 1 || runs > 100)
    throw new Error(`--runs must be an integer between 1 and 100, got '${values.runs}'`)
  return { suites: positionals.length > 0 ? positionals : known, runs, quick: values.quick }
}
