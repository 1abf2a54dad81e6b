import { type Owner, shownId } from '../../model/owner.ts'
import { STATUSES } from '../../model/settings.ts'
import type { ListStore, ScheduleConditions } from '../list-store.ts'
import { integerLiteral } from '../literals.ts'
import { scopeCondition } from './conditions.ts'
import type { TablesContext } from './context.ts'
import { scheduleRange } from './list-ranges.ts'
import { type ListedRow, listedScheduleColumns, toListedSchedule } from './listed-rows.ts'
import { timerGroupsIn, timersIn } from './overviews.ts'
import { shownSchedule, storedId } from './own-ids.ts'
import { countEach, countTogether, page } from './pages.ts'
import type { ScheduleRow } from './rows.ts'

type ScheduleLists = Pick<ListStore, 'schedules' | 'scheduleCounts' | 'tasks' | 'timerGroups' | 'timers'>

export function scheduleLists(context: TablesContext, owner: Owner): ScheduleLists {
  const { dialect, tables } = context
  const scope = scopeCondition(owner)
  const schedulesIn = (conditions: ScheduleConditions) => scheduleRange(context, owner, conditions)

  return {
    async schedules(selection) {
      const { after } = selection
      const range = scheduleRange(context, owner, selection, {
        ...selection,
        after: after === undefined ? undefined : await storedId(context, 'schedule', owner, after),
      })
      const columns = listedScheduleColumns(dialect, selection.limit)
      const { rows, ...total } = await page<ListedRow<ScheduleRow>>(context, range, selection, columns)
      return { items: rows.map((row) => shownSchedule(owner, toListedSchedule(row))), ...total }
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
  }
}
