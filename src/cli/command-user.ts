/** The user that `--command-user` runs commands as. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { UsageError } from './failure.ts'

export interface CommandUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
  /** The folder that commands start in. */
  readonly home: string
}

/** Names must start with a letter or an underscore, so they can be neither program options nor shell syntax. */
export const USER_NAME = /^[a-z_][\w.-]*\$?$/i

/** @throws UsageError if the user does not exist, or this process cannot become that user */
export function commandUser(name: string): CommandUser {
  const { uid: own, username } = userInfo()
  if (own !== 0)
    throw wrong(`this requires a worker that runs as root; this worker and its commands run as '${username}'`)
  if (!USER_NAME.test(name)) throw wrong(`'${name}' is not the name of a user`)
  const user = findUser(name)
  if (user?.name !== name) throw wrong(`the user '${name}' does not exist on this machine`)
  if (user.uid === 0) throw wrong(`'${name}' is root; name a user with fewer rights`)
  return { ...user, home: existsSync(user.home) ? user.home : '/' }
}

/**
 * @param key  a name, or a uid
 * @returns null if this machine has no such user
 * @throws UsageError if the user cannot be looked up
 */
export function findUser(key: string): CommandUser | null {
  const { status, stdout, error } = spawnSync('getent', ['passwd', '--', key], { encoding: 'utf8' })
  if (error !== undefined)
    throw new UsageError(`'getent' cannot be run to look up the user '${key}': ${error.message}`)
  const [name = '', , uid, gid, , home = ''] = stdout.trim().split(':')
  return status === 0 ? { name, uid: Number(uid), gid: Number(gid), home } : null
}

function wrong(message: string): UsageError {
  return new UsageError(`option '--command-user': ${message}`)
}
