import { constants } from 'node:os'
import type { Logger } from '../logger.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const
/**
 * A terminal sends a signal to both npm and this process, and npm forwards it, so one request arrives twice. Signals
 * within this time count as one.
 */
const SAME_REQUEST_MS = 1000
/** The handlers of all instances. */
const OWN = new Set<unknown>()

/**
 * The first signal stops Kalends. Then the process ends as it would without a handler. If the application also handles
 * the signal, its handler decides when the process ends. A signal more than a second later ends the process immediately.
 *
 * @returns a function that removes the handlers
 */
export function stopOnSignals(kalends: { readonly stop: () => Promise<void> }, logger: Logger): () => void {
  let stoppingSince: number | null = null
  const removeHandlers = () => {
    OWN.delete(onSignal)
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
  const onSignal = (signal: NodeJS.Signals) => {
    if (stoppingSince === null) {
      stoppingSince = performance.now()
      // This handler runs first, so it sees all listeners, including one-time handlers that remove themselves.
      void stop(
        signal,
        process.listeners(signal).every((listener) => OWN.has(listener)),
      )
    } else if (performance.now() - stoppingSince > SAME_REQUEST_MS)
      process.exit(128 + constants.signals[signal])
  }
  const stop = async (signal: NodeJS.Signals, isOurs: boolean) => {
    logger.info({ signal }, 'Stopping')
    await kalends.stop().catch((error: unknown) => logger.error({ err: error }, 'Stopping failed'))
    removeHandlers()
    if (!isOurs || process.listenerCount(signal) > 0) return
    // If process 1, for example in a container, has no handler for a signal, the signal does not end it.
    if (process.pid === 1) process.exit(128 + constants.signals[signal])
    process.kill(process.pid, signal)
  }
  OWN.add(onSignal)
  for (const signal of SIGNALS) process.prependListener(signal, onSignal)
  return removeHandlers
}
