/**
 * Three private MySQL servers that form a replication group with one or three primaries. Each can be killed, frozen,
 * started without joining, and restored.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type MysqlProgram, mysqlPlans, MysqlServer } from './servers-mysql.ts'
import { steadyPort } from './servers-private.ts'
import { KeptFolder, RestartableServer } from './servers-restartable.ts'

const memberNames = ['m1', 'm2', 'm3'] as const
/** Long enough for an expelled member to catch up on a busy machine. */
const healWithinMs = 300_000
/**
 * The number of checks, half a second apart, after which a group without a majority is restarted from the most advanced
 * member.
 */
const looksWithoutMajority = 30
/** The number of checks after which an expelled member is told to join. */
const looksInError = 8

export interface View {
  /** ONLINE, RECOVERING, OFFLINE, ERROR. */
  readonly state: string
  readonly isPrimary: boolean
  /** The server_uuid of each member in this view. */
  readonly ids: readonly string[]
  /** The number of members that it can reach, including itself. */
  readonly reached: number
}

export interface ReplicationGroup {
  /** group_replication_group_name: a UUID. */
  readonly name: string
  readonly members: readonly GroupMember[]
  /** '9.7.4' */
  readonly version: string
  /** The members that are ONLINE with a majority and accept writes: one or all of them. */
  primaries(): Promise<GroupMember[]>
  /** Starts missing members, lets them join, and returns when all three are ONLINE. */
  heal(): Promise<void>
  /** Resolves when all members have exited and the folders are removed. */
  stop(): Promise<void>
}

export interface GroupOptions {
  readonly mode?: 'single-primary' | 'multi-primary'
  /** Additional environment variables of the servers, for example for libfaketime. */
  readonly environment?: Readonly<Record<string, string>>
  /** Additional options of each server. */
  readonly options?: readonly string[]
}

