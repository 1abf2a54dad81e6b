import { InvalidInputError, missing } from './errors.ts'
import { checkKeys, namesOf } from './keys.ts'
import { checkedReason, checkedSetting } from './model/checked-settings.ts'
import type { Freeze } from './model/freeze.ts'
import { checkedFlag, checkedId, checkedName, requiredInstant } from './model/input.ts'
import { isGoingOn } from './model/schedule.ts'
import { SETTINGS } from './model/settings.ts'
import type { Jobs } from './jobs/jobs.ts'
import type { Schedules } from './schedules/schedules.ts'
import type { FreezeStore } from './store/store.ts'
import type { Upcoming } from './views/upcoming.ts'
import type { Views } from './views/views.ts'

/** What to freeze: everything that matches all of the given fields. */
export interface FreezeTarget {
  readonly scheduleId?: string | undefined
  readonly task?: string | undefined
  readonly group?: string | undefined
  /** Freezes everything; cannot be combined with `scheduleId`, `task` or `group`. */
  readonly all?: boolean | undefined
  /** When the freeze ends automatically. */
  readonly until: Date
}

/** Options for `freeze`. */
export interface FreezeOptions extends FreezeTarget {
  /** A note for people, up to 1000 characters. */
  readonly reason?: string | undefined
}

/** The jobs that a freeze would hold, and the slots that it would skip. */
export interface FreezePreview {
  /** The first 1000 slots that would occur during the freeze, earliest first. One-offs run when the freeze ends. */
  readonly slots: readonly Upcoming[]
  readonly isComplete: boolean
  /**
   * The number of waiting jobs that would be held: 1000 means 1000 or more; null if unknown, because the search took
   * too long.
   */
  readonly jobs: number | null
}

const TARGET = { scheduleId: true, task: true, group: true, all: true, until: true } as const
const OPTIONS = namesOf<FreezeOptions>({ ...TARGET, reason: true })
const MAX_SLOTS = 1000

/** @param onThaw  called after a freeze has been ended */
export function freezes(
  store: FreezeStore,
  scope: { readonly schedules: Schedules; readonly jobs: Jobs; readonly views: Views },
  now: () => Date,
  onThaw: () => void,
) {
  async function slotsOf(
    scheduleId: string,
    { until, task, group }: FreezeTarget,
  ): Promise<{ items: Upcoming[]; complete: boolean }> {
    const schedule = await scope.schedules.get(scheduleId)
    const isOther =
      schedule === null ||
      (task !== undefined && schedule.task !== task) ||
      (group !== undefined && schedule.group !== group)
    if (isOther || !isGoingOn(schedule.status)) return { items: [], complete: true }
    const elapses = await scope.schedules.elapses(scheduleId, { limit: MAX_SLOTS })
    const before = elapses.filter((at) => at < until)
    return {
      items: before.map((at) => ({ at, scheduleId, task: schedule.task })),
      complete: before.length < MAX_SLOTS,
    }
  }

  async function checked(target: FreezeTarget): Promise<FreezeTarget> {
    const { scheduleId, task, group, all = false, until } = target
    const isAll = scheduleId === undefined && task === undefined && group === undefined
    if (checkedFlag('all', all) !== isAll)
      throw new InvalidInputError(
        'all',
        all
          ? 'freezes everything; leave out either all, or scheduleId, task and group'
          : 'name a scheduleId, a task or a group, or set all: true to freeze everything',
      )
    requiredInstant('until', until)
    if (task !== undefined) checkedName('task', task, SETTINGS.task.most)
    if (group !== undefined) checkedSetting('group', group)
    if (scheduleId !== undefined) checkedId('schedule', scheduleId, 'scheduleId')
    if (scheduleId !== undefined && (await scope.schedules.get(scheduleId)) === null)
      missing('schedule', scheduleId)
    return target
  }

  return {
    async add(options: FreezeOptions): Promise<Freeze> {
      checkKeys(options, OPTIONS)
      const { until, scheduleId = null, task = null, group = null } = await checked(options)
      const reason = checkedReason(options.reason)
      const added = await store.add({ scheduleId, task, group, until, reason })
      if (added !== null) return added
      throw notInFuture(until)
    },

    /** @throws NotFoundError */
    async end(id: string): Promise<Freeze> {
      const ended = await store.end(checkedName('id', id, SETTINGS.task.most))
      if (ended === null) missing('freeze', id)
      onThaw()
      return ended
    },

    list: (): Promise<Freeze[]> => store.inForce(),

    async preview(target: FreezeTarget): Promise<FreezePreview> {
      checkKeys(target, Object.keys(TARGET))
      const { until, scheduleId, task, group } = await checked(target)
      const from = now()
      if (until <= from) throw notInFuture(until)
      const range = { from, to: until, limit: MAX_SLOTS }
      const { items, complete } =
        scheduleId === undefined
          ? await scope.views.upcoming({ ...range, task, group })
          : await slotsOf(scheduleId, { until, task, group })
      const { total } = await scope.jobs.list({ state: 'waiting', scheduleId, task, group, limit: 1 })
      return { slots: items, isComplete: complete, jobs: total }
    },
  }
}

function notInFuture(until: Date): InvalidInputError {
  return new InvalidInputError('until', `must be an instant in the future, got ${until.toISOString()}`)
}
