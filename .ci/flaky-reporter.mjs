/** Names the tests that passed only when they were tried again: each of them is to be looked into. */
export default class FlakyReporter {
  onTestCaseResult(test) {
    if (test.diagnostic()?.flaky !== true) return
    const [error] = test.result().errors ?? []
    const name = `${test.module.relativeModuleId} > ${test.fullName}`
    process.stdout.write(`flaky: ${name}: ${error?.message ?? 'no error was told'}\n`)
  }
}
