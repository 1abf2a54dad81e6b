/** Manual changes while the workers run: edits of every column, and cancelled, deleted and pruned jobs. */
import { databaseNow, textOf } from '../dates.ts'
import type { Fault, FaultReport, Ground } from '../fault.ts'
import type { Random } from '../random.ts'
import type { RowText } from '../record.ts'
import { EDIT } from '../workload.ts'
import { EDIT_KINDS, type EditKind, REFUSED, revived, type Situation } from './edit-kinds.ts'
import { type Columns, insert, remove, rename, update } from './editing.ts'

const NOTHING: FaultReport = { hit: 'nothing', detail: 'there was no schedule to edit' }

/** Schedules being edited. If two edits of a row overlapped, the order of their journal entries would be unknown. */
const taken = new Set<string>()

async function withSchedule(
  ground: Ground,
  random: Random,
  work: (row: RowText, id: string) => Promise<FaultReport>,
): Promise<FaultReport> {
  const rows = await ground.target.query(`SELECT * FROM periodic_task WHERE id LIKE '${EDIT}%' ORDER BY id`)
  const free = rows.filter((row) => !taken.has(String(row['id'])))
  if (free.length === 0) return NOTHING
  const row = random.pick(free)
  const id = String(row['id'])
  taken.add(id)
  try {
    return await work(row, id)
  } finally {
    taken.delete(id)
  }
}

async function situation(ground: Ground, random: Random, row: RowText): Promise<Situation> {
  const { target } = ground
  return {
    random,
    row,
    now: await databaseNow(target, target.query),
    workers: (await target.query('SELECT id FROM worker')).map((worker) => String(worker['id'])),
  }
}

function kindOf(random: Random): EditKind {
  const all = EDIT_KINDS.flatMap((kind) => Array.from({ length: kind.weight }, () => kind))
  return random.pick(all)
}

/** A retried transaction uses the same values. Otherwise, an edit could take effect twice with different values. */
async function write(
  ground: Ground,
  random: Random,
  id: string,
  columns: (situation: Situation) => Columns,
): Promise<void> {
  const [row] = await ground.target.query('SELECT * FROM periodic_task WHERE id = ?', [id])
  if (row === undefined) return
  await update(ground, 'periodic_task', id, columns(await situation(ground, random, row)))
}

const rows: Fault = {
  name: 'edit.schedule',
  weight: 14,
  lastsMs: 6000,
  scope: 'rows',
  run: (ground, random) =>
    withSchedule(ground, random, async (_, id) => {
      const kinds = Array.from({ length: random.int(1, 4) }, () => kindOf(random))
      const repairs = kinds.flatMap(({ repair }) => (repair === undefined ? [] : [repair]))
      try {
        for (const { columns } of kinds) {
          await write(ground, random, id, columns)
          if (random.chance(0.7)) await ground.pause(random.int(1, 1200))
        }
      } finally {
        for (const repair of repairs) await write(ground, random, id, repair)
      }
      return { hit: id, detail: kinds.map(({ name }) => name).join(', ') }
    }),
}

/** Many quick edits of one row, faster than the planner. */
const storm: Fault = {
  name: 'edit.storm',
  weight: 3,
  lastsMs: 5000,
  scope: 'rows',
  run: (ground, random) =>
    withSchedule(ground, random, async (_, id) => {
      const count = random.int(5, 15)
      const names: string[] = []
      try {
        for (let number = 0; number < count; number += 1) {
          const kind = kindOf(random)
          names.push(kind.name)
          await write(ground, random, id, kind.columns)
        }
      } finally {
        await write(ground, random, id, revived)
      }
      return { hit: id, detail: `${count} edits: ${names.join(', ')}` }
    }),
}

