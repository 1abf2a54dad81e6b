/** SIGINT and SIGTERM: the first signal requests a clean stop, and a second one ends the process immediately. */
import { EXIT } from './failure.ts'

/**
 * A terminal sends Ctrl-C to every process in the foreground, and npm forwards it, so a second signal within this time
 * counts as the same one.
 */
const SAME_MS = 500

/** @returns resolves with the first signal */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | null = null
    const onSignal = (signal: NodeJS.Signals) => {
      if (first === null) {
        first = performance.now()
        resolve(signal)
      } else if (performance.now() - first > SAME_MS) process.exit(EXIT.interrupted)
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
}
