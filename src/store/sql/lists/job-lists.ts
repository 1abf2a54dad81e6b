import { JOB_STATES, type JobState, type LogLevel } from '../../../model/states.ts'
import { type Owner, shownId } from '../../../model/owner.ts'
import { fromStored, fromText } from '../../../model/instant.ts'
import { type HourCount, type JobConditions, LIST_BOUNDS, type ListStore } from '../../list-store.ts'
import { integerLiteral } from '../../literals.ts'
import { scopeCondition } from '../conditions.ts'
import type { TablesContext } from '../context.ts'
import { jobRange } from './list-ranges.ts'
import { listedColumns, type ListedRow, toListedJob } from './listed-rows.ts'
import { attemptsOf } from './attempts.ts'
import { findOwnId, shownJob, storedId } from '../own-ids.ts'
import { page } from './pages.ts'
import { jobExpressions, type JobRow } from '../rows.ts'
import { countBy, firstRows, groupsIn } from './scan.ts'

/** How many of the oldest jobs of a task are searched for one that has been claimed. */
const MAX_FIRST = 100
/** Maximum number of characters of an error in the list of failures. */
const ERROR_START = 500
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

type JobLists = Pick<
  ListStore,
  'jobs' | 'jobIds' | 'jobCounts' | 'attempts' | 'logs' | 'failures' | 'hasRun' | 'finishedPerHour'
>

export function jobLists(context: TablesContext, owner: Owner): JobLists {
  const { dialect, tables } = context
  const scope = scopeCondition(owner)
  const jobsIn = async ({ scheduleId: name, ...conditions }: JobConditions) => {
    const scheduleId = name && (await storedId(context, 'schedule', owner, name))
    return jobRange(context, owner, { ...conditions, scheduleId })
  }

  return {
    async jobs({ after, limit, ...conditions }, bounds = LIST_BOUNDS) {
      const range = await jobsIn(conditions)
      const columns = listedColumns(jobExpressions(context), limit)
      const options = { kind: 'job', owner, limit, after, bounds, columns } as const
      const { items, ...rest } = await page<ListedRow<JobRow>>(context, range, options)
      return { items: items.map((row) => shownJob(owner, toListedJob(row))), ...rest }
    },

    async jobIds(conditions, limit, bounds = LIST_BOUNDS) {
      const { rows, next } = await firstRows(context, await jobsIn(conditions), limit, bounds)
      return { ids: rows.map(({ id }) => shownId(owner, id)), isComplete: next === null }
    },

    async jobCounts({ state, ...others }, bounds) {
      const names = state === undefined ? JOB_STATES : [state]
      const of = (name: JobState) => jobRange(context, owner, { state: name })
      return await countBy(context, await jobsIn(others), 'state', names, of, bounds)
    },

    attempts: (job, limit) => attemptsOf(context, owner, job, limit),

    async logs(job, after, limit) {
      const id = await findOwnId(context, 'job', owner, job)
      if (id === null) return null
      const [found] = await context.rows<{ id: string }>(
        `SELECT id FROM ${tables.job} WHERE id = ${dialect.jobId}${scope.text}`,
        [id, ...scope.params],
      )
      if (found === undefined) return null
      // The index on job and id both filters and orders.
      const rows = await context.rows<{ id: number; at: string; level: LogLevel; message: string }>(
        `SELECT id, ${dialect.instant('at')} AS at, level, message
         FROM ${tables.log}
         WHERE job_id = ${dialect.jobId} AND id > ?
         ORDER BY job_id, id
         LIMIT ${integerLiteral(limit)}`,
        [found.id, after],
      )
      return rows.map((row) => ({ ...row, at: fromStored(row.at) }))
    },

    async failures(conditions, limit, bounds = LIST_BOUNDS) {
      const range = await jobsIn({ ...conditions, state: 'failed' })
      const error = `SUBSTR(error, 1, ${integerLiteral(ERROR_START)})`
      const columns = { task: 'task', error, ended: dialect.instant('finished') }
      const { rows, next } = await firstRows<{ task: string; error: string | null; ended: string | null }>(
        context,
        range,
        limit,
        { ...bounds, columns },
      )
      const items = rows.map(({ id, task, error, ended }) => ({
        id: shownId(owner, id),
        task,
        error: error ?? '',
        finishedAt: fromText(ended),
      }))
      return { items, complete: next === null }
    },

    async hasRun(task) {
      const found = dialect.found(tables.job, { index: tables.jobTaskIndex })
      const rows = await context.rows<{ attempts: number | null }>(
        `SELECT MAX(attempt) AS attempts FROM (
           SELECT attempt FROM ${found} WHERE task = ? ORDER BY id LIMIT ${integerLiteral(MAX_FIRST)}
         ) AS firsts`,
        [task],
      )
      return (rows[0]?.attempts ?? 0) > 0
    },

    async finishedPerHour(conditions, bounds = LIST_BOUNDS) {
      const first = Math.floor(conditions.finishedFrom.getTime() / MINUTE_MS) * MINUTE_MS
      const { rows, isComplete } = await groupsIn<{ minute: string; state: JobState }>(
        context,
        jobRange(context, owner, conditions),
        { minute: `SUBSTR(${context.dialect.instantText('finished')}, 1, 16)`, state: 'state' },
        bounds,
      )
      const hours = new Map<string, HourCount>()
      for (const { minute, state, matches } of rows) {
        const since = fromStored(`${minute}:00.000`).getTime() - first
        const hour = new Date(first + Math.floor(since / HOUR_MS) * HOUR_MS)
        const key = `${hour.toISOString()} ${state}`
        hours.set(key, { hour, state, jobs: matches + (hours.get(key)?.jobs ?? 0) })
      }
      const inOrder = [...hours.values()].toSorted((one, other) => one.hour.getTime() - other.hour.getTime())
      return { hours: inOrder, complete: isComplete }
    },
  }
}
