import { createHash, randomBytes } from 'node:crypto'

/**
 * The id of the job for one occurrence. It is the same wherever and whenever it is computed, so the primary key
 * guarantees at most one job. The id is a UUIDv8 (RFC 9562). Its first 48 bits are the slot's Unix time in
 * milliseconds, so that ids sort by time; the rest comes from a SHA-256 hash of the schedule's `uid` and the slot.
 */
export function occurrenceId(scheduleUid: string, slot: Date): string {
  const digest = createHash('sha256').update(`${scheduleUid}\n${slot.getTime()}`).digest()
  return uuid(8, slot.getTime(), digest)
}

let last: { readonly unixMs: number; readonly bytes: Buffer } = { unixMs: -1, bytes: Buffer.alloc(10) }

/**
 * A new id that sorts by time: a UUIDv7 (RFC 9562). Within a millisecond, ids count up from a random number, so jobs
 * keep the order in which a process submitted them.
 */
export function newJobId(now: Date): string {
  const unixMs = now.getTime()
  const bytes = unixMs === last.unixMs ? counted(last.bytes) : freshBytes()
  last = { unixMs, bytes }
  return uuid(7, unixMs, bytes)
}

/** The counter has six bytes and starts in the lower half of its range, so that it cannot overflow. */
function freshBytes(): Buffer {
  const bytes = randomBytes(10)
  bytes.writeUIntBE(bytes.readUIntBE(3, 6) % 2 ** 47, 3, 6)
  return bytes
}

function counted(bytes: Buffer): Buffer {
  const next = Buffer.from(bytes)
  next.writeUIntBE(bytes.readUIntBE(3, 6) + 1, 3, 6)
  return next
}

/** No caller may choose such an id for a job, because it might be that of a schedule's next occurrence. */
export function isOccurrenceId(id: string): boolean {
  return /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i.test(id)
}

function uuid(version: 7 | 8, unixMs: number, bytes: Buffer): string {
  const time = Math.max(0, unixMs).toString(16).padStart(12, '0')
  const rest = bytes.toString('hex', 0, 10)
  const variant = (8 + (Number.parseInt(rest[3] ?? '0', 16) & 3)).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}${rest.slice(0, 3)}-${variant}${rest.slice(4, 7)}-${rest.slice(7, 19)}`
}
