/** A small disk of its own for a database's files, which can be filled up: an ext4 image in a file that takes no more than is written. */
import { execFile } from 'node:child_process'
import { mkdir, open, rm, rmdir, statfs, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, isRoot } from '../../../test/support/servers-programs.ts'

const run = promisify(execFile)
/** More than half an hour of a run leaves. */
const SIZE_BYTES = 6 * 1024 ** 3
const CHUNK = Buffer.alloc(4096, 1)

export class SmallDisk {
  readonly path: string
  isFull = false

  private constructor(path: string) {
    this.path = path
  }

  /**
   * @param folder  kept by keep-folder.sh, which lets the disk go; the disk is mounted at `data` in it
   * @returns a text that says why there can be none
   */
  static async open(folder: string): Promise<SmallDisk | string> {
    if (!isRoot()) return 'only root can mount a disk'
    const makeFileSystem = findProgram('mkfs.ext4') ?? findProgram('/sbin/mkfs.ext4')
    const mount = findProgram('mount')
    if (makeFileSystem === null || mount === null) return 'there is no mkfs.ext4 or no mount'
    const image = join(folder, 'disk')
    const path = join(folder, 'data')
    try {
      await (await open(image, 'w')).close()
      await truncate(image, SIZE_BYTES)
      // -m 0: nothing is kept back for root, who runs the server.
      await run(makeFileSystem, ['-q', '-F', '-m', '0', '-O', '^has_journal', image])
      await mkdir(path)
      await run(mount, ['-o', 'loop', image, path])
    } catch (error) {
      await rm(image, { force: true })
      await rmdir(path).catch(() => {})
      return `no disk can be mounted: ${error instanceof Error ? error.message : String(error)}`
    }
    // Servers want their data folder empty.
    await rmdir(join(path, 'lost+found'))
    return new SmallDisk(path)
  }

  /** Until nothing more fits. @returns the bytes that were free */
  async fill(): Promise<number> {
    this.isFull = true
    const { bavail, bsize } = await statfs(this.path)
    const free = bavail * bsize
    if (free > 0) await run('fallocate', ['--length', String(free), this.#filler]).catch(() => {})
    // What fallocate could not have, since the files around it grow meanwhile.
    const file = await open(this.#filler, 'a')
    try {
      for (;;) await file.write(CHUNK)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
    } finally {
      await file.close()
    }
    return free
  }

  async free(): Promise<void> {
    await rm(this.#filler, { force: true })
    this.isFull = false
  }

  get #filler(): string {
    return join(this.path, 'filler')
  }
}
