/** The token of the API. No option contains it, because every local account can read the arguments of a process. */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { sqlitePath } from './configuration.ts'
import { messageOf } from '../errors.ts'
import { CommandError, hasCode, UsageError } from './failure.ts'

export interface Token {
  readonly value: string
  /** Null if the token comes from the environment. */
  readonly file: string | null
  /** Whether Kalends, not the user, chose where the token comes from. */
  readonly isOwn: boolean
}

const LEAST_LENGTH = 16

/** @throws UsageError if the token is invalid, or its file cannot be used or is not private */
export function givenToken(tokenFile: string | undefined): Token | null {
  if (tokenFile !== undefined) return keptToken(resolve(tokenFile), false)
  const value = process.env['KALENDS_TOKEN']
  if (value === undefined || value === '') return null
  return { value: checked(value, 'KALENDS_TOKEN'), file: null, isOwn: false }
}

/** @throws UsageError if the token is invalid, or its file cannot be used or is not private */
export function ownToken(database: string): Token {
  return keptToken(defaultFile(database), true)
}

/** For SQLite, next to the database file: anyone who can read that file can read everything anyway. */
function defaultFile(database: string): string {
  const path = sqlitePath(database)
  if (path !== null) return `${resolve(path)}.token`
  const state = process.env['XDG_STATE_HOME'] ?? ''
  return join(isAbsolute(state) ? state : join(homedir(), '.local/state'), 'kalends/token')
}

/** Reads the token file, and creates it if it is missing. */
function keptToken(file: string, isOwn: boolean): Token {
  try {
    const found = read(file)
    if (found !== null) return { value: found, file, isOwn }
    make(file)
    // If another worker was faster, use its token.
    return { value: read(file) ?? '', file, isOwn }
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw new UsageError(`the token file '${file}' cannot be used: ${messageOf(cause)}`)
  }
}

/** @returns null if the file does not exist */
function read(file: string): string | null {
  let descriptor: number
  try {
    // O_NONBLOCK, because a pipe without a writer would block the worker.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
  try {
    // Check the opened file, because the name may refer to another file by now.
    const { mode, uid } = fstatSync(descriptor)
    const own = process.getuid?.()
    if ((mode & constants.S_IFMT) !== constants.S_IFREG)
      throw new UsageError(
        `the token file '${file}' is not a regular file; name another one with --token-file`,
      )
    if (own !== undefined && uid !== own)
      throw new UsageError(
        `the token file '${file}' belongs to the user ${uid}, but this worker runs as ${own}: that user could change the token; remove the file, or name another one with --token-file`,
      )
    if (own !== undefined && (mode & 0o077) !== 0)
      throw new UsageError(
        `the token file '${file}' has the mode ${(mode & 0o777).toString(8).padStart(4, '0')}, so others can use it: remove it to get a new token, or, if no one else has read it, run chmod 600 on it`,
      )
    return checked(readFileSync(descriptor, 'utf8').trim(), `the token file '${file}'`)
  } finally {
    closeSync(descriptor)
  }
}

/** Creates the file atomically, so that workers that start together share one token. */
function make(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(draft, `${randomBytes(32).toString('hex')}\n`, { flag: 'wx', mode: 0o600 })
    linkSync(draft, file)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function checked(token: string, origin: string): string {
  // A header can contain only ASCII.
  if (/^[!-~]+$/.test(token) && token.length >= LEAST_LENGTH) return token
  throw new UsageError(
    `the token in ${origin} needs at least ${LEAST_LENGTH} ASCII characters without spaces; create one with openssl rand -hex 32`,
  )
}
