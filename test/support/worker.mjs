/**
 * A worker in a separate process, for tests that kill, stop and cut off real workers. It is plain JavaScript and uses
 * dist/, because a child process cannot run TypeScript with Node.js 20.
 *
 * Its settings are JSON in argv[2]: see WorkerSettings in worker-process.ts. It reports events to its parent
 * (WorkerReport), and exits when its parent exits.
 */
import { Kalends, task } from '../../dist/index.js'

process.on('disconnect', () => process.exit())
// The parent may have ended during the import.
if (!process.connected) process.exit()

/** @type {import('./worker-process.ts').WorkerSettings} */
const settings = JSON.parse(process.argv[2] ?? '{}')

/** @param {import('./worker-process.ts').WorkerReport} report */
function tell(report) {
  // The parent may have ended.
  if (process.connected) process.send?.(report, undefined, undefined, () => {})
}

/** Functions that release the waiting handlers, by job id. @type {Map<string, () => void>} */
const held = new Map()

/** @param {import('../../dist/index.js').HandlerContext} context */
async function hold({ job, signal }, heedsSignal) {
  await new Promise((resolve, reject) => {
    held.set(job.id, () => resolve(undefined))
    signal.addEventListener('abort', () => {
      tell({ event: 'aborted', job: job.id, reason: String(signal.reason?.name) })
      if (heedsSignal) reject(signal.reason)
    })
  })
  held.delete(job.id)
}

const kalends = await Kalends.open(settings.url, {
  retention: false,
  worker: settings.worker,
  lease: settings.leaseMs,
  pollInterval: settings.pollIntervalMs,
})

for (const [name, behaviour] of Object.entries(settings.tasks)) {
  kalends.handle(task(name), async (context) => {
    const { job, slot, attempt } = context
    if (settings.quiet !== true) {
      tell({
        event: 'handling',
        job: job.id,
        task: name,
        schedule: job.scheduleId,
        slot: slot === null ? null : slot.getTime(),
        attempt,
        worker: job.worker ?? '',
        args: job.args,
      })
    }
    if (behaviour !== 'return') await hold(context, behaviour === 'hold')
    return { by: process.pid }
  })
}

if (settings.quiet !== true) {
  kalends.on('settled', ({ jobId, task: name, attempt, state }) =>
    tell({ event: 'settled', job: jobId, task: name, attempt, state }),
  )
  kalends.on('submitted', ({ scheduleId, runs }) =>
    tell({ event: 'submitted', schedule: scheduleId, jobs: runs.map(({ jobId }) => jobId) }),
  )
}
kalends.on('workerLost', ({ worker }) => tell({ event: 'workerLost', worker }))
kalends.on('leaseLost', ({ worker }) => tell({ event: 'leaseLost', worker }))
kalends.on('error', ({ where, error }) =>
  tell({ event: 'error', where, message: error instanceof Error ? error.message : String(error) }),
)

process.on('message', (/** @type {import('./worker-process.ts').WorkerOrder} */ order) => {
  switch (order.do) {
    case 'stop':
      void kalends.stop({ grace: order.graceMs })
      break
    case 'release':
      for (const release of held.values()) release()
      break
    case 'health':
      tell({ event: 'health', health: kalends.health() })
      break
  }
})
// The channel must not keep the process alive: a stopped worker must exit by itself.
process.channel?.unref()

await kalends.start({
  scheduler: settings.scheduler ?? true,
  concurrency: settings.concurrency,
  signals: settings.signals ?? false,
})
tell({ event: 'ready', worker: String(kalends.health().worker) })
