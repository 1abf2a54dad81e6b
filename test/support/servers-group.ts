/**
 * Three MySQL servers of the tests' own that form a replication group, with one primary or with three. Each can be
 * killed, frozen, started without joining, and brought back.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type MysqlProgram, mysqlPlans, MysqlServer } from './servers-mysql.ts'
import { steadyPort } from './servers-private.ts'
import { KeptFolder, RestartableServer } from './servers-restartable.ts'

const memberNames = ['m1', 'm2', 'm3'] as const
/** A member that catches up on a busy machine, after the others have expelled it. */
const healWithinMs = 90_000
/** Half a second apart: after them, a group without a majority is started again from the member that knows most. */
const looksWithoutMajority = 30
/** After them, one that was expelled is told to join. */
const looksInError = 8

export interface View {
  /** ONLINE, RECOVERING, OFFLINE, ERROR. */
  readonly state: string
  readonly isPrimary: boolean
  /** Those that it takes for members, by their server_uuid. */
  readonly ids: readonly string[]
  /** How many of them it reaches, itself included. */
  readonly reached: number
}

export interface ReplicationGroup {
  /** group_replication_group_name: a UUID. */
  readonly name: string
  readonly members: readonly GroupMember[]
  /** '9.7.4' */
  readonly version: string
  /** The members that are ONLINE with a majority and take writes: one, or all of them. */
  primaries(): Promise<GroupMember[]>
  /** Starts what is down, joins what is outside, and returns once all three are ONLINE. */
  heal(): Promise<void>
  /** Resolves once every member has exited and the folders are gone. */
  stop(): Promise<void>
}

export interface GroupOptions {
  readonly mode?: 'single-primary' | 'multi-primary'
  /** Of the servers, on top of our own: libfaketime, for one. */
  readonly environment?: Readonly<Record<string, string>>
  /** More options of each server. */
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
    // Three of them on one machine.
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
    // By default a member without a majority holds every commit for ever.
    '--group-replication-unreachable-majority-timeout=5',
    '--group-replication-member-expel-timeout=0',
  ]
}

class Group {
  readonly #members: readonly GroupMember[]
  /** One after the other: who starts the group again depends on who is in it. */
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
        throw new Error(`The group did not come back: ${JSON.stringify(views.map(({ view }) => view))}`)
      withoutMajority = inside.length > 0 ? 0 : withoutMajority + 1
      const outside = views.filter(({ view }) => view?.state === 'OFFLINE' || view?.state === 'ERROR')
      const nothingLeft = outside.length === this.#members.length
      if (inside.length > 0) {
        for (const { member, view } of outside) {
          // The attempt itself would tell the others that the member which they still know is alive.
          if (inside.some((other) => other.view?.ids.includes(member.id) === true)) continue
          // One in the state ERROR first tries by itself.
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

  /** What it received and has not yet applied counts too. */
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

/** Started alone, it does not join, as with group_replication_start_on_boot = OFF. */
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

  /** One that is in the state ERROR does not join before it has left. */
  async leave(): Promise<void> {
    await this.query('STOP GROUP_REPLICATION', healWithinMs)
  }

  async transactions(): Promise<string> {
    const [row] = await this.query(
      "SELECT CONCAT_WS(',', @@GLOBAL.gtid_executed, (SELECT received_transaction_set FROM performance_schema.replication_connection_status WHERE channel_name = 'group_replication_applier')) AS transactions",
    )
    return String(row?.['transactions']).replaceAll(/\s/g, '')
  }

  /** By its own view of the group. Throws when it does not answer. */
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
