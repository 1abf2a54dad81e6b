/** Handlers that fail in every way that application code can fail. */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { databaseNow, textOf } from '../dates.ts'
import type { Fault, FaultReport, Ground } from '../fault.ts'
import type { Random } from '../random.ts'
import type { RowText } from '../record.ts'

interface Troubled {
  readonly name: string
  readonly weight: number
  readonly task: string
  readonly scope: Fault['scope']
  readonly lastsMs: number
  /** Columns of the job, or of the one-off schedule that it comes from. */
  columns(random: Random, leaseMs: number): Readonly<Record<string, string | number | null>>
  /** The required outcome. */
  readonly ends: 'success' | 'failed'
}

const ONCE = { max_retries: 3, retry_delay: 300, retry_backoff: 'fixed' } as const

const TROUBLED: readonly Troubled[] = [
  {
    name: 'handler.hang',
    weight: 3,
    task: 'hang',
    scope: 'rows',
    lastsMs: 5000,
    columns: () => ({ ...ONCE, timeout: 1000, max_retries: 1 }),
    ends: 'failed',
  },
  {
    name: 'handler.throw',
    weight: 3,
    task: 'throw',
    scope: 'rows',
    lastsMs: 3000,
    columns: (random) => ({ ...ONCE, args: JSON.stringify({ times: random.int(1, 3) }) }),
    ends: 'success',
  },
  {
    name: 'handler.fail',
    weight: 2,
    task: 'throw',
    scope: 'rows',
    lastsMs: 3000,
    columns: () => ONCE,
    ends: 'failed',
  },
  {
    // This handler ends a worker process, so the fault counts towards the maximum number of affected workers.
    name: 'handler.exit',
    weight: 4,
    task: 'exit',
    scope: 'worker',
    lastsMs: 8000,
    columns: () => ({ ...ONCE, args: '{"times":1}' }),
    ends: 'success',
  },
  {
    name: 'handler.deaf',
    weight: 3,
    task: 'deaf',
    scope: 'rows',
    lastsMs: 6000,
    columns: (random) => ({
      max_retries: 0,
      timeout: 800,
      args: JSON.stringify({ ms: random.int(2000, 6000) }),
    }),
    ends: 'failed',
  },
  {
    name: 'handler.block-busy',
    weight: 2,
    task: 'block',
    scope: 'worker',
    lastsMs: 12_000,
    columns: (random, leaseMs) => ({ ...ONCE, args: block(leaseMs + random.int(1500, 3000), true) }),
    ends: 'success',
  },
  {
    name: 'handler.block-wait',
    weight: 3,
    task: 'block',
    scope: 'worker',
    lastsMs: 12_000,
    columns: (random, leaseMs) => ({ ...ONCE, args: block(leaseMs + random.int(1500, 3000), false) }),
    ends: 'success',
  },
  {
    name: 'handler.block-short',
    weight: 3,
    task: 'block',
    scope: 'worker',
    lastsMs: 5000,
    columns: (random, leaseMs) => ({
      ...ONCE,
      args: block(random.int(300, Math.round(leaseMs * 0.7)), false),
    }),
    ends: 'success',
  },
]

function block(ms: number, busy: boolean): string {
  return JSON.stringify({ ms, busy, times: 1 })
}

export const handlerFaults: readonly Fault[] = TROUBLED.map((troubled) => ({
  name: troubled.name,
  weight: troubled.weight,
  lastsMs: troubled.lastsMs,
  scope: troubled.scope,
  run: (ground, random) => submitAndWatch(troubled, ground, random),
}))

/** Longer than all attempts of a job can take while workers die and the database is down. */
const LIMIT_MS = 300_000
const FINAL: readonly unknown[] = ['success', 'failed', 'cancelled', 'skipped']

async function submitAndWatch(troubled: Troubled, ground: Ground, random: Random): Promise<FaultReport> {
  const columns = { task: troubled.task, ...troubled.columns(random, ground.leaseMs) }
  const isScheduled = random.chance(0.4)
  const id = isScheduled ? `once-${randomUUID()}` : randomUUID()
  if (isScheduled) await scheduleOnce(ground, id, columns)
  else await ground.target.transaction((query) => insertWith(query, 'job', { id, ...columns }))
  const job = await finalJob(ground, isScheduled ? 'periodic_task_id' : 'id', id)
  const hit = String(job?.['worker'] ?? 'no worker')
  const reach = { workers: await workersOf(ground, job) }
  const detail = `${isScheduled ? 'one-off schedule' : 'job'} of '${troubled.task}': ${String(job?.['state'])} in attempt ${String(job?.['attempt'])}`
  if (job === null) return { hit, detail, trouble: `its job did not end within ${LIMIT_MS} ms` }
  // Other faults also cost attempts, so a job that should succeed may fail, but a job that should fail never succeeds.
  if (troubled.ends === 'failed' && job['state'] !== 'failed')
    return { hit, detail, trouble: `it should have failed` }
  // On SQLite, a stalled process may hold a lock on the whole file.
  return ground.target.kind === 'sqlite' ? { hit, detail } : { hit, detail, reach }
}

/** The names of the workers that ran the job. */
async function workersOf({ target }: Ground, job: RowText | null): Promise<string[]> {
  if (job === null) return []
  const lost = await target.query('SELECT worker FROM attempt WHERE job_id = ?', [job['id'] ?? null])
  return [...new Set([job, ...lost].map(({ worker }) => String(worker).replace(/\/.*/, '')))]
}

async function scheduleOnce(
  { target, journal }: Ground,
  id: string,
  columns: Readonly<Record<string, string | number | null>>,
): Promise<void> {
  const written = await target.transaction(async (query) => {
    const from = await databaseNow(target, query)
    const timer = textOf(Math.ceil(from / 1000) * 1000 + 2000).slice(0, 19)
    const all = { ...columns, timer, catch_up: 1 }
    await insertWith(query, 'periodic_task', { id, ...all })
    return { columns: all, from, until: await databaseNow(target, query) }
  })
  journal.write({ kind: 'schedule', id, ...written })
}

/** Inserts once, even if the response to an earlier attempt was lost. */
async function insertWith(
  query: Ground['target']['query'],
  table: string,
  row: Readonly<Record<string, string | number | null>> & { readonly id: string },
): Promise<void> {
  const names = Object.keys(row)
  await query(
    `INSERT INTO ${table} (${names.join(', ')}) SELECT ${names.map(() => '?').join(', ')} FROM (SELECT 1 AS one) AS once WHERE NOT EXISTS (SELECT 1 FROM ${table} AS other WHERE other.id = ?)`,
    [...Object.values(row), row.id],
  )
}

async function finalJob({ target }: Ground, column: string, id: string): Promise<RowText | null> {
  const deadline = performance.now() + LIMIT_MS
  for (;;) {
    const [job] = await target.query(`SELECT id, worker, state, attempt FROM job WHERE ${column} = ?`, [id])
    if (job !== undefined && FINAL.includes(job['state'])) return job
    if (performance.now() > deadline) return null
    await delay(200)
  }
}