/** Deletes a schedule and inserts it again, renames it, or inserts a new one. */
const replace: Fault = {
  name: 'edit.replace',
  weight: 4,
  lastsMs: 5000,
  scope: 'rows',
  run: (ground, random) =>
    withSchedule(ground, random, async (row, id) => {
      const columns = pickColumns(row, [
        'task',
        'timer',
        'overlap',
        'catch_up',
        'args',
        'max_retries',
        'retry_delay',
      ])
      switch (random.int(1, 3)) {
        case 1: {
          await remove(ground, 'periodic_task', id)
          if (random.chance(0.6)) await ground.pause(random.int(1, 3000))
          await insert(ground, 'periodic_task', id, columns)
          return { hit: id, detail: 'deleted and inserted again' }
        }
        case 2: {
          const other = `${id}-renamed`
          taken.add(other)
          try {
            await rename(ground, id, other)
            await ground.pause(random.int(1, 3000))
            await rename(ground, other, id)
          } finally {
            taken.delete(other)
          }
          return { hit: id, detail: `renamed to ${other} and back` }
        }
        default: {
          const other = `${EDIT}new-${random.int(1, 2 ** 31 - 1)}`
          taken.add(other)
          try {
            await insert(ground, 'periodic_task', other, columns)
            await ground.pause(random.int(500, 3000))
            if (random.chance(0.5)) await remove(ground, 'periodic_task', other)
          } finally {
            taken.delete(other)
          }
          return { hit: other, detail: 'a new schedule' }
        }
      }
    }),
}

function pickColumns(row: RowText, names: readonly string[]): Columns {
  return Object.fromEntries(names.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])))
}

/**
 * Prunes old final jobs and immediately sets the schedule back, so that only its high-water mark shows which slots were
 * decided.
 */
const prune: Fault = {
  name: 'edit.prune',
  weight: 4,
  lastsMs: 3000,
  scope: 'rows',
  run: (ground, random) =>
    withSchedule(ground, random, async (_, id) => {
      const pruned = await pruneJobs(ground, id, random.int(0, 3))
      const kinds = EDIT_KINDS.filter(({ name }) => /set back|at the last slot|run now/.test(name))
      const kind = random.pick(kinds)
      await write(ground, random, id, kind.columns)
      return { hit: id, detail: `${pruned} final jobs pruned, then ${kind.name}` }
    }),
}

/** @param keep  how many of the newest final jobs to keep */
async function pruneJobs({ target, journal }: Ground, schedule: string, keep: number): Promise<number> {
  const seen = new Map<string, RowText>()
  const jobs = await target.transaction(async (query) => {
    // Lock the schedule first, like all statements that change its jobs.
    if (target.kind !== 'sqlite')
      await query('SELECT id FROM periodic_task WHERE id = ? FOR UPDATE', [schedule])
    const found = await query(
      `SELECT * FROM job WHERE periodic_task_id = ? AND state IN ('success', 'failed', 'cancelled', 'skipped') ORDER BY id`,
      [schedule],
    )
    const old = found.slice(0, Math.max(0, found.length - keep)).slice(0, 200)
    for (const job of old) seen.set(String(job['id']), job)
    if (old.length > 0)
      await query(
        `DELETE FROM job WHERE id IN (${old.map(() => '?').join(', ')})`,
        old.map((job) => String(job['id'])),
      )
    return old
  })
  // If the transaction was retried after an unnoticed commit, the jobs that the first attempt pruned are gone too.
  const left =
    seen.size === jobs.length ? new Set<string>() : await thereStill(target.query, [...seen.keys()])
  const gone = [...seen.values()].filter((job) => !left.has(String(job['id'])))
  if (gone.length > 0) journal.write({ kind: 'prune', jobs: gone })
  return gone.length
}

async function thereStill(query: Ground['target']['query'], ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await query(`SELECT id FROM job WHERE id IN (${ids.map(() => '?').join(', ')})`, ids)
  return new Set(rows.map((row) => String(row['id'])))
}

