import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'
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
function homeOnDisk(home: string | undefined): string {
  return home !== undefined && existsSync(home) ? home : '/'
}

/** A directory service that does not respond may keep `getent` waiting. */
const LOOKUP_MS = 5000
const getent = (nameOrUid: string) => ['passwd', '--', nameOrUid]

/** For commands that do nothing else meanwhile. @throws UsageError if `getent` cannot be run */
export function findUser(nameOrUid: string): CommandUser | null {
  const options = { encoding: 'utf8', timeout: LOOKUP_MS } as const
  const { status, stdout, error } = spawnSync('getent', getent(nameOrUid), options)
  if (error !== undefined)
    throw new UsageError(`'getent' cannot be run to look up the user '${nameOrUid}': ${error.message}`)
  return status === 0 ? userIn(stdout) : null
}

/** For a worker, whose heartbeat must go on meanwhile. @throws Error if the lookup fails or takes too long */
export async function homeOfUser(name: string): Promise<string> {
  const { stdout } = await promisify(execFile)('getent', getent(name), { timeout: LOOKUP_MS }).catch(
    (error: unknown) => {
      // The exit code 2 means that there is no such user; then `runuser` reports it.
      if (error instanceof Error && 'code' in error && error.code === 2) return { stdout: '' }
      throw new Error(`'getent' could not look up the user '${name}' within ${LOOKUP_MS / 1000} s`, {
        cause: error,
      })
    },
  )
  const { home } = userIn(stdout)
  return home !== '' && (await responds(home)) ? home : '/'
}

/**
 * Whether the path exists. Starting a program in a directory of a file server that does not respond would stop the
 * event loop, and so the heartbeat of the worker.
 *
 * @throws Error if the file system does not respond in time
 */
export async function responds(path: string): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, LOOKUP_MS, null)
  })
  const found = stat(path).then(
    () => true,
    () => false,
  )
  const exists = await Promise.race([found, late])
  clearTimeout(timer)
  if (exists === null) throw new Error(`the directory '${path}' did not respond within ${LOOKUP_MS / 1000} s`)
  return exists
}

function userIn(line: string): CommandUser {
  const [name = '', , uid, gid, , home = ''] = line.trim().split(':')
  return { name, uid: Number(uid), gid: Number(gid), home }
}

function wrong(message: string): UsageError {
  return new UsageError(`option '--command-user': ${message}`)
}
