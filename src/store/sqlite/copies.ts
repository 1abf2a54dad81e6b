/** Finds the copies of SQLite in this process: each driver brings one. See driver.ts for why several are dangerous. */
import { readFileSync } from 'node:fs'
import type { Logger } from '../../logger.ts'
import type { DatabaseWarning } from '../../model/diagnosis.ts'

const BUILT_IN = 'node:sqlite'
/**
 * The native modules that contain SQLite. Libraries of the system, such as libsqlite3.so, do not count: other software
 * loads them for files of its own, and Node.js itself may be built with one.
 */
const CONTAINS_SQLITE =
  /(?:[\\/]@libsql[\\/][\w-]+[\\/]index|[\\/][\w.-]*(?:sqlite|libsql|turso|query_engine)[\w.-]*)\.node$/i
/** How often a worker looks for further copies. */
const CHECK_EVERY_MS = 60_000

/** The paths of the loaded native modules that contain SQLite, and `node:sqlite` if this thread has loaded it. */
export function loadedCopies(): string[] {
  const found = [...new Set(nativeModules().filter(containsSqlite))]
  // Lists the built-in modules that were loaded; not documented, so it may be missing.
  const modules: unknown = Reflect.get(process, 'moduleLoadList')
  if (Array.isArray(modules) && modules.includes('NativeModule sqlite')) found.push(BUILT_IN)
  return found
}

export function containsSqlite(path: string): boolean {
  return CONTAINS_SQLITE.test(path)
}

/**
 * On Linux, the kernel lists the modules of all threads. On other systems, this finds those of CommonJS modules in this
 * thread. A diagnostic report would list all, but it waits for every worker thread, which may wait for a lock itself.
 */
function nativeModules(): string[] {
  try {
    const maps = readFileSync('/proc/self/maps', 'utf8')
    return maps.split('\n').flatMap((line) => (line.endsWith('.node') ? line.slice(line.indexOf('/')) : []))
  } catch {
    const module: object | undefined = process.getBuiltinModule('node:module')
    const cache: unknown = module === undefined ? null : Reflect.get(module, '_cache')
    return typeof cache === 'object' && cache !== null ? Object.keys(cache) : []
  }
}

/** Warns about further copies, which the application may load at any time. */
export class CopiesCheck {
  readonly #logger: Pick<Logger, 'warn'>
  #nextCheck = -Infinity
  #warning: DatabaseWarning | null = null

  constructor(logger: Pick<Logger, 'warn'>) {
    this.#logger = logger
  }

  warnings(): readonly DatabaseWarning[] {
    this.check()
    return this.#warning === null ? [] : [this.#warning]
  }

  check(): void {
    const now = performance.now()
    // A native module is never unloaded.
    if (this.#warning !== null || now < this.#nextCheck) return
    this.#nextCheck = now + CHECK_EVERY_MS
    const copies = loadedCopies()
    if (copies.length < 2) return
    this.#warning = {
      code: 'driver-copies',
      problem: `this process has loaded ${copies.length} copies of SQLite, which do not see each other's locks: ${copies.join(', ')}`,
      fix: "open the file of this database with only one of them in this process (see docs/databases.md): pass the application's own connection to Kalends.open, or name its driver in the option `driver`",
    }
    const { code, problem, fix } = this.#warning
    this.#logger.warn({ code }, `The database file is in danger: ${problem}; ${fix}`)
  }
}