/** Manual changes to jobs: cancel, stop, delete, postpone, prioritise, change args, retry. */
const jobs: Fault = {
  name: 'edit.job',
  weight: 6,
  lastsMs: 2000,
  scope: 'rows',
  run: (ground, random) =>
    withSchedule(ground, random, async (_, id) => {
      const found = await ground.target.query(
        'SELECT * FROM job WHERE periodic_task_id = ? ORDER BY slot DESC LIMIT 12',
        [id],
      )
      const done: string[] = []
      for (const job of found) {
        if (random.chance(0.5)) done.push(await editJob(ground, random, job))
      }
      return { hit: id, detail: done.length === 0 ? 'it had no job' : done.join(', ') }
    }),
}

async function editJob(ground: Ground, random: Random, job: RowText): Promise<string> {
  const id = String(job['id'])
  const { target } = ground
  const now = await databaseNow(target, target.query)
  const choices: readonly (readonly [string, (row: RowText) => Columns | null])[] = [
    // As described in docs/tables.md.
    ['cancelled', (row) => (isOpen(row) ? { state: 'cancelled', finished: textOf(now) } : null)],
    ['asked to stop', (row) => (row['state'] === 'running' ? { stop_requested: textOf(now) } : null)],
    [
      'postponed',
      (row) => (row['state'] === 'waiting' ? { run_at: textOf(now + random.int(200, 2500)) } : null),
    ],
    ['prioritised', (row) => (isOpen(row) ? { priority: 99 } : null)],
    ['args changed', (row) => (isOpen(row) ? { args: '{"ms":50,"by":"hand"}' } : null)],
    [
      'retried',
      (row) =>
        row['state'] === 'failed'
          ? { state: 'waiting', attempt: 0, run_at: null, finished: null, error: null, reason: null }
          : null,
    ],
  ]
  if (random.chance(0.2)) {
    await remove(ground, 'job', id)
    return 'deleted'
  }
  const [name, columns] = random.pick(choices)
  try {
    const { before, row } = await update(ground, 'job', id, columns)
    return before === null || JSON.stringify(before) === JSON.stringify(row) ? `not ${name}` : name
  } catch (error) {
    // If another job of the schedule is open, the unique key must reject the retry.
    if (name === 'retried' && isRefusal(error)) return `rejected: ${name}`
    throw error
  }
}

function isOpen(row: RowText): boolean {
  return row['state'] === 'waiting' || row['state'] === 'blocked'
}

/** Writes invalid values, which must never reach a worker. */
const refused: Fault = {
  name: 'edit.refused',
  weight: 2,
  lastsMs: 1500,
  scope: 'rows',
  run: (ground, random) =>
    withSchedule(ground, random, async (_, id) => {
      const { table, columns } = random.pick(REFUSED)
      const [row] =
        table === 'job'
          ? await ground.target.query('SELECT id FROM job WHERE periodic_task_id = ? LIMIT 1', [id])
          : [{ id }]
      if (row === undefined) return { hit: id, detail: 'it had no job' }
      const detail = `${table} ${JSON.stringify(columns)}`
      try {
        const edited = await update(ground, table, String(row['id']), columns)
        if (edited.before === null) return { hit: id, detail: `${detail}: the row no longer exists` }
      } catch (error) {
        if (!isRefusal(error)) throw error
        return { hit: id, detail: `${detail} was rejected` }
      }
      return { hit: id, detail, trouble: `the database accepted ${detail}` }
    }),
}

/**
 * Error numbers of MySQL and MariaDB for CHECK, NOT NULL, duplicate keys and bad data. SQLite has SQLITE_CONSTRAINT.
 */
const REFUSALS: readonly unknown[] = [1048, 1062, 1264, 1265, 1366, 1406, 3140, 3819, 4025]

function isRefusal(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? String(cause.code) : ''
    if ('errno' in cause && REFUSALS.includes(cause.errno)) return true
    if (code.startsWith('SQLITE_CONSTRAINT')) return true
  }
  return false
}

export const editFaults: readonly Fault[] = [rows, storm, replace, prune, jobs, refused]
