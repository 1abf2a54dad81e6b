// Adds vitest's JSON reports up into the one line that CI reads: `node .ci/count-tests.mjs report.json…`
import { readFileSync } from 'node:fs'

let passed = 0
let failed = 0
let skipped = 0
for (const file of process.argv.slice(2)) {
  const report = JSON.parse(readFileSync(file, 'utf8'))
  passed += report.numPassedTests
  failed += report.numFailedTests
  skipped += report.numPendingTests + report.numTodoTests
  // A file that could not even be loaded has no tests that could fail.
  failed += report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  ).length
}
if (skipped > 0) process.stdout.write(`${skipped} do not apply to a database, or to this machine\n`)
process.stdout.write(`${passed} passed, ${failed} failed\n`)
