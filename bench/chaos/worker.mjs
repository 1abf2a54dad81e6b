/**
 * One worker of the fleet, in its own process. It uses the build in dist/, and is plain JavaScript, because a child
 * process on Node.js 20 cannot run TypeScript.
 *
 * Its settings are JSON in argv[2]: see WorkerSettings in member.ts. Its handlers append their actions to this
 * process's file, each line with one write(2), so that kill -9 cannot leave a partial line.
 */
import { openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import mysql from 'mysql2/promise'
import { Kalends, task } from '../../dist/index.js'
import { openOwnQueue } from './own-queue.mjs'

/** @type {import('./member.ts').WorkerSettings} */
const settings = JSON.parse(process.argv[2] ?? '{}')

/** @param {import('./member.ts').WorkerReport} report */
function tell(report) {
  // The parent may have ended.
  if (process.connected) process.send?.(report, undefined, undefined, () => {})
}

const runs = openSync(join(settings.folder, `runs-${settings.worker}-${process.pid}.jsonl`), 'a')
const errors = openSync(join(settings.folder, `errors-${settings.worker}-${process.pid}.jsonl`), 'a')

function monotonicMs() {
  return Number(process.hrtime.bigint() / 1000n) / 1000
}

/**
 * @param {import('./record.ts').RunLine['event']} event
 * @param {import('../../dist/index.js').HandlerContext} context
 */
function log(event, { job, slot, attempt }) {
  write({
    event,
    job: job.id,
    task: job.task,
    schedule: job.scheduleId,
    slot: slot === null ? null : slot.getTime(),
    attempt,
    worker: job.worker ?? '',
  })
}

/** @param {Omit<import('./record.ts').RunLine, 'mono'>} line */
function write(line) {
  writeSync(runs, `${JSON.stringify({ ...line, mono: monotonicMs() })}\n`)
}

/**
 * What each task does in one attempt. `ms` and `times` are from the job's args.
 *
 * @type {Record<string, (context: import('../../dist/index.js').HandlerContext<any>) => Promise<unknown>>}
 */
const behaviours = {
  tick: async () => ({ by: process.pid }),
  [`only-${settings.worker}`]: async () => ({ by: process.pid }),
  slow: async ({ args, signal, log: lines }) => {
    lines.info(`for ${args.ms ?? 300} ms`)
    await pause(args.ms ?? 300, undefined, { signal })
    return { ms: args.ms ?? 300 }
  },
  hang: ({ signal }) => pause(3_600_000, undefined, { signal }),
  throw: async ({ args, attempt }) => {
    if (attempt <= (args.times ?? 1000)) throw new Error(`attempt ${attempt} fails`)
    return { after: attempt }
  },
  exit: async ({ args, attempt }) => {
    if (attempt <= (args.times ?? 1)) process.exit(13)
    return { after: attempt }
  },
  deaf: async ({ args }) => {
    await pause(args.ms ?? 4000)
    return { heard: false }
  },
  block: async ({ args, attempt }) => {
    if (attempt > (args.times ?? 1)) return { after: attempt }
    const ms = args.ms ?? 6000
    if (args.busy === true) {
      const end = monotonicMs() + ms
      while (monotonicMs() < end);
    } else {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
    }
    return { blocked: ms }
  },
}

const POOL_SIZE = 5
const lent = settings.isLent ? mysql.createPool({ uri: settings.url, connectionLimit: POOL_SIZE }) : null
const queue = settings.queue === null ? null : openOwnQueue({ ...settings, queue: settings.queue })
const kalends = await Kalends.open(lent ?? settings.url, {
  retention: false,
  worker: settings.worker,
  lease: settings.leaseMs,
  pollInterval: settings.pollIntervalMs,
  ...(queue !== null && {
    externalQueue: {
      tasks: ['hand'],
      timeout: '15s',
      submit: (jobs, context) => queue.submit(jobs, context),
    },
  }),
})

/** Limits and delays are short, so that runs end soon. The policy of a schedule overrides them. */
const quick = /** @type {const} */ ({ timeout: '5s', retries: 2, retryDelay: '500ms' })
const tasks = new Map(
  Object.entries({
    tick: task('tick', quick),
    [`only-${settings.worker}`]: task(`only-${settings.worker}`, quick),
    slow: task('slow', quick),
    hang: task('hang', { ...quick, timeout: '1500ms', retries: 1, concurrency: 6 }),
    throw: task('throw', quick),
    exit: task('exit', quick),
    deaf: task('deaf', { ...quick, timeout: '1s', retries: 0, concurrency: 6 }),
    block: task('block', { ...quick, timeout: '30s' }),
  }),
)

for (const [name, behave] of Object.entries(behaviours)) {
  const declared = tasks.get(name)
  if (declared === undefined) throw new Error(`no task '${name}'`)
  kalends.handle(declared, async (context) => {
    log('start', context)
    try {
      const result = await behave(context)
      log('end', context)
      return result
    } catch (error) {
      log(context.signal.aborted ? 'aborted' : 'throw', context)
      throw error
    }
  })
}

kalends.declare(
  settings.set.name,
  settings.set.schedules.map(({ task: name, ...declaration }) => {
    const declared = tasks.get(name)
    if (declared === undefined) throw new Error(`no task '${name}'`)
    return { ...declaration, task: declared }
  }),
)

kalends.on('error', ({ where, error }) => {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  writeSync(errors, `${JSON.stringify({ mono: monotonicMs(), where, message })}\n`)
})

/**
 * Misuses the pool as a careless application would.
 *
 * @param {import('mysql2/promise').Pool} pool
 * @param {Extract<import('./member.ts').WorkerOrder, { do: 'misuse' }>} order
 * @returns {Promise<import('./fault.ts').Misused>}
 */
async function misuse(pool, { how, ms }) {
  /** @type {import('mysql2/promise').PoolConnection[]} */
  const taken = []
  const schedules = []
  try {
    for (let left = how === 'leak' ? 2 : POOL_SIZE; left > 0; left -= 1)
      taken.push(await pool.getConnection())
    if (how === 'leak') {
      for (const connection of taken) {
        const [found] = await connection.query(
          'SELECT id FROM periodic_task WHERE enabled = 1 ORDER BY RAND() LIMIT 1',
        )
        const ids = Array.isArray(found) ? found.map((row) => String(Reflect.get(row, 'id'))) : []
        await connection.beginTransaction()
        // Select by key, because a condition on another column would lock every row that is read.
        for (const id of ids)
          await connection.query('SELECT id FROM periodic_task WHERE id = ? FOR UPDATE', [id])
        schedules.push(...ids)
      }
    }
    if (how === 'session') {
      for (const connection of taken) {
        await connection.query('SET autocommit = 0')
        await connection.query('USE information_schema')
      }
    }
    if (how !== 'exhaust') for (const connection of taken) connection.release()
    await pause(ms)
    const what = {
      leak: `left transactions open that had locked ${schedules.join(' and ') || 'nothing'}`,
      session: 'changed the database and autocommit mode of its connections',
      exhaust: 'used all connections of its pool',
    }[how]
    return { detail: `the application ${what} for ${ms} ms`, schedules }
  } catch (error) {
    return { detail: `the application's pool failed: ${String(error)}`, schedules }
  } finally {
    for (const connection of taken) connection.destroy()
  }
}

process.on('message', (/** @type {import('./member.ts').WorkerOrder} */ order) => {
  switch (order.do) {
    case 'stop':
      // Exit even if a handler ignores its signal and is still waiting.
      void kalends.stop({ grace: order.graceMs }).finally(() => process.exit())
      break
    case 'health':
      tell({ event: 'health', health: kalends.health() })
      break
    case 'misuse':
      if (lent !== null) void misuse(lent, order).then((misused) => tell({ event: 'misused', ...misused }))
      break
  }
})
process.on('disconnect', () => process.exit())
// The parent may have ended while this module was loading.
if (!process.connected) process.exit()

await kalends.start({ concurrency: settings.concurrency })
void queue?.run(
  (event, { id, ...item }) => write({ event, job: id, task: 'hand', ...item }),
  (id) => kalends.external.finish(id, { state: 'success' }),
)
tell({ event: 'ready', worker: String(kalends.health().worker) })
