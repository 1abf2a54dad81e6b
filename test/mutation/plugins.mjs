/** Plugins for Stryker: a random sample, and one line per survivor. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { commonTokens, declareClassPlugin, PluginKind, tokens } from '@stryker-mutator/api/plugin'

/** A number from 0 to 1 that is the same for a mutant in each run with the same seed. */
function positionOf({ fileName, location, mutatorName, replacement }, seed) {
  const { start, end } = location
  const place = [start.line, start.column, end.line, end.column].join(':')
  const file = fileName.slice(fileName.lastIndexOf('/src/'))
  const text = [seed, file, place, mutatorName, replacement].join('\n')
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32
}

/** Rejects mutants outside the sample: the report counts them as errors, and the score excludes them. */
class Sample {
  static inject = tokens(commonTokens.options)

  constructor({ sample }) {
    this.sample = sample
  }

  async init() {}

  async group(mutants) {
    return [mutants.map(({ id }) => id)]
  }

  async check(mutants) {
    const { share, seed } = this.sample
    return Object.fromEntries(
      mutants.map((mutant) => [
        mutant.id,
        positionOf(mutant, seed) < share
          ? { status: 'passed' }
          : { status: 'compileError', reason: 'not in the sample' },
      ]),
    )
  }
}

/** The Wilson score interval for a proportion, with 95 % confidence. */
function interval(hits, all) {
  const z = 1.96
  const share = hits / all
  const middle = (share + z ** 2 / (2 * all)) / (1 + z ** 2 / all)
  const half = (z * Math.sqrt((share * (1 - share)) / all + z ** 2 / (4 * all ** 2))) / (1 + z ** 2 / all)
  return [middle - half, middle + half]
}

const percent = (share) => `${(share * 100).toFixed(1)} %`

/** Writes the score and the survivors to a file during the run, one per line, and prints the score at the end. */
class Survivors {
  static inject = tokens(commonTokens.options)
  killed = 0
  survivors = []

  constructor({ survivorsFile }) {
    this.file = survivorsFile
  }

  onMutantTested({ status, fileName, location, mutatorName, replacement }) {
    if (status === 'Killed' || status === 'Timeout') this.killed += 1
    if (status !== 'Survived' && status !== 'NoCoverage') return
    const { start, end } = location
    const lines = readFileSync(fileName, 'utf8')
      .split('\n')
      .slice(start.line - 1, end.line)
    lines[lines.length - 1] = lines.at(-1).slice(0, lines.length === 1 ? end.column - 1 : end.column)
    lines[0] = lines[0].slice(start.column - 1)
    const original = lines.map((line) => line.trim()).join(' ')
    const shown = [original, replacement.replaceAll(/\s+/g, ' ')].map((text) =>
      text.length > 100 ? `${text.slice(0, 97)}...` : text,
    )
    const untested = status === 'NoCoverage' ? ' (no coverage)' : ''
    const place = `${fileName.slice(fileName.lastIndexOf('/src/') + 1)}:${start.line}:${start.column}`
    this.survivors.push(`${place} ${mutatorName}${untested}: ${shown.join('  →  ')}`)
    this.write()
  }

  wrapUp() {
    this.write()
    process.stdout.write(`${this.score()}\n`)
  }

  score() {
    const all = this.killed + this.survivors.length
    const [from, to] = interval(this.killed, all)
    return `${percent(this.killed / all)} of ${all} mutants killed; ${percent(from)} to ${percent(to)} with 95 % confidence`
  }

  write() {
    mkdirSync(dirname(this.file), { recursive: true })
    writeFileSync(this.file, [this.score(), '', ...this.survivors, ''].join('\n'))
  }
}

export const strykerPlugins = [
  declareClassPlugin(PluginKind.Checker, 'sample', Sample),
  declareClassPlugin(PluginKind.Reporter, 'survivors', Survivors),
]
