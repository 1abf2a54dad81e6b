import {
  accessSync,
  type BigIntStats,
  closeSync,
  constants,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { InvalidInputError, messageOf, StoreUnavailableError } from '../../errors.ts'

export const MEMORY = ':memory:'

/**
 * Creates the file of a new database so that only the file's owner can read it, because args and results may be secret.
 * SQLite gives its -wal and -shm files the same mode. An existing file keeps its mode.
 */
export function makePrivate(path: string): void {
  if (path === MEMORY) return
  try {
    // This never opens an existing file: closing it would drop the locks of this process on the file.
    closeSync(openSync(path, 'wx', 0o600))
  } catch {
    // The file already exists, or it cannot be created. In the latter case, opening it reports the reason.
  }
}

/** Opening a named pipe would block the process for ever. @throws InvalidInputError */
export function checkIsFile(path: string): void {
  if (path === MEMORY || (statusOf(path)?.isFile() ?? true)) return
  throw new InvalidInputError('database', `'${resolve(path)}' is not a file; name a file`)
}

export function isWritable(path: string): boolean {
  return path === MEMORY || may(path, constants.W_OK)
}

/**
 * Reading a file with a write-ahead log creates its -wal and -shm if they are missing. If this process may not write the
 * file, both would belong to its user and stay, and the file's owner could not write them.
 *
 * @throws StoreUnavailableError
 */
export function checkReading(path: string): void {
  if (isWritable(path) || !may(path, constants.R_OK)) return
  const file = located(path)
  const ends = ['-wal', '-shm']
  if (ends.every((end) => statusOf(file + end) !== null) || !hasLog(file)) return
  throw new StoreUnavailableError(
    `The database file '${file}' cannot be opened: this process may not write it${ownerOf(file)}, and reading it would create '${file}-wal' and '${file}-shm', which its owner could not write: run this as the owner, or while a process of the owner has the file open`,
  )
}

/**
 * Whether the header says that the file has a write-ahead log (https://sqlite.org/fileformat2.html, offset 18).
 * Closing the file here drops the locks of this process on it. Without -wal and -shm, no connection of this process has
 * such a log, and of another file, only the application's own read transaction would have a lock.
 */
function hasLog(file: string): boolean {
  const header = Buffer.alloc(20)
  const opened = openSync(file, 'r')
  try {
    readSync(opened, header, 0, header.length, 0)
  } finally {
    closeSync(opened)
  }
  return header[18] === 2
}

/** What the operating system does not permit this process, and what to do; null if that is not the problem. */
export function obstacleAt(path: string): string | null {
  if (path === MEMORY) return null
  const file = located(path)
  const closed = closedFolder(file)
  if (closed !== null) return closed
  for (const one of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) {
    if (statusOf(one) === null) continue
    if (!may(one, constants.R_OK)) return `this process may not read '${one}'${ownerOf(one)}`
    if (!may(one, constants.W_OK)) return `this process may not write '${one}'${ownerOf(one)}`
  }
  const folder = dirname(file)
  if (may(folder, constants.W_OK)) return null
  return `this process may not create files in the folder '${folder}'${ownerOf(folder)}, where SQLite needs '${file}-wal' and '${file}-shm'${statusOf(file) === null ? '' : ' even for reading'}`
}

/** Why the first folder on the way to the file cannot be entered; null if each of them can. */
function closedFolder(file: string): string | null {
  const folder = dirname(file)
  const above = folder === file ? null : closedFolder(folder)
  if (above !== null) return above
  if (statusOf(folder) === null) return `the folder '${folder}' does not exist: create it`
  if (may(folder, constants.X_OK)) return null
  return `this process may not enter the folder '${folder}'${ownerOf(folder)}`
}

/** SQLite puts the -wal, -shm and -journal beside the file itself, not beside a link to it. */
function located(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

/** In the terms of `chown` and `chmod`, which change it. */
function ownerOf(path: string): string {
  const found = statusOf(path)
  const user = process.getuid?.()
  if (found === null || user === undefined) return ''
  return ` (its owner is ${found.uid} and its mode ${(Number(found.mode) % 0o1000).toString(8)}; this process has the user ${user})`
}

/**
 * If the database file is deleted, moved or replaced while a connection is open, the connection continues without an
 * error, but other processes do not see its writes.
 *
 * @returns a function that throws a StoreUnavailableError if this has happened
 */
export function fileCheck(path: string): () => void {
  const opened = path === MEMORY ? null : statusOf(path)
  if (opened === null) return () => undefined
  // The process may change its working directory.
  const file = resolve(path)
  const wal = `${file}-wal`
  // The WAL contains commits that are not in the main file yet. SQLite keeps it while a connection is open.
  let openedWal: BigIntStats | null = null
  return () => {
    const found = statusOf(file)
    if (found === null)
      throw new StoreUnavailableError(
        `The database file '${file}' was deleted or moved while it was in use: put it back with its -wal and -shm files, or stop this process`,
      )
    if (!isSame(found, opened))
      throw new StoreUnavailableError(
        `The database file '${file}' was replaced by another file while it was in use: restart this process to use the new one`,
      )
    const foundWal = statusOf(wal)
    openedWal ??= foundWal
    if (openedWal !== null && (foundWal === null || !isSame(foundWal, openedWal)))
      throw new StoreUnavailableError(
        `The file '${wal}' was deleted or replaced while the database was in use: put it back, or restart this process; without it, commits that are not yet in the main file are lost`,
      )
  }
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.ino === other.ino && one.dev === other.dev
}

function statusOf(path: string): BigIntStats | null {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null
  } catch (error) {
    throw new StoreUnavailableError(
      `The database file '${path}' cannot be reached: ${closedFolder(path) ?? messageOf(error)}`,
      { cause: error },
    )
  }
}
