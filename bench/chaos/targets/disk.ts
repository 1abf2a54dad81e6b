/** A small private disk that holds a database's files and can be filled up: an ext4 image in a sparse file. */
import { execFile } from 'node:child_process'
import { mkdir, open, rm, rmdir, statfs, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findProgram, isRoot } from '../../../test/support/servers-programs.ts'

const run = promisify(execFile)
/** More than a run of half an hour needs. */
const SIZE_BYTES = 6 * 1024 ** 3
const CHUNK = Buffer.alloc(4096, 1)

export class SmallDisk {
  readonly path: string
  isFull = false

  private constructor(path: string) {
    this.path = path
  }

  /**
   * @param folder  managed by keep-folder.sh, which unmounts the disk; the disk is mounted at its subfolder `data`
   * @returns a string with the reason if no disk can be created
   */
  static async open(folder: string): Promise<SmallDisk | string> {
    if (!isRoot()) return 'only root can mount a disk'
    const makeFileSystem = findProgram('mkfs.ext4') ?? findProgram('/sbin/mkfs.ext4')
    const mount = findProgram('mount')
    if (makeFileSystem === null || mount === null) return 'mkfs.ext4 or mount is missing'
    const image = join(folder, 'disk')
    const path = join(folder, 'data')
    try {
      await (await open(image, 'w')).close()
      await truncate(image, SIZE_BYTES)
      // -m 0 reserves nothing for root: the server runs as root, and would use the reserve.
      await run(makeFileSystem, ['-q', '-F', '-m', '0', '-O', '^has_journal', image])
      await mkdir(path)
      await run(mount, ['-o', 'loop', image, path])
    } catch (error) {
      await rm(image, { force: true })
      await rmdir(path).catch(() => {})
      return `cannot mount a disk: ${error instanceof Error ? error.message : String(error)}`
    }
    // Servers require an empty data folder.
    await rmdir(join(path, 'lost+found'))
    return new SmallDisk(path)
  }

  /** Writes until the disk is full. @returns how many bytes were free */
  async fill(): Promise<number> {
    this.isFull = true
    const { bavail, bsize } = await statfs(this.path)
    const free = bavail * bsize
    if (free > 0) await run('fallocate', ['--length', String(free), this.#filler]).catch(() => {})
    // Fill the space that fallocate could not reserve because other files grew in the meantime.
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
