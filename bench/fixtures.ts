/** Creates many rows inside the server, because sending them from the client would take longer than the measurement. */
import type { BenchDatabase } from './database.ts'

const CHUNK = 100_000

/**
 * The timer of schedules that the benchmark makes due at a time of its choice. After that time, they are due at
 * the start of the next hour.
 */
const TIMER = 'hourly'

export interface ScheduleRows {
  readonly count: number
  /** The due time. */
  readonly at: Date
  readonly timer?: string
  readonly prefix?: string
  readonly task?: string
  /** Whether each schedule is due a second after the previous one. */
  readonly spread?: boolean
}

/** Creates schedules that look planned and are due at the given time, even if it is not a run time of their timer. */
export async function insertSchedules(
  database: BenchDatabase,
  { count, at, timer = TIMER, prefix = 's', task = 'noop', spread = false }: ScheduleRows,
): Promise<void> {
  for (let from = 0; from < count; from += CHUNK) {
    await database.query(
      `INSERT INTO periodic_task (id, uid, task, timer, overlap, nextrun, planned_from, planned_nextrun, planned_by_hand) SELECT CONCAT('${prefix}', 10000000 + ${from} + n), CONCAT('${prefix}', 10000000 + ${from} + n), '${task}', '${timer}', 'allow', nextrun, '1|${timer}|0|||', nextrun, 1 FROM (SELECT n, ${spread ? laterBy(at, from) : `'${text(at)}'`} AS nextrun FROM ${numbers(Math.min(CHUNK, count - from))}) AS planned`,
    )
  }
  const [row] = await database.query(
    "SELECT COUNT(*) AS unplanned FROM periodic_task WHERE wake_at < '2000-01-01'",
  )
  if (Number(row?.['unplanned']) !== 0)
    throw new Error(`${String(row?.['unplanned'])} schedules do not look planned, and would be planned first`)
}

/** Makes all schedules look planned and due at the given time, and deletes their jobs. */
export async function rewind(database: BenchDatabase, at: Date): Promise<void> {
  await database.query(database.kind === 'SQLite' ? 'DELETE FROM job' : 'TRUNCATE job')
  await database.query(
    `UPDATE periodic_task SET nextrun = '${text(at)}', last_slot = NULL, planned_from = '1|${TIMER}|0|||', planned_nextrun = '${text(at)}', planned_by_hand = 1`,
  )
  const [row] = await database.query(
    `SELECT COUNT(*) AS wrong FROM periodic_task WHERE wake_at IS NULL OR wake_at <> '${text(at)}'`,
  )
  if (Number(row?.['wrong']) !== 0)
    throw new Error(`${String(row?.['wrong'])} schedules are not due when they should be`)
}

export interface JobRows {
  readonly count: number
  readonly state: 'waiting' | 'success'
  readonly task?: string
  /** SQL for the group; n is the row number. */
  readonly group?: string
  /** The number of existing rows. */
  readonly from?: number
}

export async function insertJobs(
  database: BenchDatabase,
  { count, state, task = 'noop', group = "''", from = 0 }: JobRows,
): Promise<void> {
  const past = state === 'success'
  const columns = past
    ? ', periodic_task_id, periodic_task_uid, slot, worker, attempt, started, finished'
    : ''
  for (let done = 0; done < count; done += CHUNK) {
    const number = `(${from + done} + n)`
    // The jobs belong to a thousand schedules with a past slot every minute.
    const slot = `TIMESTAMPADD(MINUTE, ${number} DIV 1000, '2000-01-01 00:00:00')`
    const schedule = `CONCAT('s', 10000000 + MOD(${number}, 1000))`
    const values = past ? `, ${schedule}, ${schedule}, ${slot}, 'w/1', 1, ${slot}, ${slot}` : ''
    // Ids sort by time, like those of real jobs.
    await database.query(
      `INSERT INTO job (id, task, group_, state${columns}) SELECT CONCAT('00000000-${past ? '0' : '1'}000-7000-8000-', LPAD(${number}, 12, '0')), '${task}', ${group}, '${state}'${values} FROM ${numbers(Math.min(CHUNK, count - done))}`,
    )
  }
}

/** An instant in the format of the databases. */
export function text(at: Date): string {
  return at.toISOString().replace('T', ' ').replace('Z', '')
}

/** SQL for the text of the instant `from + n` seconds after `at`, with milliseconds. For MariaDB and MySQL. */
function laterBy(at: Date, from: number): string {
  return `CAST(TIMESTAMPADD(SECOND, ${from} + n, CAST('${text(at)}' AS DATETIME(3))) AS CHAR)`
}

/** SQL for a table with n = 0 … count − 1, valid on every database. */
function numbers(count: number): string {
  const digit =
    '(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)'
  const digits = Math.max(1, Math.ceil(Math.log10(count)))
  const names = Array.from({ length: digits }, (_, index) => `d${index}`)
  const sum = names.map((name, index) => `${name}.d * ${10 ** index}`).join(' + ')
  return `(SELECT ${sum} AS n FROM ${names.map((name) => `${digit} AS ${name}`).join(', ')} WHERE ${sum} < ${count}) AS numbers`
}
