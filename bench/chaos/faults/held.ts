/** What the faults on workers have in common: a worker to hurt, and one that is well again in any case. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault, FaultReport, Ground, Member } from '../fault.ts'
import type { Random } from '../random.ts'

/** Others may just be starting. */
const WAIT_MS = 60_000

/**
 * The fault affects this worker and the rows that it holds, unless the report says otherwise.
 *
 * @param work  hurts the worker and mends it; whatever it leaves, the worker is up afterwards
 * @param isLent  only a worker on a pool of its application
 */
export async function withMember(
  ground: Ground,
  random: Random,
  work: (member: Member) => Promise<Omit<FaultReport, 'hit'>>,
  isLent?: boolean,
): Promise<FaultReport> {
  const member = await taken(ground, random, isLent)
  if (member === null) return { hit: 'nobody', detail: 'no worker was free', trouble: 'no worker was free' }
  try {
    return { hit: member.name, reach: { workers: [member.name] }, ...(await work(member)) }
  } finally {
    // Of one that is up and running these do nothing.
    member.signal('SIGCONT')
    await member.start()
    ground.fleet.release(member)
  }
}

async function taken({ fleet }: Ground, random: Random, isLent?: boolean): Promise<Member | null> {
  const deadline = performance.now() + WAIT_MS
  for (;;) {
    const member = fleet.take(random, isLent)
    if (member !== null || performance.now() > deadline) return member
    await delay(50)
  }
}

/** The same fault if one process can delay all others: it affects everything. */
export function reachingAll(fault: Fault): Fault {
  return {
    ...fault,
    async run(ground, random) {
      const { reach: _, ...report } = await fault.run(ground, random)
      return report
    },
  }
}

/** How long something takes, in whole ms. */
export async function timed(work: Promise<void>): Promise<number> {
  const from = performance.now()
  await work
  return Math.round(performance.now() - from)
}

/** Whether health() tells of this trouble: as a reason or as a warning. null if it returned nothing. */
export function tells(health: unknown, codes: readonly string[]): boolean | null {
  if (typeof health !== 'object' || health === null) return null
  const notes = ['reasons', 'warnings'].flatMap((list): unknown[] => {
    const value: unknown = Reflect.get(health, list)
    return Array.isArray(value) ? value : []
  })
  return notes.some(
    (note) => typeof note === 'object' && note !== null && codes.includes(String(Reflect.get(note, 'code'))),
  )
}
