/** Cancels or retries many jobs: those with some ids, or those that match a filter. */
import { ConflictError, ForbiddenError, InvalidInputError, LimitError, NotFoundError } from '../errors.ts'
import { type Job, type JobState, OPEN_STATES } from '../model/job.ts'
import type { JobConditions, JobQuery, ListPage } from '../store/list-store.ts'

export type JobAction = 'cancel' | 'retry'

/** What changes one job, and lists those to be changed. */
export interface JobActions {
  readonly list: (query: JobQuery) => Promise<ListPage<Pick<Job, 'id'>>>
  /** @returns the state of the job afterwards */
  readonly change: (id: string) => Promise<JobState>
}

/** The states of the jobs that an action can change. */
export const ACTION_STATES: Readonly<Record<JobAction, readonly JobState[]>> = {
  cancel: OPEN_STATES,
  retry: ['failed', 'cancelled'],
}
/** Without a state in the filter. */
const DEFAULT_STATES: Readonly<Record<JobAction, readonly JobState[]>> = {
  cancel: OPEN_STATES,
  retry: ['failed'],
}
const PAGE = 1000

/** Which jobs are changed. A filter without a state means all open jobs to cancel, or all failed jobs to retry. */
export type ManyJobs = { readonly ids: readonly string[] } | { readonly filter: JobConditions }

/** How many jobs are changed. */
export interface ManyOptions {
  /** Only counts the jobs that match. */
  readonly dryRun?: boolean | undefined
  /** The most jobs to change; default: all. */
  readonly limit?: number | undefined
  /**
   * Runs for each job instead of the action alone; `act` changes the job and returns its state. An error that `isRefusal`
   * accepts refuses this job only.
   */
  readonly around?: (id: string, act: () => Promise<JobState>) => Promise<void>
  /** Default: NotFoundError, ConflictError, ForbiddenError and LimitError. Other errors end the call. */
  readonly isRefusal?: (error: unknown) => boolean
}

interface Matched {
  /** How many jobs match. */
  readonly matched: number
  /** False: there are more, or there may be. */
  readonly matchedIsExact: boolean
}

/** Which of many jobs were changed. */
export interface ManyResult extends Matched {
  readonly changed: readonly string[]
  readonly refused: readonly { readonly id: string; readonly error: unknown }[]
  /** Whether jobs that match were left out because of the limit. */
  readonly more: boolean
}

async function matchedBy({ list }: JobActions, action: JobAction, which: ManyJobs): Promise<Matched> {
  if ('ids' in which) return { matched: new Set(which.ids).size, matchedIsExact: true }
  const pages = await Promise.all(
    statesOf(action, which.filter).map((state) => list({ ...which.filter, state, limit: 1 })),
  )
  return {
    matched: pages.reduce((sum, { total }) => sum + total, 0),
    matchedIsExact: pages.every(({ totalIsExact }) => totalIsExact),
  }
}

/** Changes one job after the other, the newest first. @throws InvalidInputError for a state that the action cannot change */
export async function changeMany(
  jobs: JobActions,
  action: JobAction,
  which: ManyJobs,
  { dryRun = false, limit = Infinity, around = alone, isRefusal = isRefused }: ManyOptions,
): Promise<ManyResult> {
  const matched = await matchedBy(jobs, action, which)
  const changed: string[] = []
  const refused: { id: string; error: unknown }[] = []
  if (dryRun) return { ...matched, changed, refused, more: false }
  let tried = 0
  for await (const id of idsOf(jobs, action, which)) {
    if (tried === limit) return { ...matched, changed, refused, more: true }
    tried += 1
    try {
      await around(id, () => jobs.change(id))
      changed.push(id)
    } catch (error) {
      if (!isRefusal(error)) throw error
      refused.push({ id, error })
    }
  }
  return { ...matched, changed, refused, more: false }
}

async function alone(_id: string, act: () => Promise<JobState>): Promise<void> {
  await act()
}

async function* idsOf(
  { list }: JobActions,
  action: JobAction,
  which: ManyJobs,
): AsyncGenerator<string, void> {
  if ('ids' in which) {
    yield* new Set(which.ids)
    return
  }
  for (const state of statesOf(action, which.filter)) {
    let before: string | undefined
    for (;;) {
      const { items } = await list({ ...which.filter, state, before, limit: PAGE })
      yield* items.map(({ id }) => id)
      if (items.length < PAGE) break
      before = items.at(-1)?.id
    }
  }
}

function statesOf(action: JobAction, { state }: JobConditions): readonly JobState[] {
  if (state === undefined) return DEFAULT_STATES[action]
  if (ACTION_STATES[action].includes(state)) return [state]
  throw new InvalidInputError(
    'state',
    `one of ${ACTION_STATES[action].join(', ')} is needed to ${action}, not ${state}`,
  )
}

function isRefused(error: unknown): boolean {
  return [NotFoundError, ConflictError, ForbiddenError, LimitError].some((kind) => error instanceof kind)
}
