/** The clock of one worker process under libfaketime: it has an offset, and can be moved while the process runs. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/** Paths on Debian (x86-64 and ARM), on Fedora, and on distributions such as Arch Linux. */
const LIBRARIES = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib64/faketime/libfaketimeMT.so.1',
  '/usr/lib/faketime/libfaketimeMT.so.1',
]

/** The path of libfaketime; null if it is not installed, in which case workers use the machine's clock. */
export function faketimeLibrary(): string | null {
  return LIBRARIES.find((path) => existsSync(path)) ?? null
}

export class WorkerClock {
  readonly #file: string
  /** The environment of all workers. It may itself fake a clock, which the workers share with the database. */
  readonly #shared: Readonly<Record<string, string>>
  #offsetMs: number | null = null

  /** @param file  a private file that this object writes */
  constructor(file: string, shared: Readonly<Record<string, string>>) {
    this.#file = file
    this.#shared = shared
  }

  /** @param ms  the offset from the clock of all workers; null for no offset */
  setOffset(ms: number | null): void {
    this.#offsetMs = ms
    if (ms === null) return
    const seconds = sharedSeconds(this.#shared) + ms / 1000
    // The file is replaced atomically, because the process may read it at any time.
    writeFileSync(`${this.#file}.new`, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds).toFixed(3)}\n`)
    renameSync(`${this.#file}.new`, this.#file)
  }

  get environment(): Readonly<Record<string, string>> {
    const library = this.#offsetMs === null ? null : faketimeLibrary()
    if (library === null) return this.#shared
    return {
      ...this.#shared,
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      // Timers, time limits and leases use the monotonic clock.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
  }
}

/** The offset of the clock that all workers share, in seconds. */
function sharedSeconds(environment: Readonly<Record<string, string>>): number {
  const file = environment['FAKETIME_TIMESTAMP_FILE']
  const text = file === undefined ? environment['FAKETIME'] : readFileSync(file, 'utf8')
  const seconds = Number(text?.trim() ?? '0')
  return Number.isFinite(seconds) ? seconds : 0
}
