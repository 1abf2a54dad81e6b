#!/usr/bin/env node
/** The command line: `kalends …`. Every command says with its exit code how it went: see failure.ts. */
import { program } from './commands.ts'
import { EXIT, report } from './failure.ts'

const args = process.argv.slice(2)
const isWorker = args.find((arg) => !arg.startsWith('-')) === 'start'

// `kalends … | head` is not an error. A worker whose log nobody reads any more still gives back what it runs.
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
  // A worker stops in its own way; whatever else is going on ends here.
  if (!isWorker) process.once('SIGINT', () => process.exit(EXIT.interrupted))
  await main.parseAsync(args, { from: 'user' })
} catch (error) {
  process.exitCode = report(error, main.opts<{ verbose?: boolean }>().verbose === true, (text) =>
    process.stderr.write(text),
  )
}
