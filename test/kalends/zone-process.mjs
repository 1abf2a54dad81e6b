/**
 * A process in another time zone, for zones.test.ts. It creates a schedule and a job with fixed instants, lets the
 * scheduler plan and the executor run, and prints, as JSON, what it reads back. It is plain JavaScript and uses
 * dist/, because a child process cannot run TypeScript with Node.js 20.
 */
import { Kalends, task } from '../../dist/index.js'

const [url, prefix] = process.argv.slice(2)
const kalends = await Kalends.open(url, { pollInterval: 50, zone: 'local', worker: prefix })
const tick = task('tick')
/** @type {import('../../dist/index.js').HandlerContext | undefined} */
let seen
kalends.handle(tick, (context) => {
  seen = context
})
await kalends.start()

const { nextRunAt } = await kalends.schedules.create({
  id: `${prefix}-utc`,
  task: 'unknown',
  timer: '2031-03-30 02:30:00.25 UTC',
})
await kalends.schedules.create({ id: `${prefix}-local`, task: 'unknown', timer: '2031-03-30 12:00' })
const future = await kalends.jobs.submit('unknown', {}, { runAt: new Date('2031-03-30T01:30:00.123Z') })

const settled = new Promise((resolve) => {
  kalends.on('settled', ({ task: name }) => name === 'tick' && resolve(undefined))
})
const before = Date.now()
await kalends.schedules.create({ id: `${prefix}-run`, task: tick, timer: 'yearly' })
const run = await kalends.schedules.runNow(`${prefix}-run`)
await settled
const job = await kalends.jobs.get(run)
const schedule = await kalends.schedules.get(`${prefix}-run`)
const nearNow = [
  job?.submittedAt,
  job?.startedAt,
  job?.finishedAt,
  job?.slot,
  schedule?.createdAt,
  schedule?.lastRunAt,
]

process.stdout.write(
  JSON.stringify({
    offsetMinutes: new Date('2031-03-30T12:00:00Z').getTimezoneOffset(),
    planned: nextRunAt,
    readBack: (await kalends.schedules.get(`${prefix}-utc`))?.nextRunAt,
    runAt: (await kalends.jobs.get(future))?.runAt,
    localTimer: (await kalends.schedules.get(`${prefix}-local`))?.timer,
    sameSlot: seen?.slot?.getTime() === job?.slot?.getTime(),
    farthestFromNowMs: Math.max(...nearNow.map((at) => Math.abs((at?.getTime() ?? 0) - before))),
  }),
)
await kalends.stop()