export async function startGroup(
  program: MysqlProgram,
  options: GroupOptions = {},
): Promise<ReplicationGroup> {
  const name = randomUUID()
  const folders: KeptFolder[] = []
  const members: GroupMember[] = []
  const stop = async () => {
    await Promise.all(members.map((member) => member.stop()))
    await Promise.all(folders.map((folder) => folder.remove()))
  }
  try {
    const ports = await Promise.all(memberNames.map(() => steadyPort()))
    const plans = await mysqlPlans(program, memberNames.length)
    for (const { folder } of plans) folders.push(await KeptFolder.keep(folder))
    for (const [index, member] of memberNames.entries()) {
      const [plan, folder] = [plans[index], folders[index]]
      if (plan === undefined || folder === undefined) throw new RangeError('a member has no plan')
      const server = await RestartableServer.start({ ...plan, name: `MySQL ${member}` }, folder, {
        environment: options.environment ?? {},
        options: [
          ...settings(name, index, ports, options.mode ?? 'single-primary'),
          ...(options.options ?? []),
        ],
      })
      members.push(new GroupMember(member, server))
    }
    const group = new Group(members)
    await group.begin()
    const [row] = (await members[0]?.query('SELECT VERSION() AS version')) ?? []
    return {
      name,
      members,
      version: /^[\d.]+/.exec(String(row?.['version']))?.[0] ?? '',
      primaries: () => group.primaries(),
      heal: () => group.heal(),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function settings(
  name: string,
  index: number,
  ports: readonly number[],
  mode: 'single-primary' | 'multi-primary',
): string[] {
  const single = mode === 'single-primary'
  return [
    `--server-id=${index + 1}`,
    '--gtid-mode=ON',
    '--enforce-gtid-consistency=ON',
    '--report-host=127.0.0.1',
    // Less memory, because three servers share the machine.
    '--innodb-buffer-pool-size=64M',
    '--performance-schema-digests-size=100',
    '--performance-schema-error-size=0',
    '--plugin-load-add=group_replication.so',
    `--group-replication-group-name=${name}`,
    `--group-replication-local-address=127.0.0.1:${ports[index]}`,
    `--group-replication-group-seeds=${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
    '--group-replication-start-on-boot=OFF',
    `--group-replication-single-primary-mode=${single ? 'ON' : 'OFF'}`,
    `--group-replication-enforce-update-everywhere-checks=${single ? 'OFF' : 'ON'}`,
    '--group-replication-recovery-get-public-key=ON',
    '--group-replication-message-cache-size=134217728',
    // By default, a member without a majority blocks commits forever.
    '--group-replication-unreachable-majority-timeout=5',
    '--group-replication-member-expel-timeout=0',
  ]
}

class Group {
  readonly #members: readonly GroupMember[]
  /** Repairs run one at a time, because a restart of the group depends on the state of its members. */
  #healing: Promise<void> = Promise.resolve()

  constructor(members: readonly GroupMember[]) {
    this.#members = members
  }

  async begin(): Promise<void> {
    for (const member of this.#members) {
      await member.query(
        "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'",
      )
      const [row] = await member.query('SELECT @@GLOBAL.server_uuid AS id')
      member.id = String(row?.['id'])
    }
    await this.#members[0]?.bootstrap()
    await this.heal()
  }

  async primaries(): Promise<GroupMember[]> {
    const views = await this.#views()
    return views.flatMap(({ member, view }) =>
      view !== null && isIn(view) && view.isPrimary ? [member] : [],
    )
  }

  async heal(): Promise<void> {
    const healing = this.#healing.then(() => this.#heal())
    this.#healing = healing.catch(() => {})
    await healing
  }

  async #heal(): Promise<void> {
    const deadline = performance.now() + healWithinMs
    let withoutMajority = 0
    const alone = new Map<GroupMember, number>()
    for (;;) {
      for (const member of this.#members) if (member.pid === null) await member.start()
      const views = await this.#views()
      const inside = views.filter(({ view }) => view !== null && isIn(view))
      if (views.every(({ view }) => view !== null && isIn(view) && view.ids.length === this.#members.length))
        if (await this.#takesWrites()) return
      if (performance.now() > deadline)
        throw new Error(`The group did not recover: ${JSON.stringify(views.map(({ view }) => view))}`)
      withoutMajority = inside.length > 0 ? 0 : withoutMajority + 1
      const outside = views.filter(({ view }) => view?.state === 'OFFLINE' || view?.state === 'ERROR')
      const nothingLeft = outside.length === this.#members.length
      if (inside.length > 0) {
        for (const { member, view } of outside) {
          // While the others still list the member, an attempt to join would convince them that it is alive.
          if (inside.some((other) => other.view?.ids.includes(member.id) === true)) continue
          // A member in the state ERROR first retries by itself.
          const looks = (alone.get(member) ?? 0) + 1
          alone.set(member, looks)
          if (view?.state === 'OFFLINE' || looks > looksInError) await member.join().catch(() => {})
        }
      } else if (nothingLeft || withoutMajority > looksWithoutMajority) {
        const most = await this.#mostAdvanced()
        for (const member of this.#members) await member.leave().catch(() => {})
        await most.bootstrap().catch(() => {})
        withoutMajority = 0
      }
      await pause(500)
    }
  }

  async #takesWrites(): Promise<boolean> {
    for (const member of await this.primaries()) {
      const [row] = await member.query('SELECT @@GLOBAL.read_only AS no')
      if (Number(row?.['no']) === 0) return true
    }
    return false
  }

  /** Received but unapplied transactions also count. */
  async #mostAdvanced(): Promise<GroupMember> {
    let [most] = this.#members
    if (most === undefined) throw new Error('the group has no members')
    for (const member of this.#members) {
      const known = await most.transactions()
      const [row] = await member.query(
        `SELECT GTID_SUBSET('${known}', '${await member.transactions()}') AS has`,
      )
      if (Number(row?.['has']) === 1) most = member
    }
    return most
  }

  async #views(): Promise<{ member: GroupMember; view: View | null }[]> {
    return await Promise.all(
      this.#members.map(async (member) => ({
        member,
        view: member.pid === null ? null : await member.view().catch(() => null),
      })),
    )
  }
}

function isIn({ state, ids, reached }: View): boolean {
  return state === 'ONLINE' && reached * 2 > ids.length
}

/** A server that starts without joining the group, as with group_replication_start_on_boot = OFF. */
export class GroupMember extends MysqlServer {
  /** Its server_uuid. */
  id = ''

  async bootstrap(): Promise<void> {
    await this.query('SET GLOBAL group_replication_bootstrap_group = ON')
    try {
      await this.join()
    } finally {
      await this.query('SET GLOBAL group_replication_bootstrap_group = OFF')
    }
  }

  async join(): Promise<void> {
    await this.leave()
    await this.query('START GROUP_REPLICATION', healWithinMs)
  }

  /** A member in the state ERROR must leave before it can join. */
  async leave(): Promise<void> {
    await this.query('STOP GROUP_REPLICATION', healWithinMs)
  }

  async transactions(): Promise<string> {
    const [row] = await this.query(
      "SELECT CONCAT_WS(',', @@GLOBAL.gtid_executed, (SELECT received_transaction_set FROM performance_schema.replication_connection_status WHERE channel_name = 'group_replication_applier')) AS transactions",
    )
    return String(row?.['transactions']).replaceAll(/\s/g, '')
  }

  /** Its own view of the group. @throws Error if it does not respond */
  async view(): Promise<View> {
    const rows = await this.query(
      'SELECT member_id AS id, member_state AS state, member_role AS role FROM performance_schema.replication_group_members',
    )
    const own = rows.find((row) => row['id'] === this.id)
    return {
      state: String(own?.['state'] ?? 'OFFLINE'),
      isPrimary: own?.['role'] === 'PRIMARY',
      ids: rows.map((row) => String(row['id'])),
      reached: rows.filter((row) => row['state'] !== 'UNREACHABLE').length,
    }
  }
}
