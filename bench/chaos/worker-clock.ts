/** The clock of one worker process, by libfaketime: off by some time, and moved while it runs. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/** Where Debian, Fedora and Homebrew on Linux have it. */
const LIBRARIES = [
  '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1',
  '/usr/lib64/faketime/libfaketimeMT.so.1',
  '/usr/lib/faketime/libfaketimeMT.so.1',
]

/** null: it is not installed, and the clocks of workers are those of the machine. */
export function faketimeLibrary(): string | null {
  return LIBRARIES.find((path) => existsSync(path)) ?? null
}

export class WorkerClock {
  readonly #file: string
  /** That of all workers: it may fake a clock itself, which they share with the database. */
  readonly #shared: Readonly<Record<string, string>>
  #offsetMs: number | null = null

  /** @param file  of its own, which it may write */
  constructor(file: string, shared: Readonly<Record<string, string>>) {
    this.#file = file
    this.#shared = shared
  }

  /** @param ms  beside the clock that all workers have; null: as theirs */
  setOffset(ms: number | null): void {
    this.#offsetMs = ms
    if (ms === null) return
    const seconds = sharedSeconds(this.#shared) + ms / 1000
    // Whole at every moment: the process reads it whenever it likes.
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
      // Timers, time limits and leases count by it.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
  }
}

/** How far the clock that all workers share is off already, in seconds. */
function sharedSeconds(environment: Readonly<Record<string, string>>): number {
  const file = environment['FAKETIME_TIMESTAMP_FILE']
  const text = file === undefined ? environment['FAKETIME'] : readFileSync(file, 'utf8')
  const seconds = Number(text?.trim() ?? '0')
  return Number.isFinite(seconds) ? seconds : 0
}
