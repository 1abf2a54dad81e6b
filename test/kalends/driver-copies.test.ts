/**
 * Kalends never takes the application's locks on a SQLite file away, and uses the copy of SQLite that the application
 * uses: two copies in one process do not exclude each other.
 */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Kalends, PeriodicScheduler } from '../../src/index.ts'
import { containsSqlite } from '../../src/store/sqlite/copies.ts'
import { runHere } from '../cli/here.ts'
import { databases } from '../support/databases.ts'
import { openSqlite, sqliteDriver } from '../support/sqlite.ts'

const root = join(import.meta.dirname, '../..')
const libsql = dirname(createRequire(import.meta.url).resolve('libsql'))

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'kalends-copies-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** The locks of this process on the file, its -wal and its -shm file, as the kernel lists them. */
function locksOn(file: string): string[] {
  const inodes = ['', '-wal', '-shm'].map((part) => String(statSync(file + part).ino))
  return readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([, , , , pid, inode]) => pid === String(process.pid) && inodes.includes(inode?.split(':')[2] ?? ''),
    )
    .map(([, ...lock]) => lock.join(' '))
    .toSorted()
}

describe.runIf(databases.some(({ kind }) => kind === 'sqlite') && existsSync('/proc/locks'))(
  "the application's locks on the file",
  () => {
    it('stay as they were, whatever opens and closes the file', async () => {
      const cwd = folder()
      const file = join(cwd, 'app.db')
      const url = `sqlite:${file}`
      const app = openSqlite(file)
      onTestFinished(() => void app.close())
      app.exec('PRAGMA journal_mode = WAL')
      await Kalends.migrate(url)
      app.exec('BEGIN')
      app.prepare('SELECT * FROM job').all()
      const locks = locksOn(file)
      expect(locks.length).toBeGreaterThan(1)
      const stopped = async (opening: Promise<{ stop: () => Promise<void> }>) => await (await opening).stop()
      const entries: Record<string, () => Promise<unknown>> = {
        'open a URL': () => stopped(Kalends.open(url)),
        'open a connection': () => stopped(Kalends.open(app)),
        'open without a migration': () => stopped(Kalends.open(app, { migrate: false })),
        'open to start a worker': async () => {
          const kalends = await Kalends.open(app, { retention: false })
          await kalends.start()
          await kalends.stop()
        },
        'open a scheduler': () => stopped(PeriodicScheduler.open(app, { submit: async () => undefined })),
        migrate: () => Kalends.migrate(app),
        'print the migrations': () => Kalends.migrationStatements(app),
        doctor: () => Kalends.doctor(app),
        'doctor of a URL': () => Kalends.doctor(url),
        'fail to open': () =>
          Kalends.open(app, { tablePrefix: 'other_', migrate: false }).catch((error: unknown) => error),
        ...Object.fromEntries(
          [['doctor'], ['schedules', 'list'], ['jobs', 'list'], ['workers'], ['migrate', '--print']].map(
            (args) => [
              `kalends ${args.join(' ')}`,
              async () => await runHere([...args, '--database', url], { cwd }),
            ],
          ),
        ),
      }
      for (const [entry, enter] of Object.entries(entries)) {
        await enter()
        expect({ entry, locks: locksOn(file) }).toEqual({ entry, locks })
      }
      app.exec('COMMIT')
    })
  },
)

