/**
 * The logger interface of Kalends. pino and most other loggers can be passed directly; console needs an adapter.
 * Without a logger, the library is silent.
 */
export interface Logger {
  /** For each submission, and each start and end of a job. */
  debug(fields: object, message: string): void
  /** For starts and stops of workers, and for changes to declared schedules. */
  info(fields: object, message: string): void
  /** For skipped slots, failed attempts, dead workers and repaired rows. */
  warn(fields: object, message: string): void
  /** For failed operations that are retried, and problems that need manual correction. */
  error(fields: object, message: string): void
}

const nothing = (): void => undefined

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Ignores errors that the logger throws, so that they cannot stop the loop that logs. */
export function harmless(logger: Logger): Logger {
  const guarded = (level: keyof Logger) => (fields: object, message: string) => {
    try {
      logger[level](fields, message)
    } catch {
      // There is nowhere left to report this.
    }
  }
  return {
    debug: guarded('debug'),
    info: guarded('info'),
    warn: guarded('warn'),
    error: guarded('error'),
  }
}
