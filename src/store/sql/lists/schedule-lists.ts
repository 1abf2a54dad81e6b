import { fromStored, fromText } from '../../../model/instant.ts'
import { type Owner, shownId } from '../../../model/owner.ts'
import { type ScheduleStatus, STATUSES } from '../../../model/states.ts'
import {
  LIST_BOUNDS,
  type ListStore,
  type ScheduleConditions,
  type TimerGroup,
  type TimerRow,
} from '../../list-store.ts'
import { integerLiteral } from '../../literals.ts'
import { and, both, scopeCondition } from '../conditions.ts'
import type { TablesContext } from '../context.ts'
import { scheduleRange } from './list-ranges.ts'
import { listedColumns, type ListedRow, toListedSchedule } from './listed-rows.ts'
import { shownSchedule } from '../own-ids.ts'
import { page } from './pages.ts'
import { scheduleExpressions, type ScheduleRow } from '../rows.ts'
import { countBy, groupsIn, type Range, scan } from './scan.ts'

type ScheduleLists = Pick<ListStore, 'schedules' | 'scheduleCounts' | 'tasks' | 'timerGroups' | 'timers'>

interface TimerColumns {
  readonly timer: string
  readonly jitter: number
  readonly starts: string | null
  readonly ends: string | null
  readonly created: string | null
}

interface NextColumns extends TimerColumns {
  readonly id: string
  readonly task: string
  readonly nextrun: string | null
  /** This and the next two are null unless the schedule is marked or must be planned. */
  readonly definition: string | null
  readonly planned_from: string | null
  readonly planned_nextrun: string | null
}

/** The marks of workers that use the default lease end within this time. */
const MARKED_MS = 120_000

export function scheduleLists(context: TablesContext, owner: Owner): ScheduleLists {
  const { dialect, tables } = context
  const schedulesIn = (conditions: ScheduleConditions) => scheduleRange(context, owner, conditions)
  /** The schedules with further runs; a one-off whose run is being retried has none. */
  const goingOn = (conditions: ScheduleConditions) =>
    (['active', 'retrying', 'frozen'] as const).map((status) =>
      withMore(schedulesIn({ ...conditions, status })),
    )
  /**
   * The same schedules in order of the next run. Marked schedules come first, because their wake_at changes. Frozen
   * schedules are a separate range, because they have slots before wake_at.
   */
  const inOrder = (): Range[] => {
    const inWakeOrder: Range = {
      ...scheduleRange(context, owner, {}, 'nextRunAt'),
      filter: and("status IN ('active', 'retrying')"),
    }
    const marked = and(
      `wake_at BETWEEN ${dialect.now} AND ${dialect.nowPlus(MARKED_MS)} AND worker IS NOT NULL`,
    )
    return [
      { ...inWakeOrder, where: marked, order: ['id'] },
      inWakeOrder,
      schedulesIn({ status: 'frozen' }),
    ].map(withMore)
  }
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
      // Only `every` timers count their slots from the creation of the schedule.
      const created = `CASE WHEN LOWER(TRIM(timer)) LIKE 'every%' THEN ${dialect.instant('created')} END`
      const columns = { ...timerColumns, created }
      const timers = new Map<string, TimerGroup>()
      let complete = true
      for (const range of goingOn(conditions)) {
        const { rows, isComplete } = await groupsIn<TimerColumns>(context, range, columns, bounds)
        complete &&= isComplete
        for (const { matches, ...row } of rows) {
          const key = JSON.stringify([row.timer, row.jitter, row.starts, row.ends, row.created])
          timers.set(key, { ...timed(row), schedules: matches + (timers.get(key)?.schedules ?? 0) })
        }
      }
      return { groups: [...timers.values()], complete }
    },

    async *timers({ task, group, submitter }, until, bounds = LIST_BOUNDS) {
      // With one of these conditions, most of the index on wake_at would be searched to find only a few schedules.
      const isAny = scopeCondition(owner).text === '' && (task ?? group ?? submitter) === undefined
      const ranges = isAny ? inOrder() : goingOn({ task, group, submitter })
      const isChanged = `(worker IS NOT NULL OR wake_at < '1970-01-02')`
      const columns = {
        ...timerColumns,
        task: 'task',
        created: dialect.instant('created'),
        nextrun: dialect.instant('nextrun'),
        definition: `CASE WHEN ${isChanged} THEN definition END`,
        planned_from: `CASE WHEN ${isChanged} THEN planned_from END`,
        planned_nextrun: `CASE WHEN ${isChanged} THEN ${dialect.instant('planned_nextrun')} END`,
      }
      let isWhole = true
      for (const range of ranges) {
        let isEnd = false
        for await (const { rows, last } of scan<NextColumns>(context, range, { ...bounds, columns })) {
          // Schedules without wake_at, which come last, are waiting for a run to finish.
          isEnd = last === null || (last.instant !== null && fromStored(last.instant) >= until())
          yield {
            rows: rows.map((row) => timerRow(owner, row)),
            isLast: isWhole && isEnd && range === ranges.at(-1),
          }
          if (isEnd) break
        }
        isWhole &&= isEnd
      }
    },
  }
}

function withMore(range: Range): Range {
  return { ...range, filter: both(range.filter, and("(idle IS NULL OR idle <> 'done')")) }
}

function timerRow(owner: Owner, row: NextColumns): TimerRow {
  const nextRunAt = isOutdated(row) ? null : fromText(row.nextrun)
  return { id: shownId(owner, row.id), task: row.task, nextRunAt, ...timed(row) }
}

/** Whether nextrun was planned before the schedule was edited. */
function isOutdated({
  definition,
  planned_from: planned,
  planned_nextrun: run,
  nextrun,
}: NextColumns): boolean {
  return definition !== null && planned !== null && planned !== definition && run === nextrun
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