describe.runIf(databases.some(({ kind }) => kind === 'sqlite'))('in a process of its own', () => {
  /** Runs an ES module, to which `Kalends`, the folder and a second copy of libsql are known. @returns what it prints */
  async function run(body: string, flags: readonly string[] = []): Promise<string> {
    const cwd = folder()
    const second = join(cwd, 'node_modules')
    for (const name of ['libsql', '@libsql', '@neon-rs', 'detect-libc'])
      cpSync(join(libsql, '..', name), join(second, name), { recursive: true })
    const module = `
      import { createRequire } from 'node:module'
      import { existsSync } from 'node:fs'
      import { execFileSync } from 'node:child_process'
      import { Kalends } from ${JSON.stringify(join(root, 'dist/index.js'))}
      const first = ${JSON.stringify(libsql)}, second = ${JSON.stringify(join(second, 'libsql'))}
      const require = createRequire(import.meta.url)
      const warnings = []
      const logger = { debug() {}, info() {}, warn: (_, text) => warnings.push(text), error: (_, text) => warnings.push(text) }
      ${body}`
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...flags, '--input-type=module', '--eval', module],
      { cwd },
    )
    return stdout.trim()
  }

  it.each(['first', 'second'])(
    "opens its connections with the copy of the given connection, and the application's commits survive: the %s copy",
    async (copy) => {
      const printed = await run(`
      const Own = require(${copy})
      const app = new Own('app.db')
      app.exec('PRAGMA journal_mode = WAL; CREATE TABLE orders (id INTEGER PRIMARY KEY)')
      const kalends = await Kalends.open(app, { logger })
      const visit = () => execFileSync(process.execPath, ['-e',
        "const Driver = require(process.argv[1]); const db = new Driver('app.db'); db.prepare('SELECT 1 FROM orders').all(); db.close()", ${copy}])
      const order = () => {
        app.prepare('INSERT INTO orders DEFAULT VALUES').run()
        visit()
      }
      order()
      await kalends.jobs.submit('mail')
      order()
      await kalends.stop()
      order()
      order()
      const wal = existsSync('app.db-wal')
      app.close()
      const found = new Own('app.db').prepare('SELECT (SELECT COUNT(*) FROM orders) AS orders, (SELECT COUNT(*) FROM job) AS jobs').all()
      console.log(JSON.stringify({ wal, found, copies: warnings.filter((text) => text.includes('copies of SQLite')) }))`)
      expect(JSON.parse(printed)).toEqual({ wal: true, found: [{ orders: 4, jobs: 1 }], copies: [] })
    },
  )

  it('warns once in the log, in health and in the doctor if another copy is loaded before or after the start', async () => {
    for (const when of ['before', 'after']) {
      const printed = await run(`
        const Own = require(first)
        const app = new Own('app.db')
        if (${JSON.stringify(when)} === 'before') require(second)
        const kalends = await Kalends.open(app, { logger, retention: false })
        await kalends.start()
        const before = warnings.length
        require(second)
        const now = performance.now()
        performance.now = () => now + 61_000
        await kalends.jobs.submit('mail')
        const health = kalends.health().warnings.filter(({ code }) => code === 'driver-copies')
        const doctor = (await kalends.doctor()).filter(({ code }) => code === 'driver-copies')
        await kalends.stop()
        console.log(JSON.stringify({ before, warnings, health: health.map(({ text }) => text), doctor: doctor.map(({ problem }) => problem) }))`)
      const result: { before: number; warnings: string[]; health: string[]; doctor: string[] } =
        JSON.parse(printed)
      expect(result.before).toBe(when === 'before' ? 1 : 0)
      const about = result.warnings.filter((text) => text.includes('2 copies of SQLite'))
      expect([about.length, result.health.length, result.doctor.length]).toEqual([1, 1, 1])
      for (const [text] of [about, result.health, result.doctor])
        expect(text).toContain(join('node_modules', '@libsql'))
    }
  })

  it('the command line takes the driver from the flag, the environment or the configuration file', async () => {
    const cwd = folder()
    const doctor = async (args: readonly string[], env: Record<string, string> = {}) => {
      const { code, stderr } = await runHere(
        ['doctor', '--database', `sqlite:${join(cwd, 'app.db')}`, ...args],
        { cwd, env },
      )
      return [code, stderr]
    }
    await runHere(['migrate', '--database', `sqlite:${join(cwd, 'app.db')}`, '--driver', sqliteDriver], {
      cwd,
    })
    const unknown = [
      2,
      expect.stringContaining(
        '\'--driver\': must be one of better-sqlite3, libsql, node:sqlite, got "sqlite3"',
      ),
    ]
    expect(await doctor(['--driver', 'sqlite3'])).toEqual(unknown)
    expect(await doctor([], { KALENDS_DRIVER: 'sqlite3' })).toEqual(unknown)
    expect(await doctor(['--driver', sqliteDriver], { KALENDS_DRIVER: 'sqlite3' })).toEqual([
      0,
      expect.stringContaining('no problems'),
    ])
    writeFileSync(join(cwd, 'kalends.config.json'), '{ "driver": "sqlite3" }')
    expect(await doctor([])).toEqual(unknown)
  })

  it('a database in memory needs no particular copy', async () => {
    const printed = await run(`
      require(first)
      require(second)
      const kalends = await Kalends.open('sqlite::memory:', { logger })
      await kalends.stop()
      console.log(warnings.length)`)
    expect(printed).toBe('0')
  })

  it('a URL is rejected if the driver that the process has loaded is not the one that Kalends finds', async () => {
    const printed = await run(`
      const app = new (require(second))('app.db')
      const refused = await Kalends.open('sqlite:app.db', { logger }).catch(({ field, message }) => [field, message])
      console.log(JSON.stringify(refused))`)
    expect(JSON.parse(printed)).toEqual(['driver', expect.stringContaining('from another folder')])
  })

  it.each([
    ['/app/node_modules/better-sqlite3/build/Release/better_sqlite3.node', true],
    ['/app/node_modules/@libsql/linux-x64-gnu/index.node', true],
    ['/app/node_modules/sqlite3/build/Release/node_sqlite3.node', true],
    ['/app/node_modules/.prisma/client/libquery_engine-debian-openssl-3.0.x.so.node', true],
    ['/home/me/my-sqlite-app/node_modules/argon2/argon2.node', false],
    ['/home/me/better-sqlite3-demo/node_modules/x/index.node', false],
    ['/usr/lib/x86_64-linux-gnu/libsqlite3.so.0', false],
  ])('%s is a copy of SQLite: %s', (path, isCopy) => {
    expect(containsSqlite(path)).toBe(isCopy)
  })

  it('does not warn about the only copy', async () => {
    expect(
      await run(
        "const kalends = await Kalends.open('sqlite:app.db', { logger }); await kalends.stop(); console.log(warnings.length)",
      ),
    ).toBe('0')
  })

  // docs/databases.md recommends to write only in transactions, because of this.
  it('a single write of libsql that finds the file locked stays pending, and later writes are lost', async () => {
    const printed = await run(`
      const Own = require(first)
      const app = new Own('app.db'), other = new Own('app.db')
      app.exec('PRAGMA journal_mode = WAL; CREATE TABLE orders (id INTEGER PRIMARY KEY)')
      const insert = app.prepare('INSERT INTO orders DEFAULT VALUES')
      const locked = (write) => {
        other.exec('BEGIN IMMEDIATE')
        let code
        try { write() } catch (error) { code = error.code }
        other.exec('COMMIT')
        return code
      }
      const count = () => other.prepare('SELECT COUNT(*) AS n FROM orders').get().n
      const inTransaction = locked(() => app.exec('BEGIN IMMEDIATE'))
      app.exec('INSERT INTO orders DEFAULT VALUES')
      const after = [count()]
      const single = locked(() => insert.run())
      app.exec('INSERT INTO orders DEFAULT VALUES')
      after.push(count())
      insert.run()
      after.push(count())
      console.log(JSON.stringify({ inTransaction, single, after }))`)
    expect(JSON.parse(printed)).toEqual({
      inTransaction: 'SQLITE_BUSY',
      single: 'SQLITE_BUSY',
      after: [1, 1, 2],
    })
  })

  // Asking for the module itself would load it.
  describe.runIf(isBuiltin('node:sqlite'))('with node:sqlite', () => {
    it('different processes may use different drivers', async () => {
      const printed = await run(
        `
        const kalends = await Kalends.open('sqlite:app.db', { driver: 'libsql', logger })
        const visit = () => execFileSync(process.execPath, ['--no-warnings', '-e', \`
          const { DatabaseSync } = require('node:sqlite')
          const db = new DatabaseSync('app.db')
          db.exec("INSERT INTO job (task) VALUES ('visit')")
          db.close()\`])
        for (let turn = 0; turn < 3; turn++) {
          await kalends.jobs.submit('mail')
          visit()
        }
        const before = (await kalends.jobs.list()).items.length
        await kalends.stop()
        visit()
        const again = await Kalends.open('sqlite:app.db', { driver: 'libsql', logger })
        const after = (await again.jobs.list()).items.length
        await again.stop()
        console.log(JSON.stringify({ before, after, warnings: warnings.filter((text) => text.includes('copies of SQLite')) }))`,
        ['--no-warnings'],
      )
      expect(JSON.parse(printed)).toEqual({ before: 6, after: 7, warnings: [] })
    })

    it('a URL uses the driver that the process has loaded, and the option decides if there are several', async () => {
      const printed = await run(
        `
        const { DatabaseSync } = require('node:sqlite')
        const version = async (options) => {
          const kalends = await Kalends.open('sqlite:app.db', options)
          await kalends.stop()
          return process.report.getReport().sharedObjects.filter((path) => path.includes('libsql')).length
        }
        const builtIn = await version({})
        const named = await version({ driver: 'libsql', logger })
        const refused = await Kalends.open('sqlite:app.db').catch(({ code, field, message }) => ({ code, field, message }))
        console.log(JSON.stringify({ builtIn, named, refused, warnings: warnings.length }))`,
        ['--no-warnings'],
      )
      expect(JSON.parse(printed)).toEqual({
        builtIn: 0,
        named: 1,
        refused: {
          code: 'KALENDS_INVALID_INPUT',
          field: 'driver',
          message: expect.stringContaining('several drivers of SQLite (libsql, node:sqlite)'),
        },
        warnings: 1,
      })
    })
  })
})
