import { type BigIntStats, closeSync, openSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { messageOf, StoreUnavailableError } from '../../errors.ts'

/**
 * Creates the file of a new database so that only the file's owner can read it, because args and results may be secret.
 * SQLite gives its -wal and -shm files the same mode. An existing file keeps its mode.
 */
export function makePrivate(path: string): void {
  const file = filePath(path)
  if (file === null) return
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch {
    // The file already exists, or it cannot be created. In the latter case, opening it reports the reason.
  }
}

/**
 * The file that a connection has open. If the file is deleted, moved or replaced, the connection continues without an
 * error, and its writes are lost to other processes.
 */
export class DatabaseFile {
  /** The path is absolute, because the process may change its working directory. */
  readonly #path: string
  readonly #opened: BigIntStats
  /** Commits that are not in the main file yet. SQLite keeps this file while a connection is open. */
  #wal: BigIntStats | null = null

  private constructor(path: string, opened: BigIntStats) {
    this.#path = path
    this.#opened = opened
  }

  /** @returns null if the path does not name a file */
  static at(path: string): DatabaseFile | null {
    const file = filePath(path)
    const opened = file === null ? null : statusOf(file)
    return file === null || opened === null ? null : new DatabaseFile(resolve(file), opened)
  }

  /** @throws StoreUnavailableError when the path names another file, or none */
  mustBeThere(): void {
    const found = statusOf(this.#path)
    if (found !== null && isSame(found, this.#opened)) return this.#walMustBeThere()
    throw new StoreUnavailableError(
      found === null
        ? `The database file '${this.#path}' was deleted or moved while it was in use: put it back, with its -wal and -shm, or stop this process`
        : `The database file '${this.#path}' was replaced by another file while it was in use: restart this process to work on the new one`,
    )
  }

  #walMustBeThere(): void {
    const path = `${this.#path}-wal`
    const found = statusOf(path)
    this.#wal ??= found
    if (this.#wal === null || (found !== null && isSame(found, this.#wal))) return
    throw new StoreUnavailableError(
      `The file '${path}' was deleted or replaced while the database was in use: put it back, or restart this process; without it, commits that are not yet in the main file are lost`,
    )
  }
}

function isSame(one: BigIntStats, other: BigIntStats): boolean {
  return one.ino === other.ino && one.dev === other.dev
}

/** The driver also accepts URIs for files, memory and servers. */
function filePath(path: string): string | null {
  const file = path.replace(/^file:(?:\/\/)?/, '')
  return file === ':memory:' || /^\w{2,}:/.test(file) || (file !== path && file.includes('?')) ? null : file
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
