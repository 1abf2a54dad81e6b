import type { Logger } from './logger.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const
/** Signals that come together ask for one stop. */
const SAME_WISH_MS = 1000

/** @returns a function that lets the signals be */
export function stopOnSignals(kalends: { readonly stop: () => Promise<void> }, logger: Logger): () => void {
  const forget = () => {
    for (const signal of SIGNALS) process.off(signal, stop)
  }
  let last: NodeJS.Timeout | undefined
  const stop = (signal: NodeJS.Signals) => {
    // npm passes on what the terminal has sent to it and to us, so one wish comes twice. Who sends another
    // later does not want to wait for the end of the grace period.
    if (last !== undefined) return
    last = setTimeout(forget, SAME_WISH_MS).unref()
    logger.info({ signal }, 'Stopping')
    kalends.stop().catch((error: unknown) => logger.error({ err: error }, 'The stop failed'))
  }
  for (const signal of SIGNALS) process.on(signal, stop)
  return () => {
    clearTimeout(last)
    forget()
  }
}
