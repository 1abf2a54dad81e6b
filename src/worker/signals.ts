import type { Logger } from '../logger.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const
/** Signals within this time count as one request to stop. */
const SAME_REQUEST_MS = 1000

/** @returns a function that removes the handlers */
export function stopOnSignals(kalends: { readonly stop: () => Promise<void> }, logger: Logger): () => void {
  const removeHandlers = () => {
    for (const signal of SIGNALS) process.off(signal, stop)
  }
  let removal: NodeJS.Timeout | undefined
  const stop = (signal: NodeJS.Signals) => {
    // The terminal signals both npm and this process, and npm forwards its signal, so one request arrives twice. After
    // that, another signal ends the process at once, without the grace period.
    if (removal !== undefined) return
    removal = setTimeout(removeHandlers, SAME_REQUEST_MS).unref()
    logger.info({ signal }, 'Stopping')
    kalends.stop().catch((error: unknown) => logger.error({ err: error }, 'The stop failed'))
  }
  for (const signal of SIGNALS) process.on(signal, stop)
  return () => {
    clearTimeout(removal)
    removeHandlers()
  }
}
