/**
 * Machine watch: measures the disks, load and memory of this machine and writes digests.
 *
 *     npm start
 *     npm start -- --database mysql://root@localhost/app --digests ./digests
 *
 * If you start it several times, the processes share the work.
 */
import { readdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { parseArgs } from 'node:util'
import { ConflictError, Kalends, KalendsError } from 'kalends'
import { machineWatch } from './app.ts'
import { openDatabase } from './database.ts'
import { History } from './history.ts'
import { openPage, type Page } from './page.ts'
import { Report } from './report.ts'

const HELP = `Usage: npm start -- [options]

  --database <url>    sqlite:./machine-watch.db (default), mysql://user:password@host/name; also KALENDS_DATABASE
  --digests <folder>  folder for the digests (default ./digests)
  --full-at <n>       warn about disks that are at least this full, in percent (default 90)
  --keep <days>       days to keep measurements, jobs and digests (default 14)
  --port <n>          port of the web page, on this machine only (default 4040, or any free port)
  --help
`

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: process.env['KALENDS_DATABASE'] ?? 'sqlite:./machine-watch.db' },
    digests: { type: 'string', default: './digests' },
    'full-at': { type: 'string', default: '90' },
    keep: { type: 'string', default: '14' },
    port: { type: 'string', default: '4040' },
    help: { type: 'boolean', default: false },
  },
})

const write = (text: string): void => void process.stdout.write(text)

async function main(): Promise<void> {
  const report = new Report(write, process.stdout.isTTY && process.env['NO_COLOR'] === undefined)
  const stopped = stopSignal()
  const kalends = await Kalends.open(values.database, {
    // Several processes may run on one machine; the process id tells them apart.
    worker: `${hostname()}-${process.pid}`,
    // People read digests, so their days and hours follow the local time zone.
    zone: 'local',
    logger: report.logger,
  })
  const history = await History.open(openDatabase(values.database))
  let page: Page | null = null
  try {
    machineWatch(kalends, {
      history,
      folder: values.digests,
      fullAtPercent: Number(values['full-at']),
      keepDays: Number(values.keep),
    })
    report.watch(kalends)
    write(
      `Machine watch on ${values.database.replace(/\/\/.*@/, '//***@')}. Digests: ${values.digests}. Press Ctrl-C to stop.\n`,
    )
    await kalends.start()
    page = await openPage(kalends, Number(values.port))
    write(`Web page: ${page.link}\n`)
    await report.schedules(kalends)
    if (!(await hasDigests(values.digests))) await digestNow(kalends)
    await stopped
    write('\n')
    report.line('stopping', '', 'waiting for running jobs; press Ctrl-C again to stop at once')
  } finally {
    await page?.close()
    await kalends.stop({ grace: '10s' })
    await history.close()
  }
  report.summary()
}

/** Writes the first digest now instead of waiting until the next hour begins. */
async function digestNow(kalends: Kalends): Promise<void> {
  try {
    await kalends.schedules.runNow('hourly-digest')
  } catch (error) {
    // A ConflictError means that another process has already started the digest.
    if (!(error instanceof ConflictError)) throw error
  }
}

async function hasDigests(folder: string): Promise<boolean> {
  const files = await readdir(folder).catch(() => [])
  return files.some((file) => file.endsWith('.md'))
}

/** The first signal requests a clean stop; a later one ends the process at once, unless it is npm's copy of Ctrl-C. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let first = Infinity
    const onSignal = () => {
      if (performance.now() - first > 500) process.exit(130)
      first = Math.min(first, performance.now())
      resolve()
    }
    process.on('SIGINT', onSignal)
    process.on('SIGTERM', onSignal)
  })
}

if (values.help) process.stdout.write(HELP)
else {
  try {
    await main()
  } catch (error) {
    process.stderr.write(`error: ${error instanceof KalendsError ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
