/**
 * Declared schedules: a set that code names and describes, brought to the database when a worker starts.
 *
 * A set touches only its own rows. Code decides about every column but `enabled`, which belongs to people; a
 * schedule whose timer is unchanged keeps its next run.
 */
import { DeclarationError, InvalidInputError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import { changedSettings, type Schedule, type ScheduleSettings } from '../model/schedule.ts'
import type { Task } from '../model/task.ts'
import type { ScheduleStore, SetChanges } from '../store/schedule-store.ts'
import {
  type AnyScheduleInput,
  checkedId,
  newSettings,
  settingsFaults,
  type ScheduleInput,
  type SettingsContext,
} from './settings.ts'

/** One schedule of a set; `id` defaults to the name of its task. */
export type Declaration<Input> = ScheduleInput<Input> & { readonly id?: string }

export type AnyDeclaration = AnyScheduleInput & { readonly task: Task; readonly id?: string }

interface DeclaredSchedule {
  readonly id: string
  readonly settings: ScheduleSettings
}

export interface DeclaredSet {
  readonly name: string
  readonly schedules: readonly DeclaredSchedule[]
}

/** What bringing a set to the database did, by id. */
export interface SyncReport {
  readonly created: readonly string[]
  readonly changed: ReadonlyMap<string, Partial<ScheduleSettings>>
  readonly unchanged: readonly string[]
  /** In the database as of this set, but declared no more. */
  readonly gone: readonly string[]
  /** Ids that belong to a schedule that is not of this set: left as they are. */
  readonly taken: readonly string[]
}

export class DeclaredSets {
  readonly #declared: { name: string; declarations: readonly AnyDeclaration[] }[] = []

  /** @throws InvalidInputError when a set of this name was declared already */
  add(name: string, declarations: readonly AnyDeclaration[]): void {
    if (typeof name !== 'string' || name.trim() === '' || name.length > 190) {
      throw new InvalidInputError(
        'declare',
        `a set needs a name of 1 to 190 characters, not ${JSON.stringify(name)}`,
      )
    }
    if (this.#declared.some((set) => set.name === name))
      throw new InvalidInputError('declare', `the set '${name}' was declared already`)
    this.#declared.push({ name, declarations })
  }

  /**
   * @param isHandled  whether jobs of the task of this name can be run by this worker
   * @throws DeclarationError with every fault of every set
   */
  async check(context: SettingsContext, isHandled: (task: string) => boolean): Promise<DeclaredSet[]> {
    const faults: string[] = []
    const setOf = new Map<string, string>()
    const sets: DeclaredSet[] = []
    for (const { name, declarations } of this.#declared) {
      const schedules: DeclaredSchedule[] = []
      for (const declaration of declarations) {
        const id = declaration.id ?? declaration.task.name
        const fault = (text: string) => faults.push(`set '${name}', schedule '${id}': ${text}`)
        const other = setOf.get(id)
        if (other !== undefined) {
          fault(
            other === name
              ? 'the id is declared twice; give one of them another id'
              : `the id is declared in the set '${other}' as well`,
          )
        }
        setOf.set(id, name)
        if (!isHandled(declaration.task.name)) {
          fault(`no handler for the task '${declaration.task.name}'; call kalends.handle(…) before start`)
        }
        try {
          checkedId(id)
        } catch (error) {
          fault(error instanceof Error ? error.message : String(error))
        }
        const wrong = await settingsFaults(declaration, context)
        for (const { message } of wrong) fault(message)
        if (wrong.length === 0)
          schedules.push({ id, settings: { ...(await newSettings(declaration, context)), declaredBy: name } })
      }
      sets.push({ name, schedules })
    }
    if (faults.length > 0) throw new DeclarationError(faults)
    return sets
  }
}

/** Brings a set to the database, in one transaction. */
export async function syncSet(store: ScheduleStore, set: DeclaredSet, logger: Logger): Promise<SyncReport> {
  let report = compare(set, [])
  await store.sync(
    set.name,
    set.schedules.map(({ id }) => id),
    (existing) => {
      report = compare(set, existing)
      return changesOf(set, report)
    },
  )
  tell(set, report, logger)
  return report
}

function compare(set: DeclaredSet, existing: readonly Schedule[]): SyncReport {
  const byId = new Map(existing.map((schedule) => [schedule.id, schedule]))
  const created: string[] = []
  const changed = new Map<string, Partial<ScheduleSettings>>()
  const unchanged: string[] = []
  const taken: string[] = []
  for (const { id, settings } of set.schedules) {
    const current = byId.get(id)
    if (current === undefined) created.push(id)
    else if (current.declaredBy !== set.name) taken.push(id)
    else {
      const { enabled: _, ...declared } = settings
      const changes = changedSettings(current, declared)
      if (Object.keys(changes).length === 0) unchanged.push(id)
      else changed.set(id, changes)
    }
  }
  const declaredIds = new Set(set.schedules.map(({ id }) => id))
  const gone = existing
    .filter(({ id, declaredBy }) => declaredBy === set.name && !declaredIds.has(id))
    .map(({ id }) => id)
  return { created, changed, unchanged, gone, taken }
}

function changesOf(set: DeclaredSet, { created, changed }: SyncReport): SetChanges {
  const isNew = new Set(created)
  return {
    create: set.schedules.filter(({ id }) => isNew.has(id)),
    change: [...changed].map(([id, settings]) => ({ id, settings })),
  }
}

function tell(set: DeclaredSet, report: SyncReport, logger: Logger): void {
  const about = (schedule: string) => ({ set: set.name, schedule })
  for (const id of report.created) logger.info(about(id), `Declared schedule '${id}' is new`)
  for (const [id, changes] of report.changed) {
    logger.info(
      { ...about(id), changes },
      `Declared schedule '${id}' was changed: ${Object.keys(changes).join(', ')}`,
    )
  }
  for (const id of report.gone)
    logger.warn(about(id), `Schedule '${id}' is not declared any more; it goes on until it is deleted`)
  for (const id of report.taken) {
    logger.error(
      about(id),
      `Schedule '${id}' was made by others and is left as it is; declare it under another id, or delete theirs`,
    )
  }
  logger.debug(
    { set: set.name, schedules: report.unchanged },
    `${report.unchanged.length} declared schedules are unchanged`,
  )
}
