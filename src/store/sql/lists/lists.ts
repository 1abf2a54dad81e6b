import { JOB_COLUMNS, OCCURRENCE_COLUMNS, picked } from '../../../model/columns.ts'
import { ANY_OWNER, type Owner, shownId } from '../../../model/owner.ts'
import { toText } from '../../../model/instant.ts'
import { OPEN_STATES } from '../../../model/states.ts'
import type { ListStore, RecentRun } from '../../list-store.ts'
import { integerLiteral } from '../../literals.ts'
import { and, both, NOTHING, scopeCondition } from '../conditions.ts'
import type { TablesContext } from '../context.ts'
import { jobLists } from './job-lists.ts'
import { listedColumns, type ListedRow, toListedJob } from './listed-rows.ts'
import { findOwn, findOwnId, shownJob } from '../own-ids.ts'
import { expressions, jobExpressions, type JobRow, reader } from '../rows.ts'
import { scheduleLists } from './schedule-lists.ts'

const MAX_SELECTIONS = 100
const RECENT_RUN = {
  ...picked(OCCURRENCE_COLUMNS, ['slot']),
  ...picked(JOB_COLUMNS, ['state', 'startedAt', 'finishedAt']),
}
const toRecentRun = reader(RECENT_RUN)

export function listStore(context: TablesContext, owner: Owner = ANY_OWNER): ListStore {
  const { dialect, tables } = context
  const scope = scopeCondition(owner)
  /** The jobs of the row that has this id now. */
  const isOf = (column: string) => `${column} = (SELECT s.uid FROM ${tables.schedule} AS s WHERE s.id = ?)`

  return {
    ...scheduleLists(context, owner),
    ...jobLists(context, owner),

    ownedBy: (other) => listStore(context, other),

    async recentRuns(schedules, limit) {
      const { job, occurrenceIndex } = tables
      const runs = new Map<string, RecentRun[]>(schedules.map((id) => [id, []]))
      const ids = await findOwn(context, 'schedule', owner, schedules)
      const stored = [...ids.values()]
      // The unique key of occurrences both filters and orders.
      const selection = `SELECT ${expressions(dialect, RECENT_RUN).join(', ')}, ? AS schedule
        FROM ${dialect.found(job, { index: occurrenceIndex })}
        WHERE ${isOf('periodic_task_uid')}${scope.text}
        ORDER BY ${job}.slot DESC
        LIMIT ${integerLiteral(limit)}`
      for (let start = 0; start < stored.length; start += MAX_SELECTIONS) {
        const some = stored.slice(start, start + MAX_SELECTIONS)
        const rows = await context.rows<{ id: string; schedule: string }>(
          dialect.union(some.map(() => selection)),
          some.flatMap((id) => [id, id, ...scope.params]),
        )
        for (const row of rows)
          runs.get(shownId(owner, row.schedule))?.push({ ...toRecentRun(row), id: shownId(owner, row.id) })
      }
      return runs
    },

    async history(schedule, slots, limit) {
      const id = await findOwnId(context, 'schedule', owner, schedule)
      if (id === null) return []
      const [from, direction] =
        'from' in slots
          ? [and('slot >= ?', toText(slots.from)), 'ASC']
          : [slots.before === null ? NOTHING : and('slot < ?', toText(slots.before)), 'DESC']
      const { text, params } = both(and(isOf('periodic_task_uid'), id), from, scope)
      // The unique key of occurrences both filters and orders.
      const rows = await context.rows<ListedRow<JobRow>>(
        `SELECT ${listedColumns(jobExpressions(context), limit)}
         FROM ${tables.job}
         WHERE 1 = 1${text}
         ORDER BY ${tables.job}.slot ${direction}
         LIMIT ${integerLiteral(limit)}`,
        params,
      )
      return rows.map((row) => shownJob(owner, toListedJob(row)))
    },

    async openJobs(schedule, limit) {
      const id = await findOwnId(context, 'schedule', owner, schedule)
      if (id === null) return []
      const columns = listedColumns(jobExpressions(context), limit)
      const newest = `SELECT ${columns}
        FROM ${dialect.found(tables.job, { index: tables.openIndex })}
        WHERE ${isOf('open_key')} AND state = ?${scope.text}
        ORDER BY id DESC
        LIMIT ${integerLiteral(limit)}`
      const rows = await context.rows<ListedRow<JobRow>>(
        dialect.union(OPEN_STATES.map(() => newest)),
        OPEN_STATES.flatMap((state) => [id, state, ...scope.params]),
      )
      return rows.map((row) => shownJob(owner, toListedJob(row)))
    },

    async changeTokens() {
      const { schedule, job, worker, freeze } = tables
      const [schedules = '', jobs = '', freezes = ''] = await dialect.changeTokens(context.database, [
        schedule,
        job,
        freeze,
      ])
      // Heartbeats change this table constantly, so the token is the list of ids.
      const rows = await context.rows<{ id: string }>(`SELECT id FROM ${worker} ORDER BY id`)
      // Freezes are shown with the schedules.
      return { schedules: `${schedules} ${freezes}`, jobs, workers: rows.map(({ id }) => id).join(' ') }
    },
  }
}
