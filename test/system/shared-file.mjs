/**
 * An application and Kalends share a SQLite file in one process, while another process opens and closes the file:
 * `node test/system/shared-file.mjs <driver> <file> <seconds>`. Prints a JSON object with what was written, lost and
 * repeated.
 */
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'
import { Kalends, task } from '../../dist/index.js'

const [driver, file, seconds, folder] = process.argv.slice(2)
// The driver is resolved from the folder in which it is installed.
const require = createRequire(folder ?? import.meta.url)
const Driver = driver === 'node:sqlite' ? require(driver).DatabaseSync : require(driver)
if (seconds === 'visit') await visit()
else await share(Number(seconds) * 1000)

/** The other process. Whoever closes a file last copies its write-ahead log into it, and deletes the log. */
async function visit() {
  for (;;) {
    const connection = new Driver(file)
    connection.exec('PRAGMA busy_timeout = 1000')
    connection.prepare('SELECT COUNT(*) AS n FROM own WHERE id < 10').all()
    connection.close()
    await pause(2)
  }
}

async function share(forMs) {
  const app = new Driver(file)
  app.exec('PRAGMA journal_mode = WAL')
  // Kalends may hold the lock in this process while this call would block the event loop.
  app.exec('PRAGMA busy_timeout = 0')
  app.exec(
    'CREATE TABLE own (id INTEGER PRIMARY KEY, how TEXT); CREATE TABLE ran (job TEXT, attempt INTEGER)',
  )
  const single = app.prepare("INSERT INTO own (how) VALUES ('single')")
  const many = app.prepare("INSERT INTO own (how) VALUES ('many')")
  const ran = app.prepare('INSERT INTO ran VALUES (?, ?)')
  const visitor = spawn(
    process.execPath,
    [import.meta.filename, driver, file, 'visit', ...(folder ? [folder] : [])],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  const logged = []
  const log = (_, message) => void logged.push(message)
  const logger = { debug() {}, info() {}, warn: log, error: log }
  const kalends = await Kalends.open(app, { logger, retention: false, pollInterval: 50 })
  const count = task('count')
  kalends.handle(count, async ({ job, attempt }) => {
    await written(alone(() => ran.run(job.id, attempt)))
  })
  await kalends.start()

  const inTransaction = (write) => () => {
    app.exec('BEGIN IMMEDIATE')
    write()
    app.exec('COMMIT')
  }
  // With libsql, a single write that finds the file locked stays pending, and no later write is committed.
  const alone = driver === 'libsql' ? inTransaction : (write) => write
  const value = (sql) => Object.values(app.prepare(sql).all()[0])[0]
  const open = () => value("SELECT COUNT(*) FROM job WHERE state IN ('waiting', 'running')")
  let acknowledged = 0
  let submitted = 0
  const over = new AbortController()
  const until = performance.now() + forMs
  const writing = (async () => {
    while (!over.signal.aborted) {
      await written(alone(() => single.run()))
      acknowledged += 1
      await written(
        inTransaction(() => {
          for (let row = 0; row < 10; row += 1) many.run()
        }),
      )
      acknowledged += 10
      await pause(1)
    }
  })()
  const submitting = (async () => {
    while (performance.now() < until) {
      await kalends.jobs.submitMany(Array.from({ length: 20_000 }, () => ({ task: count })))
      submitted += 20_000
      while (open() > 1000 && performance.now() < until) await pause(50)
    }
  })()
  await submitting
  while (open() > 0) await pause(100)
  over.abort()
  await writing
  await kalends.stop()
  visitor.kill('SIGKILL')
  const result = {
    acknowledged,
    lostRows: acknowledged - value('SELECT COUNT(*) FROM own'),
    submitted,
    lostJobs: submitted - value('SELECT COUNT(*) FROM job'),
    unsuccessful: value("SELECT COUNT(*) FROM job WHERE state <> 'success'"),
    repeated: value('SELECT COUNT(*) FROM (SELECT job FROM ran GROUP BY job HAVING COUNT(*) > 1)'),
    notRun: submitted - value('SELECT COUNT(DISTINCT job) FROM ran'),
    integrity: value('PRAGMA integrity_check'),
    logged: [...new Set(logged)].slice(0, 10),
  }
  app.close()
  process.stdout.write(`${JSON.stringify(result)}\n`)
}

/** Waits while Kalends or the other process writes. */
async function written(write) {
  for (;;) {
    try {
      return write()
    } catch (error) {
      if (!/locked|busy/i.test(error.message)) throw error
      await pause(1)
    }
  }
}
