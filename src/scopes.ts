import type { Definitions } from './definitions.ts'
import { InvalidInputError, OverloadedError } from './errors.ts'
import type { Emitter } from './events.ts'
import { freezes } from './freezes.ts'
import { Jobs } from './jobs/jobs.ts'
import { openJobTexts } from './jobs/open-jobs.ts'
import { UnhandledTasks } from './jobs/unhandled-tasks.ts'
import { checkKeys, namesOf } from './keys.ts'
import type { Lifecycle } from './lifecycle.ts'
import {
  type Authority,
  checkedLimits,
  checkedTasks,
  FULL_AUTHORITY,
  requireTask,
} from './model/authority.ts'
import { adviceAboutSetAside, type Finding, findings } from './model/diagnosis.ts'
import { doctorFindings } from './model/doctor.ts'
import type { Job } from './model/job.ts'
import { ANY_OWNER, prefixOf, storedIds } from './model/owner.ts'
import { schemaFindings } from './model/schema-drift.ts'
import { type CheckedOptions, ownerName, type ScopeOptions } from './options.ts'
import { Schedules } from './schedules/schedules.ts'
import type { Listed } from './store/list-store.ts'
import type { Store } from './store/store.ts'
import { Views } from './views/views.ts'
import type { KalendsEvents } from './worker/reporter.ts'
import { liveWorkers, workerStatuses } from './worker/worker-status.ts'

/** The schedules and jobs of one owner. No call can access rows of other owners, whatever id is passed. */
export interface Scope {
  readonly schedules: Schedules
  readonly jobs: Jobs
  readonly views: Views
}

type EveryOwnerOptions = Pick<ScopeOptions, 'tasks' | 'limits'> & Pick<Authority, 'builtInTasks'>

const SCOPE_OPTIONS = namesOf<ScopeOptions>({ group: true, submitter: true, tasks: true, limits: true })

interface AccessContext extends CheckedOptions {
  readonly definitions: Definitions
  readonly events: Emitter<KalendsEvents>
  readonly lifecycle: Lifecycle
}

export type Access = Readonly<ReturnType<ReturnType<typeof accesses>>>

/** Everything that a Kalends instance can do on one set of connections: those for calls, or those for the REST API. */
export function accesses({ events, lifecycle, definitions, ...options }: AccessContext) {
  const turns = new OwnerTurns()
  const unhandledTasks = new UnhandledTasks(definitions.handlers, () => lifecycle.runsJobs(), options.logger)
  const scopeOf = (authority: Authority, store: Store): Scope => {
    const { owner, limits } = authority
    const schedules = store.schedules.ownedBy(owner)
    const jobs = store.jobs.ownedBy(owner)
    const lists = store.lists.ownedBy(owner)
    // An unprefixed id may also be that of another owner's schedule, so it counts only if this owner has no other.
    const storedScheduleId = async (shown: string): Promise<string> => {
      const [likeliest = shown, plain] = storedIds(owner, shown)
      if (plain === undefined || (await store.schedules.get(likeliest)) !== null) return likeliest
      return (await schedules.get(shown)) === null ? likeliest : plain
    }
    const context = {
      ...options,
      storedScheduleId,
      authority,
      taskNamed: definitions.taskNamed,
      liveWorkers: () => liveWorkers(store, options.leaseMs),
      inTurn: <Result>(work: () => Promise<Result>) =>
        limits === null ? work() : turns.run(prefixOf(owner), work),
    }
    const taskStores = { liveWorkers: context.liveWorkers, lists: store.lists }
    const checkHandled = (tasks: readonly string[]) => unhandledTasks.check(tasks, taskStores)
    const texts = (of: readonly Listed<Job>[], shown: (at: Date) => string) =>
      openJobTexts(of, shown, { ...store, lists, schedules }, context)
    return {
      schedules: new Schedules(
        { ...store, schedules, jobs, lists },
        { ...context, openJobTexts: texts, checkHandled, onWrite: () => lifecycle.wake() },
      ),
      views: new Views(lists),
      jobs: new Jobs(
        { jobs, lists },
        {
          ...context,
          checkHandled,
          unhandled: (task) => unhandledTasks.find(task, taskStores),
          openJobTexts: texts,
          onWrite: () => lifecycle.wakeForJobs(),
          onSettled: (listener) => events.on('settled', ({ jobId }) => listener(jobId)),
        },
      ),
    }
  }
  return (store: Store) => {
    const all = scopeOf(FULL_AUTHORITY, store)
    return {
      ...all,
      freezes: freezes(store.freezes, all, options.now, () => lifecycle.wake()),
      scope: (scope: ScopeOptions) => scopeOf(scopeAuthority(scope), store),
      everyOwner: (caller: EveryOwnerOptions) => scopeOf(everyOwnerAuthority(caller), store),
      /** @throws ForbiddenError when the caller may not use the task */
      requireTask: (caller: EveryOwnerOptions, task: string) =>
        requireTask(everyOwnerAuthority(caller), task),
      workers: () => workerStatuses(store, options.leaseMs),
      doctor: () => diagnosed(store, options.leaseMs),
      /** Resolves when the warnings about tasks without a worker have been logged. */
      warned: () => unhandledTasks.settled(),
    }
  }
}

