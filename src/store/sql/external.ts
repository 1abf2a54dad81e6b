/**
 * External queues: the tasks whose jobs go to them, and the hand-over of these jobs. A job gets its queue when it is
 * inserted.
 */
import { fromStored, toText } from '../../model/instant.ts'
import { type Fence, fenceText } from '../../model/job.ts'
import { EVERY_TASK, isBuiltIn } from '../../model/task.ts'
import { claimedAs, type ExecutingStore } from '../executing-store.ts'
import { placeholders } from '../literals.ts'
import { lockRows, updateFound, updateFromBatch } from './by-key.ts'
import { type Condition, nextOf } from './conditions.ts'
import type { AnyContext, Context, TablesContext } from './context.ts'
import { textsOf } from './stored-json.ts'
import { type Tables } from './tables.ts'

const of = (tables: Tables, task: string) =>
  `(SELECT queue FROM ${tables.taskQueue} WHERE task IN (${task}, '${EVERY_TASK}')
    ORDER BY task = '${EVERY_TASK}' LIMIT 1)`

const builtIn = (task: string) => `SUBSTR(${task}, 1, 8) = 'kalends.'`

/**
 * Expression: the queue for the jobs of a schedule `s`; NULL if Kalends runs them, as it always does for built-in
 * tasks.
 */
export function queueOfSchedule(tables: Tables): string {
  return `(CASE WHEN ${builtIn('s.task')} THEN NULL ELSE ${of(tables, 's.task')} END)`
}

export type QueueOf = (task: string) => Condition

/** One job needs no extra statement. For several, one query reads all routes: subqueries would take twice as long. */
export async function queueOf({ select, tables }: AnyContext, jobs: number): Promise<QueueOf> {
  if (jobs === 1)
    return (task) =>
      isBuiltIn(task) ? { text: '?', params: [null] } : { text: of(tables, '?'), params: [task] }
  const routes = await select<Route>(['task', 'queue'], `FROM ${tables.taskQueue}`)
  const queues = new Map(routes.map(({ task, queue }) => [task, queue]))
  return (task) => {
    const queue = isBuiltIn(task) ? null : (queues.get(task) ?? queues.get(EVERY_TASK) ?? null)
    return { text: '?', params: [queue] }
  }
}

interface Route {
  readonly task: string
  readonly queue: string
}

export async function route(
  context: TablesContext,
  worker: string,
  queue: string,
  tasks: readonly string[],
): Promise<Route[]> {
  const readRoutes = (from: Context) => from.rows<Route>(`SELECT task, queue FROM ${tables.taskQueue}`)
  const { tables } = context
  const isolation = context.isolations.of('route')
  const known = (await readRoutes(context)).map(({ task }) => task)
  const { results } = await isolation.write(
    isolation.without([...new Set([...known, ...tasks])].map((task) => ({ id: task }))),
    {
      write: (some) =>
        context.transactionOnKeys(async (tx) =>
          writeRoutes(tx, await readRoutes(tx), { worker, queue, tasks, some: some.map(({ id }) => id) }),
        ),
    },
  )
  const routes = await readRoutes(context)
  await adopt(
    context,
    queue,
    routes.filter((one) => one.queue === queue).map(({ task }) => task),
    routes.filter((one) => one.queue !== queue).map(({ task }) => task),
  )
  return results.flat()
}

interface Routing {
  readonly worker: string
  readonly queue: string
  readonly tasks: readonly string[]
  /** The tasks whose routes are written. */
  readonly some: readonly string[]
}

