/** Common parts of faults on workers: reserve a worker, and always restore it. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault, FaultReport, Ground, Member } from '../fault.ts'
import type { Random } from '../random.ts'

/** Long enough for workers that are still starting. */
const WAIT_MS = 60_000

/**
 * The fault affects the worker and the rows that it holds, unless the report specifies another reach.
 *
 * @param work  causes the fault and ends it; afterwards, the worker is always running
 * @param isLent  select only a worker that uses its application's pool
 */
export async function withMember(
  ground: Ground,
  random: Random,
  work: (member: Member) => Promise<Omit<FaultReport, 'hit'>>,
  isLent?: boolean,
): Promise<FaultReport> {
  const member = await taken(ground, random, isLent)
  if (member === null) return { hit: 'nothing', detail: 'no worker was free', trouble: 'no worker was free' }
  try {
    return { hit: member.name, reach: { workers: [member.name] }, ...(await work(member)) }
  } finally {
    // These calls have no effect on a running worker.
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

/** The same fault, but it excuses everything, because one process can delay all others on such a database. */
export function reachingAll(fault: Fault): Fault {
  return {
    ...fault,
    async run(ground, random) {
      const { reach: _, ...report } = await fault.run(ground, random)
      return report
    },
  }
}

/** How long the work takes, in whole ms. */
export async function timed(work: Promise<void>): Promise<number> {
  const from = performance.now()
  await work
  return Math.round(performance.now() - from)
}

/** Whether health() reports one of these codes as a reason or warning; null if it returned nothing. */
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
