import { createHash, randomBytes } from 'node:crypto'

/**
 * The id of the job of one occurrence: the same wherever and whenever it is computed, so that the primary
 * key holds "once". UUIDv8 of RFC 9562: the slot's Unix milliseconds in 48 bits, so that ids sort by time,
 * then bits of SHA-256 over the schedule's id and the slot.
 */
export function occurrenceId(scheduleId: string, slot: Date): string {
  const digest = createHash('sha256').update(`${scheduleId}\n${slot.getTime()}`).digest()
  return uuid(8, slot.getTime(), digest)
}

/** A new id that sorts by time: UUIDv7 of RFC 9562. */
export function newJobId(now: Date): string {
  return uuid(7, now.getTime(), randomBytes(10))
}

/** An id of one's choosing is stored as it is; only its length is limited. */
export const JOB_ID_LIMIT = 36

function uuid(version: 7 | 8, unixMs: number, bytes: Uint8Array): string {
  const time = Math.max(0, unixMs).toString(16).padStart(12, '0')
  const rest = Array.from(bytes.subarray(0, 10), (byte) => byte.toString(16).padStart(2, '0')).join('')
  const variant = (8 + (Number.parseInt(rest[3] ?? '0', 16) & 3)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}${rest.slice(0, 3)}-${variant}${rest.slice(4, 7)}-${rest.slice(7, 19)}`
}
