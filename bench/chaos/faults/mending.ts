/** What faults on the database have in common: they hit all workers, and ask one of them whether it knows. */
import type { FaultReport, Ground } from '../fault.ts'
import { tells } from './held.ts'

/** What health() says of a worker whose database does not do what it should. */
const OF_DATABASE = ['failing', 'late', 'stuck', 'no-lease', 'lease-lost', 'unwritten']

/** Whether a worker tells of a trouble with its database; null: nobody answered. */
export async function seenByWorkers({ fleet }: Ground): Promise<boolean | null> {
  const health = await Promise.all(fleet.members.map((member) => member.health()))
  const told = health.map((each) => tells(each, OF_DATABASE)).filter((each) => each !== null)
  return told.length === 0 ? null : told.includes(true)
}

/** As a report takes it. */
export function withSeen<Report extends Omit<FaultReport, 'hit' | 'seen'>>(
  report: Report,
  seen: boolean | null,
): Report & { readonly seen?: boolean } {
  return seen === null ? report : { ...report, seen }
}
