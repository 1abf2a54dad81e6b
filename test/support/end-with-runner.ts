/** Setup of every test file: its process and its servers end as soon as the test runner ends, in any way. */
// vitest makes process.exit throw.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
