/**
 * Runs the tests: `node scripts/test.mjs [vitest filters and options]`.
 *
 * A file that fails is run once more, alone, after all the others. If it then passes, it is reported as flaky and does
 * not make the run red; more than two such files do. Some failures cannot be flaky and make the run red at once: an
 * error outside a test file, a crashed vitest worker, a failed set-up, and a broken guarantee, such as a lost,
 * duplicated or early run (OccurrenceFault in test/support/fault.ts).
 *
 * The last line is `N passed, M failed`. For a file that was run again, the second result counts.
 */
import { relative } from 'node:path'
import { createVitest, parseCLI } from 'vitest/node'

const MAX_FLAKY_FILES = 2
/** Longer than the test servers take to stop. */
const CLOSE_WITHIN_MS = 120_000

// Ends this run when the process that started it ends.
const parent = process.ppid
setInterval(() => process.ppid === parent || process.kill(process.pid, 'SIGTERM'), 1000).unref()

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const say = (line) => process.stdout.write(`${line}\n`)

/** Why the run is red. */
const red = []
/** The last result of each file, by file name. */
const results = new Map()

const vitest = await createVitest('test', { ...options, watch: false })
try {
  keepResults(await vitest.start(filter))
  const failed = [...results.values()]
    .filter((module) => !module.ok())
    .toSorted((a, b) => nameOf(a).localeCompare(nameOf(b)))
  for (const module of failed) {
    const fault = faultOf(module)
    if (fault !== null) red.push(`${nameOf(module)} is not run again: ${firstLine(fault.message)}`)
  }
  if (red.length === 0) await repeat(failed)
} catch (error) {
  red.push('the tests could not run')
  vitest.logger.printError(error, { fullStack: true })
}
await close()

const tests = [...results.values()].flatMap((module) => [...module.children.allTests()])
const count = (state) => tests.filter((test) => test.result().state === state).length
// A file that could not be loaded, or whose hook failed, counts as failed even without a failed test.
const untested = [...results.values()].filter(
  (module) => !module.ok() && ![...module.children.allTests('failed')].length,
)
for (const line of red) say(`failed: ${line}`)
if (count('skipped') > 0) say(`${count('skipped')} skipped: not applicable to a database or to this machine`)
say(`${count('passed')} passed, ${Math.max(count('failed') + untested.length, red.length)} failed`)
process.exit(red.length > 0 ? 1 : 0)

/** Stops the test servers. A server that hangs must not hide the results. */
async function close() {
  const late = new Promise((resolve) => setTimeout(resolve, CLOSE_WITHIN_MS, 'late').unref())
  if ((await Promise.race([vitest.close(), late])) === 'late')
    red.push(`the tear-down took longer than ${CLOSE_WITHIN_MS} ms`)
}

/** Runs each failed file again, alone, to find out which are flaky. */
async function repeat(modules) {
  const flaky = []
  for (const module of modules) {
    const name = nameOf(module)
    say(`\nrunning ${name} once more, alone`)
    keepResults(await vitest.runTestSpecifications([module.toTestSpecification()]))
    if (results.get(name).ok()) flaky.push(`${name}: ${firstLine(errorsOf(module)[0]?.message)}`)
    else red.push(`${name} failed twice`)
  }
  for (const line of flaky) say(`flaky: ${line}`)
  if (flaky.length > MAX_FLAKY_FILES)
    red.push(`${flaky.length} files are flaky; at most ${MAX_FLAKY_FILES} may be`)
}

function keepResults({ testModules, unhandledErrors }) {
  for (const module of testModules) results.set(nameOf(module), module)
  if (unhandledErrors.length > 0) red.push(`errors outside the tests: ${unhandledErrors.length}`)
}

function nameOf(module) {
  const file = relative(vitest.config.root, module.moduleId)
  return module.project.name === '' ? file : `${file} (${module.project.name})`
}

function faultOf(module) {
  // vitest's reporter puts a prefix before the names of the causes that it prints: 'Caused by: OccurrenceFault'.
  const faultsIn = (error) => {
    if (!error) return []
    return /\bOccurrenceFault$/.test(error.name)
      ? [error]
      : [error.cause, ...(error.errors ?? [])].flatMap(faultsIn)
  }
  return errorsOf(module).flatMap(faultsIn)[0] ?? null
}

function errorsOf(module) {
  return [
    ...module.errors(),
    ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
    ...[...module.children.allTests()].flatMap((test) => test.result().errors ?? []),
  ]
}

function firstLine(text) {
  return String(text).split('\n')[0]
}
