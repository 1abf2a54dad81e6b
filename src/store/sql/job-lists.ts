import { FINAL_STATES, type JobState, OPEN_STATES } from '../../model/job.ts'
import { type Owner, shownId } from '../../model/owner.ts'
import type { LogLevel } from '../executing-store.ts'
import { fromStored } from '../../model/instant.ts'
import type { JobConditions, ListStore } from '../list-store.ts'
import { integerLiteral } from '../literals.ts'
import { and, both, NOTHING, scopeCondition } from './conditions.ts'
import type { TablesContext } from './context.ts'
import { jobRange } from './list-ranges.ts'
import { listedJobColumns, type ListedRow, toListedJob } from './listed-rows.ts'
import { failuresIn, hoursIn } from './overviews.ts'
import { attemptsOf } from './attempts.ts'
import { findOwnId, shownJob, storedId } from './own-ids.ts'
import { countEach, countTogether, idsIn, page } from './pages.ts'
import type { JobRow } from './rows.ts'

const STATES: readonly JobState[] = [...OPEN_STATES, ...FINAL_STATES]

/** Of these, the oldest jobs of a task, one shows whether it was ever claimed. */
const MOST_FIRST = 100

type JobLists = Pick<
  ListStore,
  'jobs' | 'jobIds' | 'jobCounts' | 'attempts' | 'logs' | 'failures' | 'hasRun' | 'finishedPerHour'
>

export function jobLists(context: TablesContext, owner: Owner): JobLists {
  const { dialect, tables } = context
  const scope = scopeCondition(owner)
  const jobsIn = (conditions: JobConditions) => jobRange(context, owner, conditions)

  /** The conditions with the stored id of the schedule. */
  async function withStoredId<Conditions extends JobConditions>(conditions: Conditions): Promise<Conditions> {
    const { scheduleId: schedule } = conditions
    if (schedule === undefined) return conditions
    return { ...conditions, scheduleId: await storedId(context, 'schedule', owner, schedule) }
  }

  return {
    async jobs(selection) {
      const { before } = selection
      const range = jobRange(context, owner, await withStoredId(selection), {
        before: before === undefined ? undefined : await storedId(context, 'job', owner, before),
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

    async jobCounts(conditions, bounds) {
      const { state, ...others } = await withStoredId(conditions)
      const range = jobsIn(others)
      const names = state === undefined ? STATES : [state]
      if (range.index === null && range.where.text === '' && range.filter.text === '') {
        return countEach(context, names, (name) => jobsIn({ state: name }), bounds)
      }
      return countTogether(context, range, 'state', names, bounds)
    },

    attempts: (job, limit) => attemptsOf(context, owner, job, limit),

    async logs(job, after, limit) {
      const id = await findOwnId(context, 'job', owner, job)
      const [found] = await context.rows<{ id: string }>(
        `SELECT id FROM ${tables.job} WHERE id = ?${scope.text}`,
        [id, ...scope.params],
      )
      if (found === undefined) return null
      // The index on job and id filters and orders.
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

    async hasRun(task) {
      const found = dialect.found(tables.job, { index: tables.jobTaskIndex })
      const rows = await context.rows<{ attempts: number | null }>(
        `SELECT MAX(attempt) AS attempts FROM (
           SELECT attempt FROM ${found} WHERE task = ? ORDER BY id LIMIT ${integerLiteral(MOST_FIRST)}
         ) AS firsts`,
        [task],
      )
      return (rows[0]?.attempts ?? 0) > 0
    },

    async finishedPerHour(conditions, bounds) {
      const { id: _, scheduleId: schedule, worker: __, ...others } = await withStoredId(conditions)
      const range = jobsIn(others)
      const ofSchedule = schedule === undefined ? NOTHING : and('periodic_task_id = ?', schedule)
      const minute = conditions.finishedFrom.getUTCMinutes()
      return await hoursIn(context, { ...range, filter: both(range.filter, ofSchedule) }, minute, bounds)
    },
  }
}
