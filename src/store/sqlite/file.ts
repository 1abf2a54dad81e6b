import { type BigIntStats, closeSync, openSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { messageOf, StoreUnavailableError } from '../../errors.ts'

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
    throw new StoreUnavailableError(`The database file '${path}' cannot be reached: ${messageOf(error)}`, {
      cause: error,
    })
  }
}
