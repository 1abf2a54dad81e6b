/** Before something is destroyed: `--yes`, or a question where somebody can answer it. */
import { createInterface } from 'node:readline/promises'
import { CommandError, EXIT, QuietFailure } from './failure.ts'
import { say } from './output.ts'

/**
 * @param what  as the question asks for it: `Remove 3 schedules?`
 * @throws CommandError when there is no terminal to ask at; QuietFailure when the answer is not yes
 */
export async function confirm(what: string, yes: boolean | undefined): Promise<void> {
  if (yes === true) return
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new CommandError(`${what} There is no terminal to ask at: say so with --yes`, {
      exitCode: EXIT.usage,
    })
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  // Ctrl-C and Ctrl-D are a no.
  const answer = await Promise.race([
    terminal.question(`${what} [y/N] `),
    new Promise<'interrupted'>((resolve) => {
      terminal.once('SIGINT', () => resolve('interrupted'))
      terminal.once('close', () => resolve('interrupted'))
    }),
  ])
  terminal.close()
  if (/^\s*y(?:es)?\s*$/i.test(answer)) return
  say('Nothing was changed.')
  throw new QuietFailure('declined', { exitCode: answer === 'interrupted' ? EXIT.interrupted : EXIT.failed })
}
