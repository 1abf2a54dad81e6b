/** The workers: a fixed number of places, each with a process that is restarted when it ends. */
import type { Fleet, Target } from './fault.ts'
import { type QueuePlace, WorkerMember } from './member.ts'
import type { Random } from './random.ts'

export interface FleetOptions {
  readonly target: Target
  readonly size: number
  readonly leaseMs: number
  readonly pollIntervalMs: number
  readonly folder: string
  readonly queue: QueuePlace | null
  /** Node.js options of the processes, and environment variables in addition to those of the target. */
  readonly execArgv: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly say: (text: string) => void
}

/** The maximum number of workers that faults may affect at once. The others must be able to do all the work. */
export function mostInTrouble(size: number): number {
  return Math.max(1, Math.floor(size / 2))
}

export class WorkerFleet implements Fleet {
  readonly members: readonly WorkerMember[]
  readonly #held = new Set<object>()

  private constructor(members: readonly WorkerMember[]) {
    this.members = members
  }

  static async start({ target, size, environment, ...rest }: FleetOptions): Promise<WorkerFleet> {
    const members = Array.from({ length: size }, (_, index) => {
      const way = target.ways[index % target.ways.length]
      if (way === undefined) throw new RangeError('the target has no connections for workers')
      const name = `w${index + 1}`
      return new WorkerMember({
        ...rest,
        name,
        way,
        // On a single server, every second worker uses a pool. With several nodes, none does, because a pool does not
        // accept a list of nodes.
        isLent: index % 2 === 0 && ['mariadb', 'mysql'].includes(target.kind),
        environment: { ...target.environment, ...environment },
      })
    })
    const fleet = new WorkerFleet(members)
    try {
      await Promise.all(members.map((member) => member.start()))
    } catch (error) {
      await fleet.kill()
      throw error
    }
    return fleet
  }

  take(random: Random, isLent = false): WorkerMember | null {
    if (this.#held.size >= mostInTrouble(this.members.length)) return null
    const free = this.members.filter(
      (member) => !this.#held.has(member) && member.isUp && (member.isLent || !isLent),
    )
    if (free.length === 0) return null
    const member = random.pick(free)
    this.#held.add(member)
    return member
  }

  release(member: object): void {
    this.#held.delete(member)
  }

  /** Stops all workers cleanly, at the same time. */
  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()))
  }

  async kill(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()))
  }
}
