#!/usr/bin/env node
/** The command line: `kalends …`. Every command says with its exit code how it went: see failure.ts. */
import { program } from './commands.ts'
import { EXIT, report } from './failure.ts'

// `kalends … | head` is no fault.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok)
    throw error
  })
}

const args = process.argv.slice(2)
const main = await program(args)
try {
  // A worker stops in its own way; whatever else is going on ends here.
  if (args.find((arg) => !arg.startsWith('-')) !== 'start')
    process.once('SIGINT', () => process.exit(EXIT.interrupted))
  await main.parseAsync(args, { from: 'user' })
} catch (error) {
  process.exitCode = report(error, main.opts<{ verbose?: boolean }>().verbose === true, (text) =>
    process.stderr.write(text),
  )
}