export async function diagnosed(
  { inspection, warnings, setAside }: Pick<Store, 'inspection' | 'warnings' | 'setAside'>,
  leaseMs: number,
): Promise<Finding[]> {
  const dangers = warnings().flatMap(({ code, ...advice }) =>
    findings(code, [{ id: 'process' }], () => advice),
  )
  const rejected = findings('set-aside', setAside(), () => adviceAboutSetAside(setAside()))
  const drift = schemaFindings(await inspection.schemaDrift())
  // The other checks may be unable to read tables that are missing or have an unexpected structure.
  const others = drift.length > 0 ? drift : doctorFindings(await inspection.inspect(), leaseMs)
  return [...dangers, ...rejected, ...others]
}

/** @throws InvalidInputError when the scope would cover every owner, or is granted a built-in task */
function scopeAuthority(options: ScopeOptions): Authority {
  // Untyped code may pass null, for example for a session without a user. If a misspelt field were ignored, the scope
  // would give access to more rows than intended.
  checkKeys(options, SCOPE_OPTIONS, 'scope.')
  const owner = { group: ownerName('group', options), submitter: ownerName('submitter', options) }
  if (owner.group === null && owner.submitter === null)
    throw new InvalidInputError(
      'scope',
      'must have a group or a submitter; otherwise, the scope would cover everything',
    )
  return {
    owner,
    tasks: checkedTasks(options.tasks),
    builtInTasks: false,
    limits: checkedLimits(options.limits),
  }
}

/** The rows of every owner, for a caller whose tasks may be restricted. */
function everyOwnerAuthority({ tasks, limits, builtInTasks }: EveryOwnerOptions): Authority {
  return {
    owner: ANY_OWNER,
    tasks: tasks === undefined ? null : checkedTasks(tasks),
    builtInTasks,
    limits: limits === undefined ? null : checkedLimits(limits),
  }
}

const MAX_WAITING = { ofOwner: 32, inAll: 256 }

/**
 * Runs writes that count against an owner's limits, one write at a time. Otherwise, two concurrent calls could both
 * find that one more row is allowed. Only a few calls may wait, so that no owner can exhaust memory.
 */
class OwnerTurns {
  /** Each owner's last turn, and the number of the owner's turns that have not ended. */
  readonly #owners = new Map<string, { last: Promise<unknown>; count: number }>()
  #count = 0

  /** @throws OverloadedError when too many calls are already waiting */
  async run<Result>(owner: string, work: () => Promise<Result>): Promise<Result> {
    const turns = this.#owners.get(owner) ?? { last: Promise.resolve(), count: 0 }
    if (turns.count > MAX_WAITING.ofOwner || this.#count > MAX_WAITING.inAll)
      throw new OverloadedError('Too many writes are already waiting; try again in a moment')
    this.#owners.set(owner, turns)
    turns.count += 1
    this.#count += 1
    const turn = turns.last.then(work)
    turns.last = turn.catch(() => undefined)
    try {
      return await turn
    } finally {
      turns.count -= 1
      this.#count -= 1
      if (turns.count === 0) this.#owners.delete(owner)
    }
  }
}
