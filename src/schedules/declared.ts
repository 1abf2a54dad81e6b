/**
 * Declared schedules: sets that are named and described in code, and written to the database when a worker starts.
 *
 * A set changes only its own rows. Code decides every setting except `enabled`, which belongs to users. A schedule
 * whose timer is unchanged keeps its next run.
 */
import { createHash } from 'node:crypto'
import { counted } from '../duration.ts'
import { DeclarationError, InvalidInputError, messageOf } from '../errors.ts'
import { betweenParts } from '../event-loop.ts'
import type { Logger } from '../logger.ts'
import { taskOf } from '../model/caller.ts'
import { ANY_OWNER, newId } from '../model/owner.ts'
import { dueAtOnce, type FirstRun } from '../model/first-run.ts'
import { changedSettings, type ScheduleSettings } from '../model/schedule.ts'
import { checkedId, checkedList, checkedName, oneOf, shownInput } from '../model/input.ts'
import { NAME_LIMIT } from '../model/settings.ts'
import { checkedTask } from '../model/task.ts'
import type { DeclaredStore, SetChanges, SetState } from '../store/declared-store.ts'
import {
  type AnyScheduleInput,
  checkedFirstRun,
  newSettings,
  settingsProblems,
  type ScheduleInput,
  type SettingsContext,
} from './settings.ts'

/** One schedule of a set; `id` defaults to the name of its task. */
export type Declaration<Input> = (ScheduleInput<Input> | (AnyScheduleInput & { readonly task: string })) & {
  readonly id?: string
}

export type AnyDeclaration = AnyScheduleInput & { readonly id?: string }

/** What happens to the schedules in a set that are no longer declared by any live worker. */
export type OnRemoved = 'retire' | 'delete' | 'keep'

interface DeclaredSchedule {
  readonly id: string
  readonly settings: ScheduleSettings
  readonly firstRun: FirstRun
}

export interface DeclaredSet {
  readonly name: string
  readonly hash: string
  readonly onRemoved: OnRemoved
  readonly schedules: readonly DeclaredSchedule[]
}

type SyncReport = ReturnType<typeof compare>

export class DeclaredSets {
  readonly #declared: { name: string; declarations: readonly AnyDeclaration[]; onRemoved: OnRemoved }[] = []