/** @returns the tasks that a registered worker sends to another queue */
async function writeRoutes(
  tx: Context,
  all: readonly Route[],
  { worker, queue, tasks, some }: Routing,
): Promise<Route[]> {
  const { taskQueue, worker: workers } = tx.tables
  const rows = all.filter(({ task }) => some.includes(task))
  const live = await tx.rows<{ id: string; tasks: string }>(`SELECT id, tasks FROM ${workers}`)
  const others = live.filter(({ id }) => id !== worker).map((one) => textsOf(one.tasks))
  const isServed = (by: string, task = claimedAs(by)) =>
    others.some((of) => of.includes(claimedAs(by)) && of.includes(task))
  const taken = rows.filter((row) => row.queue !== queue && tasks.includes(row.task) && isServed(row.queue))
  const wrong = rows.filter((row) =>
    row.queue === queue
      ? !tasks.includes(row.task) && !isServed(queue, row.task)
      : tasks.includes(row.task) && !taken.includes(row),
  )
  const right = rows.filter((row) => !wrong.includes(row))
  const known = new Set(right.map(({ task }) => task))
  const missing = some
    .filter((task) => tasks.includes(task) && !known.has(task))
    .map((task) => ({ task, queue }))
  if (wrong.length > 0)
    await tx.run(
      `DELETE FROM ${taskQueue} WHERE task IN (${placeholders(wrong)})`,
      wrong.map(({ task }) => task),
    )
  if (missing.length > 0)
    await tx.run(
      `INSERT INTO ${taskQueue} (task, queue) VALUES ${missing.map(() => '(?, ?)').join(', ')}`,
      missing.flatMap(({ task }) => [task, queue]),
    )
  return taken
}

/** Adds the queue to jobs without one: jobs that are older than the route, or that were inserted with SQL. */
async function adopt(
  context: TablesContext,
  queue: string,
  tasks: readonly string[],
  ofOthers: readonly string[],
): Promise<void> {
  if (tasks.length === 0) return
  const { dialect, tables } = context
  const isOfAll = tasks.includes(EVERY_TASK)
  const names = isOfAll ? ofOthers : tasks
  const named = names.length === 0 ? '1 = 0' : `task IN (${placeholders(names)})`
  const isOwn = isOfAll ? `NOT (${builtIn('task')}) AND NOT (${named})` : named
  const where = "state IN ('waiting', 'blocked') AND queue IS NULL"
  await updateFound(context, context.isolations.of('adopt'), {
    table: tables.job,
    from: `FROM ${dialect.found(tables.job, { index: tables.jobStateIndex })} WHERE ${where} AND ${isOwn}`,
    params: names,
    where,
    assignments: { queue: '?' },
    values: [queue],
  })
}

export async function handedOver(
  { rows, dialect, tables }: Context,
  worker: string,
  claims: readonly Fence[],
): Promise<Fence[]> {
  const found = await rows<{ id: string; claim: number }>(
    `SELECT id, claim FROM ${tables.job}
     WHERE id IN (${placeholders(claims, dialect.jobId)}) AND state = 'external' AND worker = ?`,
    [...claims.map(({ id }) => id), worker],
  )
  const there = new Set(found.map(({ id, claim: number }) => fenceText({ id, worker, claim: number })))
  return claims.filter((one) => there.has(fenceText(one)))
}

const FIRST_DELAY_MS = 1000
const LONGEST_DELAY_MS = 60_000

export async function postpone(
  context: TablesContext,
  refused: Parameters<ExecutingStore['postpone']>[0],
): Promise<void> {
  if (refused.length === 0) return
  const { isolations } = context
  const { results } = await isolations
    .of('postpone')
    .write(refused, { write: (some) => context.transaction((tx) => postponeLocked(tx, some)) })
  // The other jobs stay left out.
  for (const of of ['promote', 'handOver'] as const) isolations.of(of).forget(results.flat())
}

async function postponeLocked<Refused extends { readonly id: string; readonly error: string }>(
  tx: Context,
  refused: readonly Refused[],
): Promise<readonly Refused[]> {
  const errors = new Map(refused.map(({ id, error }) => [id, error]))
  const rows = await lockRows<{ id: string; releases: number; clock: string }>(tx, {
    table: tx.tables.job,
    columns: ['id', 'releases', `${tx.dialect.now} AS clock`],
    ids: [...errors.keys()].toSorted(),
    where: 'ready = 1',
  })
  await updateFromBatch(
    tx,
    tx.tables.job,
    { id: 'job id', error: 'long text', run_at: 'instant' },
    rows.map(({ id, releases, clock }) => {
      const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** releases)
      const runAt = new Date(fromStored(clock).getTime() + delayMs)
      return { id, error: errors.get(id) ?? null, run_at: toText(runAt) }
    }),
    { error: 'b.error', run_at: 'b.run_at', releases: nextOf('t.releases') },
    't.ready = 1',
  )
  return refused
}
