#!/usr/bin/env node
import { program } from './commands.ts'
import { EXIT, report } from './failure.ts'

const args = process.argv.slice(2)
const isWorker = args.find((arg) => !arg.startsWith('-')) === 'start'

// `kalends … | head` is not an error. If the log of a worker loses its reader, the worker stops cleanly, so that it
// releases its jobs.
let hasReader = true
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    if (!isWorker) process.exit(EXIT.ok)
    if (hasReader) process.kill(process.pid, 'SIGTERM')
    hasReader = false
  })
}

const main = await program(args)
try {
  // Commands that run a worker handle Ctrl-C themselves, to stop cleanly; it ends any other command immediately.
  if (!isWorker) process.once('SIGINT', () => process.exit(EXIT.interrupted))
  await main.parseAsync(args, { from: 'user' })
} catch (error) {
  process.exitCode = report(error, main.opts()['verbose'] === true, (text) => process.stderr.write(text))
}