  /** @throws InvalidInputError when a set of this name is already declared */
  add(name: string, given: readonly AnyDeclaration[], onRemoved: OnRemoved): void {
    checkedName('set', name, NAME_LIMIT)
    const declarations = checkedList('declarations', given, 'schedules').map((declaration, index) => {
      const field = `declarations[${index}]`
      if (typeof declaration !== 'object' || declaration === null)
        throw new InvalidInputError(field, `must be a schedule, got ${shownInput(declaration)}`)
      checkedTask(declaration.task, `${field}.task`)
      if (declaration.id !== undefined) checkedId('schedule', declaration.id, `${field}.id`)
      return declaration
    })
    if (this.#declared.some((set) => set.name === name))
      throw new InvalidInputError('declare', `the set '${name}' is already declared`)
    oneOf('onRemoved', onRemoved, Object.keys(REMOVED))
    this.#declared.push({ name, declarations, onRemoved })
  }

  /** @throws DeclarationError with every problem of every set */
  async check(context: SettingsContext, isHandled: (task: string) => boolean): Promise<DeclaredSet[]> {
    const problems: string[] = []
    const setOf = new Map<string, string>()
    const sets: DeclaredSet[] = []
    const pause = betweenParts()
    for (const { name, declarations, onRemoved } of this.#declared) {
      const schedules: DeclaredSchedule[] = []
      for (const declaration of declarations) {
        await pause()
        const task = taskOf(declaration.task, context).name
        const id = declaration.id ?? task
        const problem = (text: string) => problems.push(`set '${name}', schedule '${id}': ${text}`)
        const other = setOf.get(id)
        if (other !== undefined) {
          problem(
            other === name
              ? 'the id is declared twice; give one of the schedules another id'
              : `the id is also declared in the set '${other}'`,
          )
        }
        setOf.set(id, name)
        if (!isHandled(task))
          problem(`no handler for the task '${task}'; call kalends.handle(…) before start`)
        try {
          newId(ANY_OWNER, id)
        } catch (error) {
          problem(messageOf(error))
        }
        const wrong = await settingsProblems(declaration, context)
        wrong.forEach(problem)
        if (wrong.length === 0)
          schedules.push({
            id,
            settings: { ...(await newSettings(declaration, context)), declaredBy: name },
            firstRun: checkedFirstRun(declaration.firstRun),
          })
      }
      const hash = createHash('sha256').update(JSON.stringify({ onRemoved, schedules })).digest('hex')
      sets.push({ name, hash, onRemoved, schedules })
    }
    if (problems.length > 0) throw new DeclarationError(problems)
    return sets
  }
}

/**
 * Writes a set to the database, in one transaction.
 *
 * @param isStart  false for later passes, which only repair the set: they log only their changes, and ignore
 *   `firstRun` when they recreate deleted schedules
 * @param isFirst  whether to write the set even if the database has rejected it recently
 * @returns `changed` if a schedule may be due because of the changes, and `rejected` if nothing was written
 */
export async function syncSet(
  store: DeclaredStore,
  set: DeclaredSet,
  logger: Logger,
  isStart: boolean,
  isFirst = isStart,
): Promise<'changed' | 'unchanged' | 'rejected'> {
  const ids = set.schedules.map(({ id }) => id)
  let report = compare(set, { existing: [], isNewest: true, liveIds: new Set(ids) })
  const isWritten = await store.sync(
    { name: set.name, hash: set.hash, schedules: ids },
    (state) => {
      report = compare(set, state)
      return changesOf(set, report, isStart)
    },
    isStart && isFirst,
  )
  if (!isWritten) return 'rejected'
  tell(set, report, logger, isStart)
  const isChanged = report.created.length + report.changed.size + report.reactivated.length > 0
  return isChanged ? 'changed' : 'unchanged'
}

function compare(set: DeclaredSet, { existing, isNewest, liveIds }: SetState) {
  const byId = new Map(existing.map((schedule) => [schedule.id, schedule]))
  const created: DeclaredSchedule[] = []
  const changed = new Map<string, { changes: Partial<ScheduleSettings>; before: object }>()
  // Retired schedules that are declared again.
  const reactivated: string[] = []
  const unchanged: string[] = []
  // Schedules outside this set, which are left unchanged.
  const conflicts: string[] = []
  for (const declaration of set.schedules) {
    const { id, settings } = declaration
    const current = byId.get(id)
    if (current === undefined) created.push(declaration)
    else if (current.declaredBy !== set.name) conflicts.push(id)
    else {
      const { enabled: _, ...declared } = settings
      const changes = changedSettings(current, declared)
      if (current.idle === 'retired') reactivated.push(id)
      const names = Object.keys(changes)
      const before = Object.fromEntries(names.map((name) => [name, Reflect.get(current, name)]))
      if (names.length > 0) changed.set(id, { changes, before })
      else if (current.idle !== 'retired') unchanged.push(id)
    }
  }
  const removed = existing
    .filter(
      ({ id, declaredBy, idle }) =>
        declaredBy === set.name && !liveIds.has(id) && (set.onRemoved !== 'retire' || idle !== 'retired'),
    )
    .map(({ id }) => id)
  return { isNewest, created, changed, reactivated, unchanged, removed, conflicts }
}

function changesOf(set: DeclaredSet, report: SyncReport, isStart: boolean): SetChanges {
  const nothing: SetChanges = { create: [], change: [], retire: [], reactivate: [], delete: [] }
  // An older version never undoes the changes of a newer one.
  if (!report.isNewest) return nothing
  return {
    create: report.created.map(({ id, settings, firstRun }) => ({
      id,
      settings,
      isDue: isStart ? dueAtOnce(firstRun, settings) : null,
    })),
    change: [...report.changed].map(([id, { changes }]) => ({ id, settings: changes })),
    reactivate: report.reactivated,
    retire: set.onRemoved === 'retire' ? report.removed : [],
    delete: set.onRemoved === 'delete' ? report.removed : [],
  }
}

const REMOVED = { retire: 'retired', delete: 'deleted', keep: 'kept' } as const

function tell(set: DeclaredSet, report: SyncReport, logger: Logger, isStart: boolean): void {
  const about = (scheduleId: string) => ({ set: set.name, scheduleId })
  if (!report.isNewest) {
    if (isStart)
      logger.warn(
        { set: set.name },
        `Another live worker has a newer version of the set '${set.name}': this worker does not change the schedules of the set`,
      )
    return
  }
  for (const { id } of report.created) logger.info(about(id), `Declared schedule '${id}' is new`)
  for (const [id, { changes, before }] of report.changed) {
    logger.info(
      { ...about(id), changes, before },
      `Declared schedule '${id}' was changed: ${Object.keys(changes).join(', ')}`,
    )
  }
  for (const id of report.reactivated)
    logger.info(about(id), `Declared schedule '${id}' is declared again: it continues`)
  if (isStart || set.onRemoved !== 'keep') {
    for (const id of report.removed)
      logger.warn(about(id), `Schedule '${id}' is no longer declared: it is ${REMOVED[set.onRemoved]}`)
  }
  if (!isStart) return
  for (const id of report.conflicts) {
    logger.error(
      about(id),
      `Schedule '${id}' exists outside this set and is left unchanged; choose another id for the declaration, or delete the existing schedule`,
    )
  }
  logger.debug(
    { set: set.name, scheduleIds: report.unchanged },
    `${counted(report.unchanged.length, 'declared schedule is', 'declared schedules are')} unchanged`,
  )
}
