import { fromStored, fromText } from '../../model/instant.ts'
import { type Owner, shownId } from '../../model/owner.ts'
import type { ScheduleStatus } from '../../model/schedule.ts'
import { LIST_BOUNDS, type ListStore, type ScheduleConditions, type TimerGroup } from '../list-store.ts'
import { integerLiteral } from '../literals.ts'
import { scopeCondition } from './conditions.ts'
import type { TablesContext } from './context.ts'
import { scheduleRange } from './list-ranges.ts'
import { listedColumns, type ListedRow, toListedSchedule } from './listed-rows.ts'
import { shownSchedule } from './own-ids.ts'
import { page } from './pages.ts'
import { scheduleExpressions, type ScheduleRow } from './rows.ts'
import { countBy, groupsIn, scan } from './scan.ts'

const STATUSES: readonly ScheduleStatus[] = ['active', 'paused', 'done', 'dead', 'invalid', 'retired']

type ScheduleLists = Pick<ListStore, 'schedules' | 'scheduleCounts' | 'tasks' | 'timerGroups' | 'timers'>

interface TimerColumns {
  readonly timer: string
  readonly jitter: number
  readonly starts: string | null
  readonly ends: string | null
  readonly created: string | null
}

export function scheduleLists(context: TablesContext, owner: Owner): ScheduleLists {
  const { dialect, tables } = context
  const schedulesIn = (conditions: ScheduleConditions) => scheduleRange(context, owner, conditions)
  const timerColumns = {
    timer: 'timer',
    jitter: 'jitter',
    starts: dialect.instant('starts'),
    ends: dialect.instant('ends'),
  }

  return {
    async schedules({ after, limit, order, ...conditions }, bounds = LIST_BOUNDS) {
      const range = scheduleRange(context, owner, conditions, order)
      const columns = listedColumns(scheduleExpressions(dialect), limit)
      const options = { kind: 'schedule', owner, limit, after, bounds, columns } as const
      const { items, ...rest } = await page<ListedRow<ScheduleRow>>(context, range, options)
      return { items: items.map((row) => shownSchedule(owner, toListedSchedule(row))), ...rest }
    },

    scheduleCounts({ status, ...others }, bounds) {
      const names = status === undefined ? STATUSES : [status]
      const of = (name: ScheduleStatus) => schedulesIn({ status: name })
      return countBy(context, schedulesIn(others), 'status', names, of, bounds)
    },

    async tasks(limit) {
      const scope = scopeCondition(owner)
      const where = scope.text === '' ? '' : ` WHERE 1 = 1${scope.text}`
      const rows = await context.rows<{ task: string }>(
        `SELECT DISTINCT task FROM ${tables.schedule}${where} ORDER BY task LIMIT ${integerLiteral(limit)}`,
        scope.params,
      )
      return rows.map(({ task }) => task)
    },

    async timerGroups(conditions, bounds = LIST_BOUNDS) {
      // Only slots of `every` timers count from the creation.
      const created = `CASE WHEN LOWER(TRIM(timer)) LIKE 'every%' THEN ${dialect.instant('created')} END`
      const { rows, isComplete } = await groupsIn<TimerColumns>(
        context,
        schedulesIn({ ...conditions, status: 'active' }),
        { ...timerColumns, created },
        bounds,
      )
      const timers = new Map<string, TimerGroup>()
      for (const { matches, ...row } of rows) {
        const key = JSON.stringify([row.timer, row.jitter, row.starts, row.ends, row.created])
        timers.set(key, { ...timed(row), schedules: matches + (timers.get(key)?.schedules ?? 0) })
      }
      return { groups: [...timers.values()], complete: isComplete }
    },

    async *timers(conditions, bounds = LIST_BOUNDS) {
      const columns = { ...timerColumns, task: 'task', created: dialect.instant('created') }
      const range = schedulesIn({ ...conditions, status: 'active' })
      const slices = scan<TimerColumns & { readonly task: string }>(context, range, { ...bounds, columns })
      for await (const { rows, last } of slices) {
        const shown = rows.map((row) => ({ id: shownId(owner, row.id), task: row.task, ...timed(row) }))
        yield { rows: shown, isLast: last === null }
      }
    },
  }
}

function timed(row: TimerColumns): Omit<TimerGroup, 'schedules'> {
  return {
    timer: row.timer,
    jitter: row.jitter,
    starts: fromText(row.starts),
    ends: fromText(row.ends),
    createdAt: fromStored(row.created ?? ''),
  }
}
