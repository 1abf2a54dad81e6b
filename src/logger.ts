/**
 * The logger interface of Kalends. pino and most other loggers can be passed directly; console needs an adapter.
 * Without a logger, the library is silent.
 */
export interface Logger {
  /** Each submission, and each start and end of a job. */
  debug(fields: object, message: string): void
  /** Starts, stops, and changes of declared schedules. */
  info(fields: object, message: string): void
  /** Skipped slots, failed attempts, dead workers, repaired rows. */
  warn(fields: object, message: string): void
  /** Failed operations that are retried, and problems that need manual correction. */
  error(fields: object, message: string): void
}

const nothing = (): void => undefined

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Ignores errors that the logger throws, so that they cannot stop the logging loop. */
export function harmless(logger: Logger): Logger {
  const guarded = (level: keyof Logger) => (fields: object, message: string) => {
    try {
      logger[level](fields, message)
    } catch {
      // There is nothing left to report to.
    }
  }
  return {
    debug: guarded('debug'),
    info: guarded('info'),
    warn: guarded('warn'),
    error: guarded('error'),
  }
}
