/** MySQL Group Replication: decides whether a member of a group may be used. */
import type mysql from 'mysql2/promise'
import { errorNumber } from './errors.ts'

/** This query never waits for the group, because group_replication_consistency does not affect it. */
const MEMBERSHIP = `SELECT
  MAX(IF(member_id = @@GLOBAL.server_uuid, member_state, NULL)) AS state,
  MAX(IF(member_id = @@GLOBAL.server_uuid, member_role, NULL)) AS role,
  COUNT(*) AS members,
  CAST(SUM(member_state <> 'UNREACHABLE') AS SIGNED) AS reached,
  @@GLOBAL.read_only AS readOnly
FROM performance_schema.replication_group_members`

/** A server that left its group, or never joined it, has no state and no role. */
export interface Membership {
  /** ONLINE, RECOVERING, ERROR, … */
  readonly state: string | null
  /** PRIMARY or SECONDARY; with several primaries, all are PRIMARY. */
  readonly role: string | null
  readonly members: number
  /** The number of members that it can reach, including itself. */
  readonly reached: number
  readonly readOnly: number
}

const DENIED = 1142

/** @throws when the server is not a writable member, or when the user may not read the membership */
export async function checkMembership(connection: mysql.PoolConnection): Promise<void> {
  const why = whyUnfit(await membershipOf(connection))
  if (why !== null) throw new NotInGroupError(why)
}

/** The server responded, but must not be used. */
export class NotInGroupError extends Error {
  override readonly name = 'NotInGroupError'
}

/** @param group  null means any group */
export function checkGroupName(group: string | null, configured: string): void {
  if (group === null || group.toLowerCase() === configured.toLowerCase()) return
  throw new NotInGroupError(
    configured === ''
      ? `it is not configured as a member of the group ${group}: set group_replication_group_name on the server, or remove 'group' from the URL`
      : `it is configured for the group ${configured}, not for ${group}: correct 'group' in the URL`,
  )
}

/** @returns why the member must not be used, or null if it may be */
export function whyUnfit({ state, role, members, reached, readOnly }: Membership): string | null {
  // A member that is not ONLINE can be writable, but the group does not receive its writes.
  if (state !== 'ONLINE')
    return `its state in its replication group is ${state ?? 'OFFLINE'}, not ONLINE: run START GROUP_REPLICATION on it, and read its error log if that fails`
  if (reached * 2 <= members) return `it reaches only ${reached} of the ${members} members of its group`
  if (role !== 'PRIMARY') return 'it is a secondary of its group'
  return readOnly === 0 ? null : 'it is read-only'
}

async function membershipOf(connection: mysql.PoolConnection): Promise<Membership> {
  try {
    const [[row]] = await connection.query<(Membership & mysql.RowDataPacket)[]>({
      sql: MEMBERSHIP,
      // Overrides the URL's options.
      rowsAsArray: false,
      nestTables: false,
    })
    return row ?? { state: null, role: null, members: 0, reached: 0, readOnly: 0 }
  } catch (error) {
    if (errorNumber(error) !== DENIED) throw error
    throw new NotInGroupError(
      'the user may not read the state of the replication group: ' +
        'GRANT SELECT ON performance_schema.replication_group_members TO the user',
      { cause: error },
    )
  }
}
