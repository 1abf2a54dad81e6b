/**
 * Mutation tests of the conditions of SQL statements, on SQLite: `npm run mutation:sql -- [share] [seed] [test file
 * …]`.
 *
 * A first run of the tests records the statements of the store. Then the script tries a random share of the possible
 * changes, each with test files that send the statement, until a test fails. It writes the survivors to .stryker/.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createVitest, type Vitest } from 'vitest/node'
import { groupBy } from '../../src/store/group-by.ts'

interface Noted {
  readonly file: string
  readonly key: string
  readonly statement: string
}

/** The maximum number of files per change; without it, most changes would take minutes. */
const MAX_FILES = 20

/**
 * A change and the test files that send its statement: the store's files first, then the others, both from fastest to
 * slowest.
 */
interface Mutant {
  readonly key: string
  readonly statement: string
  readonly files: readonly string[]
}

const FOLDER = resolve('.stryker')
const NOTES = `${FOLDER}/statements.jsonl`
const PROCESS = `${FOLDER}/process`
/** If a change makes a statement endless, the test process is killed after this time. */
const MAX_MS = 60_000
const [share = '1', seed = '1', ...filters] = process.argv.slice(2)

/** A number from 0 to 1 that is the same in each run with the same seed. */
function positionOf({ key }: Mutant): number {
  return createHash('sha256').update(`${seed}\n${key}`).digest().readUInt32BE() / 2 ** 32
}

/** @returns whether each module passed, and how long it took */
async function run(
  vitest: Vitest,
  files: readonly string[],
): Promise<Map<string, { ok: boolean; ms: number }>> {
  vitest.state.filesMap.clear()
  await vitest.start([...files])
  return new Map(
    vitest.state
      .getTestModules()
      .map((one) => [one.moduleId, { ok: one.ok(), ms: one.diagnostic().duration }]),
  )
}

const isOfStore = (file: string) => file.includes('/test/store/')

function mutantsOf(noted: readonly Noted[], msOf: ReadonlyMap<string, number>): Mutant[] {
  return [...groupBy(noted, ({ key }) => key)].map(([key, of]) => ({
    key,
    statement: of[0]?.statement ?? '',
    files: of
      .map(({ file }) => file)
      .toSorted(
        (a, b) => Number(isOfStore(b)) - Number(isOfStore(a)) || (msOf.get(a) ?? 0) - (msOf.get(b) ?? 0),
      )
      .slice(0, MAX_FILES),
  }))
}

mkdirSync(FOLDER, { recursive: true })
rmSync(NOTES, { force: true })
process.env['KALENDS_MUTATION'] = 'sql'
process.env['KALENDS_TEST_DATABASES'] = 'sqlite'
const vitest = await createVitest('test', {
  config: 'test/mutation/sql.config.ts',
  watch: false,
  maxWorkers: 1,
  reporters: [{}],
})
vitest.provide('sqlMutation', { notes: NOTES, made: null, process: PROCESS })
const first = await run(vitest, filters)
for (const { moduleId, children } of vitest.state.getTestModules())
  for (const test of children.allTests('failed'))
    throw new Error(
      `${moduleId} > ${test.fullName} fails without a change: ${test.result().errors?.[0]?.message}`,
    )
const noted: Noted[] = readFileSync(NOTES, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))
const all = mutantsOf(noted, new Map([...first].map(([file, { ms }]) => [file, ms])))
// In random order, so that an interrupted run is also a random sample.
const chosen = all
  .filter((mutant) => positionOf(mutant) < Number(share))
  .toSorted((a, b) => positionOf(a) - positionOf(b))
process.stdout.write(`${all.length} changes of statements; ${chosen.length} will be tried\n`)

let killed = 0
const survivors: string[] = []
for (const mutant of chosen) {
  vitest.provide('sqlMutation', { notes: null, made: mutant.key, process: PROCESS })
  let isEndless = false
  const watch = setTimeout(() => {
    isEndless = true
    process.kill(Number(readFileSync(PROCESS, 'utf8')), 'SIGKILL')
  }, MAX_MS)
  const results = await run(vitest, mutant.files)
  clearTimeout(watch)
  if (!isEndless && [...results.values()].every(({ ok }) => ok))
    survivors.push(`${mutant.key}\n    in ${mutant.statement.slice(0, 200)}`)
  else killed += 1
  const tried = killed + survivors.length
  const score = `${killed} of ${tried} changes killed (${((killed / tried) * 100).toFixed(1)} %); ${all.length} in total`
  process.stdout.write(`${score}\n`)
  writeFileSync(`${FOLDER}/sql-conditions.txt`, `${[score, ...survivors].join('\n\n')}\n`)
}
await vitest.close()
