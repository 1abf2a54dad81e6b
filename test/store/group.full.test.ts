/** Three members of a MySQL replication group. A member outside its group can be writable but must not be used. */
import { createConnection } from 'mysql2/promise'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import { MysqlDatabase } from '../../src/store/mysql/database.ts'
import { openStore } from '../support/open-store.ts'
import { orNotTested } from '../support/not-tested.ts'
import { type GroupMember, type ReplicationGroup, startGroup } from '../support/servers-group.ts'
import { findMysql } from '../support/servers-mysql.ts'
import { wantedDatabases } from '../support/servers.ts'
import { until } from '../support/worker-process.ts'

const testRun = inject('testRun')
const program = wantedDatabases(process.env).includes('mysql')
  ? orNotTested(testRun, 'Group Replication', await findMysql(process.env))
  : null
const SERVER = 'SELECT @@GLOBAL.server_uuid AS server'

describe.skipIf(program === null)('a replication group with one primary', () => {
  let group: ReplicationGroup
  const open: MysqlDatabase[] = []

  beforeAll(async () => {
    if (program === null) return
    group = await startGroup(program)
    const primary = await primaryOf(group)
    await primary.query('CREATE DATABASE app')
    await primary.query('CREATE TABLE app.written (id INT PRIMARY KEY AUTO_INCREMENT)')
    await primary.query("CREATE USER app@'%' IDENTIFIED BY 'x'")
    await primary.query("GRANT ALL ON app.* TO app@'%'")
  }, 180_000)
  afterEach(async () => {
    await Promise.all(open.splice(0).map((database) => database.close()))
    await group.heal()
  }, 180_000)
  afterAll(() => group?.stop(), 120_000)

  it('a member that has not joined is skipped, although it is writable [L54]', async () => {
    const [primary, outside] = await withOneOutside()
    const database = opened([outside, primary])
    expect(await database.rows(SERVER)).toEqual([{ server: await serverOf(primary) }])
  })

  it('a member that leaves is abandoned, even by open connections, although it is writable [L54]', async () => {
    const primary = await primaryOf(group)
    const database = opened([primary, ...others(primary)])
    await write(database)
    await primary.query('STOP GROUP_REPLICATION', 60_000)
    await makeWritable(primary)
    const before = await transactionsOf(primary)
    await until('a write goes to a new primary', () => write(database).catch(retriable))
    expect(await database.rows(SERVER)).not.toEqual([{ server: await serverOf(primary) }])
    expect(await transactionsOf(primary)).toBe(before)
  })

  it('after a planned switchover, work continues on the new primary', async () => {
    const old = await primaryOf(group)
    const [next = old] = others(old)
    const database = opened(group.members)
    await write(database)
    await next.query(`SELECT group_replication_set_as_primary('${await serverOf(next)}')`, 60_000)
    await until('a write goes to the new primary', () => write(database).catch(retriable))
    expect(await database.rows(SERVER)).toEqual([{ server: await serverOf(next) }])
  })

  it('a COMMIT rejected by a member that has lost its group is in doubt and is not repeated [L54]', async () => {
    const primary = await primaryOf(group)
    const database = opened([primary])
    let times = 0
    const writing = database.transaction(async (sql) => {
      times += 1
      await sql.run('INSERT INTO written VALUES ()')
      for (const other of others(primary)) other.signal('SIGSTOP')
    })
    try {
      await expect(writing).rejects.toBeInstanceOf(StoreUnavailableError)
      expect(times).toBe(1)
      await expect(write(database)).rejects.toThrow(/ERROR, not ONLINE|reaches only 1 of the 3|read-only/)
    } finally {
      for (const other of others(primary)) other.signal('SIGCONT')
    }
  }, 60_000)

  it('a member that has lost its group never reports a worker as unregistered: the call fails [L54]', async () => {
    const primary = await primaryOf(group)
    const store = await openStore(urlOf([primary], group.name))
    for (const other of others(primary)) other.signal('SIGSTOP')
    try {
      await expect(store.executing.held('registered elsewhere')).rejects.toBeInstanceOf(StoreUnavailableError)
    } finally {
      for (const other of others(primary)) other.signal('SIGCONT')
      await store.close()
    }
  }, 60_000)

  it('a single host outside the group of the URL is rejected, and the error says what to do', async () => {
    const [, outside] = await withOneOutside()
    await expect(openStore(urlOf([outside], group.name))).rejects.toThrow(
      /OFFLINE, not ONLINE: run START GROUP_REPLICATION/,
    )
    const other = '11111111-2222-3333-4444-555555555555'
    await expect(openStore(urlOf([outside], other))).rejects.toThrow(
      `it is configured for the group ${group.name}, not for ${other}: correct 'group' in the URL`,
    )
  })

  it('if the user cannot read the state of the members, the error names the missing privilege', async () => {
    const database = new MysqlDatabase(urlOf(group.members, null, 'app:x'), 2)
    open.push(database)
    await expect(database.rows(SERVER)).rejects.toThrow(
      'GRANT SELECT ON performance_schema.replication_group_members',
    )
    const primary = await primaryOf(group)
    await primary.query("GRANT SELECT ON performance_schema.replication_group_members TO app@'%'")
    expect(await database.rows(SERVER)).toEqual([{ server: await serverOf(primary) }])
  })

  it('a session waits for the commits of the previous primary, even if the server default is EVENTUAL', async () => {
    const primary = await primaryOf(group)
    await primary.query('SET GLOBAL group_replication_consistency = EVENTUAL')
    try {
      expect(await opened(group.members).rows('SELECT @@group_replication_consistency AS waits')).toEqual([
        { waits: 'BEFORE_ON_PRIMARY_FAILOVER' },
      ])
    } finally {
      await primary.query('SET GLOBAL group_replication_consistency = DEFAULT')
    }
  })

  function opened(members: readonly GroupMember[]): MysqlDatabase {
    const database = new MysqlDatabase(urlOf(members, members.length > 1 ? null : group.name), 4)
    open.push(database)
    return database
  }

  function others(member: GroupMember): GroupMember[] {
    return group.members.filter((each) => each !== member)
  }

  /** @returns the primary, and a restarted writable member that has not joined */
  async function withOneOutside(): Promise<[GroupMember, GroupMember]> {
    const primary = await primaryOf(group)
    const [outside = primary] = others(primary)
    await outside.kill()
    await outside.start()
    await makeWritable(outside)
    return [primary, outside]
  }
})

async function primaryOf(group: ReplicationGroup): Promise<GroupMember> {
  return await until('the group has a primary', async () => (await group.primaries())[0] ?? null)
}

function urlOf(members: readonly GroupMember[], group: string | null, user = 'root'): string {
  const hosts = members.map(({ url }) => new URL(url).host).join(',')
  return `mysql://${user}@${hosts}/app${group === null ? '' : `?group=${group}`}`
}

async function serverOf(member: GroupMember): Promise<string> {
  return String((await member.query(SERVER))[0]?.['server'])
}

async function transactionsOf(member: GroupMember): Promise<unknown> {
  return (await member.query('SELECT @@GLOBAL.gtid_executed AS transactions'))[0]?.['transactions']
}

async function makeWritable({ url }: GroupMember): Promise<void> {
  const connection = await createConnection(url)
  await connection.query('SET GLOBAL super_read_only = OFF')
  await connection.query('SET GLOBAL read_only = OFF')
  connection.destroy()
}

async function write(database: MysqlDatabase): Promise<true> {
  await database.run('INSERT INTO written VALUES ()')
  return true
}

function retriable(error: unknown): null {
  if (error instanceof StoreUnavailableError) return null
  throw error
}
