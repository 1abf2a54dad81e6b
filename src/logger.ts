/**
 * What Kalends logs through: pino and most other loggers fit as they are; console does through an adapter.
 * Without one the library is silent.
 */
export interface Logger {
  /** Each submission, each start and end of a job. */
  debug(fields: object, message: string): void
  /** Start, stop, differences of declared schedules. */
  info(fields: object, message: string): void
  /** Skipped slots, failed attempts, dead workers, what was healed. */
  warn(fields: object, message: string): void
  /** What failed and is tried again, and what waits for somebody to correct it. */
  error(fields: object, message: string): void
}

const nothing = (): void => undefined

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** A logger that throws must not end the loop that told it something. */
export function harmless(logger: Logger): Logger {
  const guarded = (level: keyof Logger) => (fields: object, message: string) => {
    try {
      logger[level](fields, message)
    } catch {
      // There is nobody left to tell.
    }
  }
  return {
    debug: guarded('debug'),
    info: guarded('info'),
    warn: guarded('warn'),
    error: guarded('error'),
  }
}
