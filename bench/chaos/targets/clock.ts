/**
 * The clock of a database server and all workers under libfaketime: it can jump while they run.
 *
 * Every process reads the offset from a file whenever it reads the clock, so all clocks jump at the same moment. The
 * monotonic clock, which servers and workers use for waits, does not change. Observed on MariaDB 10.11 and MySQL 9.7:
 * lock waits, SLEEP and GET_LOCK have the correct length while the clock jumps by an hour, times have millisecond
 * precision, and 5,000 updates take 1.1 s.
 */
import { copyFile, readdir, rm } from 'node:fs/promises'
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { findOrInstall } from '../../../test/support/servers-programs.ts'
import type { Ground } from '../fault.ts'
import { faketimeLibrary } from '../worker-clock.ts'

export class TargetClock {
  /** The environment of processes that see this machine's file system, such as the workers. */
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
   * Creates a clock that equals the machine's clock until it is moved.
   *
   * @param folder  the server's folder, which contains the file with the offset
   * @returns a string with the reason if clocks cannot be moved here
   */
  static async open(folder: string): Promise<TargetClock | string> {
    return await findOrInstall('libfaketime', ['faketime'], () => {
      const library = faketimeLibrary()
      return library === null ? null : new TargetClock(folder, library)
    })
  }

  /** The database's clock is the machine's clock plus this. */
  get offsetMs(): number {
    return this.#offsetMs
  }

  /** Sets the clock after the database has started and before any worker runs. */
  beginAt(at: Date | undefined): void {
    if (at === undefined) return
    this.#offsetMs = at.getTime() - Date.now()
    this.#write()
  }

  /** The environment of a server that sees only this folder of the machine, under the path `seen`. */
  async environmentIn(seen: string): Promise<Readonly<Record<string, string>>> {
    if (seen === this.#folder) return this.environment
    const library = basename(this.#library)
    await copyFile(this.#library, join(this.#folder, library))
    return environment(join(seen, library), join(seen, 'clock'))
  }

  /** Moves the clock at once, and writes the new offset to the journal. */
  move({ journal }: Pick<Ground, 'journal'>, byMs: number): void {
    this.#offsetMs += byMs
    this.#write()
    journal.write({ kind: 'clock', offsetMs: this.#offsetMs })
  }

  #write(): void {
    const seconds = this.#offsetMs / 1000
    // The file is replaced by a rename, so that processes read either the old or the new offset.
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
    // By default, libfaketime applies a fix that only old C libraries need. With new ones, it makes timed waits end at
    // once, so an idle MySQL uses a whole core. With this setting, waits have the correct length.
    FAKETIME_FORCE_MONOTONIC_FIX: '0',
    // File times use the machine's clock.
    NO_FAKE_STAT: '1',
  }
}

/**
 * Removes the shared memory that libfaketime leaves for each killed process; otherwise, a later process with the same
 * id would not start.
 *
 * @param root  the root of the servers' chroot. Default: the root of this machine
 */
export async function sweepSharedMemory(root = '/'): Promise<void> {
  const folder = join(root, 'dev/shm')
  const names = await readdir(folder).catch((): string[] => [])
  for (const name of names) {
    const pid = /^(?:sem\.faketime_sem|faketime_shm)_(\d+)$/.exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await rm(join(folder, name), { force: true })
  }
}
