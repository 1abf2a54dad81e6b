/**
 * An application that misuses the pool that it shares with Kalends. It misuses only its own connections, so no worker
 * is affected.
 */
import type { Fault, Misuse } from '../fault.ts'
import { withMember } from './held.ts'

const MISUSES: readonly Misuse[] = ['leak', 'session', 'exhaust']

export function applicationFaults(leaseMs: number): Fault[] {
  return MISUSES.map((how) => ({
    name: `application.${how}`,
    weight: 3,
    lastsMs: 2 * leaseMs + 1000,
    scope: 'worker',
    run: (ground, random) =>
      withMember(
        ground,
        random,
        async (member) => {
          const misused = await member.misuse(how, random.int(leaseMs, 2 * leaseMs))
          // The process has ended or is blocked.
          if (misused === null) return { detail: 'the process did not respond' }
          const { detail, schedules } = misused
          return { detail, reach: { workers: [], rows: { schedules, jobs: [] } } }
        },
        true,
      ),
  }))
}
