import { createHash } from 'node:crypto'

/**
 * The shift is fixed for each schedule, so its slots do not move. It spreads out schedules with the same timer.
 *
 * @returns milliseconds, at least 0 and less than `jitter`
 */
export function jitterShiftMs(scheduleId: string, jitter: number): number {
  if (jitter <= 0) return 0
  return createHash('sha256').update(`jitter\n${scheduleId}`).digest().readUIntBE(0, 6) % jitter
}
