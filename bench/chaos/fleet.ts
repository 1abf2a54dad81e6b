/** The workers: as many places as there were at the start, each a process that stands up again when it ends. */
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
  /** Options of Node and environment of the processes, besides those of the target. */
  readonly execArgv: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly say: (text: string) => void
}

/** How many workers may be in faults' hands at once: the others must be able to do all the work. */
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
      if (way === undefined) throw new RangeError('the target has no way to it')
      const name = `w${index + 1}`
      return new WorkerMember({
        ...rest,
        name,
        way,
        // Every second one, unless there are several nodes: a pool takes no list of nodes.
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

  /** In an orderly way, all at once. */
  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()))
  }

  async kill(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()))
  }
}
