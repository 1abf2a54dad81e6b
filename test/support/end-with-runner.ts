/** Setup of every test file: its process and its servers end as soon as the test runner ends, however it ends. */
// vitest makes process.exit throw.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
