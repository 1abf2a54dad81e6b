/** Setup of every test file: its process ends as soon as the test runner does, in whatever way, and with it its servers. */
// vitest makes process.exit throw.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
