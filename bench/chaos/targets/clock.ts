/**
 * The clock of a database server, and of all workers with it, by libfaketime: it jumps while they run.
 *
 * Every process reads the offset from a file at each look at the clock, so that all jump at the same moment, and
 * none sees it before or after the others. The monotonic clock, by which servers and workers count their waits,
 * stays. Seen on MariaDB 10.11 and MySQL 9.7: lock waits, SLEEP and GET_LOCK last as long as they should while
 * the clock jumps by an hour, milliseconds are kept, 5,000 updates in 1.1 s.
 */
import { copyFile, readdir, rm } from 'node:fs/promises'
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { findOrInstall } from '../../../test/support/servers-programs.ts'
import type { Ground } from '../fault.ts'
import { faketimeLibrary } from '../worker-clock.ts'

export class TargetClock {
  /** For processes that see this machine's files: the workers. */
  readonly environment: Readonly<Record<string, string>>
  readonly #folder: string
  readonly #library: string
  readonly #file: string
  #offsetMs: number

  private constructor(folder: string, library: string) {
    this.#folder = folder
    this.#library = library
    this.#file = join(folder, 'clock')
    this.environment = environment(library, this.#file)
    this.#offsetMs = 0
    this.#write()
  }

  /**
   * As the machine's, until told otherwise.
   *
   * @param folder  of the server, which holds its file
   * @returns a text that says why clocks cannot be moved here
   */
  static async open(folder: string): Promise<TargetClock | string> {
    return await findOrInstall('libfaketime', ['faketime'], () => {
      const library = faketimeLibrary()
      return library === null ? null : new TargetClock(folder, library)
    })
  }

  /** The database's clock is the machine's plus this. */
  get offsetMs(): number {
    return this.#offsetMs
  }

  /** Sets it, when the database is up and nobody works yet. */
  beginAt(at: Date | undefined): void {
    if (at === undefined) return
    this.#offsetMs = at.getTime() - Date.now()
    this.#write()
  }

  /** For a server that sees the folder, and nothing else of this machine, as `seen`. */
  async environmentIn(seen: string): Promise<Readonly<Record<string, string>>> {
    if (seen === this.#folder) return this.environment
    const library = basename(this.#library)
    await copyFile(this.#library, join(this.#folder, library))
    return environment(join(seen, library), join(seen, 'clock'))
  }

  /** Moves it at once, and tells the journal. */
  move({ journal }: Pick<Ground, 'journal'>, byMs: number): void {
    this.#offsetMs += byMs
    this.#write()
    journal.write({ kind: 'clock', offsetMs: this.#offsetMs })
  }

  #write(): void {
    const seconds = this.#offsetMs / 1000
    // By renaming: a process that looks meanwhile reads the old or the new.
    writeFileSync(`${this.#file}.new`, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds).toFixed(3)}\n`)
    renameSync(`${this.#file}.new`, this.#file)
  }
}

function environment(library: string, file: string): Readonly<Record<string, string>> {
  return {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    // It takes newer C libraries for ones whose timed waits it must mend, and makes each of them end at once: an
    // idle MySQL then took a whole processor. Without, its waits last as long as they should.
    FAKETIME_FORCE_MONOTONIC_FIX: '0',
    // A file's own times are the machine's.
    NO_FAKE_STAT: '1',
  }
}

/**
 * Removes what libfaketime leaves in shared memory for each process that was killed: a later process that
 * happens to get the same id would not start.
 *
 * @param root  of the servers' chroot; default: this machine's
 */
export async function sweepSharedMemory(root = '/'): Promise<void> {
  const folder = join(root, 'dev/shm')
  const names = await readdir(folder).catch((): string[] => [])
  for (const name of names) {
    const pid = /^(?:sem\.faketime_sem|faketime_shm)_(\d+)$/.exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await rm(join(folder, name), { force: true })
  }
}
