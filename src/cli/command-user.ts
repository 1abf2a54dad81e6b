import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { UsageError } from './failure.ts'

export interface CommandUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly home: string
}

/** Names must start with a letter or an underscore, so they can be neither program options nor shell syntax. */
export const USER_NAME = /^[a-z_][\w.-]*\$?$/i

/** @throws UsageError if the user does not exist or is root, or if this process cannot become that user */
export function commandUser(name: string): CommandUser {
  const { uid: own, username } = userInfo()
  if (own !== 0)
    throw wrong(`this requires a worker that runs as root; this worker and its commands run as '${username}'`)
  if (!USER_NAME.test(name)) throw wrong(`'${name}' is not a valid user name`)
  const user = findUser(name)
  if (user?.name !== name) throw wrong(`the user '${name}' does not exist on this machine`)
  if (user.uid === 0) throw wrong(`'${name}' is root; name a user with fewer rights`)
  return { ...user, home: homeOnDisk(user.home) }
}

/** Service accounts often have a home directory that does not exist. */
export function homeOnDisk(home: string | undefined): string {
  return home !== undefined && existsSync(home) ? home : '/'
}

/** @throws UsageError if `getent` cannot be run */
export function findUser(nameOrUid: string): CommandUser | null {
  const { status, stdout, error } = spawnSync('getent', ['passwd', '--', nameOrUid], { encoding: 'utf8' })
  if (error !== undefined)
    throw new UsageError(`'getent' cannot be run to look up the user '${nameOrUid}': ${error.message}`)
  const [name = '', , uid, gid, , home = ''] = stdout.trim().split(':')
  return status === 0 ? { name, uid: Number(uid), gid: Number(gid), home } : null
}

function wrong(message: string): UsageError {
  return new UsageError(`option '--command-user': ${message}`)
}
