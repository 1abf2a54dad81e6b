import { FINAL_STATES, type JobState, OPEN_STATES } from '../../model/job.ts'
import { ANY_OWNER, type Owner, shownId, storedIds } from '../../model/owner.ts'
import type { ScheduleStatus } from '../../model/schedule.ts'
import type { LogLevel } from '../executing-store.ts'
import { fromStored, fromText, toText } from '../instant.ts'
import type { JobConditions, ListStore, RecentRun, ScheduleConditions } from '../list-store.ts'
import { integerLiteral } from '../literals.ts'
import { and, both, NOTHING, scopeCondition } from './conditions.ts'
import type { TablesContext } from './context.ts'
import {
  listedJobColumns,
  type ListedRow,
  listedScheduleColumns,
  toListedJob,
  toListedSchedule,
} from './listed-rows.ts'
import { jobRange, scheduleRange } from './list-ranges.ts'
import { failuresIn, hoursIn, timerGroupsIn, timersIn } from './overviews.ts'
import { findOwn, findOwnId, shownJob, shownSchedule } from './own-ids.ts'
import { countEach, countTogether, idsIn, page } from './pages.ts'
import { instants, type JobRow, type ScheduleRow } from './rows.ts'

const STATUSES: readonly ScheduleStatus[] = ['active', 'paused', 'done', 'dead', 'invalid', 'retired']
const STATES: readonly JobState[] = [...OPEN_STATES, ...FINAL_STATES]
/** Selections in one statement. */
const MOST_SELECTIONS = 100
/** The form of generated ids. */
const GENERATED = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
export function listStore(context: TablesContext, owner: Owner = ANY_OWNER): ListStore {
  const { dialect, tables } = context
  const scope = scopeCondition(owner)
  const schedulesIn = (conditions: ScheduleConditions, from?: Parameters<typeof scheduleRange>[3]) =>
    scheduleRange(context, owner, conditions, from)
  const jobsIn = (conditions: JobConditions, from?: Parameters<typeof jobRange>[3]) =>
    jobRange(context, owner, conditions, from)

  /** The conditions with the id under which the schedule is stored. */
  async function withStoredId<Conditions extends JobConditions>(conditions: Conditions): Promise<Conditions> {
    const { schedule } = conditions
    if (schedule === undefined) return conditions
    return { ...conditions, schedule: await storedId('schedule', schedule) }
  }

  /** The id under which a row is stored; of one that is gone, the likelier one. */
  async function storedId(table: 'schedule' | 'job', name: string): Promise<string> {
    const [chosen = name, generated = name] = storedIds(owner, name)
    const found = await findOwnId(context, table, owner, name)
    return found ?? (GENERATED.test(name) ? generated : chosen)
  }

  return {
    ownedBy: (other) => listStore(context, other),

    async schedules(selection) {
      const { after } = selection
      const range = schedulesIn(selection, {
        ...selection,
        after: after === undefined ? undefined : await storedId('schedule', after),
      })
      const columns = listedScheduleColumns(dialect, selection.limit)
      const { rows, ...total } = await page<ListedRow<ScheduleRow>>(context, range, selection, columns)
      return { items: rows.map((row) => shownSchedule(owner, toListedSchedule(row))), ...total }
    },

    async jobs(selection) {
      const { before } = selection
      const range = jobsIn(await withStoredId(selection), {
        before: before === undefined ? undefined : await storedId('job', before),
      })
      const columns = listedJobColumns(dialect, selection.limit)
      const { rows, ...total } = await page<ListedRow<JobRow>>(context, range, selection, columns)
      return { items: rows.map((row) => shownJob(owner, toListedJob(row))), ...total }
    },

    async jobIds(conditions, limit, bounds) {
      const range = jobsIn(await withStoredId(conditions))
      const { ids, isComplete } = await idsIn(context, range, limit, bounds)
      return { ids: ids.map((id) => shownId(owner, id)), isComplete }
    },

    scheduleCounts(conditions, bounds) {
      const { status, ...others } = conditions
      const range = schedulesIn(others)
      const names = status === undefined ? STATUSES : [status]
      if (range.index === null && range.filter.text === '') {
        return countEach(context, names, (name) => schedulesIn({ status: name }), bounds)
      }
      return countTogether(context, range, 'status', names, bounds)
    },

    async jobCounts(conditions, bounds) {
      const { state, ...others } = await withStoredId(conditions)
      const range = jobsIn(others)
      const names = state === undefined ? STATES : [state]
      if (range.index === null && range.where.text === '' && range.filter.text === '') {
        return countEach(context, names, (name) => jobsIn({ state: name }), bounds)
      }
      return countTogether(context, range, 'state', names, bounds)
    },

    async recentRuns(schedules, limit) {
      const { job, occurrenceIndex } = tables
      const runs = new Map<string, RecentRun[]>(schedules.map((id) => [id, []]))
      const ids = await findOwn(context, 'schedule', owner, schedules)
      const stored = [...ids.values()]
      const selection = `SELECT id, periodic_task_id AS schedule, state, ${instants(dialect, ['slot', 'started', 'finished']).join(', ')}
      FROM ${dialect.found(job, { index: occurrenceIndex })}
      WHERE periodic_task_id = ?${scope.text}
      ORDER BY ${job}.slot DESC
      LIMIT ${integerLiteral(limit)}`
      for (let start = 0; start < stored.length; start += MOST_SELECTIONS) {
        const some = stored.slice(start, start + MOST_SELECTIONS)
        const rows = await context.rows<{
          id: string
          schedule: string
          state: JobState
          slot: string | null
          started: string | null
          finished: string | null
        }>(
          dialect.union(some.map(() => selection)),
          some.flatMap((id) => [id, ...scope.params]),
        )
        for (const { id, schedule, state, slot, started, finished } of rows)
          runs.get(shownId(owner, schedule))?.push({
            id: shownId(owner, id),
            state,
            slot: fromText(slot),
            started: fromText(started),
            finished: fromText(finished),
          })
      }
      return runs
    },

    async history(schedule, slots, limit) {
      const id = await findOwnId(context, 'schedule', owner, schedule)
      if (id === null) return []
      const [condition, order, slot] =
        'from' in slots
          ? [' AND slot >= ?', 'slot', slots.from]
          : [' AND slot < ?', 'slot DESC', slots.before]
      // The unique key of occurrences filters and orders.
      const rows = await context.rows<ListedRow<JobRow>>(
        `SELECT ${listedJobColumns(dialect, limit)}
       FROM ${tables.job}
       WHERE periodic_task_id = ?${slot === null ? '' : condition}${scope.text}
       ORDER BY ${tables.job}.${order}
       LIMIT ${integerLiteral(limit)}`,
        [id, ...(slot === null ? [] : [toText(slot)]), ...scope.params],
      )
      return rows.map((row) => shownJob(owner, toListedJob(row)))
    },

    async logs(job, after, limit) {
      const id = await findOwnId(context, 'job', owner, job)
      const [found] = await context.rows<{ id: string }>(
        `SELECT id FROM ${tables.job} WHERE id = ?${scope.text}`,
        [id, ...scope.params],
      )
      if (found === undefined) return null
      // The index on job and id holds filter and order.
      const rows = await context.rows<{ id: number; at: string; level: LogLevel; message: string }>(
        `SELECT id, ${dialect.instant('at')} AS at, level, message
       FROM ${tables.log}
       WHERE job_id = ? AND id > ?
       ORDER BY id
       LIMIT ${integerLiteral(limit)}`,
        [found.id, after],
      )
      return rows.map((row) => ({ ...row, at: fromStored(row.at) }))
    },

    async failures(conditions, bounds) {
      const range = jobsIn({
        ...(await withStoredId(conditions)),
        state: 'failed',
      })
      const { items, complete } = await failuresIn(context, range, bounds)
      return { items: items.map((item) => ({ ...item, id: shownId(owner, item.id) })), complete }
    },

    async tasks(limit) {
      const { schedule } = tables
      const where = scope.text === '' ? '' : ` WHERE 1 = 1${scope.text}`
      const rows = await context.rows<{ task: string }>(
        `SELECT DISTINCT task FROM ${schedule}${where} ORDER BY task LIMIT ${integerLiteral(limit)}`,
        scope.params,
      )
      return rows.map(({ task }) => task)
    },

    timerGroups(conditions, bounds) {
      const range = schedulesIn({ ...conditions, status: 'active' })
      return timerGroupsIn(context, range, bounds)
    },

    async *timers(conditions, atOnce) {
      const range = schedulesIn({ ...conditions, status: 'active' })
      const isByStatus = range.index === tables.scheduleStatusIndex
      for await (const rows of timersIn(context, range, { atOnce, isByStatus }))
        yield rows.map((row) => ({ ...row, id: shownId(owner, row.id) }))
    },

    async finishedPerHour(conditions, bounds) {
      const { id: _, schedule, worker: __, ...others } = await withStoredId(conditions)
      const range = jobsIn(others)
      const ofSchedule = schedule === undefined ? NOTHING : and('periodic_task_id = ?', schedule)
      return await hoursIn(context, { ...range, filter: both(range.filter, ofSchedule) }, bounds)
    },

    async revisions() {
      const { schedule, job, worker } = tables
      const [schedules = '', jobs = ''] = await dialect.revisions(context.database, [schedule, job])
      // Heartbeats change this table all the time; who is there is another matter.
      const rows = await context.rows<{ id: string }>(`SELECT id FROM ${worker} ORDER BY id`)
      return { schedules, jobs, workers: rows.map(({ id }) => id).join(' ') }
    },
  }
}
