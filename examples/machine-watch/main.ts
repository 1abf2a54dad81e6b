/**
 * Machine watch: measures disks, load and memory of this machine, and writes digests of them.
 *
 *     npm start
 *     npm start -- --database mysql://root@localhost/app --digests ./digests
 *
 * Start it twice or three times beside each other: they share the work.
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
  --digests <folder>  where the digests are written (default ./digests)
  --full-at <n>       warn of disks that are so many percent full (default 90)
  --keep <days>       how long measurements, jobs and digests are kept (default 14)
  --port <n>          of the web page, on this machine alone (default 4040, or any that is free)
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
    // Several may run on one machine, and the lines should tell who it was.
    worker: `${hostname()}-${process.pid}`,
    // Digests are for people: their days and hours begin where the people are.
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
      `Machine watch on ${values.database.replace(/\/\/.*@/, '//***@')}; digests come to ${values.digests}; Ctrl-C stops it.\n`,
    )
    await kalends.start()
    page = await openPage(kalends, Number(values.port))
    write(`The page: ${page.link}\n`)
    await report.schedules(kalends)
    if (!(await hasDigests(values.digests))) await digestNow(kalends)
    await stopped
    write('\n')
    report.line('stopping', '', 'what runs may end; Ctrl-C again ends at once')
  } finally {
    await page?.close()
    await kalends.stop({ grace: '10s' })
    await history.close()
  }
  report.summary()
}

/** The first one is not to be waited for until the hour is full. */
async function digestNow(kalends: Kalends): Promise<void> {
  try {
    await kalends.schedules.runNow('hourly-digest')
  } catch (error) {
    // Another process was first.
    if (!(error instanceof ConflictError)) throw error
  }
}

async function hasDigests(folder: string): Promise<boolean> {
  const files = await readdir(folder).catch(() => [])
  return files.some((file) => file.endsWith('.md'))
}

/** The first signal asks for a clean stop. npm passes Ctrl-C on once more, which is not a second one. */
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
