/** Common parts of faults on the database, which affect all workers and may report whether health() detected them. */
import type { FaultReport, Ground } from '../fault.ts'
import { tells } from './held.ts'

/** Codes that health() returns for a worker whose database has problems. */
const OF_DATABASE = ['failing', 'late', 'stuck', 'no-lease', 'lease-lost', 'unwritten']

/** Whether any worker reports a problem with its database; null if none responded. */
export async function seenByWorkers({ fleet }: Ground): Promise<boolean | null> {
  const health = await Promise.all(fleet.members.map((member) => member.health()))
  const told = health.map((each) => tells(each, OF_DATABASE)).filter((each) => each !== null)
  return told.length === 0 ? null : told.includes(true)
}

/** Adds `seen` to a report, if known. */
export function withSeen<Report extends Omit<FaultReport, 'hit' | 'seen'>>(
  report: Report,
  seen: boolean | null,
): Report & { readonly seen?: boolean } {
  return seen === null ? report : { ...report, seen }
}
