/** Finds the copies of SQLite in this process: each driver brings one. See driver.ts for why several are dangerous. */
import type { Logger } from '../../logger.ts'
import type { DatabaseWarning } from '../../model/diagnosis.ts'

const BUILT_IN = 'node:sqlite'
/** The names of native modules that contain SQLite, such as better_sqlite3.node or @libsql/linux-x64-gnu/index.node. */
const CONTAINS_SQLITE = /sqlite|libsql|turso|query_engine/i
/** Listing the native modules takes a few milliseconds. */
const CHECK_EVERY_MS = 60_000

/** The paths of the loaded native modules that contain SQLite, and `node:sqlite` if this thread has loaded it. */
export function loadedCopies(): string[] {
  const found = sharedObjects().filter((path) => CONTAINS_SQLITE.test(path))
  // Lists the built-in modules that were loaded; not documented, so it may be missing.
  const modules: unknown = Reflect.get(process, 'moduleLoadList')
  if (Array.isArray(modules) && modules.includes('NativeModule sqlite')) found.push(BUILT_IN)
  return found
}

function sharedObjects(): string[] {
  const { report } = process
  // Other runtimes may have no reports.
  if (typeof report?.getReport !== 'function') return []
  // Otherwise, the report would look up the names of connected hosts, which can block for seconds.
  const excludesNetwork: unknown = Reflect.get(report, 'excludeNetwork')
  Reflect.set(report, 'excludeNetwork', true)
  try {
    const content: unknown = report.getReport()
    const objects: unknown =
      typeof content === 'object' && content !== null ? Reflect.get(content, 'sharedObjects') : []
    return Array.isArray(objects) ? objects.filter((path) => typeof path === 'string') : []
  } finally {
    Reflect.set(report, 'excludeNetwork', excludesNetwork)
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
      code: 'sqlite-copies',
      problem: `this process has loaded ${copies.length} copies of SQLite, which do not see each other's locks: ${copies.join(', ')}`,
      fix: "open the file of this database with only one of them in this process (see docs/databases.md): pass the application's own connection to Kalends.open, or name its driver in the option `driver`",
    }
    const { code, problem, fix } = this.#warning
    this.#logger.warn({ code }, `The database file is in danger: ${problem}; ${fix}`)
  }
}
