import { createHash } from 'node:crypto'

/**
 * The part of a schedule's jitter that is its own: the same at every elapse and in every process, so that a slot
 * stays where it is while a thousand schedules of one timer spread out.
 *
 * @returns milliseconds, at least 0 and less than `jitterMs`
 */
export function jitterShiftMs(scheduleId: string, jitterMs: number): number {
  if (jitterMs <= 0) return 0
  return createHash('sha256').update(`jitter\n${scheduleId}`).digest().readUIntBE(0, 6) % jitterMs
}
