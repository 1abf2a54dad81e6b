import { createInterface } from 'node:readline/promises'
import { EXIT, QuietFailure, UsageError } from './failure.ts'
import { say } from './output.ts'

/** @throws UsageError without a terminal; QuietFailure if the answer is not yes */
export async function confirm(question: string, yes: boolean | undefined): Promise<void> {
  if (yes === true) return
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageError(`${question} There is no terminal for the question: confirm with --yes`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // Ctrl-C and Ctrl-D mean no.
  const answer = await Promise.race([
    terminal.question(`${question} [y/N] `),
    new Promise<'interrupted'>((resolve) => {
      terminal.once('SIGINT', () => resolve('interrupted'))
      terminal.once('close', () => resolve('interrupted'))
    }),
  ])
  terminal.close()
  if (/^\s*y(?:es)?\s*$/i.test(answer)) return
  say('Nothing was changed.')
  throw new QuietFailure(answer === 'interrupted' ? EXIT.interrupted : EXIT.failed)
}
