/** Members of a replication group die, stall, change roles, leave, or stay outside the group and accept writes. */
import type { GroupMember, ReplicationGroup } from '../../../test/support/servers-group.ts'
import type { Fault, FaultReport, Ground } from '../fault.ts'
import type { Random } from '../random.ts'
import { timed } from './held.ts'

/** A group considers a silent member lost after 5 s. */
const SUSPECT_MS = 5000
const LEAVE_WITHIN_MS = 60_000

export interface GroupFaultOptions {
  readonly leaseMs: number
  readonly hasOnePrimary: boolean
}

export function groupFaults(group: ReplicationGroup, { leaseMs, hasOnePrimary }: GroupFaultOptions): Fault[] {
  const { members } = group
  const someone = async (random: Random) => random.pick(members)
  const primary = async (random: Random) => {
    const primaries = await group.primaries()
    return random.pick(primaries.length === 0 ? members : primaries)
  }
  const kill: Hurt = async (member, ground, random) => {
    const ms = random.int(0, SUSPECT_MS + leaseMs)
    await member.kill()
    await ground.pause(ms)
    return `kill -9, restarted after ${ms} ms`
  }
  const faults = [
    fault('group.kill-primary', 3, 24_000, primary, kill),
    fault('group.kill-member', 2, 24_000, someone, kill),
    fault('group.restart-member', 2, 20_000, primary, async (member) => {
      // A primary that is shut down while it is a member may hang for 30 s.
      await member.query('STOP GROUP_REPLICATION', LEAVE_WITHIN_MS)
      const stopMs = await timed(member.stop())
      return `stopped in ${stopMs} ms and started again`
    }),
    fault('group.stand-still', 3, 24_000, primary, async (member, ground, random) => {
      const ms = random.int(1500, 2 * SUSPECT_MS)
      member.signal('SIGSTOP')
      try {
        await ground.pause(ms)
      } finally {
        member.signal('SIGCONT')
      }
      return `stalled for ${ms} ms`
    }),
    fault('group.no-majority', 1, 26_000, primary, async (member, ground, random) => {
      const ms = random.int(2000, SUSPECT_MS + 4000)
      const others = members.filter((each) => each !== member)
      for (const other of others) other.signal('SIGSTOP')
      try {
        await ground.pause(ms)
      } finally {
        for (const other of others) other.signal('SIGCONT')
      }
      return `isolated from the other members for ${ms} ms`
    }),
    // The same state as after a crash with group_replication_start_on_boot = OFF, or after a failed join.
    fault('group.outside', 3, 24_000, primary, async (member, ground, random) => {
      const ms = random.int(2000, SUSPECT_MS + leaseMs)
      await member.kill()
      await member.start()
      return `started again outside its group; ${await takesNothing(member, () => ground.pause(ms))}`
    }),
    // Connections to the member stay open.
    fault('group.leave', 2, 24_000, primary, async (member, ground, random) => {
      const ms = random.int(2000, SUSPECT_MS + leaseMs)
      await member.query('STOP GROUP_REPLICATION', LEAVE_WITHIN_MS)
      return `left its group; ${await takesNothing(member, () => ground.pause(ms))}`
    }),
  ]
  if (!hasOnePrimary) return faults
  return [
    ...faults,
    {
      name: 'group.switchover',
      weight: 4,
      lastsMs: 8000,
      scope: 'whole',
      async run(_ground, random) {
        const old = await primary(random)
        const next = random.pick(members.filter((member) => member !== old))
        const [server] = await next.query('SELECT @@GLOBAL.server_uuid AS id')
        const from = performance.now()
        await old.query(
          `SELECT group_replication_set_as_primary('${String(server?.['id'])}')`,
          LEAVE_WITHIN_MS,
        )
        const ms = Math.round(performance.now() - from)
        await group.heal()
        return { hit: next.name, detail: `became the primary instead of ${old.name} in ${ms} ms` }
      },
    },
    // Not with several primaries: each may have acknowledged transactions that no other member has on disk.
    {
      name: 'group.down',
      weight: 1,
      lastsMs: 24_000,
      scope: 'whole',
      async run(ground, random) {
        const ms = random.int(0, 2000)
        await Promise.all(members.map((member) => member.kill()))
        await ground.pause(ms)
        const backMs = await timed(group.heal())
        return {
          hit: 'all members',
          detail: `kill -9 of all, restarted after ${ms} ms, ONLINE ${backMs} ms later`,
        }
      },
    },
  ]

  function fault(
    name: string,
    weight: number,
    lastsMs: number,
    pick: (random: Random) => Promise<GroupMember>,
    hurt: Hurt,
  ): Fault {
    return {
      name,
      weight,
      lastsMs,
      scope: 'whole',
      async run(ground, random): Promise<FaultReport> {
        const member = await pick(random)
        let detail = ''
        let backMs = 0
        try {
          detail = await hurt(member, ground, random)
        } finally {
          backMs = await timed(group.heal())
        }
        return { hit: member.name, detail: `${detail}; all ONLINE ${backMs} ms later` }
      },
    }
  }
}

/** @returns what was done, for the report */
type Hurt = (member: GroupMember, ground: Ground, random: Random) => Promise<string>

/** @throws if the member accepted writes outside its group, so that it could not join again */
async function takesNothing(member: GroupMember, pause: () => Promise<void>): Promise<string> {
  await member.query('SET GLOBAL super_read_only = OFF')
  await member.query('SET GLOBAL read_only = OFF')
  const before = await transactionsOf(member)
  await pause()
  const after = await transactionsOf(member)
  if (after !== before)
    throw new Error(`${member.name} accepted writes outside its group: ${before}, then ${after}`)
  return 'writable, and nothing was written to it'
}

async function transactionsOf(member: GroupMember): Promise<string> {
  const [row] = await member.query('SELECT @@GLOBAL.gtid_executed AS transactions')
  return String(row?.['transactions'])
}
