/** The data of overviews: failures, timers and hours, read slice by slice. */
import type { JobState } from '../../model/job.ts'
import { fromStored, fromText, toText } from '../../model/instant.ts'
import type { Failure, HourCount, ListBounds, TimerGroup, TimerRow } from '../list-store.ts'
import { integerLiteral } from '../literals.ts'
import { and, both, NOTHING } from './conditions.ts'
import type { Context } from './context.ts'
import { matches } from './pages.ts'
import { type IndexRange, scanned } from './selection.ts'
import { forEachSlice } from './slices.ts'

/** How many characters of an error distinguish failures. */
const ERROR_START = 500
const HOUR_MS = 3_600_000

interface TimerColumns {
  timer: string
  jitter: number
  starts: string | null
  ends: string | null
  created: string
}

/** The first rows of a range of failed jobs. `complete` is false if there are, or may be, more. */
export async function failuresIn(
  context: Context,
  range: IndexRange,
  { limit, ...bounds }: ListBounds & { readonly limit: number },
): Promise<{ readonly items: Failure[]; readonly complete: boolean }> {
  const columns = [
    'id',
    'task',
    `SUBSTR(error, 1, ${integerLiteral(ERROR_START)}) AS message`,
    `${context.dialect.instant('finished')} AS ended`,
  ]
  const items = new Map<string, Failure>()
  const complete = await forEachSlice(context, range, bounds, async (slice) => {
    const rows = await matches<{ id: string; task: string; message: string | null; ended: string | null }>(
      context,
      slice,
      columns,
      'id, task, message, ended',
    )
    for (const { id, task, message, ended } of rows) {
      if (items.size === limit) return 'stop'
      items.set(id, { id, task, error: message ?? '', finishedAt: fromText(ended) })
    }
    return 'go on'
  })
  return { items: [...items.values()], complete }
}

/** The schedules of a range, grouped by what determines their runs. `complete` is false if there may be more. */
export async function timerGroupsIn(
  context: Context,
  range: IndexRange,
  bounds: ListBounds,
): Promise<{ readonly groups: TimerGroup[]; readonly complete: boolean }> {
  const { dialect } = context
  const instants = ['starts', 'ends'].map((column) => `${dialect.instant(column)} AS ${column}`)
  // Only slots of `every` timers count from the creation.
  const anchor = "CASE WHEN LOWER(TRIM(timer)) LIKE 'every%' THEN created END"
  const groups = new Map<string, TimerGroup>()
  const complete = await forEachSlice(context, range, bounds, async (slice) => {
    const { text, params } = scanned(slice, dialect, ['id', 'timer', 'jitter', 'starts', 'ends', 'created'])
    const rows = await context.rows<TimerColumns & { schedules: number; anchor: string | null }>(
      `SELECT timer, jitter, ${instants.join(', ')}, ${dialect.instant('MIN(created)')} AS created,
         ${anchor} AS anchor, COUNT(*) AS schedules
       FROM (${text}) AS scanned
       WHERE matches = 1
       GROUP BY timer, jitter, scanned.starts, scanned.ends, ${anchor}`,
      params,
    )
    for (const row of rows) {
      const key = JSON.stringify([row.timer, row.jitter, row.starts, row.ends, row.anchor])
      const known = groups.get(key)
      const group = { ...timed(row), schedules: row.schedules + (known?.schedules ?? 0) }
      const created =
        known !== undefined && known.createdAt < group.createdAt ? known.createdAt : group.createdAt
      groups.set(key, { ...group, createdAt: created })
    }
    return 'go on'
  })
  return { groups: [...groups.values()], complete }
}

/**
 * The active schedules of a range, page by page in key order.
 *
 * @param isByStatus  whether the range uses the index on the status. If most schedules are active, reading by key is
 *   faster, because the index requires a lookup for each row. [20,000 of 1,000,000 rows on MariaDB: 15 ms by the key,
 *   37 by the index; 63 for the keys of a page and then its rows.]
 */
export async function* timersIn(
  context: Context,
  served: IndexRange,
  { atOnce, isByStatus }: { readonly atOnce: number; readonly isByStatus: boolean },
): AsyncGenerator<TimerRow[], void> {
  const { dialect } = context
  const byKey = { ...served, index: null, where: NOTHING, filter: both(served.where, served.filter) }
  let range = isByStatus ? byKey : served
  const instants = ['starts', 'ends', 'created'].map((column) => `${dialect.instant(column)} AS ${column}`)
  for (let after = ''; ; ) {
    const from = and('id > ?', after)
    const { text, params } = scanned(
      { range: { ...range, where: both(range.where, from) }, rows: atOnce, offset: 0 },
      dialect,
      ['id', 'task', 'timer', 'jitter', ...instants],
    )
    const rows = await context.rows<TimerColumns & { id: string; task: string; matches: number }>(
      text,
      params,
    )
    const active = rows.filter((row) => row.matches === 1)
    yield active.map((row) => ({ id: row.id, task: row.task, ...timed(row) }))
    const last = rows.at(-1)
    if (last === undefined || rows.length < atOnce) return
    after = last.id
    if (active.length < atOnce / 2) range = served
  }
}

/**
 * The jobs of a range, by state and by the hour in which they ended. `complete` is false if some are missing.
 *
 * @param minute  when the hours begin: half past, if times are shown in Asia/Kolkata
 */
export async function hoursIn(
  context: Context,
  range: IndexRange,
  minute: number,
  bounds: ListBounds,
): Promise<{ readonly hours: HourCount[]; readonly complete: boolean }> {
  const begin = String(minute).padStart(2, '0')
  const hours = new Map<string, HourCount>()
  const complete = await forEachSlice(context, range, bounds, async (slice) => {
    const { text, params } = scanned(slice, context.dialect, ['id', 'finished', 'state'])
    const rows = await context.rows<{ hour: string; begun: number; state: JobState; jobs: number }>(
      `SELECT ${context.dialect.hour('finished')} AS hour,
              ${context.dialect.minute('finished')} >= ? AS begun,
              state, COUNT(*) AS jobs
       FROM (${text}) AS scanned
       WHERE matches = 1
       GROUP BY 1, 2, 3`,
      [begin, ...params],
    )
    for (const { hour, begun, state, jobs } of rows) {
      const at = fromStored(`${hour}:${begin}:00.000`)
      const start = begun === 1 ? at : new Date(at.getTime() - HOUR_MS)
      const key = `${toText(start)} ${state}`
      const before = hours.get(key)?.jobs ?? 0
      hours.set(key, { hour: start, state, jobs: jobs + before })
    }
    return 'go on'
  })
  const inOrder = [...hours.values()].toSorted((one, other) => one.hour.getTime() - other.hour.getTime())
  return { hours: inOrder, complete }
}

function timed(row: TimerColumns): Omit<TimerRow, 'id' | 'task'> {
  return {
    timer: row.timer,
    jitter: row.jitter,
    starts: fromText(row.starts),
    ends: fromText(row.ends),
    createdAt: fromStored(row.created),
  }
}
